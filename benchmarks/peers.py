"""Times training and evaluation of other libraries and of this project on the same triples.

Usage: python -m benchmarks.peers --peer=pykeen --envs=DIR [--output=FILE.json]

DIR/pykeen or DIR/biggraph is a virtual environment with the library; benchmarks/README.md has the
commands that create it, and says what is compared and where the two sides differ. Peer and ours
take turns, each in its own process on the same cores and never at once; start-up is not timed.
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from absl import flags

from benchmarks import measure
from datasets.program import import_tensorflow, run_program
from datasets.text_table import table
from quatre_tf.errors import DataError
from quatre_tf.paths import user_path
from trainers.training import presets

_PEERS = {"pykeen": "PyKEEN", "biggraph": "PyTorch-BigGraph"}
_PEER = flags.DEFINE_enum("peer", None, list(_PEERS), "Library to compare with.", required=True)
_ENVS = flags.DEFINE_string("envs", None, "Folder of the peers' environments.", required=True)
_MANUAL_DIR = flags.DEFINE_string("manual_dir", None, "Folder with downloaded archives.")
_ROUNDS = flags.DEFINE_integer("rounds", 3, "Measurements; medians are reported.", 1)
# Cores of all processes, and threads or workers of either side.
_THREADS = 2
# Steps of either side before its clock starts.
_WARM_UP = 5


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The same work, done by the peer and by this project.

    Attributes:
        work: What is timed.
        dataset: Name in the catalog.
        split: The split whose triples the work goes through once: `"train"` is trained on and
            `"test"` is ranked.
        peer: Settings of the peer's script.
        ours: Settings of ours, by name.
    """

    work: str
    dataset: str
    split: str
    peer: Mapping[str, Any]
    ours: Mapping[str, Mapping[str, Any]]


_PYKEEN_STEP = {"num_negatives": 5, "batch_size": 868, "learning_rate": 0.1}
_BIGGRAPH_NEGATIVES = {"num_uniform_negs": 1_000, "num_batch_negs": 50}
_BIGGRAPH_STEP = {"batch_size": 1_000, "learning_rate": 0.1}
# As many candidates as the peer has negatives of both kinds.
_SAMPLED_STEP = {
    **_BIGGRAPH_STEP,
    "recipe": "sampled",
    "embedding_dim": 128,
    "num_candidates": 1_050,
}


def _pykeen(
    name: str, model: str, embedding_dim: int, *, norm: str = "default", l2: float = 0.5
) -> list[Comparison]:
    """Returns a training epoch and a ranking of `name`, as PyKEEN calls our `model`."""
    ours = {"model": model, "embedding_dim": embedding_dim, "norm": norm}
    theirs = {"model": name, "embedding_dim": embedding_dim}
    return [
        Comparison(
            work=f"training epoch of {name}, n = {embedding_dim}, 868 positives x 5 negatives",
            dataset="wn18rr",
            split="train",
            peer={"task": "training", "warm_up": _WARM_UP, **theirs, **_PYKEEN_STEP},
            ours={"paper": {"recipe": "paper", **ours, **_PYKEEN_STEP, "l2": l2}},
        ),
        Comparison(
            work=f"filtered evaluation of {name}, n = {embedding_dim}, both sides (64 triples by "
            "the peer)",
            dataset="wn18rr",
            split="test",
            # PyKEEN's automatic batch on a CPU is 32, with which QuatE needs more than 40 GB.
            peer={"task": "evaluation", "num_triples": 64, "batch_size": 4, **theirs},
            ours={"ranking": ours},
        ),
    ]


COMPARISONS = {
    "pykeen": [
        *_pykeen("QuatE", "quatre", 256),
        # PyKEEN's distances have no regularizer.
        *_pykeen("TransE", "transe", 512, norm="1", l2=0.0),
        *_pykeen("RotatE", "rotate", 256, l2=0.0),
        *_pykeen("ComplEx", "complex", 256),
    ],
    "biggraph": [
        Comparison(
            work="training epoch, 512 floats, batch 1,000, 1,000 + 50 negatives",
            dataset="fb15k237",
            split="train",
            peer={"dimension": 512, **_BIGGRAPH_NEGATIVES, **_BIGGRAPH_STEP},
            ours={
                "sampled": _SAMPLED_STEP,
                "sampled, float32 products": {**_SAMPLED_STEP, "compute_dtype": "float32"},
            },
        )
    ],
}


def main() -> None:
    """Measures and prints."""
    peer, envs = _PEER.value, user_path(_ENVS.value).absolute()
    python = envs / peer / "bin" / "python"
    if not python.exists():
        raise DataError(
            f"{python} does not exist. benchmarks/README.md has the commands to create it."
        )
    freeze = [str(python), "-m", "pip", "freeze", "--all"]
    versions = subprocess.run(freeze, check=True, capture_output=True, text=True).stdout
    # Inherited by all processes, so a library that counts cores finds as many.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:_THREADS])
    os.environ.update(
        {f"{name}_NUM_THREADS": str(_THREADS) for name in ("OMP", "MKL", "OPENBLAS")},
        TF_CPP_MIN_LOG_LEVEL="3",
        # Where PyKEEN keeps its files, rather than in the user's home.
        PYSTOW_HOME=str(envs / "pystow"),
    )
    record: dict[str, Any] = {"threads": _THREADS, "versions": versions.splitlines()}
    record["comparisons"] = []
    import_tensorflow()
    for comparison in COMPARISONS[peer]:
        record["comparisons"].append(_measure(comparison, peer, python, envs))
        measure.write_result(record)


