"""What every score function must do. A new one is declared in `tests/systems.py`, nothing else."""

import functools
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import KGEModel, from_tables
from quatre_tf.data.candidate_sets import CANDIDATE_SETS
from quatre_tf.data.graph import Graph
from quatre_tf.data.vocabulary import Vocabulary
from quatre_tf.layers import embedding
from quatre_tf.layers.registry import SCORE_FUNCTIONS
from quatre_tf.objectives.candidate_softmax import candidate_softmax_objective
from quatre_tf.objectives.query_objective import QueryBatch, SoftmaxOptions
from quatre_tf.objectives.sampled_candidates import sampled_objective
from quatre_tf.objectives.sampled_logistic import SampledBatch, sampled_logistic_objective
from quatre_tf.objectives.sampled_softmax import cross_entropy
from quatre_tf.objectives.self_adversarial import self_adversarial
from quatre_tf.ranking.evaluator import Evaluator
from quatre_tf.ranking.tiles import top_k
from quatre_tf.runs.best_model import load_model, save_best
from tests import reference, systems
from tests.batches import dense_gradients

ENTITIES, RELATIONS = 6, 2


@pytest.fixture(params=systems.CASES, ids=str)
def case(request):
    return request.param


def make(case, reciprocal=False, num_entities=ENTITIES):
    """A model with random tables."""
    model = KGEModel(
        num_entities, RELATIONS, case.dim, case.name, reciprocal, options=dict(case.options)
    )
    model.assign_tables(systems.random_tables(case, model, seed=7))
    return model


def test_every_registered_score_function_has_a_case():
    assert {case.name for case in systems.CASES} == set(SCORE_FUNCTIONS)


@pytest.mark.usefixtures("uncompiled")
def test_all_scoring_paths_agree_with_numpy(case, rng):
    model = make(case)
    heads, relations, tails = rng.integers(0, [ENTITIES, RELATIONS, ENTITIES], [20, 3]).T
    everyone = np.arange(ENTITIES)
    tables = model.tables()
    of_triples = systems.scores(case, tables, heads, relations, tails)
    of_tails = systems.scores(case, tables, heads[:, None], relations[:, None], everyone)
    of_heads = systems.scores(case, tables, everyone, relations[:, None], tails[:, None])
    tolerance = {"rtol": 1e-5, "atol": 1e-5}
    triples = np.stack([heads, relations, tails], axis=1)
    np.testing.assert_allclose(model(triples), of_triples, **tolerance)
    assert model(triples[:0]).shape == (0,)
    np.testing.assert_allclose(model.score_tails(heads, relations), of_tails, **tolerance)
    np.testing.assert_allclose(model.score_heads(relations, tails), of_heads, **tolerance)
    queries, rows = model.tail_queries(heads, relations), model.entities.embeddings.value
    for portable in (False, True):
        best, ids = top_k(
            model.score_function.similarity, rows, queries, ENTITIES, portable=portable
        )
        order = np.argsort(-of_tails, axis=1, kind="stable")
        np.testing.assert_allclose(best, np.take_along_axis(of_tails, order, 1), **tolerance)
        np.testing.assert_allclose(np.take_along_axis(of_tails, ids.numpy(), 1), best, **tolerance)


@pytest.mark.usefixtures("uncompiled")
def test_golden_scores(case):
    """Scores of public implementations, in float64."""
    if case.golden is None:
        return
    tables, triples, of_triples, of_tails, of_heads = systems.golden(case)
    model = from_tables(case.name, tables, **case.options)
    # Points of the ball are scored in float64.
    digits = 1e-9 if case.name == "murp" else case.tolerance
    tolerance = {"rtol": digits, "atol": digits}
    np.testing.assert_allclose(model.score_triples(*triples), of_triples, **tolerance)
    heads, relations, tails = triples[:, : len(of_tails)]
    np.testing.assert_allclose(model.score_tails(heads, relations), of_tails, **tolerance)
    np.testing.assert_allclose(model.score_heads(relations, tails), of_heads, **tolerance)
    for name, table in model.tables().items():
        np.testing.assert_array_equal(table, tables[name])


def test_tables_of_other_shapes_are_refused(case):
    tables = make(case).tables()
    name = list(tables)[-1]
    with pytest.raises(ValueError, match=f"must have the shapes .*{name}"):
        from_tables(case.name, {**tables, name: tables[name][..., :1]}, **case.options)
    with pytest.raises(ValueError, match="must hold `entity`"):
        from_tables(case.name, {name: tables[name]}, **case.options)


