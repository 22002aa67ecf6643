from benchmarks.trace_summary import Event, Total, totals


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
