"""Runs whose system calls fail at random, and what is left of them.

python -m tests.faults.inject --runs=2000

Each run trains on a tiny graph; every eighth also ranks the test split, calibrates and exports,
which takes longer than everything else together. Opening, reading, writing, syncing, renaming and
removing its files fails at random with ENOSPC, EIO or EINTR, or takes half of the bytes. After up
to three such attempts the run is resumed on a disk that works. It has to end with an error in one
line, or with the figures and the weights of a run that met nothing. Totals follow every 50 runs.
"""

import contextlib
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback

from absl import flags

from datasets.program import run_program

_SOURCE = pathlib.Path(__file__).with_name("faults.c")
_ATTEMPTS = 3
# Faults per million calls.
_RATES = (1000, 5000, 20000)
_EXPORTED = 8


_RUNS = flags.DEFINE_integer("runs", 20, "Number of runs.")
_FIRST_SEED = flags.DEFINE_integer("first_seed", 1, "Seed of the first run; later runs count up.")


def main():
    if "QUATRE_FAULTS" not in os.environ:
        return _with_library(sys.argv[1:])
    # The runs' own lines are of no interest.
    with (
        tempfile.TemporaryDirectory() as folder,
        open(os.devnull, "w", encoding="utf-8") as nothing,
        contextlib.redirect_stdout(nothing),
    ):
        return _inject(pathlib.Path(folder), _FIRST_SEED.value, _RUNS.value)


def _with_library(arguments):
    """Compiles the library and starts this program again with it; returns the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "faults.so")
        compiler = os.environ.get("CC", "cc")
        flags = ["-shared", "-fPIC", "-O2", "-Wall", "-o", library, str(_SOURCE), "-ldl"]
        subprocess.run([compiler, *flags], check=True)
        environment = os.environ | {"LD_PRELOAD": library, "QUATRE_FAULTS": library}
        # The writer of summaries tells its errors there.
        environment["TF_CPP_MIN_LOG_LEVEL"] = "3"
        # A compiled step that somebody builds meanwhile rounds differently.
        environment["QUATRE_ENABLE_KERNEL"] = "0"
        command = [sys.executable, "-m", "tests.faults.inject", *arguments]
        return subprocess.run(command, env=environment, check=False).returncode


def _inject(folder, first_seed, runs):
    from tests.trainers.training.survival import assert_same_run, assert_same_training
    from tests.trainers.training.wiring import eagerly
    from trainers.training.config import TrainConfig
    from trainers.training.fitting import fit, train

    library = ctypes.CDLL(os.environ["QUATRE_FAULTS"])
    library.arm.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint]
    config = TrainConfig(
        str(_tiny_graph(folder / "graph")),
        embedding_dim=4,
        num_negatives=2,
        batch_size=8,
        steps_per_epoch=5,
        epochs=2,
        validate_every=1,
    )
    seeds = range(first_seed, first_seed + runs)
    if any(seed % _EXPORTED == 0 for seed in seeds):
        fit(config, folder / "fitted")
    # Compiling the step anew takes most of the time of a training of ten steps.
    with eagerly():
        train(config, folder / "trained")
    outcomes = {"whole": 0, "refused": 0, "wrong": 0}
    injected = 0
    for seed in seeds:
        run_dir = folder / "run"
        if seed % _EXPORTED == 0:
            kind = fit, assert_same_run, folder / "fitted"
            outcome, count = _one_run(config, run_dir, library, seed, *kind)
        else:
            kind = train, assert_same_training, folder / "trained"
            with eagerly():
                outcome, count = _one_run(config, run_dir, library, seed, *kind)
        outcomes[outcome] += 1
        injected += count
        shutil.rmtree(run_dir, ignore_errors=True)
        done = seed + 1 - first_seed
        if done % 50 == 0 or done == runs:
            sys.stderr.write(f"{done} runs, {injected} faults: {outcomes}\n")
    return int(outcomes["wrong"] > 0)


def _one_run(config, run_dir, library, seed, run, assert_same, whole):
    """Returns how the run ended, and the number of faults."""
    from quatre_tf.errors import DataError
    from trainers.training.run_directory import RunDirectory

    injected, errors = 0, []
    for attempt in range(_ATTEMPTS + 1):
        works = attempt == _ATTEMPTS
        error = None
        if not works:
            rate = _RATES[seed % len(_RATES)]
            library.arm(os.fsencode(run_dir), 10 * seed + attempt, rate)
        try:
            run(config, run_dir, resume=RunDirectory(run_dir).has_run)
        except DataError as refusal:
            error = refusal
            if "\n" in str(refusal):
                return "wrong", injected
        except Exception:
            library.disarm()
            sys.stderr.write(f"seed {seed}, attempt {attempt}:\n{traceback.format_exc()}")
            return "wrong", injected
        finally:
            injected += library.disarm()
        errors.append(str(error))
        if error is None:
            break
    if error is not None:
        sys.stderr.write(f"seed {seed} refused: {errors}\n")
        return "refused", injected
    try:
        assert_same(run_dir, whole)
    except Exception:
        sys.stderr.write(f"seed {seed}, after {errors}:\n{traceback.format_exc()}")
        return "wrong", injected
    return "whole", injected


def _tiny_graph(folder):
    folder.mkdir()
    facts = [f"p{i}\tparent_of\tp{2 * i + 1}\n" for i in range(12)]
    facts += [f"p{2 * i + 1}\tchild_of\tp{i}\n" for i in range(12)]
    for split, lines in (("train", facts[:20]), ("valid", facts[20:22]), ("test", facts[22:])):
        (folder / f"{split}.txt").write_text("".join(lines))
    return folder


if __name__ == "__main__":
    run_program(main)