def test_config_and_file_round_trip(case, tmp_path, monkeypatch):
    model = make(case, reciprocal=True)
    assert model.score_function.multilinear == SCORE_FUNCTIONS[case.name].multilinear
    config = model.get_config()
    assert type(model).from_config(json.loads(json.dumps(config))).get_config() == config
    model.save(tmp_path / "model.keras")
    save_best(model, tmp_path)
    # Two rows at a time.
    monkeypatch.setattr(embedding, "_FLOATS_AT_ONCE", 2 * model.entities.embeddings.shape[1] + 1)
    for loaded in (keras.models.load_model(tmp_path / "model.keras"), load_model(tmp_path)):
        for name, table in model.tables().items():
            np.testing.assert_array_equal(loaded.tables()[name], table)
    layer = type(model.score_function).from_config(model.score_function.get_config())
    assert layer.get_config() == model.score_function.get_config()


# Two queries for tails and one for heads, with 1, 2 and 2 targets.
QUERIES = {
    "entities": [0, 3, 4],
    "relations": [1, 0, RELATIONS + 1],
    "counts": [1, 2, 2],
    "rows": [0, 1, 1, 2, 2],
    "targets": [2, 1, 5, 0, 3],
}
POSITIVES = {"heads": [0, 1], "relations": [1, 0], "tails": [2, 4]}
CORRUPTED, TAIL_CORRUPTED = [[5, 3], [0, 2]], [[True, False], [True, True]]
CANDIDATES = [0, 1, 4]
# Of the targets, 0 of query 2 and 1 of query 1 are candidates.
HITS = [[2, 0], [1, 1]]


def log_sum(values):
    return np.log(np.exp(values).sum())


def answered_queries(case, tables, reciprocal):
    """Of each query, the scores of all entities and the targets."""
    entities, relations = (np.array(QUERIES[n])[:, np.newaxis] for n in ("entities", "relations"))
    everyone = np.arange(ENTITIES)[np.newaxis]
    row = relations if reciprocal else relations % RELATIONS
    scores = systems.scores(case, tables, entities, row, everyone, training=True)
    if not reciprocal:
        of_heads = systems.scores(case, tables, everyone, row, entities)
        scores = np.where(relations < RELATIONS, scores, of_heads)
    rows, targets = np.array(QUERIES["rows"]), np.array(QUERIES["targets"])
    return [(of_query, list(targets[rows == i])) for i, of_query in enumerate(scores)]


def query_loss(case, tables, reciprocal, candidates):
    """The sum of cross-entropies, query by query; candidates None: all entities."""
    total = 0.0
    for scores, targets in answered_queries(case, tables, reciprocal):
        if candidates is None:
            normalizer = log_sum(scores)
        else:
            others = [e for e in candidates if e not in targets]
            raised = scores[others] + np.log(ENTITIES / len(candidates))
            normalizer = log_sum(np.concatenate([scores[targets], raised]))
        total += sum(normalizer - scores[target] for target in targets)
    return total


MARGIN, TEMPERATURE = 1.5, 0.7


def adversarial_loss(case, tables, reciprocal, constant_tables):
    """RotatE's loss, with the weights of negatives from other tables."""
    total = 0.0
    pairs = [answered_queries(case, t, reciprocal) for t in (tables, constant_tables)]
    for (scores, targets), (constant_scores, _) in zip(*pairs, strict=True):
        others = [e for e in CANDIDATES if e not in targets]
        powers = np.exp(TEMPERATURE * constant_scores[others])
        negatives = powers / powers.sum() @ np.log1p(np.exp(MARGIN + scores[others]))
        total += np.log1p(np.exp(-MARGIN - scores[targets])).sum() + len(targets) * negatives
    return total


def logistic_loss(case, tables):
    total = 0.0
    for i, (head, relation, tail) in enumerate(zip(*POSITIVES.values(), strict=True)):
        rows = [(head, tail, 1)]
        for entity, is_tail in zip(CORRUPTED[i], TAIL_CORRUPTED[i], strict=True):
            rows.append((head, entity, -1) if is_tail else (entity, tail, -1))
        for h, t, label in rows:
            score = systems.scores(case, tables, h, relation, t)
            total += np.log1p(np.exp(-label * score))
    return total / 6


