"""Requests that TensorFlow Serving runs before it offers a version.

The first request of a signature is slow, because TensorFlow prepares the graph then. The server
reads `assets.extra/tf_serving_warmup_requests` of a version and runs what it finds, so that no
user waits for it.
"""

import pathlib
import urllib.parse
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

WARM_UP = pathlib.PurePath("assets.extra", "tf_serving_warmup_requests")


def write_warm_up(folder: pathlib.Path, signatures: Mapping[str, Any]) -> pathlib.Path:
    """Adds to an exported model one warm-up request for each of its signatures.

    A request asks one row, of names that the model knows; every optional scalar is 1 or true, so
    that the branches of the filters are prepared too.

    Args:
        folder: A SavedModel that `saved_models.versions` wrote.
        signatures: The functions that it serves.

    Returns:
        The file: TFRecord, one `tensorflow.serving.PredictionLog` a record.

    Raises:
        OSError: The model cannot be read.
        tf.errors.OpError: The file cannot be written.
    """
    path = folder / WARM_UP
    path.parent.mkdir(exist_ok=True)
    names = _names(folder / "assets")
    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature, function in sorted(signatures.items()):
            inputs = {
                spec.name: names.get(spec.name, np.ones([], spec.dtype.as_numpy_dtype))
                for spec in function.input_signature
            }
            writer.write(_prediction_log(signature, inputs))
    return path


def _names(assets: pathlib.Path) -> dict[str, np.ndarray]:
    """Returns the first entity and the first relation as inputs `[1]`."""
    first = {}
    for kind in ("entities", "relations"):
        with (assets / f"{kind}.txt").open(encoding="utf-8", newline="\n") as lines:
            # NameTable escapes as URLs do.
            first[kind] = np.array([urllib.parse.unquote(next(lines).removesuffix("\n"))], object)
    return {"head": first["entities"], "relation": first["relations"], "tail": first["entities"]}


def _prediction_log(signature: str, inputs: dict[str, np.ndarray]) -> bytes:
    """Returns a serialized `tensorflow.serving.PredictionLog` of a predict request.

    The classes of these messages are in tensorflow-serving-api, which an export should not need.
    The field numbers are defined in prediction_log.proto, predict.proto and model.proto.
    """
    entries = [
        (2, _message((1, name.encode()), (2, tf.make_tensor_proto(value).SerializeToString())))
        for name, value in sorted(inputs.items())
    ]
    model_spec = _message((3, signature.encode()))
    request = _message((1, model_spec), *entries)
    predict_log = _message((1, request))
    return _message((6, predict_log))


def _message(*fields: tuple[int, bytes]) -> bytes:
    """Returns a protobuf message of length-delimited fields, given as number (< 16) and content."""
    parts = [bytes([number << 3 | 2]) + _varint(len(data)) + data for number, data in fields]
    return b"".join(parts)


def _varint(value: int) -> bytes:
    if value < 0x80:
        return bytes([value])
    return bytes([value & 0x7F | 0x80]) + _varint(value >> 7)
