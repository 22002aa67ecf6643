"""A scoring layer of one's own in the place of RelationRotations: ComplEx, trained on countries.

Usage: python -m examples.own_scoring_layer
"""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from datasets import catalog
from datasets.program import run_program
from quatre_tf import (
    FilteredRanking,
    LogisticLoss,
    QuaternionEmbedding,
    QuatRE,
    SparseAdagrad,
    labelled_triples,
)
from quatre_tf.data.batches import TripleBatches


@keras.saving.register_keras_serializable("examples")
class ComplEx(keras.layers.Layer):
    """Trouillon et al. (ICML 2016): the score is Re(h * r * conj(t)) over 2n complex numbers.

    The first two components of the quaternions are the real parts, the others the imaginary ones.
    """

    def __init__(self, num_relations: int, embedding_dim: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.num_relations, self.embedding_dim = num_relations, embedding_dim
        # float32 whatever the policy: ranks are taken from these scores.
        self.table = QuaternionEmbedding(num_relations, embedding_dim, dtype="float32")

    def build(self, input_shape: Any = None) -> None:
        """Creates the table."""
        self.table.build(input_shape)

    def tail_queries(self, heads: tf.Tensor, relations: tf.Tensor) -> tf.Tensor:
        """Returns `h * r` `[batch, 4, n]`: its dot product with a tail is the score."""
        return _multiply(heads, self.table(relations))

    def head_queries(self, relations: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
        """Returns `t * conj(r)` `[batch, 4, n]`: its dot product with a head is the same score."""
        signs = tf.constant([[1.0], [1.0], [-1.0], [-1.0]])
        return _multiply(tails, signs * self.table(relations))

    def get_config(self) -> dict:
        """Returns the constructor's arguments."""
        sizes = {"num_relations": self.num_relations, "embedding_dim": self.embedding_dim}
        return {**super().get_config(), **sizes}


def _multiply(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Returns the complex product of `[batch, 4, n]`: two real parts, two imaginary ones."""
    (a_real, a_imaginary), (b_real, b_imaginary) = (tf.split(x, 2, axis=1) for x in (a, b))
    real = a_real * b_real - a_imaginary * b_imaginary
    return tf.concat([real, a_real * b_imaginary + a_imaginary * b_real], axis=1)


def main(argv: Sequence[str]) -> None:
    """Trains the layer and prints what it reaches on the test split."""
    del argv
    figures = train(epochs=10)
    print(f"Test split: MRR {figures['mrr']:.4f}, Hits@10 {figures['hits@10']:.4f}")


def train(epochs: int, steps_per_epoch: int = 100) -> dict[str, float]:
    """Trains on countries and returns the figures of the test split."""
    keras.utils.set_random_seed(1)
    graph = catalog.load("countries")
    layer = ComplEx(graph.num_relations, embedding_dim=32)
    model = QuatRE(graph.num_entities, graph.num_relations, embedding_dim=32, variant=layer)
    model.compile(optimizer=SparseAdagrad(0.1, global_clipnorm=0.5), loss=LogisticLoss())
    batches = TripleBatches(graph, batch_size=200, num_negatives=5, seed=1).dataset()
    model.fit(
        batches.map(labelled_triples),
        steps_per_epoch=steps_per_epoch,
        epochs=epochs,
        shuffle=False,
        verbose=2,
        callbacks=[FilteredRanking(graph.valid, known_triples=graph.known)],
    )
    return FilteredRanking(graph.test, known_triples=graph.known).figures(model)


if __name__ == "__main__":
    run_program(main)