def check_gradients(model, objective, loss):
    tables = {name: table.astype(np.float64) for name, table in model.tables().items()}
    np.testing.assert_allclose(objective.loss, loss(tables), rtol=1e-5)
    statistics = model.score_function.statistics()
    trained = {name: table for name, table in tables.items() if name not in statistics}
    expected = reference.central_differences(lambda moved: [loss({**tables, **moved})], trained)
    widths = [int(np.prod(shape)) for shape in model.score_function.entity_tables().values()]
    rows, *others = dense_gradients(objective, model)
    found = [*np.split(rows, np.cumsum(widths)[:-1], axis=1), *others]
    for gradient, name in zip(found, trained, strict=True):
        gradient = np.reshape(gradient, tables[name].shape)
        np.testing.assert_allclose(gradient, expected[name], rtol=1e-3, atol=1e-4, err_msg=name)


def query_batch():
    columns = {name: tf.constant(column) for name, column in QUERIES.items()}
    sample = {"candidates": tf.constant(CANDIDATES), "hits": tf.constant(HITS)}
    return QueryBatch(**columns, seed=tf.constant([1, 2], tf.int64), **sample)


# Blocks of pairs have their compiled gradients in tests/quatre_tf/layers/test_pointwise.py, and
# quaternions in tests/quatre_tf/objectives.
UNCOMPILED = {"transr", "stranse", "murp", "quatre"}
# The gradient of queries for heads, case by case, is that of the logistic objective, too.
BOTH = [(case, True) for case in systems.CASES] + [(case, False) for case in systems.DISTINCT]
# Its matrices are multiplied in a way of their own.
BOTH += [(case, False) for case in systems.CASES if case.name == "rescal"]


@pytest.mark.parametrize(("case", "reciprocal"), BOTH, ids=str)
def test_gradients_of_the_softmax_objectives(case, reciprocal, request):
    if reciprocal or case.name in UNCOMPILED:
        request.getfixturevalue("uncompiled")
    model, batch = make(case, reciprocal), query_batch()
    if not model.has_head_queries:
        return
    objective = candidate_softmax_objective(model, batch, SoftmaxOptions(), num_targets=1)
    check_gradients(model, objective, lambda t: query_loss(case, t, reciprocal, None))
    loss = functools.partial(cross_entropy, num_entities=ENTITIES)
    objective = sampled_objective(model, batch, SoftmaxOptions(), num_targets=1, loss=loss)
    check_gradients(model, objective, lambda t: query_loss(case, t, reciprocal, CANDIDATES))


@pytest.mark.usefixtures("uncompiled")
def test_gradients_of_the_self_adversarial_objective(case):
    model = make(case, True)
    loss = functools.partial(self_adversarial, margin=MARGIN, temperature=TEMPERATURE)
    objective = sampled_objective(model, query_batch(), SoftmaxOptions(), num_targets=1, loss=loss)
    start = model.tables()
    check_gradients(model, objective, lambda t: adversarial_loss(case, t, True, start))


@pytest.mark.usefixtures("uncompiled")
def test_gradients_of_the_logistic_objective(case):
    model = make(case)
    if not model.has_head_queries:
        return
    columns = [tf.constant(column) for column in POSITIVES.values()]
    batch = SampledBatch(*columns, tf.constant(CORRUPTED), tf.constant(TAIL_CORRUPTED))
    objective = sampled_logistic_objective(model, batch, l2=0.0, num_triples=6)
    check_gradients(model, objective, lambda t: logistic_loss(case, t))


@pytest.mark.usefixtures("uncompiled")
def test_relation_prediction_is_for_multilinear_scores(case):
    model, options = make(case, reciprocal=True), SoftmaxOptions(relation_prediction=0.5)
    if not model.score_function.multilinear:
        with pytest.raises(ValueError, match="multilinear score functions only"):
            candidate_softmax_objective(model, query_batch(), options, num_targets=1)
        return
    objective = candidate_softmax_objective(model, query_batch(), options, num_targets=1)

    def loss(tables):
        total, everything = query_loss(case, tables, True, None), np.arange(2 * RELATIONS)
        for row, target in zip(QUERIES["rows"], QUERIES["targets"], strict=True):
            entity, relation = QUERIES["entities"][row], QUERIES["relations"][row]
            scores = systems.scores(case, tables, entity, everything, target)
            total += 0.5 * (log_sum(scores) - scores[relation])
        return total

    check_gradients(model, objective, loss)


