"""A budget on a clock that a test moves; all times in seconds, worked out by hand."""

from trainers.tuning.budget import Budget


class FakeClock:
    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


def test_a_run_has_to_fit_with_the_longest_time_so_far():
    clock = FakeClock(0.0)
    budget = Budget(minutes=1, spent=0.0, clock=clock)
    for seconds in (20.0, 12.0):
        budget.saw_completed(seconds)
    clock.now = 40.0
    assert budget.has_time()
    clock.now = 40.1
    assert not budget.has_time()
    assert not budget.is_over


def test_time_of_earlier_sessions_counts():
    clock = FakeClock(5.0)
    budget = Budget(minutes=1, spent=45.0, clock=clock)
    clock.now = 19.0
    assert not budget.is_over
    clock.now = 20.0
    assert budget.is_over


def test_runs_that_follow_have_their_time_set_aside_up_to_a_third():
    clock = FakeClock(0.0)
    budget = Budget(minutes=1, spent=0.0, clock=clock)
    budget.saw_completed(10.0)
    # One after it: 10 + 10 seconds.
    clock.now = 40.0
    assert budget.has_time(runs_after=1)
    clock.now = 40.1
    assert not budget.has_time(runs_after=1)
    # Six after it would be 60 seconds; a third of the minute is set aside.
    clock.now = 30.0
    assert budget.has_time(runs_after=6)
    clock.now = 30.1
    assert not budget.has_time(runs_after=6)
