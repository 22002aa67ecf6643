"""What `benchmarks.peers` compares, with which settings, and the table of it."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

PEERS = {"pykeen": "PyKEEN", "biggraph": "PyTorch-BigGraph"}
# Steps of either side before its clock starts.
_WARM_UP = 5
# Its automatic choice on a CPU is 32, which asks for more than 40 GB at the paper's size.
_PYKEEN_EVALUATION_BATCH = 4


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The same work, done by the peer and by this project.

    Attributes:
        work: What is timed.
        dataset: Name in the catalogue.
        split: The split whose triples the work goes through once, `"train"` or `"test"`.
        peer: Settings of the peer's process.
        ours: Settings of ours, by name.
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
        ours={"paper": _training("wn18rr", "paper", both)},
    )


def _evaluation(dim: int, num_triples: int) -> Comparison:
    sample = {"num_triples": num_triples, "batch_size": _PYKEEN_EVALUATION_BATCH}
    return Comparison(
        work=f"filtered evaluation, n = {dim}, both sides ({num_triples} triples by the peer)",
        dataset="wn18rr",
        split="test",
        peer={"task": "evaluation", "embedding_dim": dim, **sample},
        # Ours is quicker the better the answers rank; the peer's time does not depend on it.
        ours={
            "ranking": {"task": "evaluation", "embedding_dim": dim, "epochs": 5},
            "ranking of an untrained model": {
                "task": "evaluation",
                "embedding_dim": dim,
                "epochs": 0,
            },
        },
    )


def _sampled_training(dim: int) -> Comparison:
    # As many candidates as the peer has negatives of both kinds.
    both = {"batch_size": 1_000, "learning_rate": 0.1}
    ours = {"embedding_dim": dim, "num_candidates": 1_050, **both}
    negatives = {"num_uniform_negs": 1_000, "num_batch_negs": 50}
    exact = {**ours, "compute_dtype": "float32"}
    return Comparison(
        work=f"training epoch, {4 * dim} floats, batch 1,000, 1,000 + 50 negatives",
        dataset="fb15k237",
        split="train",
        peer={"dimension": 4 * dim, **negatives, **both},
        ours={
            "sampled": _training("fb15k237", "sampled", ours),
            "sampled, float32 products": _training("fb15k237", "sampled", exact),
        },
    )


def _training(dataset: str, recipe: str, given: Mapping[str, Any]) -> dict[str, Any]:
    settings = {"dataset": dataset, "recipe": recipe, "given": dict(given)}
    return {"task": "training", "warm_up": _WARM_UP, **settings}


def command(program: Sequence[str], settings: Mapping[str, Any], place: Mapping[str, Any]) -> list:
    """Returns the command line of a process: its settings are one JSON argument.

    Args:
        program: What to run.
        settings: Of the work.
        place: Of the run: `folder` of the triples and number of `threads`.
    """
    return [*program, json.dumps({**settings, **place})]


def environment(given: Mapping[str, str], threads: int, home: str) -> dict[str, str]:
    """Returns the environment variables of all processes: the same threads for all libraries.

    Args:
        given: Those of this process.
        threads: Their number.
        home: Where PyKEEN may keep its files, in place of the user's home.
    """
    names = ("OMP", "MKL", "OPENBLAS")
    limits = {f"{name}_NUM_THREADS": str(threads) for name in names}
    return {**given, **limits, "TF_CPP_MIN_LOG_LEVEL": "3", "PYSTOW_HOME": home}


def whole(result: Mapping[str, float], num_triples: int) -> float:
    """Returns the seconds for all triples of a split, from those of a part of it."""
    return result["seconds"] / result["triples"] * num_triples


def ratios(peer: Sequence[float], ours: Sequence[float]) -> dict[str, float]:
    """Returns median, least and greatest of peer / ours, each of one round."""
    quotients = np.divide(peer, ours)
    return {
        "median": float(np.median(quotients)),
        "least": float(quotients.min()),
        "greatest": float(quotients.max()),
    }


def table(peer: str, comparison: Comparison, seconds: Mapping[str, Sequence[float]]) -> list:
    """Returns header and rows: what each side takes for the split, and peer / ours.

    Args:
        peer: A key of `PEERS`.
        comparison: What was compared.
        seconds: Of each round, by name; the peer's under the name of the peer.
    """
    rows = [["", "seconds", f"{PEERS[peer]} / ours"]]
    rows.append([PEERS[peer], f"{np.median(seconds[peer]):,.2f}", ""])
    for name in comparison.ours:
        ratio = ratios(seconds[peer], seconds[name])
        spread = f"{ratio['least']:,.1f} to {ratio['greatest']:,.1f}"
        cells = [f"{np.median(seconds[name]):,.2f}", f"{ratio['median']:,.1f} ({spread})"]
        rows.append([f"ours: {name}", *cells])
    return rows
