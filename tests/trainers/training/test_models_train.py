"""Every score function trains with every recipe, and a resumed training is the same to the bit."""

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf.layers.registry import SCORE_FUNCTIONS
from tests.trainers.training.distributed_case import random_graph
from trainers.training import presets
from trainers.training.checkpoints import Checkpoints, RunState
from trainers.training.server_trainer import make_trainer

# The sampled recipe for each; the others where the objective takes another path.
CASES = [("sampled", name) for name in SCORE_FUNCTIONS]
CASES += [(recipe, name) for recipe in ("paper", "strong") for name in ("complex", "transe")]


def make(recipe, model):
    given = {"model": model, "embedding_dim": 3, "init_scale": 0.1, "batch_size": 9}
    config = presets.resolve("random", recipe, given)
    return make_trainer(config, random_graph(), tf.distribute.get_strategy())


@pytest.mark.parametrize(("recipe", "model"), CASES)
def test_a_resumed_training_is_the_same(recipe, model, tmp_path):
    trainer = make(recipe, model)
    start = trainer.model.tables()
    losses = [trainer.train(2).loss]
    Checkpoints(tmp_path, trainer, RunState()).save()
    losses.append(trainer.train(2).loss)
    assert np.isfinite(losses).all()
    assert all((start[name] != table).any() for name, table in trainer.model.tables().items())
    other = make(recipe, model)
    Checkpoints(tmp_path, other, RunState()).restore()
    assert other.train(2).loss == losses[1]
    for name, table in trainer.model.tables().items():
        np.testing.assert_array_equal(other.model.tables()[name], table)
