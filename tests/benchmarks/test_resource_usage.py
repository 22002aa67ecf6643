import pytest

from benchmarks.soak import growth


def rows_of(memory, seconds=10.0, files=8):
    return [
        {
            "seconds": seconds * n,
            "megabytes": value,
            "allocated": value / 2,
            "threads": 5,
            "files": files + n,
        }
        for n, value in enumerate(memory)
    ]


def test_growth_is_that_of_the_second_half():
    """From round 4 on 2 MB a round of 10 s: 720 MB an hour; what came before counts for nothing."""
    found = growth(rows_of([100, 300, 900, 950, 1000, 1002, 1004, 1006]))
    assert found["megabytes_per_hour"] == pytest.approx(720)
    assert found["kilobytes_per_round"] == pytest.approx(2000)
    assert found["allocated_kilobytes_per_round"] == pytest.approx(1000)
    assert (found["threads"], found["files"]) == (0, 3)


def test_what_is_allocated_is_counted_to_the_byte(allocated):
    before = allocated()
    kept = bytearray(50_000_000)
    assert allocated() - before == pytest.approx(50, abs=0.1)
    del kept
    assert allocated() == pytest.approx(before, abs=0.1)
