"""Checks of constructor arguments, with one form of message."""

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from quatre_tf.errors import DataError

T = TypeVar("T")


def describe(name: str, value: Any) -> str:
    """Returns `Received: name=value (of type ...)`, the closing words of an argument error."""
    return f"Received: {name}={value!r} (of type {type(value).__name__})."


def check_positive(name: str, value: Any, most: float = math.inf) -> int:
    """Returns `value` when it is a positive integer of at most `most`, else raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        bound = "" if most == math.inf else f" of at most {most}"
        raise ValueError(f"`{name}` must be a positive integer{bound}. {describe(name, value)}")
    return value


def check_rate(name: str, value: Any) -> float:
    """Returns `value` when it is a number in [0, 1), else raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise ValueError(f"`{name}` must be a number from 0 to below 1. {describe(name, value)}")
    return value


def check_choice(name: str, value: T, choices: Sequence[T]) -> T:
    """Returns `value` when it is one of `choices`, else raises ValueError naming them."""
    if value not in choices:
        raise ValueError(
            f"`{name}` must be one of {', '.join(map(repr, choices))}. {describe(name, value)}"
        )
    return value


def check_table_dtype(policy: Any) -> None:
    """Raises ValueError unless a Keras dtype policy keeps tables in float32, as ranking reads them.

    With fewer bits, small steps of the optimizer would round to nothing, and scores would have
    made-up ties.
    """
    if policy.variable_dtype != "float32":
        raise ValueError(
            "The dtype policy must keep tables in float32, as 'float32' does, and 'mixed_bfloat16' "
            f"(rounds outputs). {describe('dtype', policy.name)}"
        )


def check_finite(name: str, table: np.ndarray) -> None:
    """Raises DataError if a table has NaN or infinite values."""
    if not np.isfinite(table).all():
        raise DataError(
            f"The table of {name} holds NaN or infinite values, so its scores mean nothing. "
            "Train it again with a smaller learning rate or a stronger regularization."
        )
