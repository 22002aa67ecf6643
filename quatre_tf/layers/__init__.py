"""Keras layers: quaternion tables and relation-aware rotations."""

from quatre_tf.layers.quaternion_embedding import QuaternionEmbedding
from quatre_tf.layers.relation_rotations import VARIANTS, RelationRotations

__all__ = ["VARIANTS", "QuaternionEmbedding", "RelationRotations"]
