"""Entities added to a trained model: what stays, what they get, what is refused."""

import pathlib

import numpy as np
import pytest

from quatre_tf import Graph, QuatRE, Run
from quatre_tf.errors import DataError
from saved_models.new_entities import add_entities, extend_graph, posterior_mean
from tests import commands
from tests.serving import load_python

# "Aland" sorts before every other name, and still must come after them.
NEW = [
    ["Aland", "borders", "New York"],
    ["日本", "is a", "Aland"],
    ["Zuid", "borders", "100%"],
    ["Aland", "borders", "New York"],
]


def names(rows):
    return np.array(rows, dtype=object)


def altered(model, **changes):
    """A copy of a model with other relation settings, and weights of the size of trained ones."""
    other = QuatRE.from_config({**model.get_config(), **changes})
    rng = np.random.default_rng(5)
    for weight in other.weights:
        weight.assign(rng.normal(size=weight.shape))
    return other


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "reciprocal"])
def trained(request, model, graph):
    kind = {"reciprocal": request.param, "normalize_relations": not request.param}
    return Run(altered(model, **kind), graph, pathlib.Path())


@pytest.fixture(scope="module")
def extended(trained):
    return add_entities(trained, names(NEW))


def test_the_posterior_mean_of_one_observation():
    """By hand: variance 4, noise 1 % of it, residual 3 - 1, gain (2, 0)."""
    row = posterior_mean(
        features=np.array([[2.0, 0.0]]),
        targets=np.array([3.0]),
        mean=np.array([0.5, 7.0]),
        covariance=np.array([[1.0, 0.0], [0.0, 9.0]]),
    )
    np.testing.assert_allclose(row, [0.5 + 2 * 2 / 4.04, 7.0])


@pytest.mark.parametrize(
    ("feature", "covariance"), [(0.0, np.eye(2)), (1.0, np.zeros([2, 2]))], ids=["zero", "alike"]
)
def test_features_that_say_nothing_leave_the_mean(feature, covariance):
    mean = np.array([0.5, 7.0])
    row = posterior_mean(np.full([3, 2], feature), np.ones(3), mean, covariance)
    np.testing.assert_array_equal(row, mean)


def test_new_entities_come_last_in_the_order_of_the_triples(extended, graph):
    entities = extended.graph.entities.names.tolist()
    assert entities == [*graph.entities.names, "Aland", "Zuid"]
    np.testing.assert_array_equal(extended.graph.train[: len(graph.train)], graph.train)
    ids = {name: place for place, name in enumerate(entities)}
    relations = {name: place for place, name in enumerate(graph.relations.names)}
    added = [[ids[h], relations[r], ids[t]] for h, r, t in NEW[:3]]
    assert extended.graph.train[len(graph.train) :].tolist() == added
    np.testing.assert_array_equal(extended.graph.known[-len(graph.test) :], graph.test)


def test_an_extended_graph_survives_saving(extended, tmp_path):
    extended.graph.save(tmp_path)
    assert Graph.load(tmp_path).fingerprint == extended.graph.fingerprint


def test_trained_rows_stay_bit_for_bit(extended, trained):
    for new, old in zip(extended.model.weights, trained.model.weights, strict=True):
        np.testing.assert_array_equal(new.numpy()[: old.shape[0]], old.numpy())
    assert extended.model.num_entities == trained.model.num_entities + 2


def test_each_entity_is_placed_by_its_own_triples_alone(extended, trained):
    alone = add_entities(trained, names(NEW[2:3])).model.entities.embeddings.numpy()[-1]
    together = extended.model.entities.embeddings.numpy()[-1]
    np.testing.assert_allclose(alone, together, rtol=1e-5, atol=1e-6)


def observations(model, head, relation, tail, num_old):
    """Feature of the answer and of the question, from scores of unit vectors: no formula of ours.

    A score is linear, so that its coefficients are its values at the unit vectors.
    """
    width = 4 * model.embedding_dim
    probe = QuatRE.from_config({**model.get_config(), "num_entities": num_old + width})
    for new, old in zip(probe.weights, model.weights, strict=True):
        new.assign(old if new.shape == old.shape else np.concatenate([old, np.eye(width)]))
    units, relations = num_old + np.arange(width), np.full(width, relation)
    if head >= num_old:
        answer = probe.score_heads(np.array([relation]), np.array([tail]))[0, num_old:]
        asked = probe.score_tails(units, relations)[:, tail]
    else:
        answer = probe.score_tails(np.array([head]), np.array([relation]))[0, num_old:]
        asked = probe.score_heads(relations, units)[:, head]
    return np.stack([answer, asked]).astype(np.float64)


