"""When a run validates, what it keeps and where it ends, on a machine of known speed."""

import dataclasses

import pytest

from tests.trainers.training import wiring
from trainers.training.config import TrainConfig

CONFIG = TrainConfig(
    "tiny",
    embedding_dim=2,
    batch_size=6,
    steps_per_epoch=4,
    lr_decay="linear",
    epochs=5,
    validate_every=2,
    patience=0,
)


@pytest.fixture(scope="module", autouse=True)
def _eager():
    with wiring.eagerly():
        yield


@pytest.fixture
def run(tmp_path):
    """`run(settings)` -> what the outer loop does."""

    def observe(machine_of=wiring.Machine, **settings):
        config = dataclasses.replace(CONFIG, **settings)
        return wiring.outer_loop(config, wiring.tiny_graph(), tmp_path / "run", machine_of)

    return observe


def test_epochs(run):
    seen = run()
    assert seen.validations == [8, 16, 20]
    assert seen.end == 20
    assert set(seen.decay_ends) == {20}


def test_a_pass_over_all_queries(run):
    """21 queries, 6 a step."""
    seen = run(recipe="strong", steps_per_epoch=0)
    assert (seen.validations, seen.end) == ([6, 12, 15], 15)


@pytest.mark.parametrize(
    ("settings", "validations", "best"),
    [
        # Hits@10 is best at the second validation, MRR at the third.
        ({}, 10, 2),
        ({"best_by": "mrr"}, 10, 3),
        ({"patience": 3}, 5, 2),
        ({"patience": 1}, 3, 2),
        ({"patience": 3, "best_by": "mrr"}, 6, 3),
        ({"patience": 20}, 10, 2),
    ],
)
def test_the_best_is_kept_and_patience_ends_a_run(run, settings, validations, best):
    seen = run(**{"epochs": 10, "validate_every": 1, **settings})
    assert (len(seen.validations), seen.best) == (validations, best)
    assert seen.end == 4 * validations


def assert_kept(seen, seconds, step_seconds):
    """`seconds` of training and validation; a validation takes 1 s, and a call about as much."""
    assert seconds - max(1.0, step_seconds) < seen.seconds <= seconds + 1.0 + step_seconds
    assert seen.validations[-1] == seen.end == seen.decay_ends[-1]


def test_a_budget_moves_the_end_of_the_decay_to_its_own(run):
    """A minute, less 2.5 seconds for the last validation and the test, and 5 for the export.

    A step takes 0.25 seconds. Epochs do not matter any more.
    """
    seen = run(budget_minutes=1.0)
    assert_kept(seen, 60 - 2.5 - 5, 0.25)
    # Every 6 2/3 seconds: more would take more than 15 % of the time.
    assert len(seen.validations) in (7, 8)
    assert seen.end == pytest.approx((60 - 2.5 - 5 - len(seen.validations) + 1) / 0.25, abs=4)
    # Known from the first call on, but for what validations cost.
    assert seen.decay_ends[1:] == pytest.approx([seen.end] * (len(seen.decay_ends) - 1), rel=0.2)
    later = seen.decay_ends[len(seen.decay_ends) // 2 :]
    assert later == pytest.approx([seen.end] * len(later), rel=0.05)


def test_a_budget_follows_a_machine_that_slows_down(run):
    class Machine(wiring.Machine):
        @property
        def step_seconds(self):
            return 0.25 if self.now < 1030 else 1.0

        @step_seconds.setter
        def step_seconds(self, value):
            pass

    seen = run(Machine, budget_minutes=1.0)
    assert_kept(seen, 60 - 2.5 - 5, 1.0)
    assert max(seen.decay_ends) > 1.5 * seen.end
    assert seen.end == pytest.approx(30 / 0.25 + 22 / 1.0, abs=25)
