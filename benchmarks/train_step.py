"""Times a training step beside its unavoidable parts.

    python -m benchmarks.train_step --recipe=strong --shape=fb15k237

The parts are measured in the same run on operands of the same sizes; `benchmarks/step_parts.py` and
`benchmarks/query_step_parts.py` say which they are. The batches are random ids of the benchmark's
size; the input pipeline is not in it (`benchmarks.pipeline` has that).
"""

from collections.abc import Callable, Sequence
from typing import Any

from absl import flags

from benchmarks import measure
from benchmarks.step_shapes import BENCHMARKS, RECIPES, shape_of, steps_per_pass
from datasets.program import import_tensorflow, run_program

# Steps in one call, as in training: what a call costs is spread over them.
_STEPS = 10

_RECIPE = flags.DEFINE_enum("recipe", "paper", RECIPES, "Recipe whose step to take.")
_SHAPE = flags.DEFINE_enum("shape", "wn18rr", BENCHMARKS, "Benchmark whose sizes to use.")
_EMBEDDING_DIM = flags.DEFINE_integer(
    "embedding_dim", None, "Quaternions per embedding. Default: the paper's, or 128.", 1
)
_NUM_CANDIDATES = flags.DEFINE_integer(
    "num_candidates", None, "Sampled entities, with --recipe=sampled. Default: 4,096.", 1
)
_ROUNDS = flags.DEFINE_integer("rounds", 15, "Measurements; the median is reported.", 1)
_OUTPUT = flags.DEFINE_string("output", None, "JSON file to write.")


@flags.multi_flags_validator(
    ["recipe", "num_candidates"], "--num_candidates is for --recipe=sampled."
)
def _candidates_are_sampled(values: dict) -> bool:
    return values["num_candidates"] is None or values["recipe"] == "sampled"


def main(argv: Sequence[str]) -> None:
    """Measures and prints."""
    del argv
    import_tensorflow()
    from benchmarks.query_step_parts import sampled_parts, strong_parts
    from benchmarks.step_parts import paper_parts

    recipe, benchmark = _RECIPE.value, _SHAPE.value
    shape = shape_of(recipe, benchmark, dim=_EMBEDDING_DIM.value, candidates=_NUM_CANDIDATES.value)
    makers: dict[str, Callable[..., dict[str, Any]]]
    makers = {"paper": paper_parts, "strong": strong_parts, "sampled": sampled_parts}
    parts = makers[recipe](*shape.values())
    calls = {name: measure.repeated(part, _STEPS) for name, part in parts.items()}
    times = measure.interleaved(calls, rounds=_ROUNDS.value)
    times = {name: value / _STEPS for name, value in times.items()}
    floor = sum(value for name, value in times.items() if not name.startswith("step"))
    pass_seconds = steps_per_pass(benchmark, shape) * times["step"] / 1e3
    for name, value in times.items():
        print(f"{name:22s} {value:8.2f} ms")
    print(f"{'unavoidable parts':22s} {floor:8.2f} ms")
    print(f"step / unavoidable     {times['step'] / floor:8.2f}")
    print(f"a pass over train      {pass_seconds:8.2f} s, steps alone")
    record = {
        "benchmark": "train_step",
        "command": measure.command(
            "train_step",
            recipe=recipe,
            shape=benchmark,
            embedding_dim=_EMBEDDING_DIM.value,
            num_candidates=_NUM_CANDIDATES.value,
        ),
        "shape": shape,
        "milliseconds": times,
        "floor_milliseconds": floor,
        "ratio": times["step"] / floor,
        "pass_seconds": pass_seconds,
    }
    measure.write_json(_OUTPUT.value, record)


if __name__ == "__main__":
    run_program(main)
