"""ConvE in training: batch statistics and dropout. `test_conformance.py` has the rest."""

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import KGEModel
from quatre_tf.layers.normalization import dropout

SEED = tf.constant([3, 4], tf.int64)
KEEP_ALL = {"input_dropout": 0.0, "feature_map_dropout": 0.0, "hidden_dropout": 0.0}


def encoded(function, queries, seed):
    return function.encode_in_training(tf.constant(queries, tf.float32), seed)[0].numpy()


def test_moving_statistics_follow_those_of_the_batch(rng):
    function = KGEModel(9, 2, 6, "conve", options=KEEP_ALL).score_function
    queries = rng.normal(3.0, 2.0, [5, 12])
    encoded(function, queries, SEED)
    tables = {name: table.numpy() for name, table in function.tables.items()}
    # Of all pixels; they begin at 0 and 1, and 0.9 of them stays.
    expected = 0.1 * queries.mean(), 0.9 + 0.1 * queries.var()
    found = tables["hr2d_0_running_mean"][0], tables["hr2d_0_running_var"][0]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    encoded(function, queries, None)
    for name, table in tables.items():
        np.testing.assert_array_equal(function.tables[name].numpy(), table)


@pytest.mark.parametrize("name", KEEP_ALL)
def test_dropout_depends_on_the_seed_and_is_for_training(name, rng):
    function = KGEModel(9, 2, 6, "conve", options={**KEEP_ALL, name: 0.5}).score_function
    queries = rng.normal(size=[5, 12]).astype(np.float32)
    first, again, other = (encoded(function, queries, seed) for seed in (SEED, SEED, SEED + 1))
    np.testing.assert_array_equal(first, again)
    assert np.any(first != other)
    np.testing.assert_array_equal(
        encoded(function, queries, None), function.encode(queries, function.shared_weights)[0]
    )


def test_dropped_values_and_channels():
    values = tf.ones([50, 4, 3, 8])
    found = dropout(values, 0.2, SEED, 0).numpy()
    np.testing.assert_allclose(np.unique(found), [0.0, 1.25])
    assert found.mean() == pytest.approx(1.0, abs=0.03)
    assert np.any(dropout(values, 0.2, SEED, 1).numpy() != found)
    channels = dropout(values, 0.2, SEED, 0, whole_channels=True).numpy()
    assert np.all(channels == channels[:, :1, :1])
    assert channels.mean() == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(
    ("dim", "shape"), [(16, (4, 4)), (200, (10, 20)), (6, (2, 3)), (10, (2, 5))]
)
def test_images(dim, shape):
    assert KGEModel(3, 2, dim, "conve").score_function.image_shape == shape


def test_sizes_without_an_image_are_refused():
    with pytest.raises(ValueError, match=r"height and width, at least 2 x 3.*embedding_dim=7"):
        KGEModel(3, 2, 7, "conve")
    with pytest.raises(ValueError, match="`hidden_dropout` must be a number from 0 to below 1"):
        KGEModel(3, 2, 6, "conve", options={"hidden_dropout": 1.0})
