"""What must not come back: a pass over a whole table, tracing again, Python for each triple.

Nothing here is timed: see benchmarks/ for that.
"""

import sys

import numpy as np
import pytest

import datasets
import quatre_tf
import trainers
from datasets import catalog
from quatre_tf import Evaluator, Graph
from quatre_tf.ranking import counting
from tests.trainers.training.wiring import eagerly, random_graph, trainer_of
from trainers.training.presets import resolve

ROOTS = tuple(module.__path__[0] for module in (datasets, quatre_tf, trainers))


@pytest.mark.parametrize("recipe", ["paper", "sampled"])
def test_training_is_traced_once_and_makes_no_pass_over_the_entity_table(recipe):
    """A step gathers and scatters rows: no operation of its graph reads or makes a whole table."""
    sizes = {"embedding_dim": 8, "batch_size": 50}
    if recipe == "sampled":
        sizes["num_candidates"] = 100
    trainer = trainer_of(resolve("umls", recipe, sizes), random_graph(12_345, 5, 5000))
    for steps in (1, 1, 3, 10, 2):
        trainer.train(steps)
    assert trainer._train.experimental_get_tracing_count() == 1
    (step,) = trainer._train._list_all_concrete_functions()
    graph = step.graph.as_graph_def(add_shapes=True)
    nodes = [
        *graph.node,
        *(node for function in graph.library.function for node in function.node_def),
    ]
    assert len(nodes) > 100
    of_tables = [
        node.name
        for node in nodes
        for shape in node.attr["_output_shapes"].list.shape
        if shape.dim and shape.dim[0].size == 12_345
    ]
    assert of_tables == []


def test_ranking_again_traces_nothing():
    graph = catalog.load("countries")
    config = resolve("countries", "paper", {"embedding_dim": 4})
    trainer = trainer_of(config, graph)
    evaluator = Evaluator(graph)
    evaluator.rank(trainer.model, "train", max_triples=7)
    before = counting._compiled_count.experimental_get_tracing_count()
    with eagerly():
        trainer.train(1)
    for split, size in (("valid", None), ("test", None), ("train", 300), ("train", 13)):
        evaluator.rank(trainer.model, split, max_triples=size)
    assert counting._compiled_count.experimental_get_tracing_count() == before


def lines_run(call):
    """Returns how many lines of the project's Python a call runs, each turn of a loop counted."""
    count = 0

    def trace(frame, event, _argument):
        nonlocal count
        if not frame.f_code.co_filename.startswith(ROOTS):
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def write_folder(folder, num_triples):
    rng = np.random.default_rng(0)
    folder.mkdir()
    for split, size in (("train", num_triples), ("valid", 50), ("test", 50)):
        triples = zip(*(rng.integers(0, n, size) for n in (300, 5, 300)), strict=True)
        text = "".join(f"e{h}\tr{r}\te{t}\n" for h, r, t in dict.fromkeys(triples))
        (folder / f"{split}.txt").write_text(text)
    return folder


def prepare(folder, recipe, saved):
    """Everything up to the first batch, and from there to the ranks."""
    graph = catalog.load(str(folder))
    graph.save(saved)
    graph = Graph.load(saved)
    config = resolve("umls", recipe, {"embedding_dim": 2, "batch_size": 50})
    trainer = trainer_of(config, graph)
    next(iter(trainer.recipe.batches().dataset(0).take(3)))
    Evaluator(graph).rank(trainer.model, "test")


@pytest.mark.parametrize("recipe", ["paper", "sampled"])
def test_no_line_runs_once_a_triple(recipe, tmp_path):
    # The first is not counted: it imports and traces.
    sizes = {"first": 1_000, "few": 1_000, "many": 20_000}
    folders = {name: write_folder(tmp_path / name, size) for name, size in sizes.items()}
    lines = {
        name: lines_run(lambda folder=folder: prepare(folder, recipe, folder / "saved"))
        for name, folder in folders.items()
    }
    assert lines["few"] > 100
    assert lines["many"] < lines["few"] + 100


def test_a_training_leaves_little_behind_it(allocated):
    """XLA keeps 30 kB for each of its kernels; where TensorFlow keeps the trace, it is 2.5 MB."""
    graph = catalog.load("countries")
    config = resolve("countries", "strong", {"embedding_dim": 8})
    held = []
    for number in range(3):
        trainer = trainer_of(config, graph)
        for steps in range(1, 5):
            trainer.train(steps)
        assert trainer._train.experimental_get_tracing_count() == 1, number
        del trainer
        held.append(allocated())
    assert held[2] - held[1] < 1.0
