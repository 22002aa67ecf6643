"""Scores that are no products: in blocks, of both sides at once, and at the edge of the ball."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import KGEModel, from_tables
from quatre_tf.layers import pointwise
from quatre_tf.objectives import compiled_queries
from tests import systems

ENTITIES = 11
CASES = [case for case in systems.CASES if case.name in ("transr", "stranse", "murp", "convkb")]


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return request.param


@pytest.fixture
def model(case):
    model = KGEModel(ENTITIES, 2, 3, case.name, options=dict(case.options))
    model.assign_tables(systems.random_tables(case, model, seed=7))
    return model


@pytest.mark.parametrize("floats", [1, 600])
def test_blocks_are_put_together(case, model, floats, monkeypatch):
    """Queries for tails and heads in one tile, in blocks of four rows and few queries."""
    monkeypatch.setattr(pointwise, "_ROWS", 4)
    monkeypatch.setattr(pointwise, "_FLOATS", floats)
    given, relations, everyone = np.array([0, 3, 4, 8, 3]), np.array([1, 0, 1, 1, 0]), range(11)
    is_head = np.array([False, True, True, False, False])
    function, tables = model.score_function, model.tables()
    table = tf.convert_to_tensor(model.entities.embeddings.value)
    queries = compiled_queries.queries(
        function,
        tf.gather(table, given),
        function.folded(),
        tf.constant(relations, tf.int32),
        tf.constant(is_head),
    )
    queries, _ = function.encode(queries, function.shared_weights)
    of_tails = systems.scores(case, tables, given[:, None], relations[:, None], everyone)
    of_heads = systems.scores(case, tables, everyone, relations[:, None], given[:, None])
    expected = np.where(is_head[:, None], of_heads, of_tails)
    tile = tf.function(function.similarity.tile)(table, queries)
    np.testing.assert_allclose(tile, expected.T, rtol=1e-5, atol=1e-5)


def test_gradients_of_blocks_add_up(model, rng, monkeypatch):
    """A query at a time, compared with automatic differentiation of all pairs at once."""
    monkeypatch.setattr(pointwise, "_FLOATS", 1)
    function = model.score_function
    rows = tf.convert_to_tensor(model.entities.embeddings.value)
    given, folded = rows[:4], function.folded()
    with tf.GradientTape(persistent=True) as of_queries:
        of_queries.watch([given, folded])
        queries = function.tail_queries(given, tf.gather(folded, [0, 1, 1, 0]))
        queries, _ = function.encode(queries, function.shared_weights)
    upstream = tf.constant(rng.normal(size=[ENTITIES, 4]), tf.float32)
    shape = [ENTITIES, 4, -1]
    with tf.GradientTape() as tape:
        tape.watch([rows, queries])
        pairs = function.similarity.pairs(
            tf.broadcast_to(queries, [ENTITIES, *queries.shape]),
            tf.broadcast_to(rows[:, tf.newaxis], [*shape[:2], rows.shape[1]]),
        )
    expected = tape.gradient(pairs, [rows, queries], tf.cast(upstream, pairs.dtype))
    found = function.similarity.tile_gradients(
        rows, queries, function.similarity.tile(rows, queries), upstream
    )
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-4, atol=1e-5)
    # What queries have of their relation may have its gradient with any of them.
    for source in (given, folded):
        gradient, wanted = (
            tf.convert_to_tensor(of_queries.gradient(queries, source, output_gradients=upstream))
            for upstream in (found[1], expected[1])
        )
        np.testing.assert_allclose(gradient, wanted, rtol=1e-4, atol=1e-5)


def test_murp_keeps_points_in_the_ball():
    """Two opposite points outside: as far apart as points of norm 1 - 1e-5 are, and clamped."""
    tables = {
        "entity": [[3.0, 0.0], [-5.0, 0.0], [0.0, 0.0]],
        "relation": [[0.0, 0.0]],
        "relation_diagonal": [[1.0, 1.0]],
        "head_bias": [0.5, 0.0, 0.0],
        "tail_bias": [0.0, 0.25, 0.0],
    }
    model = from_tables("murp", {name: np.array(table) for name, table in tables.items()})
    with tf.GradientTape() as tape:
        scores = model.score_triples([0, 2], [0, 0], [1, 2])
    farthest = 2 * np.arctanh(1 - 1e-5)
    np.testing.assert_allclose(scores, [0.75 - farthest**2, 0.0], atol=1e-6)
    gradients = tape.gradient(scores, model.trainable_variables)
    assert all(np.isfinite(tf.convert_to_tensor(gradient)).all() for gradient in gradients)
    with tf.GradientTape() as tape:
        of_tiles = model.score_tails([0, 2], [0, 0]), model.score_heads([0, 0], [1, 2])
    np.testing.assert_allclose(np.diagonal(tf.gather(of_tiles[0], [1, 2], axis=1)), scores)
    np.testing.assert_allclose(np.diagonal(tf.gather(of_tiles[1], [0, 2], axis=1)), scores)
    gradients = tape.gradient(of_tiles, model.trainable_variables)
    assert all(np.isfinite(tf.convert_to_tensor(gradient)).all() for gradient in gradients)


def test_sizes_are_read_from_the_tables():
    model = KGEModel(4, 2, 3, "transr", reciprocal=True, options={"relation_dim": 5})
    again = from_tables("transr", model.tables(), reciprocal=True)
    assert (again.num_relations, again.score_function.relation_dim) == (2, 5)
    model = KGEModel(4, 2, 3, "convkb", options={"num_filters": 2})
    assert from_tables("convkb", model.tables()).score_function.num_filters == 2
    with pytest.raises(ValueError, match=r"must have the shapes .*weights"):
        from_tables("convkb", {**model.tables(), "weights": np.ones(5)})


def test_convkb_begins_close_to_transe():
    keras.utils.set_random_seed(5)
    model = KGEModel(30, 2, 16, "convkb", options={"num_filters": 8})
    tables = model.tables()
    same = from_tables("transe", {name: tables[name] for name in ("entity", "relation")}, norm=1)
    scores, distances = (m.score_tails(range(30), [0, 1] * 15) for m in (model, same))
    assert np.corrcoef(np.ravel(scores), np.ravel(distances))[0, 1] > 0.95
    assert np.mean(scores) == pytest.approx(np.mean(distances), rel=0.1)
