"""The report of a run: a page and its parts."""

import pathlib
from collections.abc import Mapping, Sequence

from quatre_tf.atomic_files import write_text
from trainers.reporting.analysis import page, reliability, results, sections
from trainers.reporting.analysis.embedding_map import check_relations
from trainers.reporting.analysis.ranked import evaluate
from trainers.reporting.analysis.runs import Run, check_comparable, load_run, name_runs

PAGE = "index.html"
# What a report may write. Parts of an earlier one that this one does not have are removed.
_PARTS = (
    *("curves.png", "overall.png", "categories.png", "relations.png", "entity_map.png"),
    *("curves.csv", "overall.csv", "categories.csv", "relations.csv", "entity_map.csv"),
    *("unseen_entities.csv", "comparison.csv", *reliability.PARTS, PAGE),
)


def write_report(
    run_dir: pathlib.Path,
    compare_run_dir: pathlib.Path | None = None,
    relations: Sequence[str] = (),
    output: pathlib.Path | None = None,
) -> pathlib.Path:
    """Writes the report of a run.

    Args:
        run_dir: The run.
        compare_run_dir: Another run on the same graph, shown beside it.
        relations: Whose entities the map shows; a telling pair when empty.
        output: Folder of the report; `run_dir/report` when None.

    Returns:
        The path of the page.

    Raises:
        ConfigError: The runs cannot be compared, or a choice of relations makes no map.
        UnknownNameError: A relation is not of the graph.
        DataError: A folder is not a run, or a file of it cannot be read.
    """
    run = load_run(run_dir)
    others = [] if compare_run_dir is None else [load_run(compare_run_dir)]
    for other in others:
        check_comparable(run, other)
    runs = name_runs([run, *others])
    check_relations(run.graph, relations)
    output = output or run_dir / "report"
    _clear(output)
    parts = [sections.head(runs), *_parts(runs, relations, output)]
    text = page.document(f"{run.graph.name}: {' and '.join(runs)}", parts)
    write_text(output / PAGE, text)
    return output / PAGE


def _parts(runs: Mapping[str, Run], relations: Sequence[str], output: pathlib.Path) -> list[str]:
    curves = sections.curves(runs, output)
    run, *others = runs.values()
    if run.trained is None:
        return [
            curves,
            page.note("No validation yet, so no weights were kept and none are ranked."),
        ]
    trained = {name: run.trained for name, run in runs.items() if run.trained}
    evaluations = evaluate(trained)
    return [
        results.results(evaluations, output),
        results.comparison(evaluations, output) if others else "",
        results.categories(evaluations, output),
        results.relations(evaluations, output),
        results.unseen_entities(evaluations, output),
        reliability.probabilities(trained, output),
        curves,
        sections.entity_map(next(iter(runs)), run.trained, relations, output),
    ]


def _clear(output: pathlib.Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    for name in _PARTS:
        (output / name).unlink(missing_ok=True)
