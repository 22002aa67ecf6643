"""Declares a search to TensorBoard's HParams dashboard; its runs write the rows."""

import os
import pathlib

import tensorflow as tf
from tensorboard.plugins.hparams import api

from quatre_tf.ranking.results import METRICS
from trainers.reporting.formatting import TITLES
from trainers.reporting.tensorboard.final import write_hparams
from trainers.training.setting import Choices, LogUniform
from trainers.tuning.plan import Search
from trainers.tuning.trials import TrialRun


def declare_experiment(search: Search, output: pathlib.Path) -> None:
    """Declares the settings that vary, with their domains, and the metrics.

    It replaces what the command declared before: a longer search may have more seeds.
    """
    hparams = [api.HParam(name, _domain(values)) for name, values in search.space.items()]
    hparams.append(api.HParam("seed", api.Discrete(list(search.seeds))))
    metrics = [api.Metric(_tag(name), display_name=f"valid {TITLES[name]}") for name in METRICS]
    for before in output.glob("events.out.tfevents.*"):
        before.unlink()
    with tf.summary.create_file_writer(os.fspath(output)).as_default():
        api.hparams_config(hparams, metrics)


def write_row(result: TrialRun) -> None:
    """Makes a run a row of the dashboard, with its best validation."""
    best = result.best or {}
    write_hparams(
        result.directory,
        result.config,
        {_tag(name): best[name] for name in METRICS if name in best},
    )


def _tag(metric: str) -> str:
    return f"valid/{metric}"


def _domain(values: Choices | LogUniform) -> "api.Domain":
    if isinstance(values, LogUniform):
        return api.RealInterval(values.low, values.high)
    return api.Discrete(list(values))
