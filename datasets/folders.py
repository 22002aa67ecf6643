"""Reading a graph from a folder of text files."""

import os
import pathlib

from datasets.triples import read_triples
from quatre_tf.data.encoding import SPLITS
from quatre_tf.data.graph import Graph
from quatre_tf.data.labels import read_labels
from quatre_tf.errors import DataError

_SUFFIXES = (".txt", ".tsv", ".txt.gz", ".tsv.gz")


def read_graph(folder: str | pathlib.Path, name: str | None = None) -> Graph:
    """Reads train, valid and test, and labels.tsv when it is there.

    Args:
        folder: The folder.
        name: Name of the graph; default: that of the folder.

    Raises:
        DataError: When a split is missing, there twice, empty or malformed.
    """
    folder = pathlib.Path(folder)
    splits = {split: read_triples(_split_file(folder, split)) for split in SPLITS}
    labels = folder / "labels.tsv"
    return Graph.from_names(
        name or folder.resolve().name,
        splits,
        labels=read_labels(labels) if labels.exists() else None,
    )


def _split_file(folder: pathlib.Path, split: str) -> pathlib.Path:
    accepted = [folder / f"{split}{suffix}" for suffix in _SUFFIXES]
    try:
        present = [path for path in accepted if os.path.lexists(path)]
    except OSError as error:
        raise DataError(f"Cannot read {folder}: {error.strerror}.") from error
    if len(present) == 1:
        return present[0]
    names = ", ".join(path.name for path in accepted)
    if present:
        found = " and ".join(path.name for path in present)
        raise DataError(f"{folder}: expected one of {names}, received {found}. Remove all but one.")
    raise DataError(
        f"{folder}: the split {split} is missing, expected one of {names}. A folder needs train,"
        " valid and test: three files with lines head TAB relation TAB tail."
    )
