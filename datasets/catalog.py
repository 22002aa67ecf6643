"""Data sets by name, or from a folder or text file."""

import difflib
import os
import pathlib
import shlex

from datasets.custom_dataset import load_file
from datasets.published.benchmarks import BENCHMARKS, NAMES
from datasets.readers.input_files import may_hold_labels
from datasets.triples import read_triples
from quatre_tf.data.encoding import NEGATIVES, SPLITS
from quatre_tf.data.graph import Graph
from quatre_tf.data.labels import read_labels
from quatre_tf.errors import DataError, UnknownNameError
from quatre_tf.paths import printable, user_path

# The embedded graph of the quick start.
COUNTRIES = pathlib.Path(__file__).parent / "countries"
_SUFFIXES = (".txt", ".tsv", ".txt.gz", ".tsv.gz")


def load(
    dataset: str,
    *,
    data_dir: str | os.PathLike | None = None,
    manual_dir: str | os.PathLike | None = None,
) -> Graph:
    """Loads a graph by name or from a folder.

    Args:
        dataset: A name of `NAMES`; or the path of a folder with train, valid and test (.txt or
            .tsv, each also as .gz) and perhaps labels.tsv, valid_negatives and test_negatives; or a
            file, which is split (`datasets.custom_dataset.load_file`). A name goes before a path
            that is the same: write `./umls` for the folder.
        data_dir: Where prepared benchmarks are kept; default: `TFDS_DATA_DIR` or else
            ~/tensorflow_datasets.
        manual_dir: A folder with downloaded archives; default: `QUATRE_MANUAL_DIR`.

    Returns:
        The graph.

    Raises:
        UnknownNameError: When `dataset` is neither a name nor a path.
        DataError: The data are not available or are invalid.
    """
    if dataset == "countries":
        return read_graph(COUNTRIES)
    if dataset in BENCHMARKS:
        # TensorFlow comes in here, and only here.
        from datasets.published import builders

        return builders.load(BENCHMARKS[dataset], data_dir=data_dir, manual_dir=manual_dir)
    path = _path(dataset)
    return read_graph(path) if os.path.isdir(path) else load_file(path)[0]


def check(dataset: str) -> None:
    """Raises what `load` would raise for a name or path that is not there; reads nothing."""
    if dataset not in NAMES:
        _path(dataset)


def is_file(dataset: str) -> bool:
    """Tells whether a data set is a file that has to be read and split."""
    return dataset not in NAMES and os.path.isfile(user_path(dataset))


def read_graph(folder: str | pathlib.Path) -> Graph:
    """Reads train, valid and test; labels.tsv, valid_negatives and test_negatives if present.

    Args:
        folder: The folder, after which the graph is named.

    Raises:
        DataError: When a split is missing, a file is there twice, empty or malformed, or labels
            are in another file than labels.tsv.
    """
    folder = pathlib.Path(folder)
    splits = {split: read_triples(_split_file(folder, split)) for split in SPLITS}
    negatives = {
        split: read_triples(path)
        for split, file_name in NEGATIVES.items()
        if (path := _find(folder, file_name))
    }
    labels = folder / "labels.tsv"
    others = [path for path in sorted(folder.iterdir()) if may_hold_labels(path)]
    if others and not labels.exists():
        raise DataError(
            f"{folder} has {others[0].name}, but beside train, valid and test only labels.tsv is"
            f" read. Prepare it: quatre prepare --input={shlex.quote(str(folder))} --output=FOLDER."
        )
    return Graph.from_names(
        folder.resolve().name,
        splits,
        labels=read_labels(labels) if labels.exists() else None,
        negatives=negatives,
    )


def _path(dataset: str) -> pathlib.Path:
    """Returns the path meant by `dataset`; raises the error that helps most if there is none."""
    path = user_path(dataset)
    if dataset and os.path.exists(path):
        return path
    if os.sep in dataset or dataset.startswith(("~", ".")):
        raise DataError(
            f"There is no file or folder {printable(dataset)}. Expected a file of triples, a folder"
            f" with train.txt, valid.txt and test.txt, or one of {', '.join(NAMES)}."
        )
    raise UnknownNameError(
        printable(dataset),
        kind="dataset",
        suggestions=difflib.get_close_matches(dataset.lower(), NAMES, n=1),
        hint=f"Available: {', '.join(NAMES)}, or the path of a file of triples or of a folder with"
        " train.txt, valid.txt and test.txt.",
    )


def _split_file(folder: pathlib.Path, split: str) -> pathlib.Path:
    path = _find(folder, split)
    if path is None:
        names = ", ".join(f"{split}{suffix}" for suffix in _SUFFIXES)
        raise DataError(
            f"{folder}: the split {split} is missing, expected one of {names}. A folder needs"
            " train, valid and test: three files with lines head TAB relation TAB tail."
        )
    return path


def _find(folder: pathlib.Path, name: str) -> pathlib.Path | None:
    """Returns the one file of that name with a suffix that is accepted."""
    accepted = [folder / f"{name}{suffix}" for suffix in _SUFFIXES]
    try:
        present = [path for path in accepted if path.is_symlink() or path.exists()]
    except OSError as error:
        raise DataError(f"Cannot read {folder}: {error.strerror}.") from error
    if len(present) > 1:
        names = ", ".join(path.name for path in accepted)
        found = " and ".join(path.name for path in present)
        raise DataError(f"{folder}: expected one of {names}, received {found}. Remove all but one.")
    return present[0] if present else None