@pytest.mark.usefixtures("uncompiled")
def test_n3_measures_entities_and_relations_that_are_factors(case):
    model, options = make(case, reciprocal=True), SoftmaxOptions(n3=0.5)
    objective = candidate_softmax_objective(model, query_batch(), options, num_targets=1)
    function, places = model.score_function, QUERIES["rows"]
    entities = model.entities.embeddings.numpy()
    measured = [entities[np.take(QUERIES["entities"], places)], entities[QUERIES["targets"]]]
    if function.multilinear:
        relations = tf.constant(np.take(QUERIES["relations"], places))
        measured.append(function.fold(function.lookup(relations)).numpy())
    parts = [rows.reshape(len(rows), function.entity_components, -1) for rows in measured]
    expected = 0.5 * sum(np.sum(np.linalg.norm(part, axis=1) ** 3) for part in parts)
    np.testing.assert_allclose(objective.regularization, expected, rtol=1e-5)


@pytest.mark.parametrize("case", systems.DISTINCT, ids=str)
def test_ranks_equal_a_naive_ranking(case):
    """A random graph with equal entities: candidate by candidate, in all three candidate sets."""
    rng = np.random.default_rng(5)
    splits = [rng.integers(0, [9, RELATIONS, 9], [n, 3], np.int32) for n in (14, 5, 12)]
    names = Vocabulary([f"e{i}" for i in range(9)]), Vocabulary(["x", "y"], "relation")
    graph = Graph("random", *names, *splits)
    model = make(case, num_entities=9)
    tables = model.tables()
    tables["entity"][[3, 7]] = tables["entity"][1]
    model.assign_tables(tables)
    ranks = Evaluator(graph, candidates=CANDIDATE_SETS).rank(model, "test")
    scores = np.round(
        systems.scores(case, tables, *np.ix_(range(9), range(RELATIONS), range(9))), 9
    )
    known = graph.known.tolist()
    for name in CANDIDATE_SETS:
        seen = graph.train if name.startswith("train") else graph.known
        for side, place in (("head", 0), ("tail", 2)):
            counts = ranks.counts[name][side]
            for row, triple in enumerate(graph.test.tolist()):
                of_relation = set(seen[seen[:, 1] == triple[1], place].tolist())
                members = None if name == "all" else of_relation
                expected = reference.competitors(scores, triple, place, known, members)
                assert (counts.better[row], counts.equal[row]) == expected, (name, triple)


# The dot product, a distance, weights of all relations, and those of batch statistics.
REPLICATED = [
    case for case in systems.DISTINCT if str(case) in ("quatre", "transe_l1", "convkb", "conve")
]


@pytest.mark.parametrize("strategy", ["mirrored"], indirect=True)
@pytest.mark.parametrize("case", REPLICATED, ids=str)
@pytest.mark.usefixtures("uncompiled")
def test_two_replicas_train_as_one(case, strategy):
    """Each takes some of the queries; the sums of their gradients are those of the whole batch."""
    batch = query_batch()
    whole = candidate_softmax_objective(make(case, True), batch, SoftmaxOptions(), num_targets=5)
    with strategy.scope():
        model = make(case, True)
    parts = [
        QueryBatch(*(column[:1] for column in batch[:5]), batch.seed),
        QueryBatch(
            *(column[1:] for column in batch[:3]), batch.rows[1:] - 1, batch.targets[1:], batch.seed
        ),
    ]

    def replica(part):
        objective = candidate_softmax_objective(model, part, SoftmaxOptions(), num_targets=5)
        return [tf.convert_to_tensor(objective.loss), objective.gradients[0]]

    distributed = strategy.experimental_distribute_values_from_function(
        lambda context: parts[context.replica_id_in_sync_group]
    )
    found = strategy.run(replica, (distributed,))
    loss, gradient = (strategy.reduce("SUM", part, axis=None) for part in found)
    np.testing.assert_allclose(loss, whole.loss, rtol=1e-5)
    np.testing.assert_allclose(gradient, whole.gradients[0], rtol=1e-4, atol=1e-6)
