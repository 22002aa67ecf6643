"""Triple classification from splits to figures, by a model whose scores are in a table."""

import dataclasses
import types

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import Graph, Results
from quatre_tf.classification.evaluating import evaluate_classification
from quatre_tf.errors import DataError


class Tabled:
    """Scores a triple by the sum of its ids, and triples of relation 1 ten higher."""

    score_function = types.SimpleNamespace(entity_width=1, relation_tables=dict, width_of=len)

    def score_triples(self, heads, relations, tails):
        return tf.cast(heads + 10 * relations + tails, tf.float32)


@pytest.fixture
def graph():
    """Of eight entities; a triple is true if its ids have a sum of at least 6.

    Relation `s` has validation triples of neither kind.
    """
    names = [str(n) for n in range(8)]

    def columns(*triples):
        return tuple(np.array(column, object) for column in zip(*triples, strict=True))

    splits = {
        "train": columns(*((n, "r", n) for n in names), ("0", "s", "7")),
        "valid": columns(("1", "r", "5"), ("3", "r", "5"), ("7", "r", "0")),
        "test": columns(("2", "r", "6"), ("1", "r", "7"), ("0", "r", "1"), ("1", "s", "6")),
    }
    negatives = {
        "valid": np.array([[0, 0, 3], [1, 0, 3]], np.int32),
        "test": np.array([[0, 0, 2], [0, 0, 7], [1, 1, 0]], np.int32),
    }
    return dataclasses.replace(Graph.from_names("tiny", splits), negatives=negatives)


def test_figures_of_checked_triples(graph):
    results = evaluate_classification(Tabled(), graph)
    assert (results.num_triples, results.candidates) == (7, ("checked_negatives",))
    assert results.groups("relation") == {"r": 5, "s": 2}

    def values(**group):
        place = {"candidates": "checked_negatives", "side": "", **group}
        metrics = ("accuracy", "f1", "precision", "recall", "roc_auc", "average_precision")
        return [row.value for metric in metrics if (row := results.find(metric, **place))]

    # Validation has 6, 8, 7 for true and 3, 4 for false triples: the threshold is 5 for both.
    # True triples of r score 8, 8, 1, false ones 2 and 7; of s, 17 and 11.
    of_r = {"group_by": "relation", "group": "r"}
    expected = [3 / 5, 2 / 3, 2 / 3, 2 / 3, 4 / 6, (2 * 1 + 3 / 5) / 3]
    assert values(**of_r) == pytest.approx(expected)
    assert results.find("f1", candidates="checked_negatives", side="", **of_r).low is None
    of_s = {"group_by": "relation", "group": "s"}
    assert values(**of_s) == pytest.approx([1 / 2, 2 / 3, 1 / 2, 1, 1, 1])
    # True 17, 8, 8, 1, and false 11, 7, 2.
    areas = [(3 + 2 + 2 + 0) / 12, (1 + 2 * 3 / 4 + 4 / 7) / 4]
    assert values() == pytest.approx([4 / 7, 2 / 3, 3 / 5, 3 / 4, *areas])


def test_curves_are_rows_and_survive_a_file(graph, tmp_path):
    results = evaluate_classification(Tabled(), graph)
    roc = results.select(metric="roc", group_by="false_positive_rate")
    assert [row.group for row in roc][::25] == ["0.00", "0.50", "1.00"]
    assert len(results.select(metric="precision_recall", group_by="recall")) == len(roc)
    assert all(row.low <= row.high for row in results.rows if row.group_by != "relation")
    path = tmp_path / "results.json"
    path.write_text(results.to_json())
    assert Results.load(path) == results


def test_drawn_triples(graph):
    """Without labelled triples, one is drawn for each; seeds change intervals alone."""
    graph = dataclasses.replace(graph, negatives={})
    first, second = (evaluate_classification(Tabled(), graph, seed=seed) for seed in (1, 2))
    assert (first.num_triples, first.candidates) == (8, ("drawn_negatives",))
    assert first.groups("relation") == {"r": 6, "s": 2}
    assert [row.value for row in first.rows] == [row.value for row in second.rows]
    assert first != second


@pytest.mark.parametrize(
    ("kept", "split"), [("valid", "test"), ("test", "test"), ("valid", "train")]
)
def test_both_splits_have_false_triples_of_one_kind(graph, kept, split):
    one = dataclasses.replace(graph, negatives={kept: graph.negatives[kept]})
    drawn = dataclasses.replace(graph, negatives={})
    found = [evaluate_classification(Tabled(), of, split) for of in (one, drawn)]
    assert found[0] == found[1]
    assert found[0].candidates == ("drawn_negatives",)


def test_a_relation_without_false_triples_has_its_accuracy(graph):
    negatives = {**graph.negatives, "test": graph.negatives["test"][:2]}
    results = evaluate_classification(Tabled(), dataclasses.replace(graph, negatives=negatives))
    rows = results.select(group_by="relation", group="s")
    assert [(row.metric, row.value) for row in rows] == [("accuracy", 1)]


@pytest.mark.parametrize("split", ["valid", "test"])
def test_errors(graph, split):
    class Broken(Tabled):
        """One score of the split is NaN."""

        def score_triples(self, heads, relations, tails):
            first = graph.split(split)[0]
            is_first = (heads == first[0]) & (relations == first[1]) & (tails == first[2])
            return tf.where(is_first, np.nan, super().score_triples(heads, relations, tails))

    with pytest.raises(DataError, match="NaN"):
        evaluate_classification(Broken(), graph)
    empty = dataclasses.replace(graph, **{split: np.zeros([0, 3], np.int32)})
    with pytest.raises(DataError, match=f"The {split} split of tiny has no triples"):
        evaluate_classification(Tabled(), empty)
