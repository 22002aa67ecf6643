"""The results table, its JSON and its look-ups."""

import json

import pytest

from quatre_tf.errors import DataError
from quatre_tf.ranking.results import Results, Row

PLACE = ("test", "realistic", "all", "both", 4)
METRICS = {"mr": 3.0, "mrr": 0.5, "hits@1": 0.25, "hits@3": 0.5, "hits@10": 1.0}


@pytest.fixture
def results():
    rows = [Row(*PLACE, metric, value, run="one") for metric, value in METRICS.items()]
    rows += [
        Row(*PLACE, "mrr", 0.4, 0.3, 0.5, run="two"),
        Row(*PLACE[:4], 3, "mrr", 0.6, group_by="relation", group="likes", run="one"),
        Row(*PLACE[:4], 1, "mrr", 0.0, group_by="relation", group="rules", run="one"),
        Row(*PLACE, "mrr", 0.1, 0.0, 0.2, run="one", baseline="two", p_value=0.02),
        Row("test", "optimistic", *PLACE[2:], "mrr", 0.7, run="one"),
    ]
    return Results("test", 4, "realistic", tuple(rows))


def test_metrics_by_default_of_the_first_run_and_both_sides(results):
    assert results.metrics() == METRICS
    with pytest.raises(KeyError, match=r"no figures of .'side': 'head'"):
        results.metrics(side="head")


def test_json_leaves_out_what_is_empty_or_the_same(results, tmp_path):
    text = results.to_json()
    first, *_, last = json.loads(text)["rows"]
    place = {"candidates": "all", "side": "both", "run": "one"}
    assert first == {**place, "metric": "mr", "value": 3.0}
    assert last == {**place, "tie_policy": "optimistic", "metric": "mrr", "value": 0.7}
    assert len(text.splitlines()) == len(results.rows) + 2
    path = tmp_path / "results.json"
    path.write_text(text)
    assert Results.load(path) == results


FACTS = '{"split": "test", "num_triples": 3, "tie_policy": "mean", "rows": '


@pytest.mark.parametrize(
    "text",
    [
        None,
        *("", "[]", '{"rows": []}', '{"split": "test", "rows": [{"colour": 1}]}', FACTS + "[]}"),
        FACTS + '[{"metric": "mrr", "value": null}]}',
        FACTS + '[{"metric": "mrr", "value": 1, "side": []}]}',
    ],
)
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "results.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(DataError, match=r"results\.json: expected the results that `quatre fit`"):
        Results.load(path)
