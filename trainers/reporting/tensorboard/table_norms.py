"""Norms of the tables of a model, read in parts."""

import math
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from quatre_tf.layers.relation_rotations import RelationRotations
from quatre_tf.model import KGEModel
from quatre_tf.objectives.regularizers import squared_moduli
from quatre_tf.quaternion import as_quaternions
from quatre_tf.sharded_rows import is_sharded, lookup_rows, rows_of, sum_of_squares

# Floats gathered at once: 32 MiB.
_FLOATS_AT_ONCE = 1 << 23
# Moduli of a histogram, in whole rows. TensorFlow takes 30 floats for each while it counts.
NUM_MODULI = 1 << 15


class Table(NamedTuple):
    """A table of a model.

    Attributes:
        name: For people.
        variable: `[rows, width]`.
        components: Floats per modulus.
    """

    name: str
    variable: tf.Variable
    components: int

    def rows(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns the rows `[k, width]` of ids `[k]`."""
        return lookup_rows(self.variable, ids)


def tables_of(model: KGEModel) -> list[Table]:
    """Returns the entity table, then the tables of the relations."""
    function = model.score_function
    tables = {"entities": model.entities.embeddings}
    tables |= {name: function.tables[name] for name in function.relation_tables()}
    return [
        Table(
            name,
            table.value,
            function.entity_components if table.shape[1] == function.entity_width else 1,
        )
        for name, table in tables.items()
    ]


def frobenius_norm(table: Table) -> float:
    """Returns the root of the sum of squares, read once and never copied as a whole."""
    if is_sharded(table.variable):
        return math.sqrt(sum_of_squares(rows_of(table.variable)))
    count, width = table.variable.shape
    rows = max(1, _FLOATS_AT_ONCE // width)
    squares = 0.0
    for start in range(0, count, rows):
        part = table.rows(tf.range(start, min(start + rows, count)))
        squares += 2.0 * float(tf.nn.l2_loss(part))
    return math.sqrt(squares)


def sample_rows(table: Table, seed: int) -> np.ndarray:
    """Draws the ids of rows with about `NUM_MODULI` moduli, all that there are if fewer."""
    count, width = table.variable.shape
    number = min(count, max(1, NUM_MODULI * table.components // width))
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(count, number, replace=False)).astype(np.int32)


def moduli(table: Table, ids: np.ndarray) -> tf.Tensor:
    """Returns the moduli of the components of some rows: `[len(ids), width / components]`."""
    return tf.sqrt(squared_moduli(table.rows(ids), table.components))


def rotation_angles(function: RelationRotations, relation_ids: np.ndarray) -> tf.Tensor:
    """Returns how far each w_r is from the real numbers: `[len(relation_ids), embedding_dim]`.

    That is arccos(Re w / |w|), in radians. As <h ⊗ w, t> = <h, t ⊗ conj(w)>, a score stays the same
    with head and tail exchanged where w is real, 0 or pi, and changes its sign at pi / 2.
    """
    rotations = as_quaternions(function.folded(tf.constant(relation_ids)))
    imaginary = tf.norm(rotations[:, 1:], axis=1)
    return tf.math.atan2(imaginary, rotations[:, 0])