@pytest.mark.parametrize("target_rank", [1, 3, 100])
def test_a_row_is_the_solution_of_the_documented_problem(trained, graph, target_rank):
    # The first relation has other heads than tails.
    rows = [["Aland", "%25 größer", "New York"], ["日本", "is a", "Aland"]]
    extended = add_entities(trained, names(rows), target_rank=target_rank)
    table = trained.model.entities.embeddings.numpy().astype(np.float64)
    num_old = len(table)
    triples = extended.graph.train[-2:]
    answers, questions = zip(
        *(observations(trained.model, *t, num_old) for t in triples.tolist()), strict=True
    )
    features = np.stack([*answers, *questions])
    # The new entity is the head of the first triple and the tail of the second.
    slots = [
        {h for h, r, _ in graph.train.tolist() if r == triples[0, 1]},
        {t for _, r, t in graph.train.tolist() if r == triples[1, 1]},
    ]
    assert slots[0] != {t for _, r, t in graph.train.tolist() if r == triples[0, 1]}
    means = [table.mean(axis=0), *(table[sorted(slot)].mean(axis=0) for slot in slots)]
    targets = np.sort(features @ table.T, axis=1)[:, -min(target_rank, num_old)]
    covariance = np.cov(table.T, bias=True)
    kernel = features @ covariance @ features.T
    noise = 0.01 * np.trace(kernel) / 4
    center = np.mean(means, axis=0)
    weights = np.linalg.solve(kernel + noise * np.eye(4), targets - features @ center)
    expected = center + covariance @ features.T @ weights
    row = extended.model.entities.embeddings.numpy()[-1]
    np.testing.assert_allclose(row, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], r"new\.tsv: expected triples of new entities, received none"),
        (
            [["Aland", "borders", "100%"], ["Aland", "bordrs", "100%"]],
            r"new\.tsv, triple 2: expected a relation of the run, received 'bordrs'. Did you mean",
        ),
        (
            [["Aland", "borders", "100%"], ["日本", "borders", "100%"]],
            r"new\.tsv, triple 2: expected one new and one known entity, .*which both exist",
        ),
        (
            [["Aland", "borders", "Zuid"]],
            r"new\.tsv, triple 1: .*'Aland' and 'Zuid', which are both unknown to the run",
        ),
        ([["Aland", "borders", "Aland"]], r"new\.tsv, triple 1: .*both unknown"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_line(graph, rows, message):
    with pytest.raises(DataError, match=message):
        extend_graph(graph, names(rows).reshape(-1, 3), "new.tsv")


def test_target_rank_must_be_positive(trained):
    with pytest.raises(ValueError, match="`target_rank` must be a positive integer"):
        add_entities(trained, names(NEW), target_rank=0)


def test_program(model, graph, tmp_path):
    run_dir, path = tmp_path / "run", tmp_path / "new.tsv"
    Run(model, graph, run_dir).save()
    text = "".join("\t".join(row) + "\n" for row in NEW).replace("Zuid", "Zuid\x1b[m")
    path.write_text(text, encoding="utf-8")
    served = tmp_path / "served"
    flags = [f"--run_dir={run_dir}", f"--triples={path}"]
    code, printed = commands.run("saved_models.add_entities", *flags, f"--output={served}")
    assert code == 0, printed
    # The repeated triple counts once.
    assert printed.startswith("Aland: 2 triples\n")
    assert "Zuid\\x1b[m: 1 triple\n" in printed
    exported, question = printed.splitlines()[-2:]
    assert exported == f"Exported {served / '1'}"
    assert question.startswith(f"Next: quatre predict --saved_model={served}/1 --head=")
    with load_python(served / "1") as ask:
        known = {"head": ["Aland"], "relation": ["borders"], "tail": ["New York"]}
        assert ask("score_triples", **known)["status"].tolist() == [b"OK"]
        asked = {"head": ["Aland"], "relation": ["borders"], "top_k": 10, "type_constrained": False}
        # Given triples are known ones.
        listed = [ask("predict_tails", **asked, filtered=f)["entities"] for f in (False, True)]
    assert b"New York" in listed[0]
    assert b"New York" not in listed[1]
    path.write_text("Aland\tborders\t100%\nAland borders 100%\n", encoding="utf-8")
    code, printed = commands.run("saved_models.add_entities", *flags, f"--output={tmp_path}/out")
    assert (code, printed.count("\n")) == (1, 1)
    assert printed.startswith(f"error: {path}:2: expected 3 fields")
    assert not (tmp_path / "out").exists()
