"""Trainings whose steps are compiled; test_kernel.py has the operation itself."""

import dataclasses

import numpy as np

from tests.trainers.training.survival import state
from trainers.training.fitting import train


def assert_same(run_dir, expected_dir):
    """To rounding, which Adagrad's first steps enlarge where a gradient is next to nothing."""
    found, expected = state(run_dir), state(expected_dir)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-3, atol=1e-4, err_msg=name)


def test_a_training_says_it_and_ends_alike(config, finished, tmp_path, capsys, use_kernel):
    train(config, tmp_path / "compiled")
    assert "8 positives x 2 negatives (compiled) per step" in capsys.readouterr().out
    assert_same(tmp_path / "compiled", finished)


def test_a_run_goes_on_in_the_other_form(config, finished, tmp_path, monkeypatch, use_kernel):
    train(dataclasses.replace(config, epochs=2), tmp_path / "parts")
    monkeypatch.setenv("QUATRE_ENABLE_KERNEL", "0")
    train(config, tmp_path / "parts", resume=True)
    assert_same(tmp_path / "parts", finished)
