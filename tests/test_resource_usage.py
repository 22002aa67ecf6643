import pytest


def test_what_is_allocated_is_counted_to_the_byte(allocated):
    before = allocated()
    kept = bytearray(50_000_000)
    assert allocated() - before == pytest.approx(50, abs=0.1)
    del kept
    assert allocated() == pytest.approx(before, abs=0.1)
