"""Times training and evaluation of other libraries and of this project on the same triples.

Usage: python -m benchmarks.peers --peer=pykeen --envs=DIR [--output=FILE.json]

The peer gets its own virtual environment below --envs, created from the package registry if it does
not exist; the project does not depend on it. Peer and ours take turns, each in its own process on
the same cores and never at once; start-up is not timed. docs/peers.md says what is compared and
where the two sides differ.
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from absl import flags

from benchmarks import measure
from datasets.program import import_tensorflow, run_program
from datasets.text_table import table as text_table
from quatre_tf.errors import DataError
from trainers.training import presets

if TYPE_CHECKING:
    from quatre_tf.data.graph import Graph

PEERS = {"pykeen": "PyKEEN", "biggraph": "PyTorch-BigGraph"}
# The wheel without CUDA: the other one needs gigabytes of libraries that nothing here uses.
TORCH = "torch==2.13.0+cpu"
_REQUIREMENTS = {
    "pykeen": ["pykeen==1.11.1"],
    # Its release is older than NumPy 2 and needs pkg_resources, which setuptools 80 warns about.
    "biggraph": ["torchbiggraph==1.0.0", "numpy==1.26.4", "setuptools==79.0.1"],
}
# Steps of either side before its clock starts.
_WARM_UP = 5
# PyKEEN's automatic choice on a CPU is 32, which needs more than 40 GB at the paper's size.
_PYKEEN_EVALUATION_BATCH = 4


def define_flags() -> None:
    """Defines the flags; importing the module does not, so tests may import many programs."""
    flags.DEFINE_enum("peer", None, list(PEERS), "Library to compare with.", required=True)
    envs = "Folder for environments and triples, 1 to 2 GB."
    flags.DEFINE_string("envs", None, envs, required=True)
    flags.DEFINE_string("torch", TORCH, "Requirement for PyTorch.")
    flags.DEFINE_string("manual_dir", None, "Folder with archives already at hand.")
    flags.DEFINE_integer("rounds", 3, "Measurements; medians are reported.", 1)
    flags.DEFINE_integer("threads", 2, "Cores, and threads or workers of either side.", 1)
    flags.DEFINE_integer("test_triples", 64, "Test triples that PyKEEN ranks.", 1)
    flags.DEFINE_integer("embedding_dim", None, "Another size, for a trial.", 1)
    flags.DEFINE_integer("max_triples", None, "Fewer training triples, for a trial.", 1)
    flags.DEFINE_string("output", None, "JSON file to write.")


def main(argv: Sequence[str]) -> None:
    """Measures and prints."""
    del argv
    given = flags.FLAGS
    peer, envs = given.peer, pathlib.Path(given.envs).expanduser().absolute()
    python = ensure_environment(envs, peer, given.torch)
    freeze = [str(python), "-m", "pip", "freeze", "--all"]
    versions = subprocess.run(freeze, check=True, capture_output=True, text=True).stdout
    # Inherited by all processes, so a library that counts cores finds as many.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.threads])
    limits = {f"{name}_NUM_THREADS": str(given.threads) for name in ("OMP", "MKL", "OPENBLAS")}
    # PyKEEN keeps its files below PYSTOW_HOME rather than in the user's home.
    os.environ.update({**limits, "TF_CPP_MIN_LOG_LEVEL": "3", "PYSTOW_HOME": str(envs / "pystow")})
    names = ("rounds", "threads", "embedding_dim", "max_triples")
    settings = {name: given[name].value for name in names}
    if peer == "pykeen":
        settings["test_triples"] = given.test_triples
    record: dict[str, Any] = {
        "benchmark": "peers",
        "command": measure.command("peers", peer=peer, envs="DIR", **settings),
        "threads": given.threads,
        "versions": versions.splitlines(),
        "comparisons": [],
    }
    import_tensorflow()
    for comparison in comparisons(peer, given.embedding_dim, given.test_triples):
        record["comparisons"].append(_measure(comparison, peer, python, envs))
        measure.write_json(given.output, record)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The same work, done by the peer and by this project.

    Attributes:
        work: What is timed.
        dataset: Name in the catalog.
        split: The split whose triples the work goes through once, `"train"` or `"test"`.
        peer: Settings of the peer's script.
        ours: By name, arguments of `train_epoch` or `rank_test_split`.
    """

    work: str
    dataset: str
    split: str
    peer: Mapping[str, Any]
    ours: Mapping[str, Mapping[str, Any]]


