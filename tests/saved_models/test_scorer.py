"""The serving contract, asked through both loaders; expected values from NumPy."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from datasets import catalog
from quatre_tf import Evaluator, Graph, QuatRE
from quatre_tf.errors import DataError
from saved_models.scorer import Scorer
from tests import reference
from tests.serving import signatures_of

FILTERED = {"top_k": 3, "filtered": True, "type_constrained": False}


class Truth:
    """What every signature should answer, from the unfolded NumPy scores of all triples."""

    def __init__(self, model, graph):
        self.entities, self.relations = graph.entities.names, graph.relations.names
        sizes = (graph.num_entities, graph.num_relations, graph.num_entities)
        triples = list(itertools.product(*map(range, sizes)))
        self.scores = reference.model_scores(model, triples).reshape(sizes)
        self.known = {tuple(triple) for triple in graph.known.tolist()}
        self.slots = {"tails": set(), "heads": set()}
        for head, relation, tail in graph.train.tolist():
            self.slots["tails"].add((relation, tail))
            self.slots["heads"].add((relation, head))
        self.triples = graph.known

    def candidates(self, side, relation, entity, filtered, constrained=False):
        """Returns [(id, score)] of the candidates, best first."""
        pairs = []
        for candidate in range(len(self.entities)):
            ends = (entity, candidate) if side == "tails" else (candidate, entity)
            triple = (ends[0], relation, ends[1])
            fits = (relation, candidate) in self.slots[side]
            if not (filtered and triple in self.known) and (fits or not constrained):
                pairs.append((candidate, self.scores[triple]))
        return sorted(pairs, key=lambda pair: -pair[1])

    def names(self, triples):
        """Returns the names of ids [batch, 3] as inputs of a signature."""
        heads, relations, tails = np.transpose(triples)
        inputs = {"head": self.entities[heads], "tail": self.entities[tails]}
        return {**inputs, "relation": self.relations[relations]}


@pytest.fixture(scope="module")
def truth(model, graph):
    return Truth(model, graph)


def strings(array):
    return np.vectorize(bytes.decode, otypes=[object])(array)


def question(truth, side):
    """Returns ids of all (relation, entity) pairs, and their names as inputs."""
    pairs = list(itertools.product(range(len(truth.relations)), range(len(truth.entities))))
    relations, entities = np.transpose(pairs)
    given = "head" if side == "tails" else "tail"
    return pairs, {"relation": truth.relations[relations], given: truth.entities[entities]}


@pytest.mark.parametrize("side", ["tails", "heads"])
@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("type_constrained", [False, True])
@pytest.mark.parametrize("top_k", [3, 100])
def test_predictions(ask, truth, side, filtered, type_constrained, top_k):
    pairs, inputs = question(truth, side)
    options = {"top_k": top_k, "filtered": filtered, "type_constrained": type_constrained}
    answer = ask(f"predict_{side}", **inputs, **options)
    width = min(top_k, 8)
    assert answer["entities"].shape == answer["scores"].shape == (len(pairs), width)
    assert set(answer["status"]) == {b"OK"}
    for pair, names, scores in zip(
        pairs, strings(answer["entities"]), answer["scores"], strict=True
    ):
        expected = truth.candidates(side, *pair, filtered, type_constrained)[:width]
        exhausted = width - len(expected)
        expected_scores = [score for _, score in expected] + [-np.inf] * exhausted
        np.testing.assert_allclose(scores, expected_scores, rtol=1e-4, atol=1e-4)
        assert list(names[len(expected) :]) == [""] * exhausted
        # The two equal entities come in id order, as the stable sort of the expectation has them.
        assert list(names[: len(expected)]) == [truth.entities[e] for e, _ in expected]


@pytest.mark.parametrize("side", ["tails", "heads"])
def test_labels_and_probabilities_stand_beside_names_and_scores(ask, truth, graph, side):
    """Where candidates ran out, all of them are empty."""
    _, inputs = question(truth, side)
    answer = ask(f"predict_{side}", **inputs, **{**FILTERED, "top_k": 100})
    assert b"" in answer["entities"]
    labels = [[graph.labels.get(name, "") for name in row] for row in strings(answer["entities"])]
    assert {"City", "", "100% of\nit"} <= {label for row in labels for label in row}
    assert strings(answer["labels"]).tolist() == labels
    expected = 1 / (1 + np.exp(-answer["scores"].astype(np.float64)))
    np.testing.assert_allclose(answer["probabilities"], expected, rtol=1e-5)


def test_defaults_are_the_ten_best_tails_filtered_of_any_type(exported, ask_python, ask_session):
    """In the graph, in the SignatureDef for the server, and in the methods in Python."""
    question = {"head": ["日本"], "relation": ["is a"]}
    options = {"top_k": 10, "filtered": True, "type_constrained": False}
    expected = ask_python("predict_tails", **question, **options)["entities"]
    loaded = tf.saved_model.load(str(exported))
    in_python = loaded.predict_tails(tf.constant(["日本"]), tf.constant(["is a"]))
    np.testing.assert_array_equal(in_python["entities"], expected)
    in_the_graph = ask_session.without_defaults("predict_tails", **question)
    np.testing.assert_array_equal(in_the_graph["entities"], expected)
    by_default = ask_session("serving_default", **question)
    np.testing.assert_array_equal(by_default["entities"], expected)
    for name in ("serving_default", "predict_tails", "predict_heads"):
        defaults = signatures_of(exported)[name].defaults
        assert {key: tf.make_ndarray(value) for key, value in defaults.items()} == options


def test_scores(ask, truth):
    answer = ask("score_triples", **truth.names(truth.triples))
    expected = truth.scores[tuple(truth.triples.T)]
    np.testing.assert_allclose(answer["score"], expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(answer["probability"], 1 / (1 + np.exp(-expected)), atol=1e-4)


def expected_rank(truth, triple, side):
    """Filtered rank with realistic ties, counted candidate by candidate."""
    target = triple[2] if side == "tails" else triple[0]
    entity = triple[0] if side == "tails" else triple[2]
    competitors = truth.candidates(side, triple[1], entity, filtered=True)
    score = truth.scores[tuple(triple)]
    differences = [s - score for e, s in competitors if e != target]
    # Equal embeddings give equal scores; other scores are never as close as this.
    ties = sum(abs(difference) < 1e-9 for difference in differences)
    return 1 + sum(difference >= 1e-9 for difference in differences) + ties / 2


@pytest.mark.parametrize("side", ["tails", "heads"])
def test_ranks(ask, truth, side):
    answer = ask(f"rank_{side}", **truth.names(truth.triples))
    expected = [expected_rank(truth, triple, side) for triple in truth.triples.tolist()]
    assert any(rank % 1 for rank in expected), "the graph should have ties"
    np.testing.assert_array_equal(answer["rank"], expected)
    assert answer["rank"].dtype == np.float32


# Near misses, the escaped form, and what is hardly a name.
STRANGERS = [" padded", "", "%250D", "日本\0", "\ufeff日本", b"\xff", "x" * 1_000_000]
# Good and bad rows in one batch.
HEADS = ["New York", "Atlantis", "日本", "Atlantis", "cr\rname", *STRANGERS]
RELATIONS = ["borders", "borders", "hates", "hates", *["is a"] * (1 + len(STRANGERS))]
TAILS = ["日本", "100%", "100%", "Atlantis", "El Dorado", *["%0D"] * len(STRANGERS)]
STATUS = ["OK", "UNKNOWN_HEAD", "UNKNOWN_RELATION", "UNKNOWN_HEAD"]


TRIPLE_SIGNATURES = ["score_triples", "classify_triples", "rank_tails", "rank_heads"]


@pytest.mark.parametrize("signature", TRIPLE_SIGNATURES)
def test_status_of_triples(ask, signature):
    answer = ask(signature, head=HEADS, relation=RELATIONS, tail=TAILS)
    expected = [*STATUS, "UNKNOWN_TAIL", *["UNKNOWN_HEAD"] * len(STRANGERS)]
    assert strings(answer.pop("status")).tolist() == expected
    alone = ask(signature, head=HEADS[:1], relation=RELATIONS[:1], tail=TAILS[:1])
    for name, values in answer.items():
        np.testing.assert_allclose(values[0], alone[name][0], rtol=1e-6)
        assert not values[1:].any()


@pytest.mark.parametrize("filtered", [False, True])
def test_status_of_questions(ask, filtered):
    options = {**FILTERED, "filtered": filtered}
    tails = ask("predict_tails", head=HEADS, relation=RELATIONS, **options)
    expected = [*STATUS, "OK", *["UNKNOWN_HEAD"] * len(STRANGERS)]
    assert strings(tails["status"]).tolist() == expected
    alone = ask("predict_tails", head=HEADS[:1], relation=RELATIONS[:1], **options)
    assert tails["entities"][:1].tolist() == alone["entities"].tolist()
    heads = ask("predict_heads", relation=RELATIONS, tail=TAILS, **options)
    known_tails = ["OK"] * len(STRANGERS)
    expected = ["OK", "OK", *["UNKNOWN_RELATION"] * 2, "UNKNOWN_TAIL", *known_tails]
    assert strings(heads["status"]).tolist() == expected
    for answer in (tails, heads):
        bad = answer["status"] != b"OK"
        assert set(answer["entities"][bad].ravel()) == {b""}
        assert not answer["scores"][bad].any()
        assert b"" not in answer["entities"][~bad]


@pytest.mark.parametrize("type_constrained", [False, True])
def test_empty_batches(ask, type_constrained):
    options = {**FILTERED, "type_constrained": type_constrained}
    assert ask("predict_tails", head=[], relation=[], **options)["entities"].shape == (0, 3)
    assert ask("predict_heads", relation=[], tail=[], **options)["scores"].shape == (0, 3)
    for signature, output in (("score_triples", "score"), ("rank_tails", "rank")):
        assert ask(signature, head=[], relation=[], tail=[])[output].shape == (0,)


def test_columns_of_different_lengths_are_an_error(ask):
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have as many rows"):
        ask("score_triples", head=["日本"], relation=["is a"] * 2, tail=["日本"] * 2)


@pytest.fixture(scope="module")
def whole_numbers():
    """A model whose scores are whole numbers, so that products of every size have the same ones."""
    graph = catalog.load("countries")
    sizes = graph.num_entities, graph.num_relations
    model = QuatRE(*sizes, 16, variant="quate", normalize_relations=False)
    rng = np.random.default_rng(0)
    for table in model.trainable_variables:
        table.assign(rng.integers(-4, 5, table.shape))
    return model, graph, Scorer(model, graph)


@pytest.mark.parametrize(("split", "size"), [("test", 7), ("train", 601)])
def test_ranks_are_those_of_an_evaluation(whole_numbers, split, size):
    """Of a whole split, in batches of odd sizes and of more than are ranked at once."""
    model, graph, scorer = whole_numbers
    triples = graph.split(split)
    ranks = Evaluator(graph).rank(model, split)
    heads, relations, tails = named_columns(graph, split)
    columns = {"head": heads, "relation": relations, "tail": tails}
    for side in ("head", "tail"):
        ask = getattr(scorer, f"rank_{side}s")
        served = [
            ask(**{n: tf.constant(c[start : start + size]) for n, c in columns.items()})["rank"]
            for start in range(0, len(triples), size)
        ]
        expected = ranks.ranks("all", side).astype(np.float32)
        assert np.any(expected % 1), "expected ties among the scores"
        np.testing.assert_array_equal(np.concatenate(served), expected)


def test_calibrated_probabilities(model, graph, truth):
    relations = np.array([[0.5, -1.0], [2.0, 0.25], [1.0, 3.0]])
    scorer = Scorer(model, graph, relations)
    answer = scorer.score_triples(**truth.names(truth.triples))
    slopes, intercepts = relations[truth.triples[:, 1]].T
    logits = slopes * truth.scores[tuple(truth.triples.T)] + intercepts
    np.testing.assert_allclose(answer["probability"], 1 / (1 + np.exp(-logits)), atol=1e-4)
    pairs, inputs = question(truth, "tails")
    answer = scorer.predict_tails(**inputs, top_k=3)
    slopes, intercepts = relations[[relation for relation, _ in pairs]].T[:, :, np.newaxis]
    exhausted = answer["entities"].numpy() == b""
    assert exhausted.any()
    logits = slopes * np.where(exhausted, 0, answer["scores"]) + intercepts
    expected = np.where(exhausted, 0, 1 / (1 + np.exp(-logits)))
    np.testing.assert_allclose(answer["probabilities"], expected, atol=1e-4)


def test_classes(model, graph, truth):
    scores, relations = truth.scores[tuple(truth.triples.T)], truth.triples[:, 1]
    # Relation 0 splits its triples; of the others, all are true, and none.
    thresholds = np.array([np.median(scores[relations == 0]), -1e9, 1e9], np.float32)
    assert set(relations) == {0, 1, 2}
    scorer = Scorer(model, graph, thresholds=thresholds)
    answer = scorer.classify_triples(**truth.names(truth.triples))
    np.testing.assert_array_equal(answer["threshold"], thresholds[relations])
    np.testing.assert_allclose(answer["score"], scores, rtol=1e-4, atol=1e-4)
    is_clear = np.abs(scores - thresholds[relations]) > 1e-3
    expected = scores >= thresholds[relations]
    assert set(expected[is_clear & (relations == 0)]) == {False, True}
    np.testing.assert_array_equal(answer["is_true"].numpy()[is_clear], expected[is_clear])
    plain = Scorer(model, graph)
    assert not np.any(plain.classify_triples(**truth.names(truth.triples))["threshold"])


def test_without_labels_there_is_no_output_for_them(model, graph):
    splits = {split: named_columns(graph, split) for split in ("train", "valid", "test")}
    plain = Scorer(model, Graph.from_names("plain", splits))
    answer = plain.predict_tails(tf.constant(["日本"]), tf.constant(["is a"]))
    assert sorted(answer) == ["entities", "probabilities", "scores", "status"]


def named_columns(graph, split):
    heads, relations, tails = graph.split(split).T
    entities = graph.entities.names
    return entities[heads], graph.relations.names[relations], entities[tails]


@pytest.mark.parametrize("table", ["entities", "relations"])
def test_a_broken_model_is_refused(model, graph, table):
    broken = type(model).from_config(model.get_config())
    tables = broken.trainable_variables
    weights = {"entities": tables[0], "relations": tables[1]}[table]
    weights.assign(np.full(weights.shape, np.nan))
    with pytest.raises(DataError, match=f"table of {table} holds NaN"):
        Scorer(broken, graph)


def test_heads_of_a_reciprocal_model_are_tails_of_the_inverse_relation(graph):
    model = QuatRE(graph.num_entities, graph.num_relations, embedding_dim=4, reciprocal=True)
    rng = np.random.default_rng(5)
    for table in model.trainable_variables:
        table.assign(rng.normal(size=table.shape))
    entities, *of_relations = model.tables().values()

    def scores(given, relation, others):
        row, *rotations = (table[relation] for table in of_relations)
        return reference.scores(entities[given], row, entities[others], *rotations)

    tail, relation = 3, 1
    asked = scores(tail, graph.num_relations + relation, np.arange(graph.num_entities))
    order = np.argsort(-asked)
    scorer = Scorer(model, graph)
    answer = scorer.predict_heads(
        tf.constant(graph.relations.names[[relation]]),
        tf.constant(graph.entities.names[[tail]]),
        top_k=8,
        filtered=False,
    )
    assert strings(answer["entities"].numpy())[0].tolist() == list(graph.entities.names[order])
    np.testing.assert_allclose(answer["scores"][0], asked[order], rtol=1e-5)
    # The probability is the triple's, whoever asks: that of its score as a question for the tail.
    triples = np.array([scores(head, relation, tail) for head in order])
    np.testing.assert_allclose(answer["probabilities"][0], 1 / (1 + np.exp(-triples)), rtol=1e-4)
