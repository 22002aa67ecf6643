"""Batches of positives and corrupted triples as what Keras' `fit` takes: inputs and labels."""

from collections.abc import Mapping

import tensorflow as tf


def labelled_triples(batch: Mapping[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns all triples of a batch, positives first, and their labels.

    Made for `tf.data.Dataset.map`.

    Args:
        batch: `heads`, `relations`, `tails` `[batch]`, `corrupted` and `tail_corrupted`
            `[batch, num_negatives]`, as the fields of `sampled_logistic.SampledBatch`.

    Returns:
        Triples `[batch * (1 + num_negatives), 3]` of head, relation and tail; labels
        `[batch * (1 + num_negatives)]` float32, +1 for the positives and -1 for the corrupted.
    """
    heads, relations, tails = (batch[name] for name in ("heads", "relations", "tails"))
    corrupted, tail_corrupted = batch["corrupted"], batch["tail_corrupted"]
    positives = tf.stack([heads, relations, tails], axis=1)
    negatives = tf.stack(
        [
            tf.where(tail_corrupted, heads[:, tf.newaxis], corrupted),
            tf.broadcast_to(relations[:, tf.newaxis], tf.shape(corrupted)),
            tf.where(tail_corrupted, corrupted, tails[:, tf.newaxis]),
        ],
        axis=-1,
    )
    labels = [tf.ones(tf.shape(heads)), -tf.ones(tf.size(corrupted)[tf.newaxis])]
    return tf.concat([positives, tf.reshape(negatives, [-1, 3])], 0), tf.concat(labels, 0)
