"""A whole run as one function: data, training, test, export."""

import contextlib
import dataclasses
import json
import pathlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tensorflow as tf

from datasets import catalog
from datasets.custom_dataset import load_file
from datasets.graph_report import warnings_text
from datasets.output_folder import REPORT
from datasets.progress import progress
from datasets.standard_streams import outlast_output
from quatre_tf.atomic_files import write_text
from quatre_tf.data.graph import Graph
from quatre_tf.errors import ConfigError, TrainingError
from quatre_tf.ranking.evaluator import Evaluator
from quatre_tf.ranking.results import Results
from quatre_tf.runs.best_model import load_model
from quatre_tf.runs.run import Run
from saved_models.calibrating import calibrate, thresholds_of
from saved_models.scorer import Scorer
from saved_models.storage import writing
from saved_models.versions import export_scorer
from trainers.reporting.evaluation_tables import overall
from trainers.reporting.rendering import as_text
from trainers.reporting.tensorboard.final import write_final_summaries
from trainers.reporting.tensorboard.writer import Summaries
from trainers.training.checkpoints import Checkpoints, RunState
from trainers.training.config import TrainConfig
from trainers.training.controller import Clock, Controller, OnValidation, always
from trainers.training.memory import check_memory
from trainers.training.planning import BudgetPlan, EpochPlan, Plan
from trainers.training.resuming import check_resumable
from trainers.training.run_directory import RunDirectory
from trainers.training.server_trainer import make_trainer
from trainers.training.signals import reinstall_handlers
from trainers.training.strategies import chief_value, make_strategy, ranking_strategy
from trainers.training.trainer import Trainer, check_model

# Takes the settings, the graph and a clock of the seconds since the run began; returns the settings
# to train with.
Choose = Callable[[TrainConfig, Graph, Callable[[], float]], TrainConfig]


def fit(
    config: TrainConfig,
    run_dir: pathlib.Path,
    *,
    resume: bool = False,
    choose: Choose | None = None,
    **sources: Any,
) -> Results:
    """Trains, then evaluates the best weights on the test split and exports them.

    Args:
        config: The settings.
        run_dir: Where everything is kept; see `RunDirectory`.
        resume: Go on with the run that is there.
        choose: Chooses settings for the graph, before the run begins.
        **sources: `data_dir` and `manual_dir` of `datasets.catalog.load`.

    Returns:
        The results on the test split, as written to test_metrics.json.

    Raises:
        ConfigError: The folder holds a run and `resume` is not set, or is in use.
        DataError: The data set cannot be had.
        StorageError: The folder cannot be written to, or its disk is full.
        TrainingError: The loss is not finite any more.
    """
    with _begun(config, run_dir, resume, sources, choose) as session:
        trainer = _train(session)
        results = _stored_results(session) or _finish(session, trainer)
        # Workers wait for the chief, which has more to do: none misses another before the end.
        chief_value(session.strategy, 0.0)
        return results


def train(
    config: TrainConfig,
    run_dir: pathlib.Path,
    *,
    resume: bool = False,
    on_validation: OnValidation = always,
    **sources: Any,
) -> None:
    """Trains as `fit`, but neither ranks the test split nor exports anything.

    `fit` with `resume` does the rest later, and the training that `on_validation` left undone:
    it is asked after each validation whether to go on (`Controller.run`).
    """
    with _begun(config, run_dir, resume, sources) as session:
        _train(session, on_validation)


@dataclasses.dataclass(frozen=True)
class _Session:
    """A run while this process holds its folder."""

    config: TrainConfig
    run: RunDirectory
    graph: Graph
    strategy: tf.distribute.Strategy
    evaluator: Evaluator
    resumed: bool
    started: float


def check_trainable(config: TrainConfig, graph: Graph) -> None:
    """Expects that the settings make a model that can be trained, in the memory there is.

    Raises:
        ConfigError: They do not, or it does not fit.
    """
    check_model(config, graph)
    check_memory(config, graph)


@contextlib.contextmanager
def _begun(
    config: TrainConfig,
    run_dir: pathlib.Path,
    resume: bool,
    sources: Mapping[str, Any],
    choose: Choose | None = None,
) -> Iterator[_Session]:
    """Begins a run, or takes up the one that is there."""
    started = Clock.now()
    outlast_output()
    run = RunDirectory(run_dir)
    with _explained(run):
        _check_fresh(run, resume)
    # First of all, because logical devices exist only before TensorFlow's first op.
    strategy = make_strategy(config.strategy, config.num_replicas)
    reinstall_handlers()
    if config.deterministic:
        tf.config.experimental.enable_op_determinism()
    # Before the folder is made: a data set that cannot be had leaves nothing behind.
    preparation = None
    if resume:
        graph = Graph.load(run.graph)
    elif catalog.is_file(config.dataset):
        graph, preparation = load_file(config.dataset)
        print("\n".join([*preparation["preparation"]["read"], warnings_text(preparation)]))
    else:
        graph = catalog.load(config.dataset, **sources)
    check_trainable(config, graph)
    with contextlib.ExitStack() as held:
        with _explained(run):
            held.enter_context(run.locked())
            _check_fresh(run, resume)
            if resume:
                check_resumable(run, config)
        # Not before the folder is known to be writable: choosing takes minutes.
        if choose:
            config = choose(config, graph, lambda: Clock.now() - started)
            check_trainable(config, graph)
        with _explained(run):
            graph = run.begin(config, graph)
            if preparation:
                write_text(run.graph / REPORT, json.dumps(preparation, indent=2) + "\n")
        shared = ranking_strategy(strategy)
        evaluator = Evaluator(
            graph, config.tie_policy, config.seed, strategy=shared, progress=progress
        )
        # In this order: TensorFlow has one error for a full memory and a full disk.
        with _in_memory(), _explained(run):
            yield _Session(config, run, graph, strategy, evaluator, resume, started)


