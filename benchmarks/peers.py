"""Times the training and the evaluation of other libraries beside ours, on the same triples.

Usage: python -m benchmarks.peers --peer=pykeen --envs=DIR [--output=FILE.json]

The peer gets an environment of its own below --envs, made from the package registry when it is not
there; nothing of the project depends on it. Peer and ours take turns, each in a process of its own
on the same cores and never at once; what they start with is not timed. docs/peers.md says what is
compared, and where the two sides differ.
"""

import os
import pathlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from absl import flags

from benchmarks import measure, peer_environments
from benchmarks import peer_plan as plan
from datasets.program import import_tensorflow, run_program
from datasets.text_table import table

if TYPE_CHECKING:
    from quatre_tf.data.graph import Graph

_PEER = flags.DEFINE_enum("peer", None, list(plan.PEERS), "Library to compare with.", required=True)
_ENVS = flags.DEFINE_string(
    "envs", None, "Folder for environments and triples, 1 to 2 GB.", required=True
)
_TORCH = flags.DEFINE_string("torch", peer_environments.TORCH, "Requirement for PyTorch.")
_MANUAL_DIR = flags.DEFINE_string("manual_dir", None, "Folder with archives already at hand.")
_ROUNDS = flags.DEFINE_integer("rounds", 3, "Measurements; medians are reported.", 1)
_THREADS = flags.DEFINE_integer("threads", 2, "Threads of either side, or workers.", 1)
_TEST_TRIPLES = flags.DEFINE_integer("test_triples", 64, "Test triples that PyKEEN ranks.", 1)
_EMBEDDING_DIM = flags.DEFINE_integer("embedding_dim", None, "Another size, to try it out.", 1)
_MAX_TRIPLES = flags.DEFINE_integer("max_triples", None, "Train triples, to try it out.", 1)
_OUTPUT = flags.DEFINE_string("output", None, "JSON file to write.")


def main(argv: Sequence[str]) -> None:
    """Measures and prints."""
    del argv
    peer, envs = _PEER.value, pathlib.Path(_ENVS.value).expanduser().absolute()
    python = peer_environments.ensure(envs, peer, _TORCH.value)
    # Inherited by all processes, so that a library that counts cores finds as many.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: _THREADS.value])
    record: dict[str, Any] = {
        "benchmark": "peers",
        "command": _command(),
        "threads": _THREADS.value,
        "versions": peer_environments.versions(python),
        "comparisons": [],
    }
    import_tensorflow()
    for comparison in plan.comparisons(peer, _EMBEDDING_DIM.value, _TEST_TRIPLES.value):
        result = _measure(comparison, peer, python, envs)
        record["comparisons"].append(result)
        measure.write_json(_OUTPUT.value, record)


def _measure(
    comparison: plan.Comparison, peer: str, python: pathlib.Path, envs: pathlib.Path
) -> dict[str, Any]:
    folder, num_triples = _write_triples(comparison, envs)
    place = {"folder": str(folder), "threads": _THREADS.value}
    script = pathlib.Path(__file__).with_name(f"peer_{peer}.py")
    # -I: the modules beside the script are none of the peer's.
    commands = {peer: plan.command([str(python), "-I", str(script)], comparison.peer, place)}
    ours = [sys.executable, "-m", "benchmarks.peer_ours"]
    commands |= {name: plan.command(ours, given, place) for name, given in comparison.ours.items()}
    variables = plan.environment(os.environ, _THREADS.value, str(envs / "pystow"))
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(_ROUNDS.value):
        for name, command in commands.items():
            result = peer_environments.run(command, variables)
            seconds[name].append(plan.whole(result, num_triples))
    print(f"\n{comparison.dataset}, {comparison.work}: {num_triples:,} {comparison.split} triples")
    print(table(plan.table(peer, comparison, seconds)), flush=True)
    return {
        "work": comparison.work,
        "dataset": comparison.dataset,
        "triples": num_triples,
        "settings": {peer: comparison.peer, **comparison.ours},
        "seconds": seconds,
        "ratios": {name: plan.ratios(seconds[peer], seconds[name]) for name in comparison.ours},
    }


def _write_triples(comparison: plan.Comparison, envs: pathlib.Path) -> tuple[pathlib.Path, int]:
    """Writes ids that both sides read; returns their folder, and how many the work goes through."""
    from datasets import catalog
    from quatre_tf.data.encoding import SPLITS

    graph = catalog.load(comparison.dataset, manual_dir=_MANUAL_DIR.value)
    folder = envs / "triples" / comparison.dataset
    folder.mkdir(parents=True, exist_ok=True)
    for split in SPLITS:
        lines = ("\t".join(map(str, triple)) + "\n" for triple in _triples(graph, split).tolist())
        (folder / f"{split}.txt").write_text("".join(lines), encoding="utf-8")
    return folder, len(_triples(graph, comparison.split))


def _triples(graph: "Graph", split: str) -> Any:
    triples = graph.split(split)
    return triples[: _MAX_TRIPLES.value] if split == "train" else triples


def _command() -> str:
    """Returns the command without the places of this machine."""
    return measure.command(
        "peers",
        peer=_PEER.value,
        envs="DIR",
        rounds=_ROUNDS.value,
        threads=_THREADS.value,
        test_triples=_TEST_TRIPLES.value if _PEER.value == "pykeen" else None,
        embedding_dim=_EMBEDDING_DIM.value,
        max_triples=_MAX_TRIPLES.value,
    )


if __name__ == "__main__":
    run_program(main)
