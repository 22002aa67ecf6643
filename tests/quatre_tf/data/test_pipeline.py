import numpy as np
import pytest
import scipy.stats
import tensorflow as tf

from quatre_tf.data.batches import Share, TripleBatches


def take(graph, count, *, seed=5, start=0, batch_size=7, num_negatives=3, **options):
    batches = TripleBatches(
        graph, batch_size=batch_size, num_negatives=num_negatives, seed=seed, **options
    )
    return list(batches.dataset(start).take(count).as_numpy_iterator())


def assert_same(left, right):
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        assert one.keys() == other.keys()
        for key in one:
            np.testing.assert_array_equal(one[key], other[key])


def test_shapes_are_static(synthetic_graph):
    batches = TripleBatches(synthetic_graph, batch_size=7, num_negatives=3, seed=1)
    assert batches.dataset().element_spec == {
        **dict.fromkeys(("heads", "relations", "tails"), tf.TensorSpec([7], tf.int32)),
        "corrupted": tf.TensorSpec([7, 3], tf.int32),
        "tail_corrupted": tf.TensorSpec([7, 3], tf.bool),
    }


@pytest.mark.parametrize(("seed", "start"), [(0, 0), (-1, 10**12), (2**62, 10**12)])
def test_a_batch_is_a_function_of_seed_and_number(synthetic_graph, seed, start):
    first = take(synthetic_graph, 6, seed=seed, start=start)
    assert_same(first, take(synthetic_graph, 6, seed=seed, start=start))
    # Resumed at 4: exactly the batches 4 and 5.
    assert_same(first[4:], take(synthetic_graph, 2, seed=seed, start=start + 4))


@pytest.mark.parametrize("num_parts", [1, 2, 3, 7])
def test_parts_are_the_batch(synthetic_graph, num_parts):
    """However many replicas of however many processes share a batch of 7, its rows are the same."""
    batches = TripleBatches(synthetic_graph, batch_size=7, num_negatives=3, seed=5)
    (whole,) = take(synthetic_graph, 1, start=4)
    first = Share(num_parts, 0, max(1, num_parts // 2))
    rest = Share(num_parts, first.count, num_parts - first.count)
    parts = [
        part
        for share in (first, rest)
        if share.count
        for part in batches.dataset(4, share).take(share.count).as_numpy_iterator()
    ]
    assert len(parts) == num_parts
    assert {len(part["heads"]) for part in parts} <= {7 // num_parts, 7 // num_parts + 1}
    for key, value in whole.items():
        np.testing.assert_array_equal(np.concatenate([part[key] for part in parts]), value)


def test_batches_seeds_and_modes_differ(synthetic_graph):
    batches = [
        *take(synthetic_graph, 4),
        *take(synthetic_graph, 4, seed=6),
        # (seed, number) must not be mixed up: (5, 6) is not (6, 5).
        *take(synthetic_graph, 1, seed=5, start=6),
        *take(synthetic_graph, 1, seed=6, start=5),
    ]
    assert len({batch["corrupted"].tobytes() for batch in batches}) == 10
    bern, uniform = take(synthetic_graph, 20), take(synthetic_graph, 20, corruption="uniform")
    assert any((b["tail_corrupted"] != u["tail_corrupted"]).any() for b, u in
               zip(bern, uniform, strict=True))  # fmt: skip


def test_positives_are_train_triples_drawn_uniformly(synthetic_graph):
    batches = take(synthetic_graph, 100, batch_size=100)
    columns = [np.concatenate([b[key] for b in batches]) for key in ("heads", "relations", "tails")]
    triples, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)

    expected = np.unique(synthetic_graph.train, axis=0)
    np.testing.assert_array_equal(triples, expected)
    assert scipy.stats.chisquare(counts).pvalue > 1e-4


def test_columns_of_the_draw_are_independent(synthetic_graph):
    """Neither side nor entity of a negative may depend on those of its neighbours."""
    batches = take(synthetic_graph, 60, batch_size=500, num_negatives=2, corruption="uniform")
    sides = np.concatenate([batch["tail_corrupted"] for batch in batches])
    entities = np.concatenate([batch["corrupted"] for batch in batches])
    for table in (
        np.histogram2d(*sides.T, bins=2)[0],
        np.histogram2d(*entities.T, bins=12)[0],
        np.histogram2d(entities[:, 0], sides[:, 1], bins=(12, 2))[0],
    ):
        assert scipy.stats.chi2_contingency(table).pvalue > 1e-4
