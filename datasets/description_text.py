"""The description of a graph as text for the screen."""

from collections.abc import Mapping
from typing import Any

from datasets.text_table import table
from quatre_tf.data.encoding import SPLITS
from quatre_tf.paths import printable

_ROWS = 12
_MAX_WARNING = 2000


def description_text(facts: Mapping[str, Any]) -> str:
    """Returns tables and warnings of what `datasets.describing.describe` returned.

    Long tables are cut; the JSON has them whole.
    """
    parts = (_counts, _degrees, _relations, _suspected, _leakage, _warnings)
    return "\n\n".join(part(facts) for part in parts)


def _counts(facts: Mapping[str, Any]) -> str:
    counts = facts["counts"]
    labels = f", {counts['labels']:,} labels" if counts["labels"] else ""
    sizes = ", ".join(f"{split} {counts[split]:,}" for split in SPLITS)
    return (
        f"{printable(facts['name'])}: {counts['entities']:,} entities,"
        f" {counts['relations']:,} relations{labels}\ntriples: {sizes}"
    )


def _degrees(facts: Mapping[str, Any]) -> str:
    header = ["triples of an entity", *next(iter(facts["degrees"].values()))]
    rows = [
        [name, f"{values['mean']:.1f}", *(f"{v:,}" for v in list(values.values())[1:])]
        for name, values in facts["degrees"].items()
    ]
    return table([header, *rows])


def _relations(facts: Mapping[str, Any]) -> str:
    header = ["relation", *SPLITS, "heads/tail", "tails/head", "category", "symmetric"]
    rows = [
        [
            row["relation"],
            *(f"{row[split]:,}" for split in SPLITS),
            f"{row['heads_per_tail']:.2f}",
            f"{row['tails_per_head']:.2f}",
            row["category"],
            f"{row['symmetric_share']:.0%}",
        ]
        for row in facts["relations"][:_ROWS]
    ]
    return table([header, *rows]) + _more(facts["relations"])


def _suspected(facts: Mapping[str, Any]) -> str:
    found = facts["suspected_relations"]
    if not found:
        return "No relation is suspected to be symmetric, inverse or duplicate of another."
    header = ["suspected", "relation", "other", "shared pairs", "of relation", "of other"]
    rows = [
        [
            row["kind"],
            row["relation"],
            "" if row["kind"] == "symmetric" else row["other"],
            f"{row['shared_pairs']:,}",
            f"{row['share_of_relation']:.1%}",
            f"{row['share_of_other']:.1%}",
        ]
        for row in found[:_ROWS]
    ]
    return table([header, *rows]) + _more(found)


def _leakage(facts: Mapping[str, Any]) -> str:
    header = ["leakage", "twin in train", "looked up: MRR", "H@1", "H@10"]
    rows = [
        [
            split,
            f"{found['share']:.1%}",
            *(f"{found['rule'][name]:.4f}" for name in ("mrr", "hits@1", "hits@10")),
        ]
        for split, found in facts["leakage"].items()
    ]
    return table([header, *rows])


def _warnings(facts: Mapping[str, Any]) -> str:
    if not facts["warnings"]:
        return "No warnings."
    return "\n".join(
        f"Warning: {printable(message, _MAX_WARNING)}" for message in facts["warnings"].values()
    )


def _more(rows: list) -> str:
    return f"\n... and {len(rows) - _ROWS:,} more" if len(rows) > _ROWS else ""
