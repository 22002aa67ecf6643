"""Times PyTorch-BigGraph; runs in the environment that `benchmarks.peers` creates for it.

Usage: PYTHON -I benchmarks/peer_biggraph.py SETTINGS, where SETTINGS is a JSON object; prints one.
"""

import json
import logging
import pathlib
import re
import sys
import tempfile
import typing
from typing import Any

from torchbiggraph import schema
from torchbiggraph.config import ConfigSchema
from torchbiggraph.converters.import_from_tsv import convert_input_data
from torchbiggraph.train import train

_REPORT = re.compile(r"Processed (\d+) edges in ([\d.]+) s")


class Reports(logging.Handler):
    """Keeps what the trainer says that an epoch took, without reading, writing and checkpoints."""

    def __init__(self) -> None:
        super().__init__()
        self.epochs: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Reads one line of the log."""
        if found := _REPORT.search(record.getMessage()):
            self.epochs.append({"seconds": float(found[2]), "triples": int(found[1])})


def _unpack_optional(type_: Any) -> Any:
    """Returns T of Optional[T]; TypeError for other types."""
    arguments = typing.get_args(type_)
    if type(None) not in arguments:
        raise TypeError("Not an optional type")
    return arguments[0]


# Its own compares by identity, which holds only as long as `typing` happens to cache the type: the
# release and newer PyTorch together fail to write a configuration. Nothing that is timed calls it.
schema.unpack_optional = _unpack_optional


def training(settings: dict[str, Any]) -> dict[str, Any]:
    """Trains two epochs and returns what the second took: the first starts the workers."""
    logger, reports = logging.getLogger("torchbiggraph"), Reports()
    logger.setLevel(logging.INFO)
    logger.addHandler(reports)
    with tempfile.TemporaryDirectory() as folder:
        config = _config(settings, pathlib.Path(folder))
        convert_input_data(
            config.entities,
            config.relations,
            config.entity_path,
            config.edge_paths,
            [pathlib.Path(settings["folder"]) / "train.txt"],
            lhs_col=0,
            rel_col=1,
            rhs_col=2,
            dynamic_relations=True,
        )
        train(config)
    return reports.epochs[-1]


def _config(settings: dict[str, Any], folder: pathlib.Path) -> Any:
    """Returns the configuration of its own FB15k example with other sizes."""
    relation = {"name": "all", "lhs": "all", "rhs": "all", "operator": "complex_diagonal"}
    return ConfigSchema.from_dict(
        {
            "entity_path": str(folder),
            "edge_paths": [str(folder / "train")],
            "checkpoint_path": str(folder / "model"),
            "entities": {"all": {"num_partitions": 1}},
            "relations": [relation],
            "dynamic_relations": True,
            "dimension": settings["dimension"],
            "global_emb": False,
            "comparator": "dot",
            "loss_fn": "softmax",
            "num_epochs": 2,
            "batch_size": settings["batch_size"],
            "num_uniform_negs": settings["num_uniform_negs"],
            "num_batch_negs": settings["num_batch_negs"],
            "lr": settings["learning_rate"],
            "workers": settings["threads"],
            "eval_fraction": 0,
        }
    )


if __name__ == "__main__":
    sys.stdout.write(json.dumps(training(json.loads(sys.argv[1]))) + "\n")
