import pytest

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
