"""Writes `benchmarks/records.md`, the page of recorded runs, from `benchmarks/results`.

Usage: python -m benchmarks.records

Each JSON file of `benchmarks.record_run` holds the figures of a run and its command.
"""

import json
import pathlib
import shlex
from collections.abc import Sequence
from typing import Any

from datasets.program import run_program
from datasets.published.benchmarks import BENCHMARKS
from quatre_tf.data.candidate_sets import CANDIDATE_SETS
from trainers.comparison.published import paper_figures
from trainers.reporting.rendering import Table, as_markdown

_HERE = pathlib.Path(__file__).parent
# Published MRR, H@1, H@10; accuracy and F1 of triple classification.
_CODEX = {
    "codex-s": ((0.473, 37.5, 66.3), ("RESCAL", 0.843, 0.852)),
    "codex-m": ((0.352, 27.7, 49.0), ("ConvE", 0.826, 0.829)),
}
_MRR_MARKS = {
    "wn18rr": (0.40, 0.44, 0.46, 0.47, 0.48),
    "fb15k237": (0.30, 0.32, 0.34, 0.35, 0.36),
}
_TITLES = {
    "umls": "UMLS",
    "kinship": "Kinship",
    "nations": "Nations",
    "codex-s": "CoDEx-S",
    "codex-m": "CoDEx-M",
}
_NOT_IN_NAME = ("dataset", "recipe", "embedding_dim", "seed", "validate_every", "patience")
_HEAD = """# Records

`python -m benchmarks.records` writes this page from the JSON files in [results](results), which
hold the settings, validation curve, test metrics and machine of each run. The test split was ranked
once per run, with the best weights on validation and realistic ties; `quatre evaluate` added the
rows with type constraints. Times are wall time and include validation. Both runs of `paper` were
stopped by hand: their commands would run to 8,000 and 2,000 epochs. Published figures of CoDEx:
Chen et al. (AKBC 2021) for ranking, Safavi and Koutra (EMNLP 2020) for classification with the same
triples. Most runs of `sampled` and `self_adversarial` drew their candidates from 256 samples, over
and over. Mending this error changed test MRR on WN18RR by [.001 and
.004](attempts.md#repeated-samples-of-candidates). The others are RESCAL's and QuatRE's in float32
on WN18RR, ComplEx's on FB15k-237 and with 30 epochs on FB15k, QuatRE's with DURA on WN18, with 40
epochs on CoDEx-M and with 24 on CoDEx-S, and those of `quatre_affine`. The last five used one of
the two cores beside other runs, but seed 2 on WN18 both from epoch 15 on. So did ComplEx with
`strong` on FB15k, and with n = 1,024 and rate .1 on FB15k-237 for 20 of its 90 epochs.
"""


def main() -> None:
    """Writes the page."""
    records = read(_HERE / "results")
    (_HERE / "records.md").write_text(page(records), encoding="utf-8")


def read(folder: pathlib.Path) -> list[dict[str, Any]]:
    """Returns the recorded runs of a folder; results of other benchmarks are left out."""
    files = sorted(folder.glob("*.json"))
    records = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    return [
        {**record, "file": path.name}
        for path, record in zip(files, records, strict=True)
        if "recipe" in record and "test" in record
    ]


def page(records: Sequence[dict[str, Any]]) -> str:
    """Returns the markdown page, data sets in the order of the paper's tables."""
    titles = {name: _TITLES.get(name, benchmark.title) for name, benchmark in BENCHMARKS.items()}
    recorded = {record["dataset"] for record in records}
    parts = [_HEAD]
    for name in [*(n for n in titles if n in recorded), *sorted(recorded - titles.keys())]:
        runs = [record for record in records if record["dataset"] == name]
        parts += [f"## {titles.get(name, name)}\n", _figures(name, runs)]
        if name in _CODEX:
            parts.append(_classification(name, runs))
        parts.append(_commands(runs))
        if name in _MRR_MARKS:
            parts.append(_times(_MRR_MARKS[name], runs))
    return "\n".join(parts)


def _figures(name: str, runs: Sequence[dict[str, Any]]) -> str:
    rows = []
    for candidates in CANDIDATE_SETS:
        for run in runs:
            figures = run["test"]["candidates"].get(candidates)
            if figures:
                rows.append([_run_name(run), candidates, *_cells(figures["both"])])
        if figures := paper_figures(name, "quatre", candidates):
            rows.append(["QuatRE, the paper", candidates, *_cells(figures, 3)])
    if name in _CODEX:
        mrr, first, tenth = _CODEX[name][0]
        label = "ComplEx with relation prediction, published"
        rows.append([label, "all", "", f"{mrr:.3f}", f"{first}", "", f"{tenth}"])
    return _table(["run", "candidates", "MR", "MRR", "H@1", "H@3", "H@10"], rows)


def _classification(name: str, runs: Sequence[dict[str, Any]]) -> str:
    metrics = ("accuracy", "f1", "precision", "recall", "roc_auc")
    rows = [
        [_run_name(run), *(_with_interval(run["classification"][metric]) for metric in metrics)]
        for run in runs
    ]
    model, *figures = _CODEX[name][1]
    rows.append([f"{model}, published", *(f"{figure:.3f}" for figure in figures), "", "", ""])
    return _table(["triple classification", *metrics], rows)


def _with_interval(figure: dict[str, float]) -> str:
    return f"{figure['value']:.3f} ({figure['low']:.3f} to {figure['high']:.3f})"


def _cells(figures: dict[str, float], digits: int = 4) -> list[str]:
    hits = [f"{100 * figures[f'hits@{k}']:.1f}" for k in (1, 3, 10)]
    decimals = 0 if figures["mr"] >= 10 else 1
    return [f"{figures['mr']:,.{decimals}f}", f"{figures['mrr']:.{digits}f}", *hits]


def _commands(runs: Sequence[dict[str, Any]]) -> str:
    rows = [
        [
            f"[{_run_name(run)}](results/{run['file']})",
            f"{run['epochs']:g}",
            f"{run['wall_time_s'] / 60:.1f}",
            f"{run['machine']['processor']}, {run['machine']['cores']} cores",
            f"`{run['command']}`",
        ]
        for run in runs
    ]
    return _table(["run", "epochs", "minutes", "machine", "command"], rows)


def _times(marks: Sequence[float], runs: Sequence[dict[str, Any]]) -> str:
    """When a validation first reached each MRR: late by up to the time between validations."""
    rows = []
    for run in runs:
        cells = [_run_name(run)]
        for mark in marks:
            seconds = [point["seconds"] for point in run["validation"] if point["mrr"] >= mark]
            cells.append(f"{min(seconds) / 60:.1f}" if seconds else "not reached")
        rows.append(cells)
    header = ["minutes until validation MRR is", *(f"{mark:.2f}" for mark in marks)]
    return _table(header, rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return as_markdown(Table("", header, rows)) + "\n"


def _run_name(run: dict[str, Any]) -> str:
    """Names a run by the settings in its command, except how it is watched."""
    arguments = [flag for flag in shlex.split(run["command"]) if "=" in flag]
    given = [flag.lstrip("-").partition("=") for flag in arguments]
    settings = {name: value for name, _, value in given if name not in _NOT_IN_NAME}
    named = {"n": run["config"]["embedding_dim"], **settings}
    text = ", ".join(f"{name} = {value}" for name, value in named.items())
    return f"{run['recipe']}, {text}, seed {run['seed']}"


if __name__ == "__main__":
    run_program(main)
