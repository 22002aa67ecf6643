"""Creates a run from embeddings that were trained elsewhere."""

import hashlib
import json
import os
import pathlib
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from datasets import catalog
from quatre_tf.atomic_files import write_text
from quatre_tf.data.graph import Graph
from quatre_tf.data.vocabulary import Vocabulary
from quatre_tf.errors import ConfigError, DataError
from quatre_tf.layers.registry import score_function_class
from quatre_tf.model import KGEModel
from quatre_tf.runs.best_model import save_best
from saved_models.storage import writing
from saved_models.versions import example_question
from trainers.importing import npz_files, openke_files
from trainers.importing.openke_tables import embeddings_of
from trainers.training import presets
from trainers.training.config import TrainConfig
from trainers.training.run_directory import RunDirectory
from trainers.training.trainer import make_model

_ORIGIN = "imported_from.json"


def import_openke(
    weights: pathlib.Path,
    dataset: str,
    entity2id: pathlib.Path,
    relation2id: pathlib.Path,
    run_dir: pathlib.Path,
    **data: str | os.PathLike | None,
) -> str:
    """Writes a run that evaluate, predict and export take like a trained one.

    It has no checkpoint, so training cannot go on from it. The settings in its config.json that do
    not follow from the tables are presets; imported_from.json says so, and names the files.

    Args:
        weights: The JSON with the embeddings.
        dataset: Name in the catalogue or path of a folder: the graph they were trained on.
        entity2id: The names of the entities with the rows of their embeddings.
        relation2id: The same for relations.
        run_dir: Where the run will be.
        **data: `data_dir` and `manual_dir` of `datasets.catalog.load`.

    Returns:
        What was imported, and the commands that go on from it.

    Raises:
        ConfigError: The folder holds a run already, or is in use.
        DataError: A file is not what it should be, or the files are not of this graph.
    """
    _check_fresh(RunDirectory(run_dir))
    names = [(openke_files.read_ids(path), path) for path in (entity2id, relation2id)]
    # Before the weights, which may take long to read.
    graph, rows = _match(dataset, names, data)
    variant, tables = embeddings_of(openke_files.read_weights(weights), weights)
    config = _config(dataset, {"model": variant}, tables, weights)
    return _write(run_dir, config, graph, tables, rows, (weights, entity2id, relation2id))


def import_embeddings(
    path: pathlib.Path,
    dataset: str,
    run_dir: pathlib.Path,
    settings: Mapping[str, Any],
    names: Sequence[pathlib.Path] = (),
    **data: str | os.PathLike | None,
) -> str:
    """Writes a run of the tables of an `.npz` file; otherwise as `import_openke`.

    Args:
        path: The tables, named as `KGEModel.tables` names them; `table_` may come before.
        dataset: As for `import_openke`.
        run_dir: Where the run will be.
        settings: Settings of `TrainConfig` that the tables do not show: `model` and, for example,
            `norm`.
        names: The files with the names of entities and of relations, a line for each row; without,
            they are the arrays `entity_names` and `relation_names` of `path`.
        **data: As for `import_openke`.

    Returns:
        As `import_openke`.

    Raises:
        ConfigError: As for `import_openke`, or a setting does not fit the model.
        DataError: As for `import_openke`.
    """
    _check_fresh(RunDirectory(run_dir))
    arrays = npz_files.read_arrays(path)
    found = npz_files.take_names(arrays)
    if names:
        found = [npz_files.read_names(file) for file in names]
    if len(found) != 2:
        raise DataError(
            f"{path} must hold `entity_names` and `relation_names`, or --entity_names and "
            "--relation_names name files with a name for each row."
        )
    graph, rows = _match(dataset, list(zip(found, names or (path, path), strict=True)), data)
    config = _config(dataset, settings, arrays, path)
    return _write(run_dir, config, graph, arrays, rows, (path, *names))


def _match(
    dataset: str, names: Sequence[tuple[Sequence[str], pathlib.Path]], data: Mapping[str, Any]
) -> tuple[Graph, list[np.ndarray]]:
    """Returns the graph, and the row of each of its entities and of its relations.

    `names` are those of the rows of tables, with the file that holds them.
    """
    graph = catalog.load(dataset, **data)
    vocabularies = graph.entities, graph.relations
    return graph, [
        _rows(*given, vocabulary, graph.name)
        for given, vocabulary in zip(names, vocabularies, strict=True)
    ]


def _check_fresh(run: RunDirectory) -> None:
    if run.has_run:
        raise ConfigError(f"{run.path} already holds a run. Choose another --run_dir.")


