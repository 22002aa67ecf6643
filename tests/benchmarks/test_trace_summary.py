from types import SimpleNamespace

import pytest

from benchmarks.trace_summary import Event, Total, label, threads_of, totals


def test_self_time_leaves_out_what_lies_inside():
    thread = [
        Event("inner", 2, 3),
        Event("outer", 0, 10),
        Event("innermost", 3, 1),
        Event("inner", 6, 4),
        Event("outer", 10, 5),
    ]
    # outer: (10 - 3 - 4) + 5; inner: (3 - 1) + 4.
    expected = [Total("outer", 8, 2), Total("inner", 6, 2), Total("innermost", 1, 1)]
    assert totals([thread]) == expected


def test_threads_are_summed_and_do_not_nest():
    threads = [[Event("a", 0, 10)], [Event("a", 0, 4), Event("b", 4, 20)]]
    assert totals(threads) == [Total("b", 20, 1), Total("a", 14, 2)]


def test_of_two_that_begin_together_the_longer_is_outer():
    assert totals([[Event("in", 0, 4), Event("out", 0, 10)]]) == [
        Total("out", 6, 1),
        Total("in", 4, 1),
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("while/body/_1/while/MatMul_1:_MklBatchMatMulV2", "_MklBatchMatMulV2 (MatMul_1)"),
        ("UpperBound:UpperBound", "UpperBound"),
        ("ParallelFor", "ParallelFor"),
        ("KernelAndDeviceFunc::Run", "KernelAndDeviceFunc::Run"),
        (
            "EagerLocalExecute: __inference__train_2342",
            "EagerLocalExecute: __inference__train_2342",
        ),
    ],
)
def test_label(name, expected):
    assert label(name) == expected


def test_python_waits():
    event = SimpleNamespace(metadata_id=7, offset_ps=5, duration_ps=9)
    lines = [SimpleNamespace(name=name, events=[event]) for name in ("python", "tf_x/1")]
    plane = SimpleNamespace(lines=lines, event_metadata={7: SimpleNamespace(name="x")})
    assert threads_of(SimpleNamespace(planes=[plane])) == [[Event("x", 5, 9)]]
