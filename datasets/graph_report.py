"""Report of a graph: counts, degrees, relations, twins, leakage and warnings, as data and text."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from datasets.advice import advice
from datasets.text_table import table
from datasets.twins import Twins, leakage, overlaps
from quatre_tf.data.encoding import NEGATIVES, SPLITS
from quatre_tf.data.graph import Graph
from quatre_tf.data.known_triples import index_tails
from quatre_tf.data.relation_categories import CATEGORIES, heads_and_tails, relation_categories
from quatre_tf.data.triple_keys import first_occurrences, triple_keys
from quatre_tf.paths import printable

_QUANTILES = {"min": 0, "25%": 25, "median": 50, "75%": 75, "90%": 90, "99%": 99, "max": 100}
_SHOWN_NAMES = 5
_SHOWN_ROWS = 12
_MAX_WARNING = 2000
# By table: the format of a cell by the title of its column.
_DEGREES = {"triples of an entity": "{name}", "mean": "{mean:.1f}"}
_DEGREES |= {name: f"{{{name}:,}}" for name in _QUANTILES}
_RELATIONS = {
    "relation": "{relation}",
    **{split: f"{{{split}:,}}" for split in SPLITS},
    "heads/tail": "{heads_per_tail:.2f}",
    "tails/head": "{tails_per_head:.2f}",
    "category": "{category}",
    "symmetric": "{symmetric_share:.0%}",
}
_SUSPECTED = {
    "suspected": "{kind}",
    "relation": "{relation}",
    "other": "{other}",
    "shared pairs": "{shared_pairs:,}",
    "of relation": "{share_of_relation:.1%}",
    "of other": "{share_of_other:.1%}",
}
_LEAKAGE = {
    "leakage": "{split}",
    "twin in train": "{share:.1%}",
    "looked up: MRR": "{rule[mrr]:.4f}",
    "H@1": "{rule[hits@1]:.4f}",
    "H@10": "{rule[hits@10]:.4f}",
}


def describe(graph: Graph, preparation: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns facts and warnings as a plain dictionary for JSON.

    Args:
        graph: The graph.
        preparation: What `datasets.custom_dataset` did to make it; told under its own name.

    Returns:
        `{"name", "fingerprint", "counts", "degrees", "relations", "suspected_relations", "leakage",
        "unseen", "warnings"}`. Degrees and relations are counted over all splits, without repeats;
        `warnings` is `{subject: message}`.
    """
    keys = triple_keys(graph.known, graph.num_entities, graph.num_relations)
    triples = graph.known[first_occurrences(keys)]
    shared = overlaps(triples, graph.num_relations)
    twins = shared.suspected()
    facts = {
        "name": graph.name,
        "fingerprint": graph.fingerprint,
        "counts": _counts(graph),
        "degrees": _degrees(graph, triples),
        "relations": _relations(graph, shared),
        "suspected_relations": _suspected(graph, twins),
        "leakage": leakage(graph, twins),
        "unseen": {split: _unseen(graph, split) for split in SPLITS[1:]},
    }
    if preparation:
        facts["preparation"] = dict(preparation)
    return facts | {"warnings": advice(graph, facts)}


def _counts(graph: Graph) -> dict[str, int]:
    sizes = {split: len(graph.split(split)) for split in SPLITS}
    distinct = {split: len(graph.index("tail", split).list_keys) for split in (*SPLITS, "known")}
    held_out = index_tails(np.concatenate([graph.valid, graph.test]), graph.num_entities)
    held = len(held_out.list_keys)
    return {
        "entities": graph.num_entities,
        "relations": graph.num_relations,
        **sizes,
        **{NEGATIVES[split]: len(triples) for split, triples in graph.negatives.items()},
        "labels": len(graph.labels),
        "loops": int((graph.known[:, 0] == graph.known[:, 2]).sum()),
        "repeated_in_a_split": sum(sizes.values()) - sum(distinct[split] for split in SPLITS),
        "in_train_and_held_out": distinct["train"] + held - distinct["known"],
        "in_valid_and_test": distinct["valid"] + distinct["test"] - held,
    }


def _degrees(graph: Graph, triples: np.ndarray) -> dict[str, dict[str, float]]:
    """Returns quantiles of how many triples an entity has: at all, as their head, as their tail."""
    heads, _, tails = triples.T
    ends = {"triples": np.concatenate([heads, tails]), "as head": heads, "as tail": tails}
    return {name: _quantiles(graph, entities) for name, entities in ends.items()}


def _quantiles(graph: Graph, entities: np.ndarray) -> dict[str, float]:
    degrees = np.bincount(entities, minlength=graph.num_entities)
    values = np.percentile(degrees, list(_QUANTILES.values()), method="higher")
    return {"mean": float(degrees.mean())} | dict(zip(_QUANTILES, values.tolist(), strict=True))


