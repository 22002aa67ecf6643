"""Training from the command line to the tables, against plain NumPy."""

import functools
import itertools

import numpy as np
import pytest
import tensorflow as tf

from tests import reference
from tests.batches import as_triples
from tests.trainers.training import wiring
from trainers.training.trainer import LinearDecay

_COMMON = ("--embedding_dim=2", "--batch_size=6", "--seed=5", "--learning_rate=0.05")
_QUERIES = (
    "--reciprocal=true",
    "--normalize_relations=false",
    "--init_scale=0.4",
    "--steps_per_epoch=2",
    "--lr_decay=linear",
    "--epochs=2",
    "--n3=0.03",
    "--dura=0.02",
    "--compute_dtype=float32",
)
_SOFTMAX = (*_QUERIES, "--relation_prediction=0.4")
FLAGS = {
    "paper": ("--num_negatives=3", "--l2=0.3", "--clip_norm=0.05"),
    "strong": (*_SOFTMAX, "--clip_norm=0"),
    "sampled": (
        *_SOFTMAX,
        "--num_candidates=4",
        "--clip_norm=0.5",
        # The rate decays in the last of three steps.
        "--lr_decay=late",
        "--steps_per_epoch=3",
        "--epochs=1",
    ),
    "self_adversarial": (
        *_QUERIES,
        "--num_candidates=4",
        "--margin=1.5",
        "--temperature=0.7",
        "--optimizer=adagrad",
    ),
}


@pytest.fixture(scope="module")
def graph():
    return wiring.tiny_graph()


@pytest.fixture(scope="module")
def config_of(graph, tmp_path_factory):
    """`config_of(recipe, *flags)` -> the settings of a run on a folder."""
    folder = str(tmp_path_factory.mktemp("tiny"))
    return lambda recipe, *given: wiring.config_of(
        f"--dataset={folder}", f"--recipe={recipe}", *_COMMON, *FLAGS[recipe], *given
    )


class Reference:
    """The run in NumPy: `tests.reference` on the batches of the trainer."""

    def __init__(self, config, graph, trainer):
        self._config, self._graph, self._trainer = config, graph, trainer
        self.tables = wiring.tables_of(trainer, config)
        self.slots, self.step = wiring.slots_of(trainer, config), 0

    def train(self):
        """Takes a step; returns loss, regularization and gradient norm."""
        config, rate = self._config, self._config.learning_rate
        if config.lr_decay != "none":
            last_step = config.epochs * config.steps_per_epoch
            first_step = {"linear": 0.0, "late": 0.6 * last_step}[config.lr_decay]
            rate = reference.linear_decay(rate, self.step, last_step, first_step)
        update = functools.partial(reference.adagrad, learning_rate=rate, epsilon=1e-10)
        if config.optimizer == "adam":
            update = functools.partial(
                reference.lazy_adam, learning_rate=rate, epsilon=1e-8, step=self.step + 1
            )
        self.tables, self.slots, seen = reference.training_step(
            self.tables, self.slots, self.objective(self.step), update, config.clip_norm
        )
        self.step += 1
        return seen

    def objective(self, step):
        """The objective on a batch: a function of the tables."""
        config, batch = self._config, wiring.batch_of(self._trainer, step)
        if config.recipe == "paper":
            triples, labels = triples_of(batch)
            return functools.partial(
                reference.sampled_logistic,
                triples=triples,
                labels=labels,
                l2=config.l2,
                normalize_relations=config.normalize_relations,
            )
        questions = all_queries(self._graph)
        targets_per_query = sum(map(len, questions.values())) / len(questions)
        entities, relations, targets = zip(*queries_of(batch), strict=True)
        everyone = range(self._graph.num_entities)
        candidates = list(batch["candidates"].numpy()) if "candidates" in batch else None
        objective = functools.partial(
            reference.softmax, relation_prediction=config.relation_prediction
        )
        if config.recipe == "self_adversarial":
            objective = functools.partial(
                reference.self_adversarial,
                margin=config.margin,
                temperature=config.temperature,
                constant_tables=self.tables,
            )
        return functools.partial(
            objective,
            entities=np.array(entities),
            relations=np.array(relations),
            is_target=np.array([np.isin(everyone, of_query) for of_query in targets]),
            num_targets=targets_per_query * config.batch_size,
            normalize_relations=config.normalize_relations,
            candidates=candidates,
            n3=config.n3,
            dura=config.dura,
        )


def triples_of(batch):
    names = ("heads", "relations", "tails", "corrupted", "tail_corrupted")
    return as_triples([batch[name] for name in names])


def queries_of(batch):
    """Tuples (entity, relation, targets), by the numbers of the batch."""
    rows, targets = batch["rows"].numpy(), batch["targets"].numpy()
    pairs = zip(batch["entities"].numpy(), batch["relations"].numpy(), strict=True)
    return [(*pair, list(targets[rows == i])) for i, pair in enumerate(pairs)]


