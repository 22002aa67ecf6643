import numpy as np
import pytest
import tensorflow as tf

from quatre_tf.errors import DataError
from saved_models import entity_table
from saved_models.entity_table import EntityTable

NUM_ENTITIES, WIDTH = 37, 8


@pytest.fixture
def table(rng):
    table = rng.normal(size=(NUM_ENTITIES, WIDTH)).astype(np.float32)
    table[5] = table[30] = table[11]
    table[20] = 0
    return table


@pytest.fixture
def small_tiles(monkeypatch):
    """Tiles of 5 entities, so that 37 make seven of them and a rest."""
    monkeypatch.setattr(entity_table, "_LEAST_TILE", 5)
    monkeypatch.setattr(entity_table, "_TILE_SCORES", 1)


def admit_all(scores, start):
    return scores


def top_k(entities, queries, k, admit=admit_all):
    """Asked in a graph, as it is served."""
    ask = tf.function(lambda queries, k: entities.top_k(queries, k, admit))
    return [output.numpy() for output in ask(tf.constant(queries), tf.constant(k))]


def test_rows(table):
    ids = [20, 0, 36, 0]
    rows = EntityTable(table).rows(ids)
    assert rows.dtype == tf.float32
    np.testing.assert_allclose(rows, table[ids], rtol=1e-6)


@pytest.mark.parametrize("batch", [0, 1, 3, 17])
@pytest.mark.usefixtures("small_tiles")
def test_scores(table, rng, batch):
    queries = rng.normal(size=(batch, WIDTH)).astype(np.float32)
    scores = tf.function(EntityTable(table).scores)(tf.constant(queries))
    expected = queries @ table.T
    assert scores.shape == expected.shape
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("batch", [0, 1, 3, 17])
@pytest.mark.parametrize("k", [1, 4, 6, 36, 37, 1000])
@pytest.mark.usefixtures("small_tiles")
def test_top_k(table, rng, batch, k):
    queries = rng.normal(size=(batch, WIDTH)).astype(np.float32)
    scores, ids = top_k(EntityTable(table), queries, k)
    width = min(k, NUM_ENTITIES)
    assert scores.shape == ids.shape == (batch, width)
    # Rounded, so that the three equal rows are equal here as well; the sort is stable.
    expected = np.round(queries.astype(np.float64) @ table.T, 9)
    order = np.argsort(-expected, axis=1, kind="stable")[:, :width]
    np.testing.assert_array_equal(ids, order)
    np.testing.assert_allclose(
        scores, np.take_along_axis(expected, order, axis=1), rtol=1e-4, atol=1e-5
    )


def test_a_tile_is_told_where_it_starts(table, small_tiles):
    def only_33(scores, start):
        ids = start + tf.range(tf.shape(scores)[1])
        return tf.where(ids == 33, scores, -np.inf)

    scores, ids = top_k(EntityTable(table), table[:2], 3, only_33)
    assert ids[:, 0].tolist() == [33, 33]
    np.testing.assert_allclose(scores[:, 0], table[:2] @ table[33], rtol=1e-5)
    assert (scores[:, 1:] == -np.inf).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_must_be_finite(table, value):
    table[3, 2] = value
    with pytest.raises(DataError, match="table of entities holds NaN or infinite"):
        EntityTable(table)
