"""From the command line to the training step: what the tests of settings share."""

import contextlib
import functools
import importlib
import io
import json
import types
import warnings

import numpy as np
import pytest
import tensorflow as tf
from absl import flags
from absl.testing import flagsaver

from quatre_tf import Graph, Vocabulary
from trainers.training import controller, fitting
from trainers.training.config import TrainConfig
from trainers.training.controller import Clock
from trainers.training.server_trainer import make_trainer
from trainers.training.trainer import Progress, Trainer

# The tables of each model, in the order of `Trainer.state`.
TABLES = {
    "quatre": ("entity", "relation", "head_rotation", "tail_rotation"),
    "quate": ("entity", "relation"),
    "quatre_head": ("entity", "relation", "head_rotation"),
    "quatre_tail": ("entity", "relation", "tail_rotation"),
    "transe": ("entity", "relation"),
    "autosf": ("entity", "relation"),
}


def tiny_graph():
    """9 entities, 2 relations: seven heads of relation 0 share two tails; relation 1 is mixed."""
    train = [(head, 0, 7 + head % 2) for head in range(7)]
    train += [(0, 1, 1), (0, 1, 2), (0, 1, 3), (2, 1, 4), (3, 1, 5), (4, 1, 6), (5, 1, 8)]
    valid, test = [(1, 1, 2), (6, 1, 0)], [(5, 1, 6), (8, 1, 7), (6, 1, 2)]
    return Graph(
        "tiny",
        Vocabulary([f"e{i}" for i in range(9)]),
        Vocabulary([f"r{i}" for i in range(2)], "relation"),
        *(np.array(split, np.int32) for split in (train, valid, test)),
    )


def random_graph(num_entities, num_relations, num_triples):
    """A larger graph, for the sizes that depend on that of the data set."""
    rng = np.random.default_rng(1)
    bounds = [num_entities, num_relations, num_entities]
    splits = [rng.integers(0, bounds, [count, 3], np.int32) for count in (num_triples, 5, 5)]
    return Graph(
        "random",
        Vocabulary([f"e{i}" for i in range(num_entities)]),
        Vocabulary([f"r{i}" for i in range(num_relations)], "relation"),
        *splits,
    )


@contextlib.contextmanager
def _only(own):
    """Leaves only these flags: programs that tests import define others by the same names."""
    others = flags.FlagValues()
    others.append_flag_values(flags.FLAGS)
    flags.FLAGS.remove_flag_values(others)
    flags.FLAGS.append_flag_values(own)
    try:
        yield
    finally:
        flags.FLAGS.remove_flag_values(own)
        flags.FLAGS.append_flag_values(others)


@functools.cache
def _program():
    """`trainers.fit` and its flags."""
    own = flags.FlagValues()
    with _only(own):
        program = importlib.import_module("trainers.fit")
        own.append_flag_values(flags.FLAGS)
    return program, own


def config_of(*arguments):
    """The settings that `python -m trainers.fit ARGUMENTS` trains with."""
    program, own = _program()
    printed = io.StringIO()
    with _only(own), flagsaver.flagsaver(), contextlib.redirect_stdout(printed):
        flags.FLAGS(["trainers.fit", "--print_config", *arguments])
        assert program.main() == 0
    return TrainConfig(**json.loads(printed.getvalue()))


def trainer_of(config, graph):
    return make_trainer(config, graph, tf.distribute.get_strategy())


def tables_of(trainer, config):
    """The tables by name, in float64."""
    return _named(trainer.state["tables"], config)


def slots_of(trainer, config):
    """What the optimizer remembers of each table in float64; two slots are `[2, rows, width]`."""
    slots = [_named(values, config) for values in trainer.state["optimizer"].values()]
    if len(slots) == 1:
        return slots[0]
    return {name: np.stack([slot[name] for slot in slots]) for name in slots[0]}


def _named(variables, config):
    names = TABLES[config.model]
    pairs = zip(names, variables, strict=True)
    return {name: variable.numpy().astype(np.float64) for name, variable in pairs}


def batch_of(trainer, step):
    """Batch `step` of the trainer's recipe, as tensors."""
    batches = trainer.recipe.batches()
    return batches.make(tf.constant(step, tf.int64), 0, batches.batch_size)


@contextlib.contextmanager
def eagerly():
    """Without traces: a step takes milliseconds once, where compiling takes seconds."""
    tf.config.run_functions_eagerly(True)
    try:
        with warnings.catch_warnings():
            # The functions of tf.data are traced even so, which is quick.
            warnings.filterwarnings("ignore", "Even though the `tf.config.experimental_run_func")
            yield
    finally:
        tf.config.run_functions_eagerly(False)


