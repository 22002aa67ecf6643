"""Models: QuatRE and its variants."""

from quatre_tf.models.quatre import QuatRE

__all__ = ["QuatRE"]
