"""What the programs share that measure the trainer of a data set and settings."""

import dataclasses
from typing import TYPE_CHECKING

from absl import flags

from benchmarks import measure
from datasets.program import import_tensorflow
from trainers import setting_flags
from trainers.training import config as configs
from trainers.training import presets

if TYPE_CHECKING:
    from quatre_tf.data.graph import Graph
    from trainers.training.trainer import Trainer


@dataclasses.dataclass(frozen=True)
class Measured:
    """A trainer and what it was made from.

    Attributes:
        graph: The graph.
        config: The settings.
        trainer: Before its first step.
        command: The command of the program that measures it.
    """

    graph: "Graph"
    config: configs.TrainConfig
    trainer: "Trainer"
    command: str


class TrainerFlags:
    """--dataset, where data lie, and the settings of `trainers.fit`."""

    def __init__(self) -> None:
        self._dataset = flags.DEFINE_string(
            "dataset", "wn18rr", "Name or folder, as for trainers.fit."
        )
        self._data = setting_flags.DataFlags()
        self._settings = setting_flags.SettingFlags(without=("strategy", "num_replicas"))
        # So that --help shows them.
        flags.adopt_module_key_flags(setting_flags)

    def make(self, program: str) -> Measured:
        """Returns the trainer of the flags; imports TensorFlow, after the flags were checked."""
        given = self._settings.given()
        recipe = given.pop("recipe", "paper")
        config = presets.resolve(self._dataset.value, recipe, given)
        command = measure.command(program, dataset=config.dataset, recipe=recipe, **given)

        import_tensorflow()
        import tensorflow as tf

        from datasets import catalog
        from trainers.training.trainer import Trainer

        graph = catalog.load(config.dataset, **self._data.given())
        trainer = Trainer(config, graph, tf.distribute.get_strategy())
        return Measured(graph, config, trainer, command)
