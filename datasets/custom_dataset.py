"""Custom data sets: converts files to a folder that every program reads."""

import dataclasses
import json
import os
import pathlib
import shlex
from typing import Any

import pyarrow as pa

from datasets.graph_report import describe
from datasets.output_folder import REPORT, OutputFolder
from datasets.progress import status
from datasets.readers.input_files import InputTriples, Source, read_input
from datasets.splitting import SplitOptions, split_triples
from datasets.triples import write_triples
from quatre_tf.data.encoding import NEGATIVES, SPLITS, encode_splits
from quatre_tf.data.graph import Graph
from quatre_tf.data.labels import write_labels
from quatre_tf.data.triple_keys import first_occurrences, triple_keys
from quatre_tf.errors import DataError
from quatre_tf.paths import output_folder, user_path

_AS_GIVEN: dict[str, Any] = {"split": "as given"}


def prepare(
    source: Source,
    output: str | os.PathLike,
    split: SplitOptions | None = None,
    *,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Writes train.txt, valid.txt, test.txt, report.json and perhaps labels.tsv.

    The folder appears complete or not at all, and what others write to it meanwhile is not deleted.
    Repeated triples are dropped where triples are split here; splits that are given stay as they
    are, and only they keep their labelled negatives (valid_negatives.txt, test_negatives.txt).

    Args:
        source: What to read.
        output: The folder.
        split: How to split; None keeps the splits that are given, and without any takes the
            defaults.
        overwrite: Whether a folder that an earlier call wrote may be replaced.

    Returns:
        What `datasets.graph_report.describe` returns and, as "preparation", what was done.

    Raises:
        DataError: The input cannot be read or split, or the output cannot be written.
    """
    folder = output_folder(output)
    inputs = [user_path(path) for path in (source.path, source.labels) if path]
    target = OutputFolder(folder, inputs, overwrite)
    graph, report = _read(source, split, folder.resolve().name)
    with status(f"Writing {folder}"):
        target.publish(lambda path: _write(graph, report, path))
    return report


def load_file(path: str | os.PathLike) -> tuple[Graph, dict[str, Any]]:
    """Reads and splits a file as `prepare` does without options, and writes nothing.

    Args:
        path: The file.

    Returns:
        The graph, named after the file, and what `prepare` returns.

    Raises:
        DataError: The file cannot be read or split.
    """
    name = pathlib.Path(path).name
    try:
        return _read(Source(path), None, name.partition(".")[0] or name)
    except DataError as error:
        raise DataError(
            f"{error}\nOnly `quatre prepare` has flags for reading and splitting: add them to"
            f" `quatre prepare --input={shlex.quote(str(path))} --output=FOLDER`, then train with"
            " --dataset=FOLDER."
        ) from error


def _read(source: Source, split: SplitOptions | None, name: str) -> tuple[Graph, dict[str, Any]]:
    """Returns the graph, and its description."""
    with status(f"Reading {source.path}"):
        read = read_input(source)
    with status("Splitting"):
        if "train" in read.tables and split is None:
            graph = Graph.from_names(name, read.tables, read.labels, read.negatives)
            done, note = _AS_GIVEN, "Split as given."
        else:
            options = split or SplitOptions()
            graph, done = _split(name, read, options)
            note = f"Split: {options}."
            if read.negatives:
                note += " Labelled negatives left out: they belong to the splits that were given."
    told = {
        "read": [*read.notes, note],
        "headers_in_doubt": read.headers_in_doubt,
        "labels_read": len(read.in_labels_file),
        "labels_used": sum(name in graph.labels for name in read.in_labels_file),
        "literals": read.literals,
        "literals_left_out": 0 if source.keep_literals else sum(read.literals.values()),
    }
    with status("Looking at the graph"):
        return graph, describe(graph, preparation=told | done)


def _split(name: str, read: InputTriples, options: SplitOptions) -> tuple[Graph, dict[str, Any]]:
    """Returns the graph, and what was done."""
    table = pa.concat_tables(read.tables.values())
    if not len(table):
        number = sum(read.literals.values())
        hint = f" but {number:,} with a literal, which --keep_literals takes for entities"
        raise DataError(f"Expected triples to split, received none{hint if number else ''}.")
    entities, relations, encoded = encode_splits({"all": table}, ["all"])
    triples, limits = encoded["all"], (len(entities), len(relations))
    distinct = triples[first_occurrences(triple_keys(triples, *limits))]
    rows = split_triples(distinct, *limits, options)
    labels = {entity: read.labels[entity] for entity in entities.names if entity in read.labels}
    splits = {part: distinct[rows[part]] for part in SPLITS}
    return Graph(name, entities, relations, **splits, labels=labels), {
        "repeated_triples_dropped": len(triples) - len(distinct),
        "split": dataclasses.asdict(options),
        "reached_shares": {part: len(rows[part]) / len(distinct) for part in ("valid", "test")},
    }


def _write(graph: Graph, report: dict[str, Any], folder: pathlib.Path) -> None:
    of = (graph.entities, graph.relations, graph.entities)
    tables = {split: graph.split(split) for split in SPLITS}
    tables |= {NEGATIVES[split]: triples for split, triples in graph.negatives.items()}
    for file_name, triples in tables.items():
        columns = [names.take(ids) for names, ids in zip(of, triples.T, strict=True)]
        write_triples(columns, folder / f"{file_name}.txt")
    if graph.labels:
        write_labels(graph.labels, folder / "labels.tsv")
    (folder / REPORT).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