def comparisons(peer: str, dim: int | None = None, num_test_triples: int = 64) -> list[Comparison]:
    """Returns the comparisons with a peer.

    Args:
        peer: A key of `PEERS`.
        dim: Quaternions per embedding; None for the size that is compared.
        num_test_triples: How many test triples PyKEEN ranks.
    """
    if peer == "biggraph":
        return [_sampled_training(dim or 128)]
    return [_paper_training(dim or 256), _evaluation(dim or 256, num_test_triples)]


def _paper_training(dim: int) -> Comparison:
    both = {"embedding_dim": dim, "num_negatives": 5, "batch_size": 868, "learning_rate": 0.1}
    return Comparison(
        work=f"training epoch, n = {dim}, 868 positives x 5 negatives",
        dataset="wn18rr",
        split="train",
        peer={"task": "training", "warm_up": _WARM_UP, **both},
        ours={"paper": {"recipe": "paper", "given": both}},
    )


def _evaluation(dim: int, num_triples: int) -> Comparison:
    sample = {"num_triples": num_triples, "batch_size": _PYKEEN_EVALUATION_BATCH}
    return Comparison(
        work=f"filtered evaluation, n = {dim}, both sides ({num_triples} triples by the peer)",
        dataset="wn18rr",
        split="test",
        peer={"task": "evaluation", "embedding_dim": dim, **sample},
        ours={"ranking": {"embedding_dim": dim}},
    )


def _sampled_training(dim: int) -> Comparison:
    both = {"batch_size": 1_000, "learning_rate": 0.1}
    # As many candidates as the peer has negatives of both kinds.
    given = {"embedding_dim": dim, "num_candidates": 1_050, **both}
    negatives = {"num_uniform_negs": 1_000, "num_batch_negs": 50}
    exact = {**given, "compute_dtype": "float32"}
    return Comparison(
        work=f"training epoch, {4 * dim} floats, batch 1,000, 1,000 + 50 negatives",
        dataset="fb15k237",
        split="train",
        peer={"dimension": 4 * dim, **negatives, **both},
        ours={
            "sampled": {"recipe": "sampled", "given": given},
            "sampled, float32 products": {"recipe": "sampled", "given": exact},
        },
    )


def _measure(
    comparison: Comparison, peer: str, python: pathlib.Path, envs: pathlib.Path
) -> dict[str, Any]:
    folder, num_triples = _write_triples(comparison, envs)
    script = pathlib.Path(__file__).with_name(f"peer_{peer}.py")
    place = {"folder": str(folder), "threads": flags.FLAGS.threads}
    # -I: keeps the modules next to the script out of the peer's imports.
    command = [str(python), "-I", str(script), json.dumps({**comparison.peer, **place})]
    ours = train_epoch if comparison.split == "train" else rank_test_split
    seconds: dict[str, list[float]] = {name: [] for name in (peer, *comparison.ours)}
    for _ in range(flags.FLAGS.rounds):
        seconds[peer].append(whole(run_script(command), num_triples))
        for name, arguments in comparison.ours.items():
            result = measure.in_process(ours, str(folder), comparison.dataset, dict(arguments))
            seconds[name].append(whole(result, num_triples))
    print(f"\n{comparison.dataset}, {comparison.work}: {num_triples:,} {comparison.split} triples")
    print(text_table(table(peer, seconds)), flush=True)
    return {
        "work": comparison.work,
        "dataset": comparison.dataset,
        "triples": num_triples,
        "settings": {peer: comparison.peer, **comparison.ours},
        "seconds": seconds,
        "ratios": {name: ratios(seconds[peer], seconds[name]) for name in comparison.ours},
    }


def _write_triples(comparison: Comparison, envs: pathlib.Path) -> tuple[pathlib.Path, int]:
    """Writes the ids that both sides read; returns their folder and the size of the split."""
    from datasets import catalog
    from quatre_tf.data.encoding import SPLITS

    graph: Graph = catalog.load(comparison.dataset, manual_dir=flags.FLAGS.manual_dir)
    splits = {split: graph.split(split) for split in SPLITS}
    splits["train"] = splits["train"][: flags.FLAGS.max_triples]
    folder = envs / "triples" / comparison.dataset
    folder.mkdir(parents=True, exist_ok=True)
    for split, triples in splits.items():
        np.savetxt(folder / f"{split}.txt", triples, "%d", delimiter="\t")
    return folder, len(splits[comparison.split])


