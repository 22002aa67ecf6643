"""Records a training run as one JSON file for `benchmarks/results`.

Usage: python -m benchmarks.record_run --run_dir=DIR --output=FILE.json [--evaluation=FILE.json]

The test figures are those of the run's test_metrics.json, or of the file that
`quatre evaluate --split=test --output` wrote for a run that was stopped before its end. The
machine is the one that records: record where it was trained. If the data set has checked false
triples, the test split is also classified.
"""

import dataclasses
import pathlib
from typing import Any

from absl import flags

from benchmarks import measure
from datasets.program import import_tensorflow, run_program
from quatre_tf.data.graph import Graph
from quatre_tf.errors import ConfigError
from quatre_tf.paths import GRAPH
from quatre_tf.ranking.results import Results
from trainers.commands import command_of
from trainers.reporting.training_log import read_records
from trainers.training.config import TrainConfig

_RUN_DIR = flags.DEFINE_string("run_dir", None, "A run of `quatre fit`.", required=True)
_EVALUATION = flags.DEFINE_string("evaluation", None, "Test figures of `quatre evaluate`.")
flags.mark_flag_as_required("output")


def main() -> None:
    """Translates the flags."""
    run_dir = pathlib.Path(_RUN_DIR.value)
    evaluation = pathlib.Path(_EVALUATION.value or run_dir / "test_metrics.json")
    record = record_of(run_dir, evaluation)
    import_tensorflow()
    measure.write_result(record)


def record_of(run_dir: pathlib.Path, evaluation: pathlib.Path) -> dict[str, Any]:
    """Returns command, settings, curve and test figures of a run.

    Raises:
        ConfigError: The run has no records, or the results are not of its test split.
        DataError: The results cannot be read.
    """
    config = TrainConfig.from_file(run_dir / "config.json")
    records = read_records(run_dir / "metrics.jsonl")
    if not records:
        raise ConfigError(f"{run_dir / 'metrics.jsonl'} has no records. Expected those of a run.")
    test = Results.load(evaluation)
    if test.split != "test":
        raise ConfigError(f"{evaluation} is of the {test.split} split. Expected the test split.")
    graph = Graph.load(run_dir / GRAPH)
    expected = (config.tie_policy, len(graph.test))
    if (test.tie_policy, test.num_triples) != expected:
        raise ConfigError(
            f"{evaluation} has {test.num_triples:,} triples and {test.tie_policy} ties."
            f" Expected {expected[1]:,} and {expected[0]} of this run."
        )
    # Otherwise they would be drawn, and easier to recognize.
    has_checked = {"valid", "test"} <= graph.negatives.keys()
    classified = {"classification": _classify(run_dir)} if has_checked else {}
    return {
        "dataset": config.dataset,
        "recipe": config.recipe,
        "command": command_of(config),
        "seed": config.seed,
        "epochs": round(max(record["epoch"] for record in records), 2),
        "wall_time_s": max(record["seconds"] for record in records),
        "config": dataclasses.asdict(config),
        "validation": measure.curve_of(records),
        "test": {
            "split": test.split,
            "num_triples": test.num_triples,
            "tie_policy": test.tie_policy,
            "candidates": {
                name: {"both": test.metrics(candidates=name)} for name in test.candidates
            },
        },
        **classified,
    }


def _classify(run_dir: pathlib.Path) -> dict[str, dict[str, Any]]:
    """Returns value and interval of each figure of the test split as a whole."""
    import_tensorflow()
    from quatre_tf.classification.evaluating import evaluate_classification
    from quatre_tf.runs.run import load_run

    run = load_run(run_dir)
    rows = evaluate_classification(run.model, run.graph).select(group_by="")
    return {row.metric: {"value": row.value, "low": row.low, "high": row.high} for row in rows}


if __name__ == "__main__":
    run_program(main)
