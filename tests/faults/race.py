"""Processes that prepare, export and resume in the same folders at the same time.

python -m tests.faults.race --minutes=20

All of them do the same in the same folders. Of those that prepare a data set or train a run, one
wins and the others say why not; every export is a whole version.
"""

import collections
import os
import pathlib
import random
import sys
import tempfile
import time
import traceback

from absl import flags

from datasets import catalog
from datasets.custom_dataset import Source, prepare
from datasets.program import run_program
from quatre_tf.errors import DataError
from saved_models.versions import publish_version
from tests.commands import FORKED
from trainers.training.config import TrainConfig
from trainers.training.fitting import fit
from trainers.training.run_directory import RunDirectory

_FACTS = 200


_MINUTES = flags.DEFINE_float("minutes", 1.0, "Minutes to run.")
_PROCESSES = flags.DEFINE_integer("processes", 8, "Number of processes.")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        facts = [f"p{i % 40}\tr{i // 40}\tp{(i * 7 + 1) % 40}\n" for i in range(_FACTS)]
        (folder / "facts.tsv").write_text("".join(facts))
        outcomes = FORKED.Queue()
        deadline = time.monotonic() + 60 * _MINUTES.value
        started = [
            FORKED.Process(target=_compete, args=(folder, number, deadline, outcomes))
            for number in range(_PROCESSES.value)
        ]
        for process in started:
            process.start()
        counts = collections.Counter(outcome for _ in started for outcome in outcomes.get())
        for process in started:
            process.join()
        problems = _problems(folder)
    for outcome, count in sorted(counts.items()):
        sys.stderr.write(f"{count:6} {outcome}\n")
    problems += [outcome for outcome in counts if "UNEXPECTED" in outcome]
    sys.stderr.write("".join(f"{problem}\n" for problem in problems))
    return int(bool(problems))


def _compete(folder, number, deadline, outcomes):
    """Does one thing after another, and tells how each ended."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    draw, found = random.Random(number), []
    while time.monotonic() < deadline:
        act = draw.choice([_prepare, _prepare, _export, _export, _train])
        try:
            act(folder)
            outcome = "done"
        except DataError as error:
            # Without what differs from run to run.
            outcome = str(error).replace(str(folder), "")[:70]
        except Exception:
            outcome = f"UNEXPECTED {traceback.format_exc()}"
        found.append(f"{act.__name__[1:]}: {outcome}")
    outcomes.put(found)


def _prepare(folder):
    prepare(Source(folder / "facts.tsv"), folder / "data", overwrite=True)


def _export(folder):
    publish_version(folder / "model", lambda version: (version / "file").write_text("whole"))


def _train(folder):
    run_dir = folder / "run"
    config = TrainConfig(
        "countries", embedding_dim=4, steps_per_epoch=5, epochs=2, validate_every=1
    )
    fit(config, run_dir, resume=RunDirectory(run_dir).has_run)


def _problems(folder):
    """Returns what is not as a single process would have left it."""
    left = [*folder.rglob("*partial*"), *folder.glob(".*.old")]
    problems = [f"{path} was left." for path in left]
    graph = catalog.load(str(folder / "data"))
    if len(graph.known) != _FACTS:
        problems.append(f"The data set has {len(graph.known)} triples, expected {_FACTS}.")
    versions = sorted(int(path.name) for path in (folder / "model").iterdir())
    if versions != list(range(1, len(versions) + 1)):
        problems.append(f"Versions are {versions}.")
    texts = [(folder / "model" / str(version) / "file").read_text() for version in versions]
    problems += [f"An export holds {text!r}." for text in texts if text != "whole"]
    # A complete run, or one that can be finished.
    _train(folder)
    return problems


if __name__ == "__main__":
    run_program(main)
