"""`best/model.keras` that is damaged, of another model, or was made to do harm."""

import io
import json
import os
import zipfile

import h5py
import keras
import numpy as np
import pytest

from quatre_tf import QuatRE
from quatre_tf.errors import DataError
from quatre_tf.runs.best_model import BEST_MODEL, load_model, save_best

WEIGHTS = "model.weights.h5"
_ENTITIES = 2 * 10**11
UNREADABLE = "Cannot read the model .* restore it, or train again"
TOO_LARGE = "Its settings describe weights of .* floats"


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """The members of a saved model."""
    folder = tmp_path_factory.mktemp("run")
    save_best(QuatRE(6, 2, 4), folder)
    with zipfile.ZipFile(folder / BEST_MODEL) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def with_config(**changes):
    def change(original):
        settings = json.loads(original["config.json"])
        settings["config"].update(changes)
        return {"config.json": json.dumps(settings)}

    return change


def with_table(**dataset):
    """With other weights of the entities, of the arguments of h5py's `create_dataset`."""

    def change(original):
        file = io.BytesIO(original[WEIGHTS])
        with h5py.File(file, "r+") as weights:
            del weights["entities/vars/0"]
            if "link" in dataset:
                weights["entities/vars/0"] = dataset["link"]
            else:
                weights["entities/vars"].create_dataset("0", **dataset)
        return {WEIGHTS: file.getvalue()}

    return change


def without_bytes(**storage):
    """As many weights as the settings say, and more than there is memory anywhere."""
    table = with_table(shape=(_ENTITIES, 16), dtype="f4", **storage)
    settings = with_config(num_entities=_ENTITIES)
    return lambda original: settings(original) | table(original)


def with_member(name, content):
    """None: without it."""
    return lambda original: {name: content}


def cut(size):
    return lambda original: {WEIGHTS: original[WEIGHTS][:size]}


def code(module, name):
    settings = {"module": module, "class_name": name, "config": {}, "registered_name": None}
    return with_member("config.json", json.dumps(settings))


FOREIGN = {
    "more entities": (UNREADABLE, with_config(num_entities=7)),
    "entities in words": (UNREADABLE, with_config(num_entities="six")),
    "unknown variant": (UNREADABLE, with_config(variant="rotate")),
    "initializer of another module": (
        UNREADABLE,
        with_config(embeddings_initializer={"module": "os", "class_name": "abort", "config": {}}),
    ),
    # More than there is anywhere: the test would not survive the attempt.
    "huge": (TOO_LARGE, with_config(num_entities=_ENTITIES)),
    "huge and reciprocal": (TOO_LARGE, with_config(reciprocal=True, num_relations=10**12)),
    **{
        f"settings {str(text)[:9]}": ("Cannot read the model", with_member("config.json", text))
        for text in ("", "{", "[]", "5", "null", "[" * 100_000, None)
    },
    **{f"weights of {size} bytes": ("Cannot read the model", cut(size)) for size in (0, 100, 5000)},
    "no weights": ("Cannot read the model", with_member(WEIGHTS, None)),
    "other shape": (UNREADABLE, with_table(data=np.zeros([7, 16], np.float32))),
    **{
        f"weights {where}": ("weights unpack to more than their size", without_bytes(**storage))
        for where, storage in {
            "never written": {},
            "compressed": {"compression": "gzip"},
            "in another file": {"external": [("x", 0, 4 * 16 * _ENTITIES)]},
        }.items()
    },
    "text": (UNREADABLE, with_table(data=b"text")),
    "another file": (UNREADABLE, with_table(link=h5py.ExternalLink("/etc/passwd", "/x"))),
    "a member beside the model": (
        r"It holds '\.\./\.\./evil\.txt' beside config\.json",
        with_member("../../evil.txt", b"x"),
    ),
    "zip bomb": ("It unpacks to more than its size", with_member(WEIGHTS, bytes(10**7))),
    "system": ("expected a KGEModel, received a system", code("os", "system")),
    "eval": ("expected a KGEModel, received a eval", code("builtins", "eval")),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_model_with_other_members(kind, original, tmp_path):
    message, change = FOREIGN[kind]
    path = tmp_path / BEST_MODEL
    path.parent.mkdir()
    compression = zipfile.ZIP_DEFLATED if kind == "zip bomb" else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in (original | change(original)).items():
            if content is not None:
                archive.writestr(name, content)
    with pytest.raises(DataError, match=message) as error:
        load_model(tmp_path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"\x80\x04K\x01.", b"PK\x03\x04 not really"])
def test_no_archive(tmp_path, content):
    (tmp_path / BEST_MODEL).parent.mkdir()
    (tmp_path / BEST_MODEL).write_bytes(content)
    with pytest.raises(DataError, match="Cannot read the model"):
        load_model(tmp_path)


def test_a_model_with_code_in_it(tmp_path):
    trace = tmp_path / "executed"
    name = str(trace)
    code = keras.layers.Lambda(lambda inputs: os.makedirs(name, exist_ok=True) or inputs)
    model = keras.Sequential([keras.Input((2,)), code])
    (tmp_path / BEST_MODEL).parent.mkdir()
    model.save(tmp_path / BEST_MODEL)
    trace.rmdir()  # Keras has called it once, to learn the shapes.
    with pytest.raises(DataError, match="expected a KGEModel, received a Sequential"):
        load_model(tmp_path)
    assert not trace.exists()
