import csv

import keras
import numpy as np
import pytest

from quatre_tf import FilteredRanking, LogisticLoss, QuatRE
from tests import reference

ENTITIES, RELATIONS = 7, 3


def model_with_ties(rng, **kwargs):
    """Integer scores: many of them are equal."""
    model = QuatRE(ENTITIES, RELATIONS, 1, variant="quate", **kwargs)
    model.entities.embeddings.assign(rng.integers(-1, 2, [ENTITIES, 4]))
    rows = model.score_function.num_relations
    model.score_function.tables["relation"].assign(np.eye(4)[rng.integers(0, 4, rows)])
    return model


def random_triples(rng, number):
    return rng.integers(0, [ENTITIES, RELATIONS, ENTITIES], [number, 3])


def naive_ranks(model, triples, known, share):
    """[2, n] ranks with unfolded scores; equals count by `share`."""
    sizes = [ENTITIES, len(model.tables()["relation"]), ENTITIES]
    scores = reference.model_scores(model, list(np.ndindex(*sizes))).reshape(sizes)
    counts = [
        [reference.competitors(scores, triple, place, known.tolist()) for triple in triples]
        for place in (0, 2)
    ]
    return 1 + np.dot(counts, [1, share])


@pytest.mark.parametrize(("policy", "share"), [("realistic", 0.5), ("pessimistic", 1.0)])
@pytest.mark.parametrize("seed", range(3))
def test_ranks_equal_a_naive_ranking(seed, policy, share):
    rng = np.random.default_rng(seed)
    model, triples = model_with_ties(rng), random_triples(rng, 20)
    # Repeats, the triples ranked and others.
    known = np.concatenate([triples[:15], random_triples(rng, 30), triples[:3]])
    ranks = FilteredRanking(triples, known, policy).ranks(model)
    np.testing.assert_array_equal(ranks, naive_ranks(model, triples, known, share))


def test_nothing_known(rng):
    model, triples = model_with_ties(rng), random_triples(rng, 5)
    nothing = np.zeros([0, 3], np.int32)
    ranks = FilteredRanking(triples, nothing).ranks(model)
    np.testing.assert_array_equal(ranks, naive_ranks(model, triples, nothing, 0.5))


def test_any_number_of_triples(rng):
    """Repeats are ranked like the first, whatever the tile."""
    model, triples = model_with_ties(rng), random_triples(rng, 10)
    once = FilteredRanking(triples, triples).ranks(model)
    many = FilteredRanking(np.tile(triples, [450, 1]), triples).ranks(model)
    np.testing.assert_array_equal(many, np.tile(once, [1, 450]))


def test_heads_of_a_reciprocal_model_are_ranked_by_the_inverse_relation(rng):
    model, triples = model_with_ties(rng, reciprocal=True), random_triples(rng, 20)
    turned = triples[:, ::-1] + [0, RELATIONS, 0]
    known = np.zeros([0, 3], np.int32)
    heads, tails = FilteredRanking(triples, known).ranks(model)
    np.testing.assert_array_equal(heads, naive_ranks(model, turned, known, 0.5)[1])
    np.testing.assert_array_equal(tails, naive_ranks(model, triples, known, 0.5)[1])


def test_other_callbacks_read_the_figures(rng, tmp_path):
    """A model that cannot move does not get better: training stops, the first model is kept."""
    model, triples = model_with_ties(rng), random_triples(rng, 20)
    expected = naive_ranks(model, triples, triples, 0.5).reshape(-1)
    model.compile(keras.optimizers.SGD(0.0), LogisticLoss())
    history = model.fit(
        triples,
        np.ones(20),
        epochs=9,
        verbose=0,
        callbacks=[
            FilteredRanking(triples, known_triples=triples),
            keras.callbacks.EarlyStopping(monitor="val_mrr", mode="max", patience=2),
            keras.callbacks.CSVLogger(tmp_path / "log.csv"),
            keras.callbacks.ModelCheckpoint(
                tmp_path / "{epoch}.keras", monitor="val_mrr", mode="max", save_best_only=True
            ),
        ],
    ).history
    assert history["val_mrr"] == pytest.approx([np.mean(1 / expected)] * 3)
    assert history["val_hits@3"] == [np.mean(expected <= 3)] * 3
    assert [path.name for path in tmp_path.glob("*.keras")] == ["1.keras"]
    with open(tmp_path / "log.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["val_mr"]) for row in rows] == [expected.mean()] * 3
    assert {"loss", "val_mrr", "val_hits@1", "val_hits@3", "val_hits@10"} <= set(rows[0])


@pytest.mark.parametrize(
    ("triples", "message"),
    [
        (np.zeros([0, 3], int), "at least one triple"),
        ([[0, 1]], r"`triples` must be integers \[n, 3\].*Received: int64 \[1, 2\]"),
        ([[0.0, 1.0, 2.0]], "Received: float64"),
        ([[0, -1, 2]], "ids from 0 on.*id=-1"),
    ],
)
def test_bad_triples_are_named(triples, message):
    with pytest.raises(ValueError, match=message):
        FilteredRanking(triples, [[0, 0, 0]])


@pytest.mark.parametrize("known", [[[0, 0, ENTITIES]], [[0, RELATIONS, 0]]])
def test_a_model_that_is_too_small_is_refused(rng, known):
    with pytest.raises(ValueError, match="Received: a model of 7 entities and 3 relations"):
        FilteredRanking([[0, 0, 1]], known).ranks(model_with_ties(rng))
