"""The text of a whole evaluation, as `trainers.evaluate` prints it.

What each set of candidates may claim stands above its figures, because a table is copied without
its documentation.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from datasets.text_table import table
from trainers.reporting.text import METRICS, SIDE_TITLES, TITLES, metric_cells

Result = Mapping[str, Any]

_MAX_RELATIONS = 20
# The two figures that people quote; they get intervals, and stand for the others in breakdowns.
_QUOTED = ("mrr", "hits@10")
_WIDEST_NAME = 48
_SHORT = {
    "all": "all entities",
    "type_constrained": "type, all splits",
    "train_type_constrained": "type, train only",
}


def whole_evaluation(result: Result) -> str:
    """Returns everything of an `evaluate_run` that fits on a few screens."""
    title = (
        f"Filtered ranking, {result['split']} split: {result['num_triples']:,} triples, "
        f"{result['tie_policy']} ties. In brackets: 95 % bootstrap intervals."
    )
    return "\n\n".join([title, *_sections(result)])


def _sections(result: Result) -> Iterator[str]:
    # Breakdowns are shown for one set, the most honest at hand.
    shown = next(iter(result["candidates"]))
    for name in result["candidates"]:
        yield f"{claim(result, name)}\n{_figures(result, name)}"
    if "tie_policies" in result:
        yield _ties(result)
    yield from _categories(result, shown)
    yield _relations(result, shown)
    yield _unseen(result)
    if "comparison" in result:
        yield _comparison(result)


def claim(result: Result, candidates: str) -> str:
    """Returns what the figures of a candidate set may claim, in a line or two."""
    answers = result["test_only_answers"][candidates]
    sides = f"{answers['head']:,} of the heads and {answers['tail']:,} of the tails"
    return {
        "all": "All entities (paper: _1)",
        "type_constrained": "Type constraint from all splits, the answers included (paper: _2).\n"
        f"{sides} asked for are admitted by the {result['split']} split alone.",
        "train_type_constrained": "Type constraint from train only.\n"
        f"{sides} asked for are not in it; they are ranked all the same.",
    }[candidates]


def _figures(result: Result, candidates: str) -> str:
    header = [""]
    for metric in METRICS:
        header += [TITLES[metric], ""] if metric in _QUOTED else [TITLES[metric]]
    rows = [[*header, "AMRI"]]
    for side, label in SIDE_TITLES.items():
        row = [label]
        for metric, cell in zip(
            METRICS, metric_cells(result["candidates"][candidates][side]), strict=True
        ):
            row.append(cell)
            if metric in _QUOTED:
                row.append(_interval(result["intervals"][candidates][side][metric]))
        index = result["adjusted_mean_rank_index"][candidates][side]
        rows.append([*row, "-" if index is None else f"{index:.4f}"])
    return table(rows)


def _ties(result: Result) -> str:
    rows = [["", *(TITLES[metric] for metric in METRICS)]]
    for candidates in result["candidates"]:
        for policy, sets in result["tie_policies"].items():
            rows.append(
                [f"{_SHORT[candidates]}: {policy}", *metric_cells(sets[candidates]["both"])]
            )
    return f"Equal scores make a difference (heads and tails)\n{table(rows)}"


def _categories(result: Result, candidates: str) -> Iterator[str]:
    origins = {"all_splits": "all splits (as the paper)", "train": "train only"}
    for source, origin in origins.items():
        groups = result["categories"][source][candidates]
        if groups:
            title = f"By category of the relation, counted over {origin}; {_SHORT[candidates]}"
            yield f"{title}\n{_groups(groups)}"


def _relations(result: Result, candidates: str) -> str:
    groups = result["relations"][candidates]
    shown = dict(list(groups.items())[:_MAX_RELATIONS])
    more = f", the {len(shown)} most frequent of {len(groups)}" if len(shown) < len(groups) else ""
    return f"By relation{more}; {_SHORT[candidates]}\n{_groups(shown)}"


def _unseen(result: Result) -> str:
    unseen = result["unseen_entities"]
    title = (
        f"{unseen['num_triples']:,} of {result['num_triples']:,} triples have an entity that train "
        "does not have"
    )
    if not unseen["num_triples"]:
        return f"{title}."
    rows = [["", *(TITLES[metric] for metric in METRICS)]]
    rows += [
        [_SHORT[name], *metric_cells(sides["both"])] for name, sides in unseen["candidates"].items()
    ]
    return f"{title}; they are part of all figures above\n{table(rows)}"


def _comparison(result: Result) -> str:
    compared = result["comparison"]
    header = ["", *(cell for metric in _QUOTED for cell in (TITLES[metric], "", "p"))]
    rows = [header]
    for candidates in result["candidates"]:
        for side, label in (("both", "both"), ("head", "heads"), ("tail", "tails")):
            row = [f"{_SHORT[candidates]}: {label}"]
            for metric in _QUOTED:
                found = compared[candidates][side][metric]
                row += [f"{found['difference']:+.4f}", _interval(found["interval"], "+.4f")]
                row.append(f"{found['p_value']:.4f}")
            rows.append(row)
    title = f"Difference to {compared['run_dir']}\nPaired by triple; above 0: this run is better."
    return f"{title}\n{table(rows)}"


def _groups(groups: Mapping[str, Any]) -> str:
    """Returns the quoted figures of groups of triples: both sides, heads, tails."""
    sides = [(side, metric) for side in SIDE_TITLES for metric in _QUOTED]
    names = {"both": "", "head": " heads", "tail": " tails"}
    header = ["", "triples", *(f"{TITLES[metric]}{names[side]}" for side, metric in sides)]
    rows = [
        [
            _shorten(name),
            f"{group['num_triples']:,}",
            *(metric_cells(group[side], [metric])[0] for side, metric in sides),
        ]
        for name, group in groups.items()
    ]
    return table([header, *rows])


def _interval(ends: Sequence[float], form: str = ".4f") -> str:
    return f"[{ends[0]:{form}}, {ends[1]:{form}}]"


def _shorten(name: str) -> str:
    """Returns a name that leaves room for the figures; of long paths the end tells most."""
    return name if len(name) <= _WIDEST_NAME else f"...{name[3 - _WIDEST_NAME :]}"