class Machine:
    """A machine of known speed, whose time replaces that of `Clock`.

    Attributes:
        now: Its time, in seconds.
        step_seconds: What a training step takes.
        triple_seconds: What it takes to rank a triple.
    """

    def __init__(self, patch, step_seconds=0.25, triple_seconds=0.5):
        self.now = 1000.0
        self.step_seconds, self.triple_seconds = step_seconds, triple_seconds
        patch.setattr(Clock, "now", staticmethod(lambda: self.now))

    def slow_down(self, patch, *, train=Trainer.train, rank=fitting.Evaluator.rank):
        """Makes the methods of the trainer and the evaluator, or others, take their time."""

        def timed_train(trainer, num_steps):
            self.now += self.step_seconds * num_steps
            return train(trainer, num_steps)

        def timed_rank(evaluator, model, split, max_triples=None):
            ranks = rank(evaluator, model, split, max_triples)
            self.now += self.triple_seconds * len(ranks.triples)
            return ranks

        patch.setattr(Trainer, "train", timed_train)
        patch.setattr(fitting.Evaluator, "rank", timed_rank)


# Hits@10 and MRR of the validations: they have their best at different ones.
HITS = (0.2, 0.6, 0.5, 0.4, 0.3, 0.2)
MRR = (0.1, 0.2, 0.3, 0.2, 0.1, 0.1)


def outer_loop(config, graph, folder, machine_of=Machine):
    """Runs `fitting.train` with steps and validations that only take time.

    Returns:
        A namespace: `dataset`, `determinism`, `strategy` and `evaluator` are what was asked for;
        `validations` are the steps of the validations, of which number `best` was kept; `end` is
        the last step; `decay_ends` are where the learning rate was to end, before each call of the
        inner loop and at the end; `seconds` is what the run took.
    """
    seen = types.SimpleNamespace(determinism=False, validations=[], decay_ends=[], best=None)

    def load(dataset, **_):
        seen.dataset = dataset
        return graph

    def determinism():
        seen.determinism = True

    def make_observed(config, graph, strategy):
        seen.strategy = (type(strategy).__name__, strategy.num_replicas_in_sync)
        seen.trainer = make_trainer(config, graph, strategy)
        return seen.trainer

    def train(trainer, num_steps):
        seen.decay_ends.append(int(trainer.last_step.numpy()))
        trainer.step.assign_add(num_steps)
        return Progress(1.0, 0.0, 1.0)

    class Ranks:
        def __init__(self, triples):
            self.triples = triples

    class Evaluator:
        def __init__(self, graph, tie_policy, seed, **_):
            seen.evaluator = (tie_policy, seed)
            self._graph = graph

        def rank(self, model, split, max_triples=None):
            return Ranks(self._graph.split(split)[:max_triples])

        def summarize(self, ranks):
            number = len(seen.validations)
            seen.validations.append(int(seen.trainer.step.numpy()))
            figures = {"mr": 1.0, "hits@1": 0.0, "hits@3": 0.0}
            figures |= {"hits@10": HITS[number % len(HITS)], "mrr": MRR[number % len(MRR)]}
            return types.SimpleNamespace(metrics=lambda: figures)

    class Summaries:
        def __init__(self, run, config, graph):
            self.run = run

        def write(self, *_, **__): ...

        def write_validation(self, *_): ...

    def save_best(model, run):
        seen.best = len(seen.validations)

    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "make_trainer": make_observed,
            "Evaluator": Evaluator,
            "Summaries": Summaries,
        }.items():
            patch.setattr(fitting, name, value)
        patch.setattr(fitting.Checkpoints, "save", lambda _: None)
        patch.setattr(fitting.catalog, "load", load)
        patch.setattr(controller, "save_best", save_best)
        patch.setattr(controller, "_FIRST_SAMPLE_SECONDS", float("inf"))
        patch.setattr(tf.config.experimental, "enable_op_determinism", determinism)
        machine = machine_of(patch)
        machine.slow_down(patch, train=train, rank=Evaluator.rank)
        fitting.train(config, folder)
    seen.end = int(seen.trainer.step.numpy())
    seen.decay_ends.append(int(seen.trainer.last_step.numpy()))
    seen.seconds = machine.now - 1000.0
    return seen


def differing(found, other):
    """The names of the parts in which two observations differ, bit for bit."""
    assert found.keys() == other.keys()
    return {name for name in found if _text(found[name]) != _text(other[name])}


def _text(value):
    return json.dumps(value, default=lambda array: np.asarray(array).tolist())
