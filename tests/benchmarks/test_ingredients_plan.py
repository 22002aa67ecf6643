import dataclasses

import pytest

from benchmarks import ingredients_plan as plan


def differing(config, other):
    """The settings in which two runs differ."""
    one, two = dataclasses.asdict(config), dataclasses.asdict(other)
    return {name for name in one if one[name] != two[name]}


@pytest.mark.parametrize("dataset", ["wn18rr", "fb15k237", "umls"])
def test_runs_change_one_thing_at_a_time(dataset):
    runs = plan.runs(dataset, [1, 2])
    assert [run.config.seed for run in runs] == sorted(run.config.seed for run in runs)
    base = next(run.config for run in runs if run.ingredient == plan.BASELINE)
    for run in runs:
        changed = differing(run.config, base) - {"seed"}
        assert changed == set(plan.CHANGES[run.ingredient])
        assert (run.config.epochs, run.config.dataset) == (base.epochs, dataset)


def result():
    figures = {
        plan.BASELINE: {1: (0.30, 0.50), 2: (0.32, 0.52)},
        "no N3": {1: (0.25, 0.51), 2: (0.25, 0.49)},
    }
    content = plan.begin("wn18rr")
    for run in plan.runs("wn18rr", [1, 2]):
        if run.ingredient in figures:
            mrr, hits = figures[run.ingredient][run.config.seed]
            plan.add(content, run, {"mrr": mrr, "hits@10": hits})
    return content


def test_differences_are_between_runs_of_one_seed():
    header, base, no_n3 = plan.table(result())
    assert header == ["", "MRR", "difference", "Hits@10", "difference"]
    assert base == [plan.BASELINE, "0.3100", "", "51.0", ""]
    # .25 - .30 and .25 - .32; 51 - 50 and 49 - 52.
    expected = ["0.2500", "-0.0600 (-0.0700 to -0.0500)", "50.0", "-1.0 (-3.0 to +1.0)"]
    assert no_n3 == ["no N3", *expected]


def test_a_run_that_the_baseline_does_not_have_yet_is_not_compared():
    content = result()
    del content["validation"][plan.BASELINE]["seeds"]["2"]
    assert plan.table(content)[2][1:3] == ["0.2500", "-0.0500 (-0.0500 to -0.0500)"]
