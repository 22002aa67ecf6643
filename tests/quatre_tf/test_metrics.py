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


@pytest.fixture(params=["MeanRank", "MeanReciprocalRank", "HitsAtK"])
def metric(request):
    arguments = {"k": 3} if request.param == "HitsAtK" else {}
    return getattr(metrics, request.param)(**arguments)


def test_updates_in_parts_and_inside_a_function(metric):
    metric.update_state(RANKS)
    whole = float(metric.result())
    metric.reset_state()
    update = tf.function(metric.update_state)
    update(tf.constant(RANKS[:2]))
    update(tf.constant(RANKS[2:]))
    assert float(metric.result()) == pytest.approx(whole, rel=1e-12)


def test_weights_are_counts(metric):
    metric.update_state([2.0, 5.0], sample_weight=[3, 1])
    weighted = float(metric.result())
    metric.reset_state()
    metric.update_state([2.0, 2.0, 2.0, 5.0])
    assert float(metric.result()) == pytest.approx(weighted, rel=1e-12)


def test_serialisation_round_trip(metric):
    again = keras.metrics.deserialize(keras.metrics.serialize(metric))
    assert type(again) is type(metric)
    assert again.get_config() == metric.get_config()
    assert again.name in ("mr", "mrr", "hits@3")


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
