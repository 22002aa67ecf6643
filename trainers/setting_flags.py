"""Flags that several programs share: the settings of `TrainConfig` and others."""

import dataclasses
import pathlib
from collections.abc import Collection, Sequence
from typing import Any

from absl import flags

from datasets.program import place_in_help
from quatre_tf.data.candidate_sets import CANDIDATE_SETS
from quatre_tf.errors import ConfigError
from quatre_tf.paths import user_path
from trainers.training.config import SETTINGS, TrainConfig
from trainers.training.presets import describe_defaults
from trainers.training.setting import GROUPS


class SettingFlags:
    """A flag for each setting of `TrainConfig` but the data set; left out, it is the preset's.

    Args:
        without: Settings that the program decides in another way.
    """

    def __init__(self, without: Collection[str] = ()):
        fields = [
            field
            for field in dataclasses.fields(TrainConfig)
            if field.name not in {"dataset", *without}
        ]
        fields.sort(key=lambda field: GROUPS.index(SETTINGS[field.name].group))
        self._flags = [_define(field) for field in fields]
        # Version 1's name, which would otherwise be an unknown flag.
        flags.DEFINE_string("variant", None, "Use --model.")
        flags.register_validator("variant", lambda value: value is None, "Use --model.")

    def given(self) -> dict[str, Any]:
        """Returns the settings that are on the command line."""
        return {flag.name: flag.value for flag in self._flags if flag.value is not None}


def existing_file(flag: flags.FlagHolder) -> pathlib.Path:
    """Returns the path of a file that a flag names.

    Raises:
        ConfigError: There is none.
    """
    path = user_path(flag.value)
    if not path.is_file():
        raise ConfigError(f"There is no file {path}, which --{flag.name} names.")
    return path


def seeds_of(texts: Sequence[str]) -> list[int]:
    """Returns the integers of --seeds.

    Raises:
        ConfigError: They are none.
    """
    try:
        return [int(text) for text in texts]
    except ValueError:
        received = ",".join(texts)
        raise ConfigError(f"--seeds must be integers: 1,2,3. Received: {received}.") from None


def candidate_sets_of(names: Sequence[str]) -> tuple[str, ...]:
    """Returns the candidate sets of --candidates in their usual order.

    Raises:
        ConfigError: There is none, or an unknown one.
    """
    for name in names:
        if name not in CANDIDATE_SETS:
            raise ConfigError(
                f"Unknown candidate set {name!r} in --candidates. "
                f"Available: {', '.join(CANDIDATE_SETS)}."
            )
    if not names:
        raise ConfigError(f"--candidates needs at least one of {', '.join(CANDIDATE_SETS)}.")
    return tuple(name for name in CANDIDATE_SETS if name in names)


def _define(field: dataclasses.Field) -> flags.FlagHolder:
    name, setting = field.name, SETTINGS[field.name]
    place_in_help(name, setting.group, setting.basic)
    text = f"{setting.help} Default: {describe_defaults(name)}."
    for by, readers in (("Recipes", setting.recipes), ("Models", setting.models)):
        if readers:
            text += f" {by}: {', '.join(readers)}."
    if setting.choices:
        return flags.DEFINE_enum(name, None, setting.choices, text)
    if field.type is bool:
        return flags.DEFINE_bool(name, None, text)
    if field.type is str:
        return flags.DEFINE_string(name, None, text)
    define = flags.DEFINE_integer if field.type is int else flags.DEFINE_float
    return define(name, None, text)
