"""A custom score function: SimplE, trained on countries.

Usage: python -m examples.own_score_function
"""

import keras
import tensorflow as tf

from datasets import catalog
from datasets.program import run_program
from quatre_tf import (
    FilteredRanking,
    KGEModel,
    LogisticLoss,
    ScoreFunction,
    SparseAdagrad,
    labelled_triples,
)
from quatre_tf.data.batches import TripleBatches


@keras.saving.register_keras_serializable("examples")
class SimplE(ScoreFunction):
    """Kazemi and Poole (NeurIPS 2018): an entity has one vector as head and another as tail.

    The score is the mean of `h_head * r * t_tail` and `t_head * r_inverse * h_tail`, summed over
    the components. Entity rows are `[head | tail]`, relation rows `[r | r_inverse]`.
    """

    entity_components = 2
    multilinear = True

    def tail_queries(self, heads: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `[h_tail r_inverse | h_head r] / 2`."""
        as_head, as_tail = tf.split(heads, 2, axis=-1)
        relation, inverse = tf.split(folded, 2, axis=-1)
        return tf.concat([as_tail * inverse, as_head * relation], axis=-1) / 2

    def head_queries(self, tails: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `[t_tail r | t_head r_inverse] / 2`."""
        as_head, as_tail = tf.split(tails, 2, axis=-1)
        relation, inverse = tf.split(folded, 2, axis=-1)
        return tf.concat([as_tail * relation, as_head * inverse], axis=-1) / 2


def main() -> None:
    """Trains a model with it and prints what it reaches on the test split."""
    figures = train(epochs=10)
    print(f"Test split: MRR {figures['mrr']:.4f}, Hits@10 {figures['hits@10']:.4f}")


def train(epochs: int, steps_per_epoch: int = 100) -> dict[str, float]:
    """Trains on countries and returns the figures of the test split."""
    keras.utils.set_random_seed(1)
    graph = catalog.load("countries")
    layer = SimplE(graph.num_relations, embedding_dim=64)
    model = KGEModel(graph.num_entities, graph.num_relations, 64, score_function=layer)
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
