"""Batches of positives and corrupted triples for tests, and the gradients of objectives."""

import numpy as np
import tensorflow as tf

from quatre_tf.objectives.sampled_logistic import SampledBatch


def random_batch(rng, num_entities, num_relations, batch_size, num_negatives):
    """Returns a batch with many repeated ids, whatever the graph."""

    def draw(bound, *shape):
        return tf.constant(rng.integers(0, bound, shape), tf.int32)

    return SampledBatch(
        heads=draw(num_entities, batch_size),
        relations=draw(num_relations, batch_size),
        tails=draw(num_entities, batch_size),
        corrupted=draw(num_entities, batch_size, num_negatives),
        tail_corrupted=tf.constant(rng.random((batch_size, num_negatives)) < 0.4),
    )


def from_triples(triples, labels):
    """Returns the batch that rows [rows, 3] stand for: positives first, then their negatives.

    Negative j of positive b is row `batch + j * batch + b`, as the reference implementation writes.
    """
    batch_size = int(np.sum(labels == 1))
    positives = triples[:batch_size]
    negatives = np.swapaxes(triples[batch_size:].reshape(-1, batch_size, 3), 0, 1)
    head_kept = negatives[..., 0] == positives[:, np.newaxis, 0]
    tail_kept = negatives[..., 2] == positives[:, np.newaxis, 2]
    assert np.all(head_kept | tail_kept)
    assert np.all(negatives[..., 1] == positives[:, np.newaxis, 1])
    return SampledBatch(
        heads=tf.constant(positives[:, 0], tf.int32),
        relations=tf.constant(positives[:, 1], tf.int32),
        tails=tf.constant(positives[:, 2], tf.int32),
        corrupted=tf.constant(np.where(head_kept, negatives[..., 2], negatives[..., 0]), tf.int32),
        tail_corrupted=tf.constant(head_kept),
    )


def as_triples(batch):
    """Returns all triples of a batch as [rows, 3] (positives first) and their labels [rows]."""
    h, r, t, corrupted, tail_corrupted = (x.numpy() for x in batch)
    repeat = np.ones_like(corrupted)
    negatives = np.stack(
        [
            np.where(tail_corrupted, h[:, np.newaxis], corrupted),
            r[:, np.newaxis] * repeat,
            np.where(tail_corrupted, corrupted, t[:, np.newaxis]),
        ],
        axis=-1,
    ).reshape(-1, 3)
    positives = np.stack([h, r, t], axis=1)
    labels = np.concatenate([np.ones(len(positives)), -np.ones(len(negatives))])
    return np.concatenate([positives, negatives]), labels


def dense_gradients(objective, model):
    """Returns every gradient in the shape of its table; no row comes twice."""
    found = []
    for gradient, table in zip(objective.gradients, model.trainable_variables, strict=True):
        if isinstance(gradient, tf.IndexedSlices):
            assert len(np.unique(gradient.indices)) == len(gradient.indices)
            whole = np.zeros(table.shape, gradient.values.dtype.as_numpy_dtype)
            whole[gradient.indices.numpy()] = gradient.values
            gradient = whole
        found.append(np.asarray(gradient))
    return found
