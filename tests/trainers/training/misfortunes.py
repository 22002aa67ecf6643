"""What befalls a run, in the process that it befalls: at an exact point, and never by chance.

Each function patches something of this process and lets the run begin; `processes.py` starts it.
"""

import contextlib
import ctypes
import os
import pathlib
import resource
import runpy
import signal
import struct
import sys

import tensorflow as tf

# A file that would be larger is not written further, as on a full disk.
SMALLEST_FILE = 700


def fit(arguments, befall=None, *details):
    """`python -m trainers.fit`, with a misfortune of this module prepared by name."""
    # The writer of summaries says more than our message when its last flush fails.
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    if befall:
        globals()[befall](*details)
    sys.argv = ["trainers.fit", *map(str, arguments)]
    runpy.run_module("trainers.fit", run_name="__main__")


def _patch(owner, name, make):
    setattr(owner, name, make(getattr(owner, name)))


def _die():
    os.kill(os.getpid(), signal.SIGKILL)


def killed_in_step(number):
    """While the compiled loop computes this step of the run."""
    from trainers.training.trainer import Trainer

    def make(step_of_replica):
        def step(self, batch):
            here = tf.equal(self.optimizer.iterations.value, number)
            tf.cond(here, lambda: tf.py_function(_die, [], []), tf.no_op)
            return step_of_replica(self, batch)

        return step

    _patch(Trainer, "_replica_step", make)


def killed_renaming_to(*names):
    """Before a file or folder gets one of these names: what it replaces is still there."""

    def make(rename):
        def renamed(source, target, **options):
            if pathlib.Path(target).name in names:
                _die()
            return rename(source, target, **options)

        return renamed

    for name in ("replace", "rename"):
        _patch(os, name, make)


def killed_writing_checkpoint(number):
    """With half of the data of a checkpoint on the disk; `number` counts those of the process."""

    def make(write):
        def half(self, path, *arguments):
            half.count += 1
            result = write(self, path, *arguments)
            if half.count == number:
                _cut(pathlib.Path(f"{path}.data-00000-of-00001"))
                pathlib.Path(f"{path}.index").unlink()
                _die()
            return result

        half.count = 0
        return half

    _patch(tf.train.Checkpoint, "write", make)


def killed_writing_best():
    """With half of the file of the best model on the disk."""
    from quatre_tf.model import KGEModel

    def make(save):
        def half(self, path):
            save(self, path)
            _cut(pathlib.Path(path))
            _die()

        return half

    _patch(KGEModel, "save", make)


def killed_exporting():
    """With the graph of the SavedModel on the disk and its warm-up requests not."""
    from saved_models import versions

    versions.write_warm_up = lambda folder: _die()


def _cut(path):
    os.truncate(path, path.stat().st_size // 2)


def full_in(module, name, call=1, size=SMALLEST_FILE):
    """The disk is full from this call on of a function of ours, `Class.method` or `function`."""
    owner = __import__(module, fromlist=["_"])
    *classes, name = name.split(".")
    for each in classes:
        owner = getattr(owner, each)

    def make(function):
        def limited(*arguments, **options):
            limited.count += 1
            if limited.count == call:
                limit_files(size)
            return function(*arguments, **options)

        limited.count = 0
        return limited

    _patch(owner, name, make)


def full_within_a_line(size):
    """The disk is full in the middle of the line that makes metrics.jsonl larger than `size`."""
    from trainers.training.run_directory import RunDirectory

    def make(append):
        def limited(self, record):
            file = self.metrics_file
            if file.exists() and file.stat().st_size > size:
                limit_files(file.stat().st_size + 20)
            return append(self, record)

        return limited

    _patch(RunDirectory, "append_metrics", make)


def limit_files(size):
    """No file may become larger than this; what was printed so far makes room for the error."""
    sys.stdout.flush()
    os.ftruncate(1, 0)
    for output in (1, 2):
        os.lseek(output, 0, os.SEEK_SET)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def signalled_in(method, number=signal.SIGTERM):
    """A signal comes within a method of Trainer or Evaluator, and two more within the save."""
    from quatre_tf.ranking.evaluator import Evaluator
    from trainers.training.trainer import Trainer

    def ends(function):
        def ended(*arguments, **options):
            result = function(*arguments, **options)
            _patch(tf.train.Checkpoint, "write", disturbs)
            os.kill(os.getpid(), number)
            return result

        return ended

    def disturbs(write):
        def disturbed(*arguments):
            for number in (signal.SIGTERM, signal.SIGINT):
                os.kill(os.getpid(), number)
            return write(*arguments)

        return disturbed

    _patch(Trainer if method == "train" else Evaluator, method, ends)


def without_privileges():
    """Root's right to write everywhere goes; permissions then count as for anybody."""
    with contextlib.suppress(AttributeError):
        header, nothing = struct.pack("Ii", 0x20080522, 0), bytes(24)
        assert ctypes.CDLL(None).capset(header, nothing) == 0
