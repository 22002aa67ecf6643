"""A run that is killed anywhere and resumed equals one that was not (docs/survival.md)."""

import dataclasses
import signal

import pytest

from tests.trainers.training.survival import assert_same_run, files, flags, last_step, resumed

KILLS = [
    # misfortune, details, the step of the last checkpoint then
    ("killed_in_step", (3,), 1),
    ("killed_writing_checkpoint", (1,), 1),
    ("killed_renaming_to", ("ckpt-10.index",), 1),
    ("killed_writing_best", (), 1),
    ("killed_renaming_to", ("model.keras",), 1),
    ("killed_renaming_to", ("checkpoint",), 10),
    ("killed_in_step", (23,), 20),
    ("killed_exporting", (), 30),
    ("killed_renaming_to", ("1",), 30),
    ("killed_renaming_to", ("test_metrics.json",), 30),
]


def test_killed_everywhere_it_equals_the_uninterrupted_run(run, config, tmp_path):
    """One run that is killed eleven times and resumed each time."""
    run_dir = tmp_path / "run"
    assert run(flags(config, run_dir), "killed_renaming_to", "config.json")[0] == -signal.SIGKILL
    assert not (run_dir / "config.json").exists()
    arguments = flags(config, run_dir)
    for misfortune, details, last in KILLS:
        code, text = run(arguments, misfortune, *details)
        assert code == -signal.SIGKILL, f"{misfortune} {details}: {text}"
        assert last_step(run_dir) == last
        assert not (run_dir / "test_metrics.json").exists()
        arguments = resumed(run_dir)
    # The last came after the export, which is done again.
    assert files(run_dir / "saved_model")[-1] == "1"
    code, text = run(arguments)
    assert code == 0, text
    assert run(flags(config, tmp_path / "whole"))[0] == 0
    assert_same_run(run_dir, tmp_path / "whole")
    for version in ("1", "2"):
        assert (run_dir / "saved_model" / version / "assets.extra").is_dir()
    assert not list((run_dir / "checkpoints").glob("partial*"))

    code, text = run(arguments)
    assert code == 0, text
    assert "The run is complete: nothing to do." in text
    assert "Filtered ranking, test split: 8 triples" in text
    assert files(run_dir / "saved_model")[-1] == "2"


@pytest.mark.parametrize("recipe", ["strong_config", "sampled_config"])
def test_killed_runs_of_the_other_recipes(run, recipe, request, tmp_path):
    config = dataclasses.replace(request.getfixturevalue(recipe), compute_dtype="bfloat16")
    run_dir = tmp_path / "run"
    assert run(flags(config, run_dir), "killed_in_step", 15)[0] == -signal.SIGKILL
    code, text = run(resumed(run_dir))
    assert code == 0, text
    # Nothing that runs on a CPU has to be asked to be deterministic; it is the same if it is.
    config = dataclasses.replace(config, deterministic=True)
    assert run(flags(config, tmp_path / "whole"))[0] == 0
    assert_same_run(run_dir, tmp_path / "whole")
