"""Training and evaluating the runs of a comparison."""

import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from datasets import catalog
from quatre_tf.atomic_files import write_text
from quatre_tf.ranking.evaluation import Options, difference_rows, unseen_answer_rows
from quatre_tf.ranking.results import Results, Row
from quatre_tf.ranking.split_ranks import SplitRanks
from quatre_tf.runs.run import Run, load_run
from trainers.comparison.page import comparison_page
from trainers.comparison.plan import Comparison
from trainers.comparison.published import published_rows
from trainers.comparison.text import COSTS, comparison_text
from trainers.reporting.rendering import write_csv
from trainers.reporting.training_log import read_records
from trainers.training.config import TrainConfig
from trainers.training.fitting import check_trainable, fit
from trainers.training.run_directory import (
    RunDirectory,
    check_one_graph,
    check_same,
    drop_unless_resumable,
)

_SPLIT = "test"


def run_comparison(comparison: Comparison, output: pathlib.Path, **sources: Any) -> Results:
    """Trains the runs that are missing, evaluates all, and writes the results.

    These are comparison.json, .csv, .txt and .html.

    Each run has its own run directory in `output`. Finished runs are read and an interrupted one is
    resumed, so the same call continues after an interruption.

    Args:
        comparison: What to compare.
        output: The folder of the runs.
        **sources: `data_dir` and `manual_dir` of `datasets.catalog.load`.

    Returns:
        The content of comparison.json; see `evaluate_models`.

    Raises:
        ConfigError: A run in `output` has other settings, or is in use; or one cannot be trained.
        DataError: The data set is not available, or changed after a run.
        TrainingError: A training diverged.
    """
    wanted = comparison.configs()
    runs = {name: RunDirectory(output / name) for name in wanted}
    # All of them first: a conflict should not show after days of training.
    for name, config in wanted.items():
        check_same(config, runs[name])
    graph = catalog.load(comparison.dataset, **sources)
    check_one_graph(runs.values(), graph)
    for name, config in wanted.items():
        if not runs[name].test_metrics_file.exists():
            check_trainable(config, graph)
    for number, (name, config) in enumerate(wanted.items(), start=1):
        print(f"\n[{number}/{len(wanted)}] {name}", flush=True)
        _train(config, runs[name], sources)
        check_one_graph(runs.values(), graph)
    results = evaluate_models(comparison, output)
    write_text(output / "comparison.json", results.to_json())
    write_csv(output / "comparison.csv", (row._asdict() for row in results.rows))
    write_text(output / "comparison.txt", comparison_text(comparison, results) + "\n")
    write_text(output / "comparison.html", comparison_page(comparison, results))
    return results


def evaluate_models(comparison: Comparison, output: pathlib.Path) -> Results:
    """Evaluates finished runs on the test split.

    Args:
        comparison: What to compare.
        output: The folder of the runs.

    Returns:
        Rows of each model (`run` is its name): means over the seeds, with intervals over triples;
        differences from the first model, with p values, paired by triple; costs; published figures
        ("MODEL, SOURCE"). Then the rows of each run ("MODEL-seedSEED").
    """
    configs = comparison.configs()
    policy = next(iter(configs.values())).tie_policy
    options = Options(tie_policy=policy, candidates=comparison.candidates)
    evaluator, of_runs = None, []
    values: dict[str, list[np.ndarray]] = {model: [] for model in comparison.models}
    costs: dict[str, list[dict[str, float]]] = {model: [] for model in comparison.models}
    for name, config in configs.items():
        trained = load_run(output / name)
        evaluator = evaluator or options.evaluator(trained.graph)
        ranks = evaluator.rank(trained.model, _SPLIT)
        values[config.model].append(ranks.values(policy))
        costs[config.model].append(_costs(trained))
        of_runs += ranks.rows(values[config.model][-1], policy, run=name)
        of_runs += _cost_rows(ranks, policy, name, costs[config.model][-1:])
    means = {model: np.mean(found, axis=0) for model, found in values.items()}
    baseline = comparison.models[0]
    rows = [row._replace(run=baseline) for row in unseen_answer_rows(ranks, trained.graph, policy)]
    for model, mean in means.items():
        rows += ranks.rows(mean, policy, seed=options.seed, run=model)
        rows += _cost_rows(ranks, policy, model, costs[model])
        if model != baseline:
            differences = mean - means[baseline]
            rows += difference_rows(ranks, differences, options, run=model, baseline=baseline)
        published = published_rows(comparison.dataset, model, rows[0])
        rows += [row for row in published if row.candidates in comparison.candidates]
    return Results(_SPLIT, len(ranks.triples), policy, (*rows, *of_runs))


def _train(config: TrainConfig, run: RunDirectory, sources: Mapping[str, Any]) -> None:
    """Trains a run as far as it is not trained yet."""
    if run.test_metrics_file.exists():
        print("Finished before.")
        return
    drop_unless_resumable(run)
    fit(config, run.path, resume=run.has_run, **sources)


def _costs(trained: Run) -> dict[str, float]:
    """Returns `COSTS` of a run."""
    tables = [variable.shape.num_elements() for variable in trained.model.trainable_variables]
    records = read_records(RunDirectory(trained.run_dir).metrics_file)
    costs = (sum(tables), trained.model.entities.embeddings.shape[1], records[-1]["seconds"] / 60)
    return dict(zip(COSTS, costs, strict=True))


def _cost_rows(
    ranks: SplitRanks, tie_policy: str, run: str, costs: Sequence[dict[str, float]]
) -> Iterator[Row]:
    """Yields the means of costs; they have no candidate set and no side."""
    for name in COSTS:
        mean = float(np.mean([cost[name] for cost in costs]))
        yield Row(ranks.split, tie_policy, "", "", len(ranks.triples), name, mean, run=run)
