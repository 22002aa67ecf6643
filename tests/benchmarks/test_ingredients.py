import dataclasses

import pytest

from benchmarks import ingredients


def differing(config, other):
    """The settings in which two runs differ."""
    one, two = dataclasses.asdict(config), dataclasses.asdict(other)
    return {name for name in one if one[name] != two[name]}


@pytest.mark.parametrize("dataset", ["wn18rr", "fb15k237", "umls"])
def test_runs_change_one_thing_at_a_time(dataset):
    runs = list(ingredients.runs(dataset, [1, 2]))
    assert [config.seed for _, config in runs] == [1] * (len(runs) // 2) + [2] * (len(runs) // 2)
    base = dict(reversed(runs))[ingredients.BASELINE]
    for ingredient, config in runs:
        changed = differing(config, base) - {"seed"}
        assert changed == set(ingredients.CHANGES[ingredient])
        assert (config.epochs, config.dataset) == (base.epochs, dataset)


def result():
    figures = {
        ingredients.BASELINE: {1: (0.30, 0.50), 2: (0.32, 0.52)},
        "no N3": {1: (0.25, 0.51), 2: (0.25, 0.49)},
    }
    content = ingredients.begin("wn18rr")
    for ingredient, by_seed in figures.items():
        for seed, (mrr, hits) in by_seed.items():
            ingredients.add(content, ingredient, seed, {"mrr": mrr, "hits@10": hits})
    return content


def test_differences_are_between_runs_of_one_seed():
    header, base, no_n3 = ingredients.table(result())
    assert header == ["", "MRR", "difference", "Hits@10", "difference"]
    assert base == [ingredients.BASELINE, "0.3100", "", "51.0", ""]
    # .25 - .30 and .25 - .32; 51 - 50 and 49 - 52.
    expected = ["0.2500", "-0.0600 (-0.0700 to -0.0500)", "50.0", "-1.0 (-3.0 to +1.0)"]
    assert no_n3 == ["no N3", *expected]


def test_a_run_that_the_baseline_does_not_have_yet_is_not_compared():
    content = result()
    del content["validation"][ingredients.BASELINE]["2"]
    assert ingredients.table(content)[2][1:3] == ["0.2500", "-0.0500 (-0.0500 to -0.0500)"]
