"""The report of a run: a page, its pictures and its CSV files.

Each section writes its files and returns its HTML. Where relations or categories are shown one by
one, the candidates are all entities; results.csv has every candidate set.
"""

import pathlib
from collections.abc import Mapping, Sequence

from quatre_tf.atomic_files import write_text
from quatre_tf.errors import ConfigError
from quatre_tf.paths import output_folder
from quatre_tf.ranking.evaluation import Options, check_same_graph, evaluate_runs
from quatre_tf.ranking.results import Results
from quatre_tf.runs.run import Run, load_run
from saved_models.storage import writing
from trainers.reporting import evaluation_tables as tables
from trainers.reporting.formatting import SIDE_TITLES, shorten
from trainers.reporting.html_report import page, reliability
from trainers.reporting.html_report.charts import draw_metrics
from trainers.reporting.html_report.classification import PARTS, classification
from trainers.reporting.html_report.curves import draw_curves
from trainers.reporting.html_report.entity_map import (
    check_relations,
    choose_relations,
    draw_map,
    make_map,
    map_rows,
)
from trainers.reporting.rendering import Table, as_html, write_csv
from trainers.reporting.runs import ReportedRun, facts, load_reported_run, name_runs

PAGE = "index.html"
# What a report may write. Files of an earlier one that this one does not have are removed.
_FILES = (
    *("overall.png", "categories.png", "relations.png", "curves.png", "entity_map.png"),
    *("results.csv", "curves.csv", "entity_map.csv", *reliability.PARTS, *PARTS, PAGE),
)
_GENERATOR = "quatre analyze"
_MAX_RELATIONS = 25


def write_report(
    run_dir: pathlib.Path,
    compare_run_dir: pathlib.Path | None = None,
    relations: Sequence[str] = (),
    output: pathlib.Path | None = None,
) -> pathlib.Path:
    """Writes the report of a run.

    Args:
        run_dir: The run.
        compare_run_dir: Another run on the same graph, shown next to it.
        relations: The map shows entities of these relations; if empty, of a pair that differs.
        output: Folder of the report; None: `run_dir/report`.

    Returns:
        The path of the page.

    Raises:
        ConfigError: The runs are on different graphs, a choice of relations makes no map, or
            `output` has files of other programs that a report would replace.
        UnknownNameError: A relation is not of the graph.
        DataError: A folder is not a run, a file of it cannot be read, or one of two runs holds no
            model yet.
    """
    run = load_reported_run(run_dir)
    others = [] if compare_run_dir is None else [load_reported_run(compare_run_dir)]
    for other in others:
        # Without weights there is nothing to compare; loading them says so.
        check_same_graph(*(each.trained or load_run(each.path) for each in (run, other)))
    runs = name_runs([run, *others])
    check_relations(run.graph, relations)
    own = run_dir / "report"
    output = output_folder(output or own)
    if output != own:
        _check_replaceable(output)
    title = f"{run.graph.name}: {' and '.join(runs)}"
    with writing("the report", output, "Choose another --output, or make room."):
        output.mkdir(parents=True, exist_ok=True)
        for name in _FILES:
            (output / name).unlink(missing_ok=True)
        # Now, too: the folder of a report that is not finished is known as such.
        write_text(output / PAGE, page.document(title, [], _GENERATOR))
        sections = [_facts(runs), *_sections(runs, relations, output)]
        write_text(output / PAGE, page.document(title, sections, _GENERATOR))
    return output / PAGE


def _check_replaceable(output: pathlib.Path) -> None:
    """Raises ConfigError if a folder has files of a report's names, but no page of one."""
    found, written = [name for name in _FILES if (output / name).exists()], output / PAGE
    text = written.read_text(encoding="utf-8", errors="replace") if written.is_file() else ""
    if found and page.generator(_GENERATOR) not in text:
        raise ConfigError(
            f"{output} holds {found[0]}, which a report would replace and may not be of one. "
            "Choose another --output, or remove it."
        )


def _sections(
    runs: Mapping[str, ReportedRun], relations: Sequence[str], output: pathlib.Path
) -> list[str]:
    curves = _curves(runs, output)
    trained = {name: run.trained for name, run in runs.items() if run.trained}
    if not trained:
        return [
            curves,
            page.note("No validation yet, so there are no best weights to evaluate."),
        ]
    first, *others = trained
    results = evaluate_runs(trained, Options(group_intervals=True), *others)
    write_csv(output / "results.csv", (row._asdict() for row in results.rows))
    return [
        _results(results, output),
        *(page.section("Comparison", as_html(table)) for table in tables.comparison(results)),
        _categories(results, output),
        _relations(results, output),
        page.section("Triples with unseen entities", as_html(tables.unseen_entities(results))),
        reliability.probabilities(trained, output),
        classification(trained, output),
        curves,
        _entity_map(first, trained[first], relations, output),
    ]


