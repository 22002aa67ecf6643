"""A training whose steps are compiled; test_kernel.py has the operation itself."""

import dataclasses

import numpy as np

from tests.trainers.training.survival import state
from tests.trainers.training.wiring import eagerly
from trainers.training.fitting import train


def test_a_run_says_it_and_goes_on_in_the_other_form(
    config, finished, tmp_path, monkeypatch, capsys, use_kernel
):
    with eagerly():
        train(dataclasses.replace(config, epochs=2), tmp_path / "parts")
        assert "8 positives x 2 negatives (compiled) per step" in capsys.readouterr().out
        monkeypatch.setenv("QUATRE_ENABLE_KERNEL", "0")
        train(config, tmp_path / "parts", resume=True)
    found, expected = state(tmp_path / "parts"), state(finished)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        # To rounding, which Adagrad's first steps enlarge where a gradient is next to nothing.
        np.testing.assert_allclose(found[name], value, rtol=1e-3, atol=1e-4, err_msg=name)
