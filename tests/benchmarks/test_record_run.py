import json
import shlex

import pytest

from benchmarks import measure
from benchmarks.record_run import command_of, record_of
from quatre_tf.errors import ConfigError
from quatre_tf.ranking.results import Results, Row
from tests.quatre_tf.ranking.small_graph import small_graph
from trainers.training import presets


def write_run(folder, config):
    records = [
        {"group": "train", "step": 50, "epoch": 0.5, "seconds": 3.0, "loss": 0.6},
        {"group": "valid/all", "step": 100, "epoch": 1.0, "seconds": 9.0, "hits@10": 0.1},
        {"group": "valid/all", "step": 200, "epoch": 2.0, "seconds": 19.0, "hits@10": 0.2},
        # A resumed run does it again.
        {"group": "valid/all", "step": 200, "epoch": 2.0, "seconds": 21.0, "hits@10": 0.2},
    ]
    (folder / "config.json").write_text(config.to_json())
    # And was killed while it wrote a line.
    text = "\n".join([*map(json.dumps, records), '{"group": "tr'])
    (folder / "metrics.jsonl").write_text(text)
    small_graph().save(folder / "graph")


def test_command_names_what_differs_from_the_preset():
    config = presets.resolve("wn18rr", "paper", {"patience": 0, "seed": 4})
    expected = "quatre fit --dataset=wn18rr --patience=0 --seed=4"
    assert command_of(config) == expected
    config = presets.resolve("umls", "strong", {"n3": 0.2, "reciprocal": False})
    expected = "quatre fit --dataset=umls --recipe=strong --reciprocal=False --n3=0.2"
    assert command_of(config) == expected
    config = presets.resolve("wn18rr", "paper", {"model": "quate"})
    assert command_of(config) == "quatre fit --dataset=wn18rr --model=quate"
    config = presets.resolve("/tmp/my data; x", "paper", {})
    assert shlex.split(command_of(config))[2:] == ["--dataset=/tmp/my data; x", "--recipe=paper"]


METRICS = {"mr": 9.0, "mrr": 0.4, "hits@1": 0.1, "hits@3": 0.2, "hits@10": 0.3}


def write_results(path, split="test", num_triples=4, tie_policy="realistic"):
    place = (split, tie_policy, "all", "both", num_triples)
    rows = tuple(Row(*place, metric, value) for metric, value in METRICS.items())
    path.write_text(Results(split, num_triples, tie_policy, rows).to_json())
    return path


def test_record(tmp_path):
    write_run(tmp_path, presets.resolve("wn18rr", "paper", {}))
    record = record_of(tmp_path, write_results(tmp_path / "test_metrics.json"))
    assert (record["epochs"], record["wall_time_s"], record["seed"]) == (2.0, 21.0, 1)
    assert [point["epoch"] for point in record["validation"]] == [1.0, 2.0]
    assert record["test"] == {
        "split": "test",
        "num_triples": 4,
        "tie_policy": "realistic",
        "candidates": {"all": {"both": METRICS}},
    }


def test_figures_of_another_split_are_refused(tmp_path):
    write_run(tmp_path, presets.resolve("umls", "paper", {}))
    with pytest.raises(ConfigError, match=r"valid\.json is of the valid split"):
        record_of(tmp_path, write_results(tmp_path / "valid.json", "valid"))
    for other in ({"num_triples": 7}, {"tie_policy": "optimistic"}):
        with pytest.raises(
            ConfigError, match=r"test\.json has .* Expected 4 and realistic of this"
        ):
            record_of(tmp_path, write_results(tmp_path / "test.json", **other))


def test_the_machine_of_a_record():
    described = measure.machine()
    assert described["cores"] >= 1
    assert described["compiled_paper_step"] in (True, False)
