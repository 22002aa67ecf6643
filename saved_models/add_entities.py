"""Adds new entities to a trained model and exports the next version.

Usage: quatre add-entities --run_dir=runs/wn18rr --triples=new.tsv --output=exports/wn18rr

Nothing is trained: each new entity gets an embedding from its triples. Neither the others nor the
run change, so --triples holds all new entities each time. docs/new_entities.md describes the method
and its quality by number of triples.
"""

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from absl import flags

from datasets.program import import_tensorflow, run_program
from quatre_tf.paths import printable
from saved_models import export

if TYPE_CHECKING:
    from quatre_tf.data.graph import Graph
    from quatre_tf.runs.run import Run

flags.adopt_module_key_flags(export)
_TRIPLES = flags.DEFINE_string(
    "triples",
    None,
    "File with lines head TAB relation TAB tail, in which either head or tail is new.",
    required=True,
)
_TARGET_RANK = flags.DEFINE_integer(
    "target_rank",
    10,
    "Rank that a new entity should reach when its own triples ask for it. Lower values make it "
    "appear in more answers, both correct and wrong ones.",
    lower_bound=1,
)
_MAX_NEAREST = 5
_MAX_TRIPLES = 10


def main() -> None:
    """Translates the flags; see `saved_models.new_entities.add_entities`."""
    from datasets.triples import read_triples

    # Before TensorFlow: an unreadable file is reported at once.
    columns = read_triples(_TRIPLES.value).columns

    import_tensorflow()
    import numpy as np

    from quatre_tf.runs.run import load_run
    from saved_models.calibrating import calibration_of, thresholds_of
    from saved_models.new_entities import add_entities
    from saved_models.scorer import Scorer
    from saved_models.versions import export_scorer, exported_text

    trained = load_run(export.RUN_DIR.value)
    triples = np.array([column.to_pylist() for column in columns], object).T
    extended = add_entities(trained, triples, target_rank=_TARGET_RANK.value, origin=_TRIPLES.value)
    calibrated, old = (calibration_of(trained), thresholds_of(trained)), trained.graph
    # Its table takes as much memory as the longer one.
    del trained
    scorer = Scorer(extended.model, extended.graph, *calibrated)
    print("\n".join(map(printable, _describe(extended, old))))
    version = export_scorer(scorer, export.OUTPUT.value, export.VERSION.value)
    print(exported_text(version, extended.graph))


def _describe(extended: "Run", old: "Graph") -> Iterator[str]:
    """Yields lines about each new entity, which show whether its embedding makes sense.

    They name the trained entities whose embeddings point in the most similar direction (cosine),
    and the filtered ranks of both entities of the given triples.
    """
    graph = extended.graph
    entities, relations = graph.entities.names, graph.relations.names
    triples = graph.train[len(old.train) :]
    added = triples[:, [0, 2]].max(axis=1)
    new = set(entities[old.num_entities :])
    for entity in range(old.num_entities, graph.num_entities):
        given = triples[added == entity]
        yield f"{entities[entity]}: {len(given)} triple{'s' if len(given) > 1 else ''}"
        # The other new entities may be among the nearest.
        nearest = extended.neighbors(entities[entity], _MAX_NEAREST + len(new))
        known = itertools.islice((n for n in nearest if n.entity not in new), _MAX_NEAREST)
        shown = [f"{_shown(graph, n.entity)} ({n.cosine:.2f})" for n in known]
        yield f"  nearest: {', '.join(shown)}"
        names = [(entities[h], relations[r], entities[t]) for h, r, t in given[:_MAX_TRIPLES]]
        for ranked in extended.rank(names):
            triple = (_shown(graph, ranked.head), ranked.relation, _shown(graph, ranked.tail))
            ranks = f"head {ranked.head_rank:6g}, of tail {ranked.tail_rank:6g}"
            yield f"  rank of {ranks}:  {'  '.join(triple)}"
        if len(given) > _MAX_TRIPLES:
            yield f"  and {len(given) - _MAX_TRIPLES} more"


def _shown(graph: "Graph", name: str) -> str:
    """Returns the label of an entity, or its name if it has none, without line breaks."""
    return " ".join(graph.labels.get(name, name).split())


if __name__ == "__main__":
    run_program(main)