def _facts(runs: Mapping[str, ReportedRun]) -> str:
    """The facts of the runs, and their settings folded away."""
    settings = {
        name: {setting: str(value) for setting, value in run.settings.items()}
        for name, run in runs.items()
    }
    return page.section(
        "Run" if len(runs) == 1 else "Runs",
        _by_run("", {name: facts(run) for name, run in runs.items()}),
        page.details("All settings", _by_run("As in config.json", settings)),
    )


def _by_run(title: str, by_run: Mapping[str, Mapping[str, str]]) -> str:
    names = dict.fromkeys(name for known in by_run.values() for name in known)
    rows = [[name, *(known.get(name, "-") for known in by_run.values())] for name in names]
    return as_html(Table(title, ["", *by_run], rows))


def _results(results: Results, output: pathlib.Path) -> str:
    rows = [
        row
        for name in results.candidates
        for row in (
            (tables.CANDIDATE_TITLES[name], None),
            *((title, {"candidates": name, "side": s}) for s, title in SIDE_TITLES.items()),
        )
    ]
    draw_metrics(results, rows, output / "overall.png")
    return page.section(
        "Results",
        page.figure(
            output / "overall.png",
            "MRR and Hits@10 by candidate set and side, with 95 % intervals",
            "MRR and Hits@10 with bootstrap 95 % intervals, over triples. All figures of the "
            "report are in results.csv.",
        ),
        as_html(tables.overall(results)),
        *(page.details(ties.title, as_html(ties)) for ties in tables.tie_policies(results)),
    )


def _categories(results: Results, output: pathlib.Path) -> str:
    """Metrics by category of the relation, as Figure 2 of the paper."""
    rows = [
        row
        for name, size in results.groups("category").items()
        for row in (
            (f"{name} (n = {size:,})", None),
            *(
                (SIDE_TITLES[side], {"group_by": "category", "group": name, "side": side})
                for side in ("head", "tail")
            ),
        )
    ]
    draw_metrics(results, rows, output / "categories.png")
    return page.section(
        "By category of the relation",
        page.figure(
            output / "categories.png",
            "MRR and Hits@10 by category of the relation, heads and tails apart",
            "Categories by heads per tail and tails per head over all splits, as in the paper; all "
            "entities are candidates; n counts triples of the split; lines: 95 % intervals.",
        ),
        page.details(
            "Figures, also with categories over the train split only",
            "".join(map(as_html, tables.categories(results))),
        ),
    )


def _relations(results: Results, output: pathlib.Path) -> str:
    """MRR by relation, as Table 3 of the paper."""
    sizes = results.groups("relation")
    rows = [
        (f"{short}  ({sizes[name]:,})", {"group_by": "relation", "group": name})
        for name, short in shorten(list(sizes)[:_MAX_RELATIONS]).items()
    ]
    draw_metrics(results, rows, output / "relations.png", ["mrr"])
    left_out = len(sizes) - len(rows)
    more = f" The {left_out:,} rarer ones are in results.csv." if left_out else ""
    return page.section(
        "By relation",
        page.figure(
            output / "relations.png",
            "MRR by relation",
            "MRR over heads and tails with 95 % intervals, all entities as candidates; in brackets "
            f"the triples of the split. Full names are in results.csv.{more}",
        ),
        page.details("Figures", "".join(map(as_html, tables.relations(results)))),
    )


def _curves(runs: Mapping[str, ReportedRun], output: pathlib.Path) -> str:
    """Learning curves of the runs that have any."""
    title = "Learning curves"
    recorded = {name: run for name, run in runs.items() if run.records}
    if not recorded:
        return page.section(title, page.note("There is no metrics.jsonl: nothing is recorded."))
    records = [{"run": name, **record} for name, run in recorded.items() for record in run.records]
    write_csv(output / "curves.csv", records)
    draw_curves(recorded, output / "curves.png")
    return page.section(
        title,
        page.figure(
            output / "curves.png",
            "Training loss, validation MRR and validation Hits@10 over the epochs",
            "Mean training loss per triple without regularization, on a logarithmic axis; filtered "
            "ranking of the validation split among all entities. Circles rank a fixed sample of "
            "the validation split: compare them with each other, not with the line. The star is "
            "the validation whose weights were kept.",
        ),
    )


def _entity_map(name: str, trained: Run, relations: Sequence[str], output: pathlib.Path) -> str:
    """The entities of the chosen relations by t-SNE."""
    title, graph = "Map of entities", trained.graph
    relations = relations or choose_relations(graph)
    layout = make_map(graph, trained.model.entities.embeddings.numpy(), relations)
    if layout is None:
        return page.section(title, page.note("These relations have too few entities for a map."))
    draw_map(layout, output / "entity_map.png")
    write_csv(output / "entity_map.csv", map_rows(graph, layout))
    return page.section(
        title,
        page.figure(
            output / "entity_map.png",
            f"Map of the entities of {' and '.join(relations)}",
            f"{name}: t-SNE of the embeddings (the components side by side) of entities that occur "
            f"as head or tail of {', '.join(relations)}, in any split; {layout.group_names[-1]}: "
            "in more than one of them. Near points have similar embeddings; distances between "
            "clusters mean little.",
        ),
    )
