import pytest

from benchmarks.cluster_runs import mean_loss


def test_mean_loss_weighs_calls_by_their_steps():
    """One step of 4, then three of 2: ten in four steps."""
    assert mean_loss([{"step": 1, "loss": 4.0}, {"step": 4, "loss": 2.0}]) == pytest.approx(2.5)