def _measure(
    comparison: Comparison, peer: str, python: pathlib.Path, envs: pathlib.Path
) -> dict[str, Any]:
    folder, num_triples = _write_triples(comparison, envs)
    script = pathlib.Path(__file__).with_name(f"peer_{peer}.py")
    settings = {**comparison.peer, "folder": str(folder), "threads": _THREADS}
    # -I: keeps the modules next to the script out of the peer's imports.
    command = [str(python), "-I", str(script), json.dumps(settings)]
    ours = _train_epoch if comparison.split == "train" else _rank_test_split
    seconds: dict[str, list[float]] = {name: [] for name in (peer, *comparison.ours)}
    for _ in range(_ROUNDS.value):
        seconds[peer].append(whole(_run(command), num_triples))
        for name, given in comparison.ours.items():
            result = measure.in_process(ours, str(folder), comparison.dataset, dict(given))
            seconds[name].append(whole(result, num_triples))
    found = {name: ratios(seconds[peer], seconds[name]) for name in comparison.ours}
    rows = [["", "seconds", f"{_PEERS[peer]} / ours"]]
    rows.append([_PEERS[peer], f"{np.median(seconds[peer]):,.2f}", ""])
    for name, ratio in found.items():
        spread = f"{ratio['least']:,.1f} to {ratio['greatest']:,.1f}"
        median = f"{np.median(seconds[name]):,.2f}"
        rows.append([f"ours: {name}", median, f"{ratio['median']:,.1f} ({spread})"])
    print(f"\n{comparison.dataset}, {comparison.work}: {num_triples:,} {comparison.split} triples")
    print(table(rows), flush=True)
    return {
        "work": comparison.work,
        "dataset": comparison.dataset,
        "triples": num_triples,
        "settings": {peer: comparison.peer, **comparison.ours},
        "seconds": seconds,
        "ratios": found,
    }


def _write_triples(comparison: Comparison, envs: pathlib.Path) -> tuple[pathlib.Path, int]:
    """Writes the ids that both sides read; returns their folder and the size of the split."""
    from datasets import catalog
    from quatre_tf.data.encoding import SPLITS

    graph = catalog.load(comparison.dataset, manual_dir=_MANUAL_DIR.value)
    folder = envs / "triples" / comparison.dataset
    folder.mkdir(parents=True, exist_ok=True)
    for split in SPLITS:
        np.savetxt(folder / f"{split}.txt", graph.split(split), "%d", delimiter="\t")
    return folder, len(graph.split(comparison.split))


def _train_epoch(folder: str, dataset: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Times an epoch of ours, input pipeline included, after some steps of the compiled loop."""
    import_tensorflow()
    import tensorflow as tf

    from datasets import catalog
    from trainers.training.trainer import Trainer

    config = presets.resolve(dataset, settings.pop("recipe"), settings)
    trainer = Trainer(config, catalog.load(folder), tf.distribute.get_strategy())
    trainer.train(_WARM_UP)
    steps = trainer.recipe.steps_per_epoch
    start = time.perf_counter()
    trainer.train(steps)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "triples": steps * trainer.recipe.triples_per_step}


def _rank_test_split(folder: str, dataset: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Times our ranking of the test split, both sides, when it is done for the second time."""
    import_tensorflow()
    from datasets import catalog
    from quatre_tf.ranking.evaluator import Evaluator

    graph = catalog.load(folder)
    model, evaluator = measure.trained_model(graph, 0, **settings), Evaluator(graph)
    evaluator.evaluate(model, "test")
    start = time.perf_counter()
    evaluator.evaluate(model, "test")
    return {"seconds": time.perf_counter() - start, "triples": len(graph.test)}


def _run(command: Sequence[str]) -> dict[str, Any]:
    """Returns the JSON object that a peer's script prints last."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        raise DataError(
            f"`{' '.join(command)}` ended with exit code {done.returncode}; see its output above."
            + " It was killed, perhaps for lack of memory." * (done.returncode == -9)
        )
    return json.loads(done.stdout.rstrip("\n").rpartition("\n")[2])


def whole(result: Mapping[str, float], num_triples: int) -> float:
    """Returns the seconds for all triples of a split, given those for a part of it."""
    return result["seconds"] / result["triples"] * num_triples


def ratios(peer: Sequence[float], ours: Sequence[float]) -> dict[str, float]:
    """Returns the median, least and greatest of peer / ours over the rounds."""
    quotients = np.divide(peer, ours)
    return {
        "median": float(np.median(quotients)),
        "least": float(quotients.min()),
        "greatest": float(quotients.max()),
    }


if __name__ == "__main__":
    run_program(main)