def _rows(
    names: Sequence[str], path: pathlib.Path, vocabulary: Vocabulary, graph: str
) -> np.ndarray:
    """Returns the row of each name of the vocabulary: [len(vocabulary)] int64.

    Raises:
        DataError: The names are not the same ones.
    """
    rows = {name: row for row, name in enumerate(names)}
    if len(rows) < len(names):
        twice = next(name for row, name in enumerate(names) if rows[name] != row)
        raise DataError(f"{path}: the {vocabulary.kind} name {twice!r} is there a second time.")
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


def _config(
    dataset: str,
    settings: Mapping[str, Any],
    tables: Mapping[str, np.ndarray],
    path: pathlib.Path,
) -> TrainConfig:
    """Returns presets with what the tables and the settings say of the model."""
    model = settings["model"]
    function = score_function_class(model)
    width = tables["entity"].shape[-1] if "entity" in tables and tables["entity"].ndim else 0
    if not width or width % function.entity_components:
        raise DataError(
            f"{path}: expected a table `entity` of {model}, [entities, a multiple of "
            f"{function.entity_components}], received {_shapes(tables)}."
        )
    sizes = {"embedding_dim": width // function.entity_components, **function.options_of(tables)}
    recipe = "sampled" if settings.get("reciprocal") else "paper"
    return presets.resolve(dataset, recipe, {**sizes, **settings})


def _model(
    config: TrainConfig,
    graph: Graph,
    tables: Mapping[str, np.ndarray],
    rows: Sequence[np.ndarray],
    path: pathlib.Path,
) -> KGEModel:
    """Returns a model with the rows of tables in the order of the graph's names."""
    for name, table in tables.items():
        _check_finite(table, f"{path}: {name}")
    model = make_model(config, graph)
    function, (entities, relations) = model.score_function, rows
    if config.reciprocal:
        relations = np.concatenate([relations, len(relations) + relations])
    wanted = {name: table.shape for name, table in model.tables().items()}
    if {name: table.shape for name, table in tables.items()} != wanted:
        expected = ", ".join(f"{name} {list(shape)}" for name, shape in wanted.items())
        raise DataError(
            f"{path} does not hold the tables of {config.model} for its {graph.num_entities:,} "
            f"entity and {graph.num_relations:,} relation names: expected {expected}, received "
            f"{_shapes(tables)}."
        )
    order = dict.fromkeys(function.entity_tables(), entities)
    order |= dict.fromkeys(function.relation_tables(), relations)
    model.assign_tables(
        {name: table[order[name]] if name in order else table for name, table in tables.items()}
    )
    return model


def _shapes(tables: Mapping[str, np.ndarray]) -> str:
    return ", ".join(f"{name} {list(table.shape)}" for name, table in tables.items()) or "none"


def _check_finite(table: np.ndarray, what: str) -> None:
    broken = ~np.isfinite(table)
    if broken.any():
        row = int(np.argwhere(broken)[0][0])
        raise DataError(
            f"{what} holds NaN or infinite values: {int(broken.sum()):,} of {table.size:,}, the "
            f"first in row {row}. Such a model has no ranks; train it again."
        )


def _write(
    run_dir: pathlib.Path,
    config: TrainConfig,
    graph: Graph,
    tables: Mapping[str, np.ndarray],
    rows: Sequence[np.ndarray],
    files: Sequence[pathlib.Path],
) -> str:
    """Writes the run, whose tables are in the first file; what makes it one, config.json, last.

    Returns what `import_openke` returns.
    """
    model, run = _model(config, graph, tables, rows, files[0]), RunDirectory(run_dir)
    origin = {
        "note": "Only the data set and the settings of the model in config.json are facts of this "
        "model; how it was trained is not known.",
        "files": [
            {"path": str(file.resolve()), "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
            for file in files
        ],
    }
    remedy = "Choose another --run_dir, or make room."
    with writing("the run", run.path, remedy), run.locked():
        _check_fresh(run)
        save_best(model, run.path)
        write_text(run.path / _ORIGIN, json.dumps(origin, indent=2) + "\n")
        run.begin(config, graph)
    quoted = shlex.quote(str(run_dir))
    return (
        f"Imported {config.model}, embedding_dim {config.embedding_dim}: "
        f"{graph.num_entities:,} entities and {graph.num_relations:,} relations, "
        f"matched by name with {graph.name}.\n"
        f"Run directory: {run_dir}\n\n"
        "Next:\n"
        f"  quatre evaluate --run_dir={quoted}\n"
        f"  quatre predict --run_dir={quoted} {example_question(graph)}\n"
        f"  quatre export --run_dir={quoted} --output={quoted}/saved_model"
    )
