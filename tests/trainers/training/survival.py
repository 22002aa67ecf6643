"""Runs of `trainers.fit` that a misfortune ends, and what they have to equal in the end."""

import dataclasses
import json

import numpy as np
import tensorflow as tf

from quatre_tf import load_run


def read_records(run_dir, group):
    """The lines of metrics.jsonl of a group."""
    lines = (run_dir / "metrics.jsonl").read_text().splitlines()
    return [record for record in map(json.loads, lines) if record["group"] == group]


def flags(config, run_dir):
    settings = dataclasses.asdict(config).items()
    return [f"--run_dir={run_dir}", *(f"--{name}={value}" for name, value in settings)]


def resumed(run_dir, *more):
    return [f"--run_dir={run_dir}", "--resume", *more]


def state(run_dir):
    """All tables and slots of the optimizer in the last checkpoint."""
    reader = tf.train.load_checkpoint(str(run_dir / "checkpoints"))
    names = reader.get_variable_to_shape_map()
    names = [name for name in names if name.startswith(("tables", "optimizer"))]
    return {name: reader.get_tensor(name) for name in names}


def assert_same_training(found, expected):
    """Bit for bit, with every figure there and none of them twice."""
    for tables_of in (state, lambda run_dir: load_run(run_dir).model.tables()):
        tables = tables_of(expected)
        assert tables
        for name, value in tables_of(found).items():
            np.testing.assert_array_equal(value, tables.pop(name), err_msg=name)
        assert tables == {}
    assert validations(found) == validations(expected)
    lines = [json.loads(line) for line in (found / "metrics.jsonl").read_text().splitlines()]
    steps = [line["step"] for line in lines if line["group"] == "train"]
    assert steps == sorted(set(steps))


def assert_same_run(found, expected):
    """The same training, and the same files of the test split."""
    assert_same_training(found, expected)
    for file in ("test_metrics.json", "best/calibration.npy"):
        assert (found / file).read_bytes() == (expected / file).read_bytes()


def last_step(run_dir):
    """Of the last checkpoint, -1 before the first."""
    names = [path.stem for path in run_dir.glob("checkpoints/ckpt-*.index")]
    return max((int(name.partition("-")[2]) for name in names), default=-1)


def validations(run_dir):
    records = read_records(run_dir, "valid/all")
    return [{**record, "seconds": 0} for record in records]


def flip(path):
    """Changes a bit in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def files(folder):
    return sorted(path.name for path in folder.iterdir())
