import pathlib

import pytest

import benchmarks
from benchmarks import records
from trainers.commands import command_of
from trainers.training.config import TrainConfig

RESULTS = pathlib.Path(benchmarks.__file__).parent / "results"

FIGURES = {"mr": 1234.4, "mrr": 0.35678, "hits@1": 0.25, "hits@3": 0.4, "hits@10": 0.5555}
RUN = {
    "file": "one.json",
    "dataset": "fb15k237",
    "recipe": "strong",
    "seed": 3,
    "epochs": 30.0,
    "wall_time_s": 90.0,
    "command": "quatre fit --dataset=fb15k237 --recipe=strong --seed=3",
    "config": {"embedding_dim": 128},
    "machine": {"processor": "AMD EPYC", "cores": 2},
    "validation": [
        {"seconds": 30.0, "mrr": 0.31},
        {"seconds": 60.0, "mrr": 0.345},
        {"seconds": 90.0, "mrr": 0.335},
    ],
    "test": {"candidates": {"all": {"both": FIGURES}}},
}


def test_page():
    lines = records.page([RUN]).splitlines()
    assert "## FB15k-237" in lines
    assert (
        "| strong, n = 128, seed 3 | all entities | 1,234 | 0.3568 | 25.0 | 40.0 | 55.5 |" in lines
    )
    # The paper's cells stand beside ours, of each set of candidates.
    assert "| QuatRE, the paper | all entities | 168 | 0.332 | 23.8 | 36.7 | 52.2 |" in lines
    run = "| [strong, n = 128, seed 3](results/one.json) | 30 | 1.5 | AMD EPYC, 2 cores | "
    assert f"{run}`{RUN['command']}` |" in lines
    # Minutes to .30, .32, .34, .35, .36.
    assert "| strong, n = 128, seed 3 | 0.5 | 1.0 | 1.0 | not reached | not reached |" in lines


@pytest.mark.parametrize("record", records.read(RESULTS), ids=lambda record: record["file"])
def test_commands_give_the_settings_of_their_runs(record):
    """Also when presets are changed: whoever changes one says what the old one was."""
    assert record["command"] == command_of(TrainConfig(**record["config"]))
