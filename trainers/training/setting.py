"""Declaration and validation of the settings of `TrainConfig`."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from quatre_tf.errors import ConfigError

# Normal numbers of float32, in which TensorFlow computes: smaller ones are taken for 0.
_SMALLEST, _LARGEST = 2.0**-126, (2 - 2.0**-23) * 2.0**127
# Far beyond any use, and within 64 bits for the number of a step.
_MAX_COUNT = 10**9
# Of the flags, in the order of --help.
GROUPS = ("data", "run", "model", "recipe", "regularization", "advanced")


@dataclasses.dataclass(frozen=True)
class LogUniform:
    """Numbers whose logarithm is uniform in [log low, log high]."""

    low: float
    high: float


Choices = tuple[float, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setting:
    """Everything about a setting but its name, type and default.

    Flags, validation, the search space of `quatre tune` and docs/settings.md are derived from it.

    Attributes:
        help: What it is, for --help and docs/settings.md.
        group: One of `GROUPS`.
        basic: Whether --help shows it; the others are for --help_all.
        choices: The texts it may be; empty for any text, and for other types.
        at_least: The smallest number it may be.
        at_most: The largest number it may be, if not only what its type allows.
        above: A number that it must exceed.
        recipes: The recipes that read it; empty for all.
        models: The models that read it; empty for all. Of a setting that is called as an option of
            score functions, these are filled in.
        resumable: Whether a resumed run may change it, because it changes neither what a step
            computes nor which weights are best.
        search: What `quatre tune` tries, by recipe; an optimizer's goes before the recipe's.
    """

    help: str
    group: str
    basic: bool = False
    choices: tuple[str, ...] = ()
    at_least: float = 0
    at_most: float | None = None
    above: float | None = None
    recipes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    resumable: bool = False
    search: Mapping[str, Choices | LogUniform] = dataclasses.field(default_factory=dict)

    def is_read_by(self, recipe: str, model: str) -> bool:
        """Returns whether a run of this recipe and model reads the setting."""
        return recipe in (self.recipes or (recipe,)) and model in (self.models or (model,))


def setting(default: Any = dataclasses.MISSING, **declared: Any) -> Any:
    """Returns a dataclass field with the attributes of `Setting` as its metadata."""
    return dataclasses.field(default=default, metadata={"setting": Setting(**declared)})


def check_value(field: dataclasses.Field, declared: Setting, value: Any) -> None:
    """Raises ConfigError unless the type and bounds of the field allow the value."""
    accepted, noun = _TYPES[field.type]
    # In Python a truth value is a whole number.
    is_of_type = isinstance(value, accepted) and isinstance(value, bool) == (field.type is bool)
    expect(is_of_type, field.name, noun, value)
    if declared.choices:
        options = ", ".join(declared.choices)
        expect(value in declared.choices, field.name, f"one of {options}", value)
    if field.type not in (int, float):
        return
    if declared.above is not None:
        expect(value > declared.above, field.name, f"above {declared.above:g}", value)
    expect(value >= declared.at_least, field.name, f"at least {declared.at_least:g}", value)
    if field.type is int:
        most = declared.at_most or _MAX_COUNT
        expect(value <= most, field.name, f"at most {most}", value)
        return
    most = declared.at_most or _LARGEST
    expect(value <= most, field.name, f"at most {most:g}", value)
    expect(not 0 < value < _SMALLEST, field.name, f"at least {_SMALLEST:g}, or 0", value)


def expect(is_right: bool, name: str, expectation: str, value: Any) -> None:
    """Raises ConfigError that says what a setting must be, unless it is right."""
    if not is_right:
        raise ConfigError(f"--{name} must be {expectation}. Received: {value!r}.")


# By the type of a field: what it may be in JSON, and what to call it.
_TYPES: dict[Any, tuple[tuple[type, ...], str]] = {
    str: ((str,), "text"),
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
}
