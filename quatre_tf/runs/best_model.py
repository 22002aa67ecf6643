"""Loading the graph and the best model of a run."""

import collections
import json
import os
import pathlib
import zipfile
from typing import Any

import h5py
import keras

from quatre_tf.errors import DataError
from quatre_tf.layers.embedding import without_initial_values
from quatre_tf.model import KGEModel, table_sizes, without_tables
from quatre_tf.paths import BEST_MODEL, CALIBRATION

_WEIGHTS = "model.weights.h5"
_MEMBERS = {"config.json", "metadata.json", _WEIGHTS}
# Where 0.1.0 had its models, as their files say.
_VERSION_0_1 = "quatre_tf.models."


def save_best(model: KGEModel, run_dir: pathlib.Path) -> None:
    """Replaces the best model of a run; the one before stays until the new one is complete."""
    path = run_dir / BEST_MODEL
    path.parent.mkdir(exist_ok=True)
    partial, weights = (path.with_name(f"partial{end}") for end in (".keras", ".weights.h5"))
    try:
        for file in (partial, weights):
            _reserve(
                file, sum(4 * variable.value.shape.num_elements() for variable in model.weights)
            )
        # `model.save` would write the weights into memory before the archive.
        model.save_weights(weights)
        config = keras.saving.serialize_keras_object(model)
        with zipfile.ZipFile(partial, "w") as archive:
            archive.writestr("metadata.json", json.dumps({"keras_version": keras.__version__}))
            archive.writestr("config.json", json.dumps(config))
            archive.write(weights, _WEIGHTS)
        # It belongs to the weights before.
        (run_dir / CALIBRATION).unlink(missing_ok=True)
        os.replace(partial, path)
    finally:
        for left in (partial, weights):
            left.unlink(missing_ok=True)


def _reserve(path: pathlib.Path, num_bytes: int) -> None:
    """Raises OSError if a file of this size does not fit: a full disk crashes the HDF5 library."""
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, num_bytes)


def load_model(run_dir: pathlib.Path, into: KGEModel | None = None) -> KGEModel:
    """Returns the best model of a run.

    Args:
        run_dir: The run.
        into: A model of the same settings that takes the weights; None: a new one.

    Raises:
        DataError: There is no model, or it cannot be read.
    """
    path = run_dir / BEST_MODEL
    if not path.is_file():
        raise DataError(
            f"{run_dir} holds no trained model: {path} is missing. "
            "Expected a run of `quatre fit` that has validated at least once."
        )
    try:
        config = _checked_config(path)
        with without_initial_values():
            model = into or keras.saving.deserialize_keras_object(
                {**config, "compile_config": None}
            )
            # From the archive: `keras.models.load_model` reads the whole file into memory before.
            model.load_weights(path)
    except DataError:
        raise
    # What a damaged file makes of zipfile, h5py, Keras and TensorFlow is a list without an end.
    except Exception as error:
        reason = " ".join(str(error).split())
        raise DataError(
            f"Cannot read the model {path}: {reason} Expected what `quatre fit` saved: restore it,"
            " or train again."
        ) from error
    return model


def _checked_config(path: pathlib.Path) -> dict[str, Any]:
    """Expects the files of a saved model, not compressed: what fits into the file fits in memory.

    Returns:
        What describes the model.

    Raises:
        ValueError: The archive holds something else.
        DataError: It is of 0.1.0.
    """
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        unknown = {member.filename for member in members} - _MEMBERS
        if unknown:
            raise ValueError(f"It holds {min(unknown)!r} beside {', '.join(sorted(_MEMBERS))}.")
        if sum(member.file_size for member in members) > path.stat().st_size:
            raise ValueError("It unpacks to more than its size.")
        config = json.loads(archive.read("config.json"))
        if str(config.get("module")).startswith(_VERSION_0_1):
            raise DataError(
                f"The model {path} was saved by 0.1.0, whose weights have another layout. "
                "Train again."
            )
        _check_sizes(path, config, archive)
    return config


def _check_sizes(path: pathlib.Path, config: dict[str, Any], archive: zipfile.ZipFile) -> None:
    """Expects the weights that the config describes: Keras makes those before it reads the file.

    Raises:
        ValueError: There are others, or they are not all in the file as they are.
        DataError: The config describes something else than a KGEModel.
    """
    model_class = keras.saving.get_registered_object(config["registered_name"])
    if not (isinstance(model_class, type) and issubclass(model_class, KGEModel)):
        raise DataError(f"{path}: expected a KGEModel, received a {config['class_name']}.")
    stored: list[h5py.Dataset] = []
    with archive.open(_WEIGHTS) as member, h5py.File(member) as weights:
        weights.visititems(
            lambda _, item: stored.append(item) if isinstance(item, h5py.Dataset) else None
        )
        # Compressed, never written, or in another file.
        if sum(item.nbytes for item in stored) > archive.getinfo(member.name).file_size:
            raise ValueError("Its weights unpack to more than their size.")
        found = collections.Counter(item.size for item in stored)
    expected = collections.Counter(table_sizes(without_tables(model_class, config["config"])))
    if expected - found:
        raise ValueError(
            f"Its settings describe weights of {_listed(expected)} floats, but it holds weights of "
            f"{_listed(found)}."
        )


def _listed(sizes: collections.Counter[int]) -> str:
    return ", ".join(f"{size:,}" for size in sorted(sizes.elements()))