def train_epoch(folder: str, dataset: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Times an epoch of ours, input pipeline included, after some steps of the compiled loop."""
    import_tensorflow()
    import tensorflow as tf

    from datasets import catalog
    from trainers.training.trainer import Trainer

    config = presets.resolve(dataset, settings["recipe"], settings["given"])
    trainer = Trainer(config, catalog.load(folder), tf.distribute.get_strategy())
    trainer.train(_WARM_UP)
    steps = trainer.recipe.steps_per_epoch
    start = time.perf_counter()
    trainer.train(steps)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "triples": steps * trainer.recipe.triples_per_step}


def rank_test_split(folder: str, dataset: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Times our ranking of the test split, both sides, when it is done for the second time."""
    del dataset
    import_tensorflow()
    from datasets import catalog
    from quatre_tf.ranking.evaluator import Evaluator

    graph = catalog.load(folder)
    model, evaluator = measure.trained_model(graph, settings["embedding_dim"], 0), Evaluator(graph)
    evaluator.evaluate(model, "test")
    start = time.perf_counter()
    evaluator.evaluate(model, "test")
    return {"seconds": time.perf_counter() - start, "triples": len(graph.test)}


def ensure_environment(folder: pathlib.Path, peer: str, torch: str = TORCH) -> pathlib.Path:
    """Returns the Python of a peer's environment; creates it unless it exists as wanted.

    Args:
        folder: Where environments are kept; the peer's has its name.
        peer: A key of `PEERS`.
        torch: The requirement for PyTorch.

    Raises:
        DataError: It could not be created; the output of the installer was shown.
    """
    place = folder.absolute() / peer
    requirements, python = [torch, *_REQUIREMENTS[peer]], place / "bin" / "python"
    # Written last: an environment without it is not complete.
    mark = place / "requirements.txt"
    if mark.exists() and mark.read_text(encoding="utf-8").splitlines() == requirements:
        return python
    print(f"Creating the environment {place}: {', '.join(requirements)}", flush=True)
    commands = [
        [sys.executable, "-m", "venv", "--clear", str(place)],
        [str(python), "-m", "pip", "install", "--quiet", *requirements],
    ]
    for command in commands:
        if subprocess.run(command, check=False).returncode:
            raise DataError(
                f"`{' '.join(command)}` failed; see its output above. If {torch} was not found: "
                "point pip to a folder (PIP_FIND_LINKS) or an index (PIP_EXTRA_INDEX_URL) that has "
                f"the CPU wheel, or use --torch={TORCH.partition('+')[0]}, which may install "
                "several GB of CUDA libraries. If another package was not found for this Python: "
                "use 3.10 to 3.12."
            )
    mark.write_text("\n".join(requirements) + "\n", encoding="utf-8")
    return python


def run_script(command: Sequence[str]) -> dict[str, Any]:
    """Returns the JSON object that a process prints last.

    Raises:
        DataError: It failed, or its last line is something else; its output was shown.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        result = json.loads(done.stdout.rstrip("\n").rpartition("\n")[2])
    except ValueError:
        result = None
    if done.returncode or not isinstance(result, dict):
        sys.stderr.write(done.stdout + done.stderr)
        raise DataError(
            f"`{' '.join(command)}` ended with exit code {done.returncode}; see its output above. "
            "Expected a JSON object as its last line."
            + " It was killed, perhaps for lack of memory."
            * (done.returncode == -9)
        )
    return result


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


def table(peer: str, seconds: Mapping[str, Sequence[float]]) -> list[list[str]]:
    """Returns header and rows: the seconds of each side for the split, and peer / ours.

    Args:
        peer: A key of `PEERS`.
        seconds: Of each round, by name; the peer's under the name of the peer.
    """
    rows = [["", "seconds", f"{PEERS[peer]} / ours"]]
    for name, values in seconds.items():
        if name == peer:
            rows.append([PEERS[peer], f"{np.median(values):,.2f}", ""])
        else:
            ratio = ratios(seconds[peer], values)
            spread = f"{ratio['least']:,.1f} to {ratio['greatest']:,.1f}"
            cells = [f"{np.median(values):,.2f}", f"{ratio['median']:,.1f} ({spread})"]
            rows.append([f"ours: {name}", *cells])
    return rows


if __name__ == "__main__":
    define_flags()
    run_program(main)
