import pytest

from trainers.training.config import TrainConfig
from trainers.training.planning import BudgetPlan


def plan_of(minutes, test_share, **seen):
    return BudgetPlan(TrainConfig("any", budget_minutes=minutes), test_share, **seen)


def walk(plan, step_seconds, validation_seconds, step=0, now=0.0, most=7):
    """Drives a plan with a machine of constant speed; returns validations, last step and time."""
    validations = []
    while steps := min(plan.steps_to_go(step, now), most):
        step, now = step + steps, now + steps * step_seconds
        plan.saw_steps(steps, steps * step_seconds)
        if plan.is_validation_due(step, now):
            now += validation_seconds
            plan.saw_validation(now, validation_seconds)
            validations.append(step)
    return validations, step, now


@pytest.mark.parametrize("validation_seconds", [1.0, 12.0])
def test_budget_is_kept_whatever_validation_costs(validation_seconds):
    validations, step, now = walk(plan_of(5.0, 2.0), 0.1, validation_seconds, now=20.0)
    # The test split takes as long as two validations; five seconds are for the export.
    assert 280.0 < now + 2 * validation_seconds + 5.0 < 300.0 + 1.0
    assert validations[-1] == step
    share = max(0.15 * 300, 4 * validation_seconds)
    assert len(validations) * validation_seconds <= share + validation_seconds
    assert len(validations) >= 5


def test_the_first_call_is_forgotten_after_the_second():
    """It holds compilation; a decaying learning rate would be near 0 for a while."""
    plan = plan_of(5.0, 1.0)
    plan.saw_steps(1, 8.0)
    plan.saw_steps(20, 0.4)
    assert plan.last_step(21, 9.0) == pytest.approx(280 / 0.02, rel=0.05)


@pytest.mark.parametrize("validation_seconds", [0.5, 5.0, 12.0, 16.0])
def test_three_minutes_are_enough_for_five_validations(validation_seconds):
    validations, _, _ = walk(plan_of(3.0, 1.0), 0.05, validation_seconds, now=8.0)
    assert 5 <= len(validations) <= 11


def test_half_of_a_budget_is_for_training():
    validations, _, now = walk(plan_of(3.0, 1.0), 0.05, 40.0)
    assert len(validations) * 40.0 <= now / 2 + 40.0


@pytest.mark.parametrize("validation_seconds", [1.0, 12.0, 60.0])
def test_a_complete_run_is_over_when_it_is_resumed(validation_seconds):
    """Starting again takes less time than was kept for the test split."""
    _, step, now = walk(plan_of(20.0, 1.2), 0.15, validation_seconds)
    resumed = plan_of(20.0, 1.2, validated=now, slowest_validation=validation_seconds)
    assert resumed.steps_to_go(step, now + 0.5) == 0


def test_a_resumed_run_keeps_its_budget():
    plan = plan_of(20.0, 1.0, validated=800.0, slowest_validation=60.0)
    validations, _, now = walk(plan, 0.15, 60.0, now=1000.0)
    # The one that was due, and the last.
    assert len(validations) == 2
    assert now + 60.0 + 5.0 < 1200.0 + 1.0


def test_a_validation_that_was_cut_short_is_due_at_once():
    plan = plan_of(20.0, 1.0, validated=300.0, slowest_validation=8.0)
    assert not plan.is_validation_due(50, 410.0)
    assert plan.is_validation_due(50, 421.0)
