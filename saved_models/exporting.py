"""Writes a scorer as a version of a served model."""

import os
import pathlib
import shutil

import tensorflow as tf

from quatre_tf.errors import DataError
from saved_models.scorer import Scorer
from saved_models.signatures import signatures
from saved_models.versions import publish_version
from saved_models.warm_up import write_warm_up


def export_scorer(
    scorer: Scorer, base_dir: str | os.PathLike, version: int | None = None
) -> pathlib.Path:
    """Writes a scorer as the SavedModel `base_dir/<version>`, which appears complete or not at all.

    The requests that a server warms up with are beside it (`saved_models.warm_up`).

    Args:
        scorer: What to serve.
        base_dir: The local folder of the model; made if it is missing.
        version: Positive integer; None: one more than the highest there is.

    Returns:
        The folder of the new version.

    Raises:
        ValueError: `version` is not positive.
        DataError: The version is there already, or the folder cannot be written.
    """

    def save(folder: pathlib.Path) -> None:
        try:
            tf.saved_model.save(scorer, str(folder), signatures(scorer))
            write_warm_up(folder)
        except (OSError, tf.errors.OpError) as error:
            raise DataError(
                f"Cannot write a model to {base_dir}: {_first_line(error)}. It takes about "
                f"{_num_bytes(scorer) / 1e6:,.1f} MB, and {_free(folder) / 1e6:,.1f} MB "
                "are free there. Nothing of it was kept: make room, then export again."
            ) from error

    return publish_version(base_dir, save, version)


def _num_bytes(scorer: Scorer) -> int:
    return sum(v.shape.num_elements() * v.dtype.size for v in scorer.variables)


def _free(folder: pathlib.Path) -> int:
    return shutil.disk_usage(folder).free


def _first_line(error: OSError | tf.errors.OpError) -> str:
    text = error.message if isinstance(error, tf.errors.OpError) else str(error)
    return text.partition("\n")[0].rpartition("}} ")[2]
