import os
import threading

from benchmarks import measure
from benchmarks.limit_parts import Limit


def test_command_leaves_out_what_was_not_given():
    expected = "python -m benchmarks.x --dataset=umls --n3=0.1"
    assert measure.command("x", dataset="umls", seed=None, n3=0.1) == expected
    assert measure.command("x") == "python -m benchmarks.x"


def test_all_threads_are_confined_and_let_go():
    before = os.sched_getaffinity(0)
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        with measure.on_cores(1):
            first = {min(before)}
            assert os.sched_getaffinity(0) == first
            assert os.sched_getaffinity(thread.native_id) == first
        assert os.sched_getaffinity(0) == before
        assert os.sched_getaffinity(thread.native_id) == before
    finally:
        done.set()
        thread.join()


def test_rate():
    # 6 GB in 2 ms.
    assert Limit(lambda: None, 6.0, "GB/s").rate(2.0) == 3_000.0
