import keras
import pytest
import tensorflow as tf

from quatre_tf import metrics

RANKS = [1.0, 2.0, 3.5, 10.0, 20.0]


def test_rank_metrics_by_hand():
    result = metrics.rank_metrics(RANKS)
    assert list(result) == ["mr", "mrr", "hits@1", "hits@3", "hits@10"]
    assert result["mr"] == pytest.approx(36.5 / 5)
    assert result["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 3.5 + 1 / 10 + 1 / 20) / 5)
    assert (result["hits@1"], result["hits@3"], result["hits@10"]) == (0.2, 0.4, 0.8)
    assert all(type(value) is float for value in result.values())


def test_no_rank_is_an_error():
    with pytest.raises(ValueError, match="at least one rank"):
        metrics.rank_metrics([])


@pytest.mark.parametrize(
    ("metric", "name", "expected"),
    [
        (metrics.MeanRank(), "mr", 12 / 5),
        (metrics.MeanReciprocalRank(), "mrr", (1 + 3 / 2 + 1 / 5) / 5),
        (metrics.HitsAtK(3), "hits@3", 4 / 5),
    ],
    ids=["MeanRank", "MeanReciprocalRank", "HitsAtK"],
)
def test_metrics_of_keras(metric, name, expected):
    """Updated in parts inside a function, with weights that are counts, after a round trip."""
    again = keras.metrics.deserialize(keras.metrics.serialize(metric))
    assert type(again) is type(metric)
    assert again.get_config() == metric.get_config()
    assert again.name == name
    update = tf.function(again.update_state)
    update(tf.constant([1.0, 2.0]), tf.constant([1, 3]))
    update(tf.constant([5.0]))
    assert float(again.result()) == pytest.approx(expected, rel=1e-12)


def test_single_ranks_are_not_lost_in_large_sums():
    metric = metrics.MeanRank()
    metric.update_state([2.0**24])
    for _ in range(3):
        metric.update_state([1.0])
    assert float(metric.result()) == (2**24 + 3) / 4


@pytest.mark.parametrize("k", [0, -1, 1.0, True])
def test_k_is_checked(k):
    with pytest.raises(ValueError, match="`k` must be a positive integer"):
        metrics.HitsAtK(k)
