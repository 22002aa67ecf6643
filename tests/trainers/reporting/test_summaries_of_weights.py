"""Figures of the weights, against numbers worked out by hand on a graph of a dozen triples."""

import math

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import Evaluator, Graph, KGEModel, QuatRE
from tests.quatre_tf.ranking.small_graph import small_graph, small_model
from tests.trainers.reporting.summary_events import read_tensors
from trainers.reporting.tensorboard.validation import ValidationSummaries, rotation_angles
from trainers.training.config import TrainConfig


def graph_of(train, valid):
    splits = {"train": train, "valid": valid, "test": train[:1]}
    columns = {name: tuple(zip(*rows, strict=True)) for name, rows in splits.items()}
    return Graph.from_names("g", columns)


def written(folder, graph, model):
    """What a validation at step 7 writes."""
    ranks = Evaluator(graph).rank(model, "valid")
    with tf.summary.create_file_writer(str(folder)).as_default(step=7):
        ValidationSummaries(TrainConfig("small", embedding_dim=1), graph).write(model, ranks)
    return {tag: values[7] for tag, values in read_tensors(folder).items()}


def test_values_of_a_validation(tmp_path):
    logged = written(tmp_path, small_graph(), small_model())
    # c likes b: ranks 2.5 (f better, c alike) and 2 (f better); d likes d: ranks 1 and 1.
    expected = ((1 / 2.5 + 1 / 2) / 2 + 1) / 2
    assert logged["valid/per_relation/01_likes"] == pytest.approx(expected)
    # Numbers 1, 2, 2, -1, 0, 3 and two relations of length one.
    assert logged["tables/entities"] == pytest.approx(math.sqrt(19))
    assert logged["tables/relation"] == pytest.approx(math.sqrt(2))
    for tag, count, low, high in (
        ("moduli/entities", 6, 0, 3),
        ("moduli/relation", 2, 1, 1),
        ("rotation_angles/w_r", 2, 0, 0),
        ("scores/true", 2, 1, 4),
    ):
        buckets = logged[tag]
        assert buckets[:, 2].sum() == count, tag
        filled = buckets[buckets[:, 2] > 0]
        assert filled[0, 0] <= low <= filled[0, 1] + 1e-6, tag
        assert filled[-1, 0] - 1e-6 <= high <= filled[-1, 1] + 1e-6, tag
    assert logged["scores/corrupted"][:, 2].sum() == 2


def test_relations_are_numbered_by_frequency_and_safe(tmp_path):
    train = [("a", "/film/genre", "b"), ("b", "_near", "c"), ("c", "_near", "a")]
    valid = [("a", "/film/genre", "c"), ("a", "_near", "c"), ("b", "_near", "a")]
    graph = graph_of(train, valid)
    model = QuatRE(3, 2, 1, variant="quate")
    tags = {tag for tag in written(tmp_path, graph, model) if tag.startswith("valid/")}
    assert tags == {"valid/per_relation/01_near", "valid/per_relation/02_film.genre"}


@pytest.mark.parametrize("name", ["quate", "quatre_affine"])
def test_rotation_angles(name):
    """Of the quaternions 2, 3j and -1 - i; other rotations are 1."""
    model = KGEModel(1, 3, 1, name, options={"normalize_relations": False})
    function = model.score_function
    for table in function.tables.keys() & {"head_rotation", "tail_rotation"}:
        function.tables[table].assign([[1, 0, 0, 0]] * 3)
    function.tables["relation"].assign([[2, 0, 0, 0], [0, 0, 3, 0], [-1, -1, 0, 0]])
    angles = rotation_angles(function, np.array([0, 1, 2]))
    np.testing.assert_allclose(angles[:, 0], [0, math.pi / 2, 3 * math.pi / 4], rtol=1e-6)


def test_graph_that_knows_everything_is_named(tmp_path, capsys):
    train = [("a", "r", "a"), ("b", "r", "b"), ("b", "r", "a")]
    graph = graph_of(train, [("a", "r", "b")])
    ValidationSummaries(TrainConfig("g", embedding_dim=1), graph)
    assert "No scores of corrupted triples in TensorBoard" in capsys.readouterr().err
