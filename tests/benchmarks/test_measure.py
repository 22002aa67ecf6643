from benchmarks import measure


def test_medians_leave_out_the_first_round():
    times = {"a": iter([9.0, 1.0, 5.0, 2.0]), "b": iter([0.0, 3.0, 3.0, 4.0])}
    timed = {name: values.__next__ for name, values in times.items()}
    assert measure.interleaved(timed, rounds=3, timer=lambda call: call()) == {"a": 2.0, "b": 3.0}
