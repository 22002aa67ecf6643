"""What a narrower entity table saves and costs, measured on exported models."""

import dataclasses
import pathlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from quatre_tf.data.graph import Graph

# Enough for the change of a mean reciprocal rank, and seconds of ranking.
_SAMPLE = 1000
_RANKED_AT_ONCE = 256
_QUESTIONS = 30


@dataclasses.dataclass(frozen=True)
class Measurement:
    """What was measured of one export.

    Attributes:
        precision: Of its entity table.
        num_bytes: Size of its files.
        milliseconds: Median time of one question: the top-10 tails, known ones left out.
        mrr: Filtered mean reciprocal rank of both sides of a sample of valid.
        num_triples: Size of the sample.
    """

    precision: str
    num_bytes: int
    milliseconds: float
    mrr: float
    num_triples: int


def measure_exports(paths: Mapping[str, pathlib.Path], graph: Graph) -> list[Measurement]:
    """Loads exports and asks them about the same validation triples.

    Args:
        paths: Version folders by the precision of their entity table.
        graph: The graph that the model was trained on.
    """
    signatures = {name: tf.saved_model.load(str(path)).signatures for name, path in paths.items()}
    rng = np.random.default_rng(0)
    rows = rng.choice(len(graph.valid), min(_SAMPLE, len(graph.valid)), replace=False)
    heads, relations, tails = graph.valid[rows].T
    names = {
        "head": graph.entities.names[heads],
        "relation": graph.relations.names[relations],
        "tail": graph.entities.names[tails],
    }
    times = _milliseconds([served["predict_tails"] for served in signatures.values()], names)
    return [
        Measurement(
            name,
            sum(file.stat().st_size for file in paths[name].rglob("*") if file.is_file()),
            milliseconds,
            _mean_reciprocal_rank(served, names),
            len(rows),
        )
        for (name, served), milliseconds in zip(signatures.items(), times, strict=True)
    ]


def comparison(measurements: Sequence[Measurement]) -> str:
    """Returns a table of measurements; the first is what the others are compared with."""
    first = measurements[0]
    sample = f"MRR, {first.num_triples:,} of valid"
    lines = [f"{'precision':10s}{'on disk':>12s}{'one query':>12s}{sample:>24s}{'change':>10s}"]
    lines += [
        f"{m.precision:10s}{m.num_bytes / 1e6:9.1f} MB{m.milliseconds:9.2f} ms"
        f"{m.mrr:24.4f}{m.mrr - first.mrr:+10.4f}"
        for m in measurements
    ]
    return "\n".join(lines)


def _milliseconds(predictors: Sequence[Any], names: dict[str, np.ndarray]) -> list[float]:
    """Returns the median time of each predictor; they take turns, so that drift hits all alike."""
    options = {
        "top_k": tf.constant(10),
        "filtered": tf.constant(True),
        "type_constrained": tf.constant(False),
    }
    times: list[list[float]] = [[] for _ in predictors]
    # The first question of each is for TensorFlow to prepare its graph.
    for row in np.arange(_QUESTIONS + 1) % len(names["head"]):
        question = {name: tf.constant(names[name][[row]]) for name in ("head", "relation")}
        for predict, taken in zip(predictors, times, strict=True):
            start = time.perf_counter()
            predict(**question, **options)["entities"].numpy()
            taken.append(time.perf_counter() - start)
    return [1e3 * float(np.median(taken[1:])) for taken in times]


def _mean_reciprocal_rank(signatures: Any, names: dict[str, np.ndarray]) -> float:
    ranks = []
    for start in range(0, len(names["head"]), _RANKED_AT_ONCE):
        rows = slice(start, start + _RANKED_AT_ONCE)
        triples = {name: tf.constant(column[rows]) for name, column in names.items()}
        ranks += [signatures[side](**triples)["rank"] for side in ("rank_tails", "rank_heads")]
    return float((1 / np.concatenate(ranks)).mean())
