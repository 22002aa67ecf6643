import pytest

from benchmarks.step_shapes import shape_of, steps_per_pass


def test_paper_step_is_a_hundredth_of_train():
    shape = shape_of("paper", "wn18rr")
    assert list(shape.values()) == [40_943, 11, 256, 868, 5]
    assert list(shape_of("paper", "fb15k237").values()) == [14_541, 237, 384, 2_721, 10]
    # 86,835 / 868.
    assert steps_per_pass("wn18rr", shape) == pytest.approx(100.0403, abs=1e-4)


def test_sampled_step_has_candidates():
    assert "candidates" not in shape_of("strong", "fb15k")
    assert shape_of("sampled", "fb15k")["candidates"] == 4_096
    shape = shape_of("sampled", "fb15k237", dim=64, candidates=1_000)
    assert list(shape.values()) == [14_541, 237, 64, 1_000, 3_636, 1_000]
    # Two questions a triple: 2 x 272,115 / 3,636.
    assert steps_per_pass("fb15k237", shape) == pytest.approx(149.6782, abs=1e-4)
