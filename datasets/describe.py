"""Describes a data set: counts, degrees, relations, leakage, warnings.

Usage: quatre describe --dataset=wn18
"""

import json
from typing import TYPE_CHECKING, Any

from absl import flags

from datasets import catalog
from datasets.data_flags import DataFlags
from datasets.output_folder import REPORT
from datasets.program import import_tensorflow, run_program
from datasets.published.benchmarks import BENCHMARKS, Benchmark
from quatre_tf.atomic_files import output_file
from quatre_tf.paths import user_path

if TYPE_CHECKING:
    from quatre_tf.data.graph import Graph

_DATA = DataFlags()
_FORMAT = flags.DEFINE_enum("format", "text", ("text", "json"), "Output format.")
_OUTPUT = flags.DEFINE_string("output", None, "Also write everything to this JSON file.")


def main() -> None:
    """Translates the flags; see `datasets.graph_report.describe`."""
    dataset = _DATA.checked_dataset()
    if dataset in BENCHMARKS:
        import_tensorflow()
    from datasets.custom_dataset import load_file
    from datasets.graph_report import describe, description_text

    if catalog.is_file(dataset):
        _, facts = load_file(dataset)
    else:
        graph = catalog.load(dataset, **_DATA.given())
        facts = describe(graph, _preparation(dataset, graph))
    source = _source(BENCHMARKS[dataset]) if dataset in BENCHMARKS else {}
    as_json = json.dumps(facts | source, indent=2)
    # First, because a reader of what is printed may leave early.
    if _OUTPUT.value:
        with output_file(_OUTPUT.value) as file:
            file.write(as_json + "\n")
    if _FORMAT.value == "json":
        print(as_json)
    else:
        if catalog.is_file(dataset):
            print("\n".join(facts["preparation"]["read"]), end="\n\n")
        print(description_text(facts))
        if source:
            print("\n{description}\n{homepage}\nLicense: {license}\n\n{citation}".format(**source))


def _preparation(dataset: str, graph: "Graph") -> dict[str, Any]:
    """Returns what `prepare` told of a folder, if that is what it holds."""
    try:
        report = json.loads((user_path(dataset) / REPORT).read_text(encoding="utf-8"))
        return report["preparation"] if report["fingerprint"] == graph.fingerprint else {}
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def _source(benchmark: Benchmark) -> dict[str, str]:
    names = ("description", "homepage", "license", "citation")
    return {name: getattr(benchmark, name).rstrip() for name in names}


if __name__ == "__main__":
    run_program(main)
