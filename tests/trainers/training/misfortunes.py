"""Failures of a run, injected at a chosen point.

`fit` is for a process of its own (`processes.py`): what happens there is real. `Kills` and
`full_disks` try many points in one process.
"""

import collections
import contextlib
import ctypes
import json
import os
import pathlib
import resource
import runpy
import shutil
import signal
import struct
import sys

import pytest
import tensorflow as tf

from quatre_tf import Evaluator, KGEModel
from saved_models import versions
from tests.trainers.training.survival import last_step
from tests.trainers.training.wiring import eagerly
from trainers.training import controller, fitting
from trainers.training.checkpoints import Checkpoints
from trainers.training.run_directory import RunDirectory
from trainers.training.trainer import Trainer

# A file that would be larger is not written further, as on a full disk.
SMALLEST_FILE = 700


def fit(arguments, befall=None, *details):
    """`python -m trainers.fit`, with a misfortune of this module prepared by name."""
    # The writer of summaries says more than our message when its last flush fails.
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    export_little(pytest.MonkeyPatch())
    if befall:
        globals()[befall](*details)
    sys.argv = ["trainers.fit", *map(str, arguments)]
    runpy.run_module("trainers.fit", run_name="__main__")


def export_little(patch):
    """Two files of zeros in place of a SavedModel: to trace it takes a third of a small run."""

    def write(path):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(2 * SMALLEST_FILE))

    def save(scorer, folder, _):
        write(pathlib.Path(folder, "saved_model.pb"))

    patch.setattr(versions, "signatures", lambda _: None)
    patch.setattr(tf.saved_model, "save", save)
    patch.setattr(versions, "write_warm_up", lambda folder, _: write(folder / "assets.extra" / "w"))


def uncompiled():
    """No misfortune: for tests in which the numbers do not matter, but that they come soon."""
    tf.config.run_functions_eagerly(True)


def killed_in_step(number):
    """While the compiled loop computes this step of the run."""
    step_of_replica = Trainer._replica_step

    def step(self, batch):
        here = tf.equal(self.optimizer.iterations.value, number)
        kill = (os.getpid(), signal.SIGKILL)
        tf.cond(here, lambda: tf.py_function(lambda: os.kill(*kill), [], []), tf.no_op)
        return step_of_replica(self, batch)

    Trainer._replica_step = step


# Points of a run of 8 steps with a validation every four, and the step of the last checkpoint then;
# no two leave the same kinds of files.
KILLS = {
    "renaming config.json": -1,
    "writing model 1": 1,
    "writing checkpoint 2": 1,
    "renaming ckpt-4.index": 1,
    "renaming checkpoint": 4,
    "in step 6": 4,
    "exporting": 8,
    "renaming test_metrics.json": 8,
}


