"""The sections of the page about an evaluation.

Each writes its PNG and CSV files and returns its HTML. Where relations or categories are shown one
by one, the candidates are all entities; the CSV files have every candidate set.
"""

import pathlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trainers.reporting.analysis import bars, page, rows, tables
from trainers.reporting.analysis.bars import Evaluations
from trainers.reporting.analysis.names import shorten

_HONEST = "all"
_MAX_RELATIONS = 25
_DEFINITIONS = {
    "all_splits": "Categories over all splits",
    "train": "Categories over the train split",
}
# Short enough for a picture; what each may claim stands in the tables.
_SETS = {
    "all": "All entities",
    "type_constrained": "Type constraint, all splits",
    "train_type_constrained": "Type constraint, train",
}


def results(evaluations: Evaluations, output: pathlib.Path) -> str:
    """The final figures by candidate set and side, with 95 % intervals."""
    _write(evaluations, rows.overall, output / "overall.csv")
    bars.draw_overall(evaluations, _SETS, output / "overall.png")
    first = next(iter(evaluations.values()))
    caption = (
        f"Filtered ranking of the {first['num_triples']:,} triples of the {first['split']} split, "
        f"{first['tie_policy']} ties. AMRI: adjusted mean rank index."
    )
    return page.section(
        "Results",
        page.figure(
            output / "overall.png",
            "MRR and Hits@10 by candidate set and side, with 95 % intervals",
            "MRR and Hits@10 with bootstrap 95 % intervals, over triples.",
        ),
        tables.overall(evaluations, caption),
        *(
            page.details(f"Equal scores matter: {run} by tie policy", tables.ties(evaluation))
            for run, evaluation in evaluations.items()
            if "tie_policies" in evaluation
        ),
    )


def categories(evaluations: Evaluations, output: pathlib.Path) -> str:
    """Figures by category of the relation, as Figure 2 of the paper."""
    _write(evaluations, rows.categories, output / "categories.csv")
    bars.draw_categories(evaluations, _HONEST, output / "categories.png")
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
            "".join(
                tables.categories(evaluations, definition, _HONEST, caption)
                for definition, caption in _DEFINITIONS.items()
            ),
        ),
    )


def relations(evaluations: Evaluations, output: pathlib.Path) -> str:
    """MRR by relation, as Table 3 of the paper."""
    _write(evaluations, rows.relations, output / "relations.csv")
    first = next(iter(evaluations.values()))["relations"][_HONEST]
    shown = shorten(list(first)[:_MAX_RELATIONS])
    bars.draw_relations(evaluations, _HONEST, shown, output / "relations.png")
    left_out = len(first) - len(shown)
    more = f" The {left_out:,} rarer ones are in relations.csv." if left_out else ""
    return page.section(
        "By relation",
        page.figure(
            output / "relations.png",
            "MRR by relation",
            "MRR over heads and tails with 95 % intervals, all entities as candidates; in brackets "
            f"the triples of the split. Full names and all figures are in relations.csv.{more}",
        ),
    )


def unseen_entities(evaluations: Evaluations, output: pathlib.Path) -> str:
    """Triples with an entity that training has not seen; they count in the totals too."""
    count = next(iter(evaluations.values()))["unseen_entities"]["num_triples"]
    title = "Triples with an entity unseen in training"
    if not count:
        return page.section(title, page.note("The split has none."))
    _write(evaluations, rows.unseen_entities, output / "unseen_entities.csv")
    caption = f"The {count:,} triples apart; the figures above include them."
    return page.section(title, tables.unseen_entities(evaluations, caption))


def comparison(evaluations: Evaluations, output: pathlib.Path) -> str:
    """Differences between two runs, with a paired test; the first evaluation has them."""
    name, other = evaluations
    rows.write_csv(output / "comparison.csv", rows.comparison(evaluations[name]))
    caption = (
        f"{name} minus {other}, paired over the same triples, with 95 % intervals and p-values. A "
        "lower MR is better; of the others, a higher one."
    )
    return page.section("Comparison", tables.comparison(evaluations[name], caption))


def _write(
    evaluations: Evaluations,
    flatten: Callable[[Mapping[str, Any]], Iterator[rows.Row]],
    path: pathlib.Path,
) -> None:
    rows.write_csv(path, rows.tagged({run: flatten(e) for run, e in evaluations.items()}))