def _relations(graph: Graph, shared: Twins) -> list[dict[str, Any]]:
    """Returns a row for each relation, the most frequent first."""
    number = graph.num_relations
    means = heads_and_tails(graph.index("tail", "known"), graph.index("head", "known"), number)
    kinds = relation_categories(means)
    symmetric, own = np.zeros(number), shared.where(shared.first == shared.second)
    symmetric[own.first] = own.shares[:, 0]
    sizes = {s: np.bincount(graph.split(s)[:, 1], minlength=number).tolist() for s in SPLITS}
    totals = np.sum(list(sizes.values()), axis=0)
    return [
        {
            "relation": graph.relations.names[r],
            **{split: sizes[split][r] for split in SPLITS},
            "heads_per_tail": float(means[r, 0]),
            "tails_per_head": float(means[r, 1]),
            "category": CATEGORIES[kinds[r]],
            "symmetric_share": float(symmetric[r]),
        }
        for r in np.argsort(-totals, kind="stable")
    ]


def _suspected(graph: Graph, twins: Twins) -> list[dict[str, Any]]:
    names = graph.relations.names
    columns = (twins.kinds, twins.first, twins.second, twins.shared, twins.shares)
    return [
        {
            "kind": kind,
            "relation": names[first],
            "other": names[second],
            "shared_pairs": int(shared),
            "share_of_relation": float(shares[0]),
            "share_of_other": float(shares[1]),
        }
        for kind, first, second, shared, shares in zip(*columns, strict=True)
    ]


def _unseen(graph: Graph, split: str) -> dict[str, Any]:
    """Returns what a split has and train has not: how many, and the first of their names."""
    triples, ends = graph.split(split), [0, 2]
    new_entity, new_relation = np.ones(graph.num_entities, bool), np.ones(graph.num_relations, bool)
    new_entity[graph.train[:, ends]] = False
    new_relation[graph.train[:, 1]] = False
    unseen = new_entity[triples[:, ends]].any(axis=1) | new_relation[triples[:, 1]]
    entities = np.unique(triples[:, ends][new_entity[triples[:, ends]]])
    relations = np.unique(triples[:, 1][new_relation[triples[:, 1]]])
    return {
        "num_triples": int(unseen.sum()),
        "entities": len(entities),
        "first_entities": graph.entities.names[entities[:_SHOWN_NAMES]].tolist(),
        "relations": len(relations),
        "first_relations": graph.relations.names[relations[:_SHOWN_NAMES]].tolist(),
    }


def description_text(facts: Mapping[str, Any]) -> str:
    """Returns tables and warnings of what `datasets.graph_report.describe` returned.

    Long tables are cut; the JSON has them whole.
    """
    degrees = [{"name": name, **values} for name, values in facts["degrees"].items()]
    leaked = [{"split": split, **found} for split, found in facts["leakage"].items()]
    suspected = [
        row | {"other": "" if row["kind"] == "symmetric" else row["other"]}
        for row in facts["suspected_relations"]
    ]
    nothing = "No relation is suspected to be symmetric, inverse or duplicate of another."
    return "\n\n".join(
        (
            _counts_text(facts),
            _table(_DEGREES, degrees),
            _table(_RELATIONS, facts["relations"]),
            _table(_SUSPECTED, suspected) if suspected else nothing,
            _table(_LEAKAGE, leaked),
            warnings_text(facts),
        )
    )


def _table(columns: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> str:
    cells = [[cell.format(**row) for cell in columns.values()] for row in rows[:_SHOWN_ROWS]]
    more = f"\n... and {len(rows) - _SHOWN_ROWS:,} more" if len(rows) > _SHOWN_ROWS else ""
    return table([[*columns], *cells]) + more


def _counts_text(facts: Mapping[str, Any]) -> str:
    counts = facts["counts"]
    labels = f", {counts['labels']:,} labels" if counts["labels"] else ""
    sizes = ", ".join(f"{split} {counts[split]:,}" for split in SPLITS)
    negatives = [f"{s} {counts[name]:,}" for s, name in NEGATIVES.items() if name in counts]
    if negatives:
        sizes += f"\nlabelled negatives: {', '.join(negatives)}"
    return (
        f"{printable(facts['name'])}: {counts['entities']:,} entities,"
        f" {counts['relations']:,} relations{labels}\ntriples: {sizes}"
    )


def warnings_text(facts: Mapping[str, Any]) -> str:
    """Returns the warnings of what `datasets.graph_report.describe` returned, one a line."""
    if not facts["warnings"]:
        return "No warnings."
    return "\n".join(
        f"Warning: {printable(message, _MAX_WARNING)}" for message in facts["warnings"].values()
    )
