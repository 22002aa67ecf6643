"""What a search tries: the paper's grid, random configurations, and plans that make no sense."""

import math

import pytest

from quatre_tf.errors import ConfigError
from trainers.training.config import SETTINGS
from trainers.training.setting import LogUniform
from trainers.tuning.plan import Search
from trainers.tuning.study import ask_trials


def points(search):
    return [trial.point for trial in ask_trials(search)]


def test_grid_of_the_paper_in_its_order():
    walked = points(Search("wn18rr"))
    expected = [
        {"embedding_dim": n, "num_negatives": s, "learning_rate": alpha, "l2": decay}
        for n in (128, 256, 384)
        for s in (1, 5, 10)
        for alpha in (0.02, 0.05, 0.1)
        for decay in (0.05, 0.1, 0.2, 0.5)
    ]
    assert len(expected) == 108
    assert walked == expected


# N3 and DURA add up: of the two only that is searched which the preset has.
@pytest.mark.parametrize(("recipe", "without"), [("strong", "dura"), ("sampled", "n3")])
def test_random_configurations_lie_in_the_space(recipe, without):
    search = Search("wn18rr", recipe, trials=200)
    drawn = points(search)
    assert len(drawn) == 200
    searched = {name for name, setting in SETTINGS.items() if recipe in setting.search}
    assert search.space.keys() == searched - {without}
    for name, values in search.space.items():
        found = [point[name] for point in drawn]
        if isinstance(values, LogUniform):
            assert values.low <= min(found) <= max(found) <= values.high
            assert all(float(f"{value:.3g}") == value for value in found)
            # Half of the logarithms lie below the middle; 200 coins give 100 +- 4 x 7.
            middle = math.sqrt(values.low * values.high)
            assert 72 <= sum(value < middle for value in found) <= 128
        else:
            assert set(found) == set(values)
    # All of them are settings of the recipe.
    for point in drawn:
        search.config(point, 1)


def test_adam_has_learning_rates_of_its_own():
    search = Search("umls", "strong", settings={"optimizer": "adam"})
    assert search.space["learning_rate"] == (0.0003, 0.001, 0.003)
    assert search.space.keys() == Search("umls", "strong").space.keys()


def test_only_settings_that_the_model_reads_vary():
    with_relations, without = (
        Search("umls", "sampled"),
        Search("umls", "sampled", {"model": "transe"}),
    )
    assert with_relations.space.keys() - without.space.keys() == {"relation_prediction"}
    assert "num_candidates" in without.space


@pytest.mark.parametrize(
    ("num_entities", "numbers"),
    [(0, (2048, 4096, 8192)), (40_000, (2048, 4096, 8192)), (3000, (2048, 4096)), (2048, None)],
)
def test_numbers_of_candidates_that_mean_all_entities_are_one(num_entities, numbers):
    space = Search("umls", "sampled", num_entities=num_entities).space
    assert space.get("num_candidates") == numbers


def test_more_trials_begin_with_the_same_and_another_seed_draws_others():
    four = points(Search("umls", "strong", trials=4))
    assert points(Search("umls", "strong", trials=9))[:4] == four
    assert points(Search("umls", "strong", seeds=(2, 1), trials=4)) != four
    assert Search("umls", "strong").num_trials == 16


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": (3, 3)}, "--seeds must be distinct ones. Received: 3,3."),
        ({"trials": -1}, "--trials must be at least 0. Received: -1."),
        ({"settings": {"epochs": 0}}, "--epochs must be at least 1. Received: 0."),
        ({"settings": {"n3": 0.1}}, "--n3 is a setting of --recipe=strong"),
        (
            {"settings": {"embedding_dim": 8, "num_negatives": 1, "learning_rate": 0.1, "l2": 0.1}},
            "Nothing is left to search: --recipe=paper varies --embedding_dim, --num_negatives, ",
        ),
    ],
)
def test_senseless_searches(change, message):
    with pytest.raises(ConfigError, match=message):
        Search("umls", **change)
