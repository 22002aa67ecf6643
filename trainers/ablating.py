"""The paper's ablation: the variants under one budget and the same seeds, run after run."""

import json
import os
import pathlib
from typing import Any

from quatre_tf.atomic_files import write_text
from quatre_tf.ranking.evaluation import Options, evaluate_run
from quatre_tf.run import load_trained
from trainers.ablation_plan import Ablation
from trainers.ablation_table import summarize
from trainers.training.config import TrainConfig
from trainers.training.fitting import fit
from trainers.training.run_directory import RunDirectory
from trainers.training.run_series import check_one_graph, check_same, drop_unless_resumable


def run_ablation(
    ablation: Ablation,
    output: pathlib.Path,
    *,
    data_dir: str | os.PathLike | None = None,
    manual_dir: str | os.PathLike | None = None,
) -> dict[str, Any]:
    """Trains and evaluates what is not there yet, and writes `output`/ablation.json.

    Each run is a run directory of its own in `output`. A finished one is read, an interrupted one
    resumed, so the same call goes on where it was stopped.

    Args:
        ablation: What to compare.
        output: The folder of the runs.
        data_dir: Where prepared data sets are kept.
        manual_dir: Where archives already at hand lie.

    Returns:
        The content of ablation.json; see `trainers.ablation_table.summarize`.

    Raises:
        ConfigError: A run in `output` has other settings, or is in use.
        DataError: The data set cannot be had, or changed between two runs.
        TrainingError: A training collapsed.
    """
    wanted = ablation.configs()
    runs = {name: RunDirectory(output / name) for name in wanted}
    # All of them first: a conflict should not show after days of training.
    for name, config in wanted.items():
        check_same(config, runs[name])
    check_one_graph(runs.values())
    for number, (name, config) in enumerate(wanted.items(), start=1):
        print(f"\n[{number}/{len(wanted)}] {name}", flush=True)
        _finish(config, runs[name], data_dir, manual_dir)
        check_one_graph(runs.values())
    # The runs' own test metrics have no constrained candidates, which the paper's table is about.
    results = {
        name: evaluate_run(load_trained(output / name), Options(tie_policy=config.tie_policy))
        for name, config in wanted.items()
    }
    summary = summarize(wanted, results)
    text = json.dumps(summary, indent=2) + "\n"
    write_text(output / "ablation.json", text)
    return summary


def _finish(config: TrainConfig, run: RunDirectory, data_dir: Any, manual_dir: Any) -> None:
    """Trains a run as far as it has to be."""
    if run.test_metrics_file.exists():
        print("Finished before.")
        return
    drop_unless_resumable(run)
    fit(config, run.path, resume=run.has_run, data_dir=data_dir, manual_dir=manual_dir)
