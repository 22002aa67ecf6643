"""Probabilities from scores."""

from quatre_tf.calibration.platt import Curves

__all__ = ["Curves"]
