"""What a run survives (docs/survival.md): each misfortune happens, in a process of its own."""

import contextlib
import dataclasses
import json
import os
import signal

import numpy as np
import pytest
import tensorflow as tf

from tests.trainers import misfortunes
from tests.trainers.conftest import read_records
from tests.trainers.misfortunes import SMALLEST_FILE
from tests.trainers.processes import Processes, wait, wait_for


@pytest.fixture
def processes(tmp_path):
    with contextlib.closing(Processes(tmp_path)) as found:
        yield found


@pytest.fixture
def start(processes):
    """`start(flags, misfortune, details)` -> the process of trainers.fit."""
    return lambda *arguments: processes.start(misfortunes.fit, *arguments, environment={})


@pytest.fixture
def run(start):
    """As `start` -> (exit code, output) at its end."""
    return lambda *arguments: wait(start(*arguments))


def flags(config, run_dir):
    settings = dataclasses.asdict(config).items()
    return [f"--run_dir={run_dir}", *(f"--{name}={value}" for name, value in settings)]


def resumed(run_dir, *more):
    return [f"--run_dir={run_dir}", "--resume", *more]


def state(run_dir):
    """All tables and accumulators of the last checkpoint."""
    reader = tf.train.load_checkpoint(str(run_dir / "checkpoints"))
    names = reader.get_variable_to_shape_map()
    names = [name for name in names if name.startswith(("tables", "accumulators"))]
    return {name: reader.get_tensor(name) for name in names}


def assert_same_run(found, expected):
    """Bit for bit, with every figure there and none of them twice."""
    tables = state(expected)
    assert tables
    for name, value in state(found).items():
        np.testing.assert_array_equal(value, tables.pop(name), err_msg=name)
    assert tables == {}
    for file in ("test_metrics.json", "calibration.json"):
        ours, theirs = (json.loads((run / file).read_text()) for run in (found, expected))
        # The file of the best weights has the time in it, as every archive.
        assert ours | {"model_sha256": 0} == theirs | {"model_sha256": 0}
    assert validations(found) == validations(expected)
    lines = [json.loads(line) for line in (found / "metrics.jsonl").read_text().splitlines()]
    steps = [line["step"] for line in lines if line["group"] == "train"]
    assert steps == sorted(set(steps))


def last_step(run_dir):
    """Of the last checkpoint, -1 before the first."""
    names = [path.stem for path in run_dir.glob("checkpoints/ckpt-*.index")]
    return max((int(name.partition("-")[2]) for name in names), default=-1)


def validations(run_dir):
    records = read_records(run_dir, "valid/all")
    return [{**record, "seconds": 0} for record in records]


def files(folder):
    return sorted(path.name for path in folder.iterdir())


KILLS = [
    # misfortune, details, the step of the last checkpoint then
    ("killed_in_step", (3,), 1),
    ("killed_writing_checkpoint", (1,), 1),
    ("killed_renaming_to", ("ckpt-10.index",), 1),
    ("killed_writing_best", (), 1),
    ("killed_renaming_to", ("model.keras",), 1),
    ("killed_renaming_to", ("checkpoint",), 10),
    ("killed_in_step", (23,), 20),
    ("killed_exporting", (), 30),
    ("killed_renaming_to", ("1",), 30),
    ("killed_renaming_to", ("test_metrics.json",), 30),
]


def test_killed_everywhere_it_equals_the_uninterrupted_run(run, config, tmp_path):
    """One run that is killed eleven times and resumed each time."""
    run_dir = tmp_path / "run"
    assert run(flags(config, run_dir), "killed_renaming_to", "config.json")[0] == -signal.SIGKILL
    assert not (run_dir / "config.json").exists()
    arguments = flags(config, run_dir)
    for misfortune, details, last in KILLS:
        code, text = run(arguments, misfortune, *details)
        assert code == -signal.SIGKILL, f"{misfortune} {details}: {text}"
        assert last_step(run_dir) == last
        assert not (run_dir / "test_metrics.json").exists()
        arguments = resumed(run_dir)
    # The last came after the export, which is done again.
    assert files(run_dir / "saved_model")[-1] == "1"
    code, text = run(arguments)
    assert code == 0, text
    assert run(flags(config, tmp_path / "whole"))[0] == 0
    assert_same_run(run_dir, tmp_path / "whole")
    for version in ("1", "2"):
        assert (run_dir / "saved_model" / version / "assets.extra").is_dir()
    assert not list((run_dir / "checkpoints").glob("partial*"))

    code, text = run(arguments)
    assert code == 0, text
    assert "The run is complete: nothing to do." in text
    assert "Filtered ranking, test split: 8 triples" in text
    assert files(run_dir / "saved_model")[-1] == "2"


@pytest.mark.parametrize("recipe", ["strong_config", "sampled_config"])
def test_killed_runs_of_the_other_recipes(run, recipe, request, tmp_path):
    config = dataclasses.replace(request.getfixturevalue(recipe), compute_dtype="bfloat16")
    run_dir = tmp_path / "run"
    assert run(flags(config, run_dir), "killed_in_step", 15)[0] == -signal.SIGKILL
    code, text = run(resumed(run_dir))
    assert code == 0, text
    # Nothing that runs on a CPU has to be asked to be deterministic; it is the same if it is.
    config = dataclasses.replace(config, deterministic=True)
    assert run(flags(config, tmp_path / "whole"))[0] == 0
    assert_same_run(run_dir, tmp_path / "whole")


