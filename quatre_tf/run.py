"""What a training run leaves behind for everything after it: the graph and the best weights.

    run_dir/graph/             names and triples (`quatre_tf.data.graph.Graph.save`)
    run_dir/best/model.keras   the model with the weights that validated best

Evaluation, prediction and export need nothing else, so that they answer alike wherever the data
set has gone since.
"""

import dataclasses
import os
import pathlib
import zipfile

import keras

from quatre_tf.data.graph import Graph
from quatre_tf.errors import DataError
from quatre_tf.model import KGEModel
from quatre_tf.paths import user_path

GRAPH = "graph"
BEST_MODEL = pathlib.PurePath("best", "model.keras")
_MEMBERS = {"config.json", "metadata.json", "model.weights.h5"}


@dataclasses.dataclass(frozen=True)
class Trained:
    """A trained model and the graph that it was trained on."""

    model: KGEModel
    graph: Graph
    run_dir: pathlib.Path


def save_best(model: KGEModel, run_dir: pathlib.Path) -> None:
    """Replaces the best model of a run; the one before stays until the new one is complete."""
    path = run_dir / BEST_MODEL
    path.parent.mkdir(exist_ok=True)
    partial = path.with_name("partial.keras")
    try:
        model.save(partial)
        os.replace(partial, path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def load_model(run_dir: pathlib.Path) -> KGEModel:
    """Returns the best model of a run; DataError when there is none or it cannot be read."""
    path = run_dir / BEST_MODEL
    if not path.is_file():
        raise DataError(
            f"{run_dir} holds no trained model: {path} is missing. "
            "Expected a --run_dir of trainers.fit that has validated at least once."
        )
    try:
        _check_members(path)
        model = keras.models.load_model(path, compile=False)
    # What a damaged file makes of zipfile, h5py, Keras and TensorFlow is a list without an end.
    except Exception as error:
        reason = " ".join(str(error).split())
        raise DataError(
            f"Cannot read the model {path}: {reason} Expected what trainers.fit saved: restore it,"
            " or train again."
        ) from error
    if not isinstance(model, KGEModel):
        raise DataError(f"{path}: expected a KGEModel, received a {type(model).__name__}.")
    return model


def _check_members(path: pathlib.Path) -> None:
    """Expects the files of a saved model, not compressed: what fits into the file fits in memory.

    Raises:
        ValueError: The archive holds something else.
    """
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    unknown = {member.filename for member in members} - _MEMBERS
    if unknown:
        raise ValueError(f"It holds {min(unknown)!r} beside {', '.join(sorted(_MEMBERS))}.")
    if sum(member.file_size for member in members) > path.stat().st_size:
        raise ValueError("It unpacks to more than its size.")


def load_trained(run_dir: str | os.PathLike) -> Trained:
    """Reads the graph and the best model of a run.

    Raises:
        DataError: The folder is not a run, or model and graph do not belong together.
    """
    run_dir = user_path(run_dir)
    if not run_dir.is_dir():
        raise DataError(f"There is no run directory {run_dir}.")
    model = load_model(run_dir)
    graph = Graph.load(run_dir / GRAPH)
    sizes = (model.num_entities, model.num_relations)
    if sizes != (graph.num_entities, graph.num_relations):
        raise DataError(
            f"The model of {run_dir} has {sizes[0]} entities and {sizes[1]} relations, its graph "
            f"{graph.num_entities} and {graph.num_relations}: they are of different runs."
        )
    return Trained(model, graph, run_dir)
