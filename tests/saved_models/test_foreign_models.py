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


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """The members of a saved model."""
    folder = tmp_path_factory.mktemp("run")
    save_best(QuatRE(6, 2, 4), folder)
    with zipfile.ZipFile(folder / BEST_MODEL) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def refused(tmp_path, original):
    """`refused(message, members)`: a model with some of its members replaced, None: left out."""

    def check(message, changes, compression=zipfile.ZIP_STORED):
        path = tmp_path / BEST_MODEL
        path.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(path, "w", compression) as archive:
            for name, content in (original | changes).items():
                if content is not None:
                    archive.writestr(name, content)
        with pytest.raises(DataError, match=message) as error:
            load_model(tmp_path)
        assert str(path) in str(error.value)
        assert "\n" not in str(error.value)

    return check


def with_config(original, **changes):
    settings = json.loads(original["config.json"])
    settings["config"].update(changes)
    return {"config.json": json.dumps(settings)}


@pytest.mark.parametrize(
    "changes",
    [
        {"num_entities": 7},
        {"num_entities": "six"},
        {"variant": "rotate"},
        {"embeddings_initializer": {"module": "os", "class_name": "abort", "config": {}}},
    ],
    ids=str,
)
def test_settings_of_another_model(refused, original, changes):
    refused("Cannot read the model .* restore it, or train again", with_config(original, **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"num_entities": 2 * 10**11},
        {"reciprocal": True, "num_relations": 10**12},
    ],
    ids=str,
)
def test_settings_that_would_fill_the_memory(refused, original, changes):
    """More than there is anywhere: the test would not survive the attempt."""
    refused("Its settings describe weights of .* floats", with_config(original, **changes))


@pytest.mark.parametrize("text", ["", "{", "[]", "5", "null", "[" * 100_000, None])
def test_settings_that_are_none(refused, text):
    refused("Cannot read the model", {"config.json": text})


@pytest.mark.parametrize("size", [0, 100, 5000, None])
def test_weights_cut_short(refused, original, size):
    content = original[WEIGHTS][:size] if size is not None else None
    refused("Cannot read the model", {WEIGHTS: content})


def changed_weights(original, change):
    file = io.BytesIO(original[WEIGHTS])
    with h5py.File(file, "r+") as weights:
        del weights["entities/vars/0"]
        change(weights["entities/vars"])
    return {WEIGHTS: file.getvalue()}


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.create_dataset("0", data=np.zeros([7, 16], np.float32)),
        lambda table: table.create_dataset("0", shape=(10**9, 10**6), dtype="f4"),
        lambda table: table.create_dataset("0", data=np.zeros([6, 16]), compression="gzip"),
        lambda table: table.create_dataset("0", data=b"text"),
        lambda table: table.__setitem__("0", h5py.ExternalLink("/etc/passwd", "/x")),
    ],
    ids=["other shape", "4 PB of zeros", "compressed", "text", "link to another file"],
)
def test_other_weights(refused, original, change):
    refused("Cannot read the model", changed_weights(original, change))


def test_a_member_beside_the_model(refused):
    refused(r"It holds '\.\./\.\./evil\.txt' beside config\.json", {"../../evil.txt": b"x"})


def test_a_zip_bomb(refused):
    refused("It unpacks to more than its size", {WEIGHTS: bytes(10**7)}, zipfile.ZIP_DEFLATED)


@pytest.mark.parametrize("content", [b"", b"\x80\x04K\x01.", b"PK\x03\x04 not really"])
def test_no_archive(tmp_path, content):
    (tmp_path / BEST_MODEL).parent.mkdir()
    (tmp_path / BEST_MODEL).write_bytes(content)
    with pytest.raises(DataError, match="Cannot read the model"):
        load_model(tmp_path)


@pytest.mark.parametrize(("module", "name"), [("os", "system"), ("builtins", "eval")])
def test_settings_that_name_other_code(refused, module, name):
    settings = {"module": module, "class_name": name, "config": {}, "registered_name": None}
    refused(f"expected a KGEModel, received a {name}", {"config.json": json.dumps(settings)})


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
