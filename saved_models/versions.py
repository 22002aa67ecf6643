"""Versions of a served model: numbered SavedModel folders, as TensorFlow Serving watches them."""

import errno
import os
import pathlib
import shlex
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from quatre_tf.atomic_files import partial_folder
from quatre_tf.data.graph import Graph
from quatre_tf.errors import DataError
from quatre_tf.paths import printable, user_path
from saved_models.scorer import Outputs, Scorer
from saved_models.storage import writing
from saved_models.warm_up import write_warm_up

# TensorFlow Serving reads versions as 64-bit integers.
MAX_VERSION = 2**63 - 1


def export_scorer(
    scorer: Scorer, base_dir: str | os.PathLike, version: int | None = None
) -> pathlib.Path:
    """Writes a scorer as the SavedModel `base_dir/<version>`, which appears complete or not at all.

    It includes the requests that a server warms up with (`saved_models.warm_up`).

    Args:
        scorer: What to serve.
        base_dir: The local folder of the model; made if it is missing.
        version: Positive integer; None: one more than the highest there is.

    Returns:
        The folder of the new version.

    Raises:
        ValueError: `version` is not in 1 ... `MAX_VERSION`.
        DataError: The version is there already, or the folder cannot be written.
    """
    num_bytes = sum(v.shape.num_elements() * v.dtype.size for v in scorer.variables)
    remedy = "Nothing of it was kept: make room, then export again."

    def save(folder: pathlib.Path) -> None:
        with writing("a model to", pathlib.Path(base_dir), remedy, num_bytes):
            served = signatures(scorer)
            tf.saved_model.save(scorer, str(folder), served)
            write_warm_up(folder, served)

    return publish_version(base_dir, save, version)


def example_question(graph: Graph) -> str:
    """Returns flags of `quatre predict` that ask for the tail of the last train triple."""
    head, relation, _ = graph.train[-1]
    names = graph.entities.names[head], graph.relations.names[relation]
    return "--head={} --relation={}".format(*(shlex.quote(printable(name)) for name in names))


def exported_text(version: pathlib.Path, graph: Graph) -> str:
    """Returns where an export is and the command that asks it."""
    folder = shlex.quote(str(version))
    return (
        f"Exported {version}\nNext: quatre predict --saved_model={folder} {example_question(graph)}"
    )


def signatures(scorer: Scorer) -> dict[str, Any]:
    """Returns the functions to serve, by the name of the signature.

    The optional scalars have the defaults of the methods. They are in the SignatureDef, from which
    TensorFlow Serving fills in what a gRPC request leaves out, and in the graph, so that a session
    need not feed them. In Python the methods of what `tf.saved_model.load` returns have them too;
    only its `signatures[name](...)` asks for every input.
    """
    predict_tails = _with_defaults(scorer.predict_tails)
    return {
        "serving_default": predict_tails,
        "predict_tails": predict_tails,
        "predict_heads": _with_defaults(scorer.predict_heads),
        "score_triples": scorer.score_triples,
        "classify_triples": scorer.classify_triples,
        "rank_tails": scorer.rank_tails,
        "rank_heads": scorer.rank_heads,
    }


def _with_defaults(predict: Any) -> Any:
    """Returns a prediction of the scorer as a function whose optional scalars have defaults."""
    # A SavedModel records defaults that are tensors, and no tensor may exist at import: tf.config
    # has to come before the first.
    top_k, yes, no = tf.constant(10), tf.constant(True), tf.constant(False)

    @tf.function(input_signature=predict.input_signature, autograph=False)
    def signature(
        first: tf.Tensor,
        second: tf.Tensor,
        top_k: tf.Tensor = top_k,
        filtered: tf.Tensor = yes,
        type_constrained: tf.Tensor = no,
    ) -> Outputs:
        # Refuses other shapes: a session does not compare them with the signature.
        options = (tf.ensure_shape(option, []) for option in (top_k, filtered, type_constrained))
        return predict(first, second, *options)

    return signature


def publish_version(
    base_dir: str | os.PathLike,
    write: Callable[[pathlib.Path], None],
    version: int | None = None,
) -> pathlib.Path:
    """Makes a new version folder appear at once and complete, or not at all.

    Args:
        base_dir: The local folder of the model; made if it is missing.
        write: Fills the empty folder that it is given.
        version: Positive integer; None: one more than the highest there is.

    Returns:
        The new folder, `base_dir/<version>`.

    Raises:
        ValueError: `version` is not in 1 ... `MAX_VERSION`.
        DataError: The version is there already, or the folder cannot be written.
    """
    if version is not None and not 1 <= version <= MAX_VERSION:
        raise ValueError(f"`version` must be in 1 ... {MAX_VERSION}. Received: {version}.")
    base_dir = user_path(base_dir)
    try:
        base_dir.mkdir(parents=True, exist_ok=True)
        _check_free(base_dir, version)
        with partial_folder(base_dir) as folder:
            write(folder)
            return _rename(folder, base_dir, version)
    except OSError as error:
        raise DataError(f"Cannot write a model to {base_dir}: {error}") from error


def next_version(base_dir: pathlib.Path) -> int:
    """Returns one more than the highest number among the names in `base_dir`, at least 1.

    Raises:
        DataError: The highest number is `MAX_VERSION`.
    """
    names = [path.name for path in base_dir.iterdir()]
    numbers = [int(name) for name in names if name.isascii() and name.isdecimal()]
    version = 1 + max((number for number in numbers if number <= MAX_VERSION), default=0)
    if version > MAX_VERSION:
        raise DataError(f"{base_dir} holds version {MAX_VERSION}, the last one. Give a --version.")
    return version


def _check_free(base_dir: pathlib.Path, version: int | None) -> None:
    if version is not None and (base_dir / str(version)).exists():
        raise DataError(
            f"Version {version} is already in {base_dir}, and what is served must not change. "
            f"The next free one is {next_version(base_dir)}, which is also the default."
        )


def _rename(folder: pathlib.Path, base_dir: pathlib.Path, version: int | None) -> pathlib.Path:
    while True:
        target = base_dir / str(version or next_version(base_dir))
        try:
            # Atomic; and it fails if the target has become a folder with files in it.
            return folder.rename(target)
        except OSError as error:
            # Another export was quicker: take the next number.
            if version is not None or error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