@contextlib.contextmanager
def _explained(run: RunDirectory) -> Iterator[None]:
    """Says of a disk that does not take a file of the run how to go on."""
    remedy = "Make room, or choose another --run_dir."
    if run.has_run:
        remedy = f"What is there is kept: make room, then go on with --run_dir={run.path} --resume."
    with writing("to", run.path, remedy):
        yield


@contextlib.contextmanager
def _in_memory() -> Iterator[None]:
    try:
        yield
    except (MemoryError, tf.errors.ResourceExhaustedError) as error:
        raise TrainingError(
            "The training does not fit into memory. What was written is kept: start again in "
            "another --run_dir with a smaller --embedding_dim, --batch_size or --num_candidates."
        ) from error


def _check_fresh(run: RunDirectory, resume: bool) -> None:
    if run.has_run and not resume:
        raise ConfigError(
            f"{run.path} already holds a run. Add --resume to go on with it, or choose another "
            "--run_dir."
        )
    left = [path.name for path in (run.metrics_file, run.test_metrics_file) if path.exists()]
    if left and not run.has_run:
        raise ConfigError(
            f"{run.path} holds {left[0]} of a run whose config.json is missing. Restore that, or "
            "choose another --run_dir."
        )


def _train(session: _Session, on_validation: OnValidation = always) -> Trainer:
    config, run, graph = session.config, session.run, session.graph
    trainer, state = make_trainer(config, graph, session.strategy), RunState()
    checkpoints = Checkpoints(run.checkpoints, trainer, state)
    if session.resumed:
        # Killed before its first checkpoint, a run has lost nothing that it would not do again.
        if not run.is_untrained:
            checkpoints.restore()
        run.rewind_metrics(int(trainer.step.numpy()))
    _introduce(config, run, graph, trainer)
    clock = Clock(session.started, float(state.seconds.numpy()), session.strategy)
    plan: Plan = EpochPlan(config, trainer.recipe.steps_per_epoch)
    if config.budget_minutes:
        plan = BudgetPlan(
            config,
            len(graph.test) / len(graph.valid),
            float(state.validated_seconds.numpy()),
            float(state.slowest_validation.numpy()),
        )
    summaries = Summaries(run, config, graph)
    controller = Controller(
        config, summaries, trainer, checkpoints, state, session.evaluator, plan, clock
    )
    if not controller.is_over:
        # With it a run is complete; and it would soon be of other weights.
        run.test_metrics_file.unlink(missing_ok=True)
        controller.run(on_validation)
    if config.budget_minutes and state.best_value.numpy() < 0:
        raise ConfigError(
            f"--budget_minutes={config.budget_minutes:g} was over before the first validation, so "
            f"there is nothing to keep; getting ready took {clock.seconds:.0f} s. Start again with "
            "a larger one, in another --run_dir."
        )
    return trainer


def _introduce(config: TrainConfig, run: RunDirectory, graph: Graph, trainer: Trainer) -> None:
    parameters = sum(v.value.shape.num_elements() for v in trainer.model.trainable_variables)
    width = trainer.model.score_function.entity_width
    length = f"{config.epochs} epochs of {trainer.recipe.steps_per_epoch} steps"
    if config.budget_minutes:
        length = f"{config.budget_minutes:g} minutes in all"
    suffix = " (compiled)" if trainer.has_compiled_updates else ""
    print(
        f"{graph.name}: {graph.num_entities:,} entities, {graph.num_relations:,} relations, "
        f"{len(graph.train):,} / {len(graph.valid):,} / {len(graph.test):,} train / valid / test "
        f"triples\n"
        f"{config.model}, recipe {config.recipe}: {width} floats per entity, {parameters:,} "
        f"parameters, {trainer.recipe.description}{suffix} per step, {length}\n"
        f"Run directory: {run.path}",
        flush=True,
    )


def _stored_results(session: _Session) -> Results | None:
    """Returns the test results of a run that was complete before; None for any other."""
    path = session.run.test_metrics_file
    if not path.exists():
        return None
    results = Results.load(path)
    remedy = _how_to_go_on(session.config)
    print(f"\n{as_text(overall(results))}\n")
    print(f"The run is complete: nothing to do. To train it further, {remedy}.")
    return results


def _how_to_go_on(config: TrainConfig) -> str:
    if config.budget_minutes:
        return "give a larger --budget_minutes"
    early = "; if it stopped early, a larger --patience, or 0" if config.patience else ""
    return f"give --epochs=MORE{early}"


def _finish(session: _Session, trainer: Trainer) -> Results:
    run, graph = session.run, session.graph
    model = load_model(run.path, into=trainer.model)
    results = session.evaluator.evaluate(model, "test")
    if not session.strategy.extended.should_checkpoint:
        # The chief does the rest alone.
        return results
    print(f"\n{as_text(overall(results))}\n")
    trained = Run(model, graph, run.path)
    write_final_summaries(run, trained, results)
    scorer = Scorer(model, graph, calibrate(trained), thresholds_of(trained))
    exported = export_scorer(scorer, run.saved_model)
    # Last: a run that has it is complete.
    write_text(run.test_metrics_file, results.to_json())
    print(f"Test metrics: {run.test_metrics_file}")
    print(f"SavedModel:   {exported}")
    print(f"TensorBoard:  tensorboard --logdir={run.tensorboard}")
    return results
