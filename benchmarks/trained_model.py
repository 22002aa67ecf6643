"""A model for measurements of ranking, whose cost depends on how well the answers rank."""

import tensorflow as tf

from quatre_tf import QuatRE
from quatre_tf.data.graph import Graph
from trainers.training import presets
from trainers.training.trainer import Trainer


def trained_model(graph: Graph, embedding_dim: int, epochs: int) -> QuatRE:
    """Returns a model after some epochs of the `sampled` preset; with none its start."""
    given = {"embedding_dim": embedding_dim, **({"epochs": epochs} if epochs else {})}
    config = presets.resolve(graph.name, "sampled", given)
    trainer = Trainer(config, graph, tf.distribute.get_strategy())
    trainer.train(epochs * trainer.recipe.steps_per_epoch)
    return trainer.model
