"""Measures what this machine can do at all: the limits that the other figures stand beside.

Usage: python -m benchmarks.limits [--output=FILE.json]

Matrix products at the sizes of training and evaluation, copying of memory, gathering of random
rows, TensorFlow's sparse Adagrad kernel on random rows, sums of rows by segment; each on one core
and on all.
"""

import os
from collections.abc import Sequence
from typing import Any

from absl import flags

from benchmarks import measure
from datasets.program import import_tensorflow, run_program

_TABLE_MIB = flags.DEFINE_integer("table_mib", 512, "Size of the tables read at random.", 64)
_ROUNDS = flags.DEFINE_integer("rounds", 7, "Measurements; the median is reported.", 1)
_OUTPUT = flags.DEFINE_string("output", None, "JSON file to write.")


def main(argv: Sequence[str]) -> None:
    """Measures and prints."""
    del argv
    import_tensorflow()
    from benchmarks.limit_parts import limits
    from datasets.text_table import table

    num_cores = len(os.sched_getaffinity(0))
    found = limits(_TABLE_MIB.value, num_cores)
    calls = {name: limit.call for name, limit in found.items()}
    times = {}
    for cores in (1, num_cores):
        with measure.on_cores(cores):
            times[cores] = measure.interleaved(calls, rounds=_ROUNDS.value)
    result = {name: _result(limit, name, times) for name, limit in found.items()}
    rows = [["", "unit", "one core", f"{num_cores} cores", "ratio"]]
    for name, entry in result.items():
        figures = [entry["rate"][1], entry["rate"][num_cores], entry["ratio"]]
        rows.append([name, entry["unit"], *(f"{figure:,.2f}" for figure in figures)])
    print(table(rows))
    record = {
        "benchmark": "limits",
        "command": measure.command("limits", table_mib=_TABLE_MIB.value),
        "limits": result,
    }
    measure.write_json(_OUTPUT.value, record)


def _result(limit: Any, name: str, times: dict[int, dict[str, float]]) -> dict[str, Any]:
    """Returns time and rate by number of cores, and what all give beside one."""
    rates = {cores: limit.rate(of_cores[name]) for cores, of_cores in times.items()}
    return {
        "unit": limit.unit,
        "milliseconds": {cores: of_cores[name] for cores, of_cores in times.items()},
        "rate": rates,
        "ratio": rates[max(rates)] / rates[1],
    }


if __name__ == "__main__":
    run_program(main)
