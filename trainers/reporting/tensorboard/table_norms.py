"""Norms of the tables of a model, read in parts."""

import math

import numpy as np
import tensorflow as tf

from quatre_tf import QuatRE
from quatre_tf.layers import QuaternionEmbedding

# Floats gathered at once: 32 MiB.
_FLOATS_AT_ONCE = 1 << 23
# Quaternions of a histogram, in whole rows. TensorFlow takes 30 floats for each while it counts.
NUM_QUATERNIONS = 1 << 15


def tables_of(model: QuatRE) -> list[QuaternionEmbedding]:
    """Returns the tables: entities, relation and, where the variant has them, the rotations."""
    return [model.entities, *model.relations.tables]


def frobenius_norm(table: QuaternionEmbedding) -> float:
    """Returns the root of the sum of squares, read once and never copied as a whole."""
    rows = max(1, _FLOATS_AT_ONCE // (4 * table.embedding_dim))
    squares = 0.0
    for start in range(0, table.num_embeddings, rows):
        part = table.lookup(tf.range(start, min(start + rows, table.num_embeddings)))
        squares += 2.0 * float(tf.nn.l2_loss(part))
    return math.sqrt(squares)


def sample_rows(table: QuaternionEmbedding, seed: int) -> np.ndarray:
    """Draws the ids of about `NUM_QUATERNIONS` quaternions, all that there are if fewer."""
    number = min(table.num_embeddings, max(1, NUM_QUATERNIONS // table.embedding_dim))
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(table.num_embeddings, number, replace=False)).astype(np.int32)


def moduli(table: QuaternionEmbedding, ids: np.ndarray) -> tf.Tensor:
    """Returns |q| of the quaternions in some rows: `[len(ids), embedding_dim]`."""
    return tf.norm(tf.reshape(table.lookup(ids), [-1, 4, table.embedding_dim]), axis=1)


def rotation_angles(model: QuatRE, relation_ids: np.ndarray) -> tf.Tensor:
    """Returns how far each w_r is from the real numbers: `[len(relation_ids), embedding_dim]`.

    That is arccos(Re w / |w|), in radians. As <h ⊗ w, t> = <h, t ⊗ conj(w)>, a score stays the same
    with head and tail exchanged where w is real, 0 or pi, and turns its sign at pi / 2.
    """
    rotations = model.relations.fold(model.relations.lookup(relation_ids))
    imaginary = tf.norm(rotations[:, 1:], axis=1)
    return tf.math.atan2(imaginary, rotations[:, 0])