class Kills:
    """Copies the folder of a run at each of `KILLS`: what is on the disk is what a kill leaves."""

    def __init__(self, run_dir, folder, patch):
        self._run_dir, self._folder = run_dir, folder
        self._calls = collections.Counter()
        self._patch = patch
        for name in ("replace", "rename"):
            self._wrap(os, name, before=self._renaming)
        self._wrap(Trainer, "train", after=self._trained)
        self._wrap(tf.train.Checkpoint, "write", after=self._wrote_checkpoint)
        self._wrap(KGEModel, "save_weights", after=self._wrote_model)
        self._wrap(versions, "write_warm_up", before=lambda *_: self._copy("exporting"))

    def _wrap(self, owner, name, before=None, after=None):
        function = getattr(owner, name)

        def wrapped(*arguments, **options):
            if before:
                before(*arguments)
            result = function(*arguments, **options)
            if after:
                after(*arguments)
            return result

        self._patch.setattr(owner, name, wrapped)

    def _copy(self, point, *half_written):
        """Of these files, named as in the run, the copy has half."""
        if point in KILLS and not (self._folder / point).exists():
            copy = shutil.copytree(self._run_dir, self._folder / point)
            for path in half_written:
                path = copy / pathlib.Path(path).relative_to(self._run_dir)
                os.truncate(path, path.stat().st_size // 2)

    def _renaming(self, _source, target):
        # What TensorFlow reads of checkpoints is written with the first one, too.
        if pathlib.Path(target).name != "checkpoint" or last_step(self._run_dir) == 4:
            self._copy(f"renaming {pathlib.Path(target).name}")

    def _trained(self, trainer, num_steps):
        last = int(trainer.step.numpy())
        for step in range(last - num_steps + 1, last + 1):
            self._copy(f"in step {step}")

    def _wrote_checkpoint(self, _checkpoint, path, *_):
        self._calls["checkpoint"] += 1
        self._copy(f"writing checkpoint {self._calls['checkpoint']}", f"{path}.data-00000-of-00001")

    def _wrote_model(self, _model, path, *_):
        self._calls["model"] += 1
        self._copy(f"writing model {self._calls['model']}", path)


# Where the disk is full: a function, from which call on, and the largest file there is room for.
FULL = [
    (Checkpoints, "save", 1, SMALLEST_FILE),
    (Checkpoints, "save", 2, SMALLEST_FILE),
    (controller, "save_best", 1, SMALLEST_FILE),
    (RunDirectory, "append_metrics", 3, None),
    (versions, "write_warm_up", 1, SMALLEST_FILE),
    (fitting, "write_text", 1, 500),
]


def full_disks(config, run_dir, whole, report):
    """A run whose disk is full in all places of `FULL`, each time resumed, and a whole one.

    Writes a list to `report`: for each place the error, the last checkpoint before and after it,
    and what is left of files that are not complete.
    """
    found = []
    for owner, name, call, size in FULL:
        before, resume = last_step(run_dir), bool(found)
        with pytest.MonkeyPatch.context() as patch, eagerly():
            export_little(patch)
            full_in(patch, owner, name, call, size)
            try:
                fitting.fit(config, run_dir, resume=resume)
            except Exception as error:
                resource.setrlimit(resource.RLIMIT_FSIZE, [resource.RLIM_INFINITY] * 2)
                left = [p.name for p in run_dir.rglob("*partial*") if not p.name.startswith(".")]
                found.append([type(error).__name__, str(error), before, last_step(run_dir), left])
    with pytest.MonkeyPatch.context() as patch, eagerly():
        export_little(patch)
        fitting.fit(config, run_dir, resume=True)
        fitting.fit(config, whole)
    report.write_text(json.dumps(found))


def full_in(patch, owner, name, call, size):
    """No room from this call on; None: in the middle of the line that metrics.jsonl gets."""
    function, calls = getattr(owner, name), []

    def limited(*arguments, **options):
        calls.append(arguments)
        if len(calls) == call:
            limit_files(size or arguments[0].metrics_file.stat().st_size + 20)
        return function(*arguments, **options)

    patch.setattr(owner, name, limited)


def limit_files(size):
    """No file may become larger than this; what was printed so far makes room for the error."""
    sys.stdout.flush()
    os.ftruncate(1, 0)
    for output in (1, 2):
        os.lseek(output, 0, os.SEEK_SET)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def signalled_in(method):
    """SIGTERM comes within a method of Trainer or Evaluator, and more within the save."""
    uncompiled()
    owner = Trainer if method == "train" else Evaluator
    function, write = getattr(owner, method), tf.train.Checkpoint.write

    def ended(*arguments, **options):
        result = function(*arguments, **options)
        tf.train.Checkpoint.write = disturbed
        os.kill(os.getpid(), signal.SIGTERM)
        return result

    def disturbed(*arguments):
        for number in (signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), number)
        return write(*arguments)

    setattr(owner, method, ended)


def without_privileges():
    """Root's right to write everywhere goes; permissions then count as for anybody."""
    with contextlib.suppress(AttributeError):
        header, nothing = struct.pack("Ii", 0x20080522, 0), bytes(24)
        assert ctypes.CDLL(None).capset(header, nothing) == 0