def all_queries(graph):
    """The targets of each (entity, relation) that training triples answer."""
    found = {}
    for head, relation, tail in graph.train.tolist():
        found.setdefault((head, relation), set()).add(tail)
        found.setdefault((tail, graph.num_relations + relation), set()).add(head)
    return found


def assert_same_state(trainer, config, expected):
    for found, wanted, rtol in (
        (wiring.slots_of(trainer, config), expected.slots, 1e-3),
        (wiring.tables_of(trainer, config), expected.tables, 1e-4),
    ):
        for name, values in wanted.items():
            np.testing.assert_allclose(found[name], values, rtol=rtol, atol=1e-6, err_msg=name)


def as_tuple(progress):
    return progress.loss, progress.regularization, progress.gradient_norm


@pytest.mark.parametrize("recipe", FLAGS)
def test_compiled_steps(recipe, config_of, graph):
    """A step, then two in one call, which reports means and the norm of the last."""
    config = config_of(recipe)
    trainer = wiring.trainer_of(config, graph)
    expected = Reference(config, graph, trainer)
    np.testing.assert_allclose(as_tuple(trainer.train(1)), expected.train(), rtol=1e-4)
    assert_same_state(trainer, config, expected)
    second, third = expected.train(), expected.train()
    means = np.mean([second[:2], third[:2]], axis=0)
    np.testing.assert_allclose(as_tuple(trainer.train(2)), [*means, third[2]], rtol=1e-3)
    assert_same_state(trainer, config, expected)
    assert trainer.step.numpy() == 3


VARIATIONS = {
    "uniform": ("paper", ("--corruption=uniform",)),
    "no clipping": ("paper", ("--clip_norm=0",)),
    "high bound": ("paper", ("--clip_norm=10",)),
    "free relations": ("paper", ("--normalize_relations=false", "--init_scale=0.5")),
    "quate": ("paper", ("--model=quate",)),
    "quatre_head": ("paper", ("--model=quatre_head",)),
    "quatre_tail": ("paper", ("--model=quatre_tail",)),
    "decay": ("paper", ("--lr_decay=linear", "--steps_per_epoch=3", "--epochs=1")),
    "both directions": ("strong", ("--reciprocal=false",)),
    "unit relations": ("strong", ("--normalize_relations=true",)),
    "no regularizers": ("strong", ("--n3=0", "--dura=0", "--relation_prediction=0")),
    "n3": ("sampled", ("--dura=0", "--relation_prediction=0")),
    "dura": ("strong", ("--n3=0", "--relation_prediction=0")),
    "clipping": ("strong", ("--clip_norm=0.1",)),
    "quate, sampled": ("sampled", ("--model=quate", "--reciprocal=false")),
    "no decay": ("sampled", ("--lr_decay=none",)),
    "adam": ("sampled", ("--optimizer=adam", "--learning_rate=0.01")),
    "adversarial, one relation": ("self_adversarial", ("--reciprocal=false",)),
}


@pytest.mark.parametrize("name", VARIATIONS)
def test_step_of_variations(name, config_of, graph):
    """A step that is not compiled: other settings, one at a time."""
    recipe, given = VARIATIONS[name]
    config = config_of(recipe, *given)
    with wiring.eagerly():
        trainer = wiring.trainer_of(config, graph)
        expected = Reference(config, graph, trainer)
        np.testing.assert_allclose(as_tuple(trainer.train(1)), expected.train(), rtol=1e-4)
    assert_same_state(trainer, config, expected)


@pytest.mark.parametrize("recipe", ["strong", "sampled"])
def test_bfloat16_products(recipe, config_of, graph):
    """8 bits of mantissa: about 0.4 % from the exact gradient, but not the same."""
    seen = {}
    for dtype in ("float32", "bfloat16"):
        config = config_of(recipe, f"--compute_dtype={dtype}")
        with wiring.eagerly():
            trainer = wiring.trainer_of(config, graph)
            if dtype == "float32":
                expected = Reference(config, graph, trainer).train()
            seen[dtype] = np.array(as_tuple(trainer.train(1)))
    assert abs(seen["bfloat16"] - seen["float32"]).max() > 1e-5
    np.testing.assert_allclose(seen["bfloat16"], expected, rtol=0.02)


def test_linear_decay():
    end = tf.Variable(4, dtype=tf.int64)
    schedule = LinearDecay(0.8, end)
    rates = [float(schedule(step)) for step in range(6)]
    np.testing.assert_allclose(rates, [0.8, 0.6, 0.4, 0.2, 0.2, 0.2], rtol=1e-6)
    end.assign(8)
    np.testing.assert_allclose([float(schedule(step)) for step in (4, 6)], [0.4, 0.2], rtol=1e-6)


