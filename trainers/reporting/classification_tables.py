"""The tables of a triple classification, made from its results."""

from quatre_tf.ranking.results import Results
from trainers.reporting.evaluation_tables import MAX_RELATIONS, WIDEST_NAME, table_of
from trainers.reporting.formatting import shorten
from trainers.reporting.rendering import Table

_METRICS = ("accuracy", "f1", "precision", "recall", "roc_auc", "average_precision")
_NEGATIVES = {
    "checked_negatives": "The false triples come with the data set.",
    "drawn_negatives": "The false triples were drawn at random, which makes them easier to "
    "recognize than real errors.",
}


def classification_tables(results: Results) -> list[Table]:
    """Returns the figures of the split and of its most frequent relations."""
    (negatives,) = results.candidates
    place = {"candidates": negatives, "side": ""}
    title = (
        f"Triple classification, {results.split} split: {results.num_triples:,} triples; with 95 % "
        f"bootstrap intervals.\n{_NEGATIVES[negatives]}\nThresholds by relation are from the "
        "validation split."
    )
    sizes = results.groups("relation")
    shown = shorten(list(sizes)[:MAX_RELATIONS], WIDEST_NAME)
    lines = {
        f"{short} ({sizes[name]:,})": {"group_by": "relation", "group": name}
        for name, short in shown.items()
    }
    more = f", the {len(shown)} most frequent of {len(sizes)}" if len(shown) < len(sizes) else ""
    return [
        table_of(results, title, {"": place}, {"all": {}}, _METRICS),
        table_of(results, f"By relation{more}", {"": place}, lines, _METRICS),
    ]