FULL = [
    # misfortune, details, what the error says
    ("full_in", ("trainers.checkpoints", "Checkpoints.save"), "checkpoint"),
    ("full_in", ("trainers.checkpoints", "Checkpoints.save", 2), "checkpoint"),
    ("full_in", ("trainers.controller", "save_best"), "best"),
    ("full_within_a_line", (700,), "run"),
    ("full_in", ("saved_models.exporting", "write_warm_up"), "export"),
    ("full_in", ("trainers.fitting", "write_text", 1, 500), "run"),
]
SAYS = {
    "checkpoint": "error: Cannot write the checkpoint {run}/checkpoints/ckpt-",
    "best": "error: Cannot write the best model {run}/best/model.keras: File too large. It takes ",
    "export": "error: Cannot write a model to {run}/saved_model: ",
    "run": "error: Cannot write to {run}: File too large. ",
}


def test_full_disk_everywhere(run, config, tmp_path):
    """One run whose disk is full six times, and has room again each time it is resumed."""
    config, run_dir = dataclasses.replace(config, embedding_dim=32), tmp_path / "run"
    arguments = flags(config, run_dir)
    for misfortune, details, where in FULL:
        last = last_step(run_dir)
        code, text = run(arguments, misfortune, *details)
        assert code == 1, f"{misfortune} {details}: {text}"
        assert SAYS[where].format(run=run_dir) in text
        assert "MB are free" in text
        assert "Traceback" not in text
        assert last_step(run_dir) >= last
        assert not list((run_dir / "checkpoints").glob("partial*"))
        assert not (run_dir / "best" / "partial.keras").exists()
        assert not (run_dir / "test_metrics.json").exists()
        arguments = resumed(run_dir)
    assert run(arguments)[0] == 0
    assert run(flags(config, tmp_path / "whole"))[0] == 0
    assert_same_run(run_dir, tmp_path / "whole")


def test_sigterm_saves_and_exits_with_0(run, config, tmp_path):
    """In a step and in a validation, with more signals while the checkpoint is written."""
    run_dir = tmp_path / "run"
    code, text = run(flags(config, run_dir), "signalled_in", "train")
    assert code == 0, text
    hint = f"To go on: python -m trainers.fit --run_dir={run_dir} --resume\n"
    assert f"Stopped by SIGTERM. {hint}" in text
    code, text = run(resumed(run_dir), "signalled_in", "rank")
    assert code == 0, text
    # Before the validation that is outstanding, and will be made up for.
    assert files(run_dir / "checkpoints") == sorted(
        ["checkpoint", *(f"ckpt-{step}{kind}" for step in (1, 10) for kind in KINDS)]
    )
    assert validations(run_dir) == []
    code, text = run(resumed(run_dir), "signalled_in", "rank", signal.SIGINT)
    assert code == 130, text
    assert f"Interrupted. {hint}" in text
    assert run(resumed(run_dir))[0] == 0
    assert run(flags(config, tmp_path / "whole"))[0] == 0
    assert_same_run(run_dir, tmp_path / "whole")


KINDS = (".data-00000-of-00001", ".index")


def test_a_run_has_one_process_and_its_lock_dies_with_it(start, run, config, tmp_path):
    endless, run_dir = dataclasses.replace(config, epochs=10**6, patience=0), tmp_path / "run"
    first = start(flags(endless, run_dir))
    wait_for((run_dir / "metrics.jsonl").exists, [first])
    code, text = run(resumed(run_dir))
    assert code == 1
    assert f"error: Another process is training in {run_dir}." in text
    os.kill(first.pid, signal.SIGKILL)
    assert wait(first)[0] == -signal.SIGKILL
    code, text = run(resumed(run_dir, "--epochs=1"))
    assert code == 0, text


@pytest.mark.parametrize(
    ("misfortune", "details", "says"),
    [
        ("without_privileges", (), "error: Cannot write to {run}: Permission denied."),
        ("limit_files", (SMALLEST_FILE,), "error: Cannot write to {run}: File too large."),
    ],
    ids=["read-only", "full"],
)
def test_folder_that_takes_nothing(run, config, tmp_path, misfortune, details, says):
    run_dir = tmp_path / "run"
    run_dir.mkdir(mode=0o500)
    if misfortune == "limit_files":
        run_dir.chmod(0o700)
    code, text = run(flags(config, run_dir), misfortune, *details)
    assert code == 1, text
    assert says.format(run=run_dir) in text
    assert "free on that disk. Make room, " in text
    assert "Traceback" not in text
    assert not (run_dir / "config.json").exists()


def test_folder_that_is_a_file(run, config, tmp_path):
    run_dir = tmp_path / "run"
    run_dir.write_text("mine")
    code, text = run(flags(config, run_dir))
    assert code == 1
    assert f"error: {run_dir} is a file. Expected the folder of a run as --run_dir." in text
    assert run_dir.read_text() == "mine"
