"""Makes a run of embeddings that OpenKE, or the reference implementation, has trained."""

import dataclasses
import hashlib
import json
import mmap
import os
import pathlib
import shlex
from collections.abc import Sequence

import numpy as np

from datasets import catalog
from quatre_tf.atomic_files import write_text
from quatre_tf.data.graph import Graph
from quatre_tf.data.vocabulary import Vocabulary
from quatre_tf.errors import ConfigError, DataError
from quatre_tf.layers.relation_rotations import RelationRotations
from quatre_tf.model import KGEModel, from_tables
from quatre_tf.runs.best_model import save_best
from trainers.importing import openke_files
from trainers.importing.openke_tables import Embeddings, embeddings_of
from trainers.training import presets
from trainers.training.run_directory import RunDirectory

_ORIGIN = "imported_from.json"


@dataclasses.dataclass(frozen=True)
class Imported:
    """What was imported, and where to.

    Attributes:
        embeddings: The tables, rows in the order of the graph's names.
        graph: The graph that they were matched with.
        run_dir: The new run.
    """

    embeddings: Embeddings
    graph: Graph
    run_dir: pathlib.Path

    def describe(self) -> str:
        """Returns what was imported and the commands that go on from it."""
        graph, run_dir = self.graph, shlex.quote(str(self.run_dir))
        head, relation, _ = graph.test[0]
        question = (
            f"--head={shlex.quote(graph.entities.names[head])} "
            f"--relation={shlex.quote(graph.relations.names[relation])}"
        )
        return (
            f"Imported {self.embeddings.variant}, {self.embeddings.embedding_dim} quaternions per "
            f"embedding: {graph.num_entities:,} entities and {graph.num_relations:,} relations, "
            f"matched by name with {graph.name}.\n"
            f"Run directory: {self.run_dir}\n\n"
            "Next:\n"
            f"  quatre evaluate --run_dir={run_dir}\n"
            f"  quatre predict --run_dir={run_dir} {question}\n"
            f"  quatre export --run_dir={run_dir} --output={run_dir}/saved_model"
        )


def import_openke(
    weights: pathlib.Path,
    dataset: str,
    entity2id: pathlib.Path,
    relation2id: pathlib.Path,
    run_dir: pathlib.Path,
    *,
    data_dir: str | os.PathLike | None = None,
    manual_dir: str | os.PathLike | None = None,
) -> Imported:
    """Writes a run that evaluate, predict and export take like a trained one.

    It has no checkpoint, so training cannot go on from it. The settings in its config.json that do
    not follow from the tables are presets; imported_from.json says so, and names the files.

    Args:
        weights: The JSON with the embeddings.
        dataset: Name in the catalogue or path of a folder: the graph they were trained on.
        entity2id: The names of the entities with the rows of their embeddings.
        relation2id: The same for relations.
        run_dir: Where the run will be.
        data_dir: Where prepared data sets are kept.
        manual_dir: Where archives already at hand lie.

    Raises:
        ConfigError: The folder holds a run already, or is in use.
        DataError: A file is not what it should be, or the files are not of this graph.
    """
    run = RunDirectory(run_dir)
    _check_fresh(run)
    entities = openke_files.read_ids(entity2id)
    relations = openke_files.read_ids(relation2id)
    graph = catalog.load(dataset, data_dir=data_dir, manual_dir=manual_dir)
    # Before the weights, which may take long to read.
    entity_rows = _rows(entities, entity2id, graph.entities, graph.name)
    relation_rows = _rows(relations, relation2id, graph.relations, graph.name)
    embeddings = embeddings_of(openke_files.read_weights(weights), weights)
    _check_rows(weights, [embeddings.entities], entities, entity2id)
    _check_rows(weights, embeddings.relations, relations, relation2id)
    embeddings = embeddings.take(entity_rows, relation_rows)
    _write(run, dataset, graph, embeddings, (weights, entity2id, relation2id))
    return Imported(embeddings, graph, run_dir)


def _check_fresh(run: RunDirectory) -> None:
    if run.has_run:
        raise ConfigError(f"{run.path} already holds a run. Choose another --run_dir.")


def _check_rows(
    weights: pathlib.Path,
    tables: Sequence[np.ndarray],
    names: Sequence[str],
    path: pathlib.Path,
) -> None:
    for table in tables:
        if len(table) != len(names):
            raise DataError(
                f"{weights} and {path} do not fit together: a table of {len(table):,} rows for "
                f"{len(names):,} names. Give the files of one training."
            )


def _rows(
    names: Sequence[str], path: pathlib.Path, vocabulary: Vocabulary, graph: str
) -> np.ndarray:
    """Returns the row of each name of the vocabulary: [len(vocabulary)] int64.

    Raises:
        DataError: The names are not the same ones.
    """
    rows = {name: row for row, name in enumerate(names)}
    missing = [name for name in vocabulary.names if name not in rows]
    unknown = sorted(rows.keys() - set(vocabulary.names))
    if missing or unknown:
        raise DataError(
            f"{path} and {graph} do not have the same {vocabulary.kind} names: of {graph}'s "
            f"{len(vocabulary):,}, {_count(missing)} missing in the file; of the file's "
            f"{len(names):,}, {_count(unknown)} unknown to {graph}. Give the --dataset that the "
            "embeddings were trained on."
        )
    return np.array([rows[name] for name in vocabulary.names])


def _count(names: Sequence[str]) -> str:
    verb = "is" if len(names) == 1 else "are"
    return f"{len(names):,} (for example {names[0]!r}) {verb}" if names else f"none {verb}"


def _write(
    run: RunDirectory,
    dataset: str,
    graph: Graph,
    embeddings: Embeddings,
    files: Sequence[pathlib.Path],
) -> None:
    """Writes the run; what makes it one, config.json, comes last."""
    config = presets.resolve(
        dataset,
        "paper",
        {"model": embeddings.variant, "embedding_dim": embeddings.embedding_dim},
    )
    origin = {
        "note": "Only dataset, model and embedding_dim of config.json are facts of this model; "
        "how it was trained is not known.",
        "files": [{"path": str(file.resolve()), "sha256": _sha256(file)} for file in files],
        "keys": list(embeddings.keys),
    }
    with run.locked():
        _check_fresh(run)
        save_best(_model(embeddings), run.path)
        text = json.dumps(origin, indent=2) + "\n"
        write_text(run.path / _ORIGIN, text)
        run.begin(config, graph)


def _model(embeddings: Embeddings) -> KGEModel:
    names = RelationRotations(1, 1, embeddings.variant).relation_tables()
    tables = dict(zip(names, embeddings.relations, strict=True))
    return from_tables(embeddings.variant, {"entity": embeddings.entities, **tables})


def _sha256(path: pathlib.Path) -> str:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return hashlib.sha256(data).hexdigest()
