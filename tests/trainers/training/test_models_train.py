"""Score functions train with the recipes, and a resumed training is the same to the bit."""

import contextlib

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import SCORE_FUNCTIONS
from tests.trainers.training.distributed_case import random_graph
from tests.trainers.training.wiring import eagerly
from trainers.training import presets
from trainers.training.checkpoints import Checkpoints, RunState
from trainers.training.server_trainer import make_trainer

# The sampled recipe for each but those that differ in their formula alone (tests of gradients have
# it); the others where the objective takes another path.
SAME = {"quate", "quatre_head", "quatre_tail", "quatre_affine", "complex", "rotate", "stranse"}
CASES = [("sampled", name, "adagrad") for name in sorted({*SCORE_FUNCTIONS} - SAME)]
CASES += [(r, name, "adagrad") for r in ("paper", "strong") for name in ("complex", "transe")]
CASES += [("self_adversarial", name, "adam") for name in ("complex", "rotate")]


def make(recipe, model, optimizer):
    given = {"model": model, "embedding_dim": 6, "init_scale": 0.1, "batch_size": 9}
    given["optimizer"] = optimizer
    config = presets.resolve("random", recipe, given)
    return make_trainer(config, random_graph(), tf.distribute.get_strategy())


@pytest.fixture
def _compiled_where_it_differs(case):
    """The formulas of the sampled recipe are compiled by test_conformance.py, too."""
    recipe, model, _ = case
    with eagerly() if recipe == "sampled" and model != "conve" else contextlib.nullcontext():
        yield


@pytest.mark.parametrize("case", CASES, ids="-".join)
@pytest.mark.usefixtures("_compiled_where_it_differs")
def test_a_resumed_training_is_the_same(case, tmp_path):
    trainer = make(*case)
    start = trainer.model.tables()
    losses = [trainer.train(2).loss]
    Checkpoints(tmp_path, trainer, RunState()).save()
    losses.append(trainer.train(2).loss)
    assert np.isfinite(losses).all()
    trained = trainer.model.tables().keys() - trainer.model.score_function.statistics().keys()
    assert all((start[name] != trainer.model.tables()[name]).any() for name in trained)
    # A new trainer starts from a checkpoint in test_fitting.py, by every recipe but the last; here
    # the one that has gone on goes back, which compiles nothing a second time.
    other = make(*case) if case[0] == "self_adversarial" else trainer
    trained_on = trainer.model.tables()
    Checkpoints(tmp_path, other, RunState()).restore()
    assert other.train(2).loss == losses[1]
    for name, table in trained_on.items():
        np.testing.assert_array_equal(other.model.tables()[name], table)