def test_late_decay():
    schedule = LinearDecay(0.8, tf.Variable(10, dtype=tf.int64), constant_share=0.6)
    rates = [float(schedule(step)) for step in range(12)]
    np.testing.assert_allclose(rates, [0.8] * 7 + [0.6, 0.4, 0.2, 0.2, 0.2], rtol=1e-6)


# Sizes that the graph decides.


@pytest.mark.parametrize(
    ("recipe", "batch_size", "triples_per_step", "steps_per_epoch"),
    # 1,500 distinct triples have two targets each. The softmax recipes pass over all queries.
    [
        ("paper", 15, 15.0, 100),
        *((recipe, 1000, None, 2) for recipe in ("strong", "sampled", "self_adversarial")),
    ],
)
def test_default_sizes(recipe, batch_size, triples_per_step, steps_per_epoch, tmp_path):
    graph = wiring.random_graph(900, 2, 1500)
    config = wiring.config_of(f"--dataset={tmp_path}", f"--recipe={recipe}", "--embedding_dim=1")
    trainer = wiring.trainer_of(config, graph)
    queries = all_queries(graph)
    assert 2000 < len(queries) < 3000
    batch = wiring.batch_of(trainer, 0)
    assert len(batch["heads" if recipe == "paper" else "entities"]) == batch_size
    if triples_per_step is None:
        triples_per_step = sum(map(len, queries.values())) / len(queries) * 1000 / 2
    assert trainer.recipe.triples_per_step == pytest.approx(triples_per_step)
    assert trainer.recipe.steps_per_epoch == steps_per_epoch
    if recipe == "paper":
        assert batch["corrupted"].shape == (15, 5)
    if recipe in ("sampled", "self_adversarial"):
        # The defaults, 4,096 and 1,024, are more than there are.
        assert len(batch["candidates"]) == 900


def test_a_small_graph_is_one_batch_of_queries(graph):
    config = wiring.config_of("--dataset=countries", "--recipe=strong", "--embedding_dim=1")
    recipe = wiring.trainer_of(config, graph).recipe
    assert recipe.batches().batch_size == len(all_queries(graph))
    assert recipe.steps_per_epoch == 1


# Initial values.


def test_glorot_uniform_is_the_default():
    """±sqrt(6 / (rows + width)); a uniform distribution has the deviation bound / sqrt(3)."""
    graph = wiring.random_graph(900, 40, 500)
    config = wiring.config_of("--dataset=countries", "--embedding_dim=8")
    tables = wiring.tables_of(wiring.trainer_of(config, graph), config)
    for name, table in tables.items():
        rows = 900 if name == "entity" else 40
        assert table.shape == (rows, 32)
        bound = np.sqrt(6 / (rows + 32))
        assert 0.98 * bound < abs(table).max() <= bound
        assert table.std() == pytest.approx(bound / np.sqrt(3), rel=0.05)
        assert table.mean() == pytest.approx(0.0, abs=0.05 * bound)


@pytest.mark.parametrize(
    ("recipe", "given", "deviation"),
    [
        ("paper", ("--init_scale=0.02",), 0.02),
        ("strong", (), 1e-3),
        ("sampled", ("--init_scale=0.5",), 0.5),
    ],
)
def test_normal_initial_values(recipe, given, deviation):
    graph = wiring.random_graph(900, 40, 500)
    arguments = (f"--recipe={recipe}", "--dataset=countries", "--embedding_dim=8", *given)
    config = wiring.config_of(*arguments)
    tables = wiring.tables_of(wiring.trainer_of(config, graph), config)
    for table in tables.values():
        assert table.std() == pytest.approx(deviation, rel=0.05)
        assert table.mean() == pytest.approx(0.0, abs=0.1 * deviation)
        # A normal distribution has 4.6 % beyond two deviations.
        assert np.mean(abs(table) > 2 * deviation) == pytest.approx(0.046, abs=0.015)


@pytest.mark.parametrize("init_scale", [0.0, 0.1])
def test_initial_values_depend_on_the_seed_and_differ_between_tables(init_scale, graph):
    def tables(seed):
        config = wiring.config_of(
            "--dataset=countries",
            "--embedding_dim=2",
            f"--init_scale={init_scale}",
            f"--seed={seed}",
        )
        return wiring.tables_of(wiring.trainer_of(config, graph), config)

    first, again, other = tables(3), tables(3), tables(4)
    for name, table in first.items():
        np.testing.assert_array_equal(table, again[name])
        assert not np.any(table == other[name])
    relations = [first[name] for name in ("relation", "head_rotation", "tail_rotation")]
    assert not any(np.any(a == b) for a, b in itertools.pairwise(relations))
