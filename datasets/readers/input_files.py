"""Finding and reading the files of a custom data set."""

import collections
import dataclasses
import itertools
import os
import pathlib
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from datasets.readers.delimited import read_columns
from datasets.readers.rdf import FORMATS, RdfTriples, read_rdf
from datasets.readers.text_files import STANDARD_INPUT
from datasets.readers.text_format import LABEL_ROLES, TRIPLE_ROLES, UNKNOWN, Format
from quatre_tf.data.encoding import NEGATIVES, SPLITS
from quatre_tf.errors import DataError
from quatre_tf.paths import printable, user_path

_SUFFIXES = (".txt", ".tsv", ".csv", *FORMATS)
_LABELS = "labels"
# In a smaller file every line may be the only one with its names.
_HEADER_ROWS = 10
_SHOWN_PREDICATES = 5


@dataclasses.dataclass(frozen=True)
class Source:
    """What to read.

    Attributes:
        path: A file; "-", standard input; or a folder with train, valid and test, or with other
            files, all of which are taken for triples (`_SUFFIXES`; each also .gz). A file called
            labels is taken for labels; valid_negatives and test_negatives are read with the splits.
        labels: A file of labels, instead of the one in the folder.
        format: What is known about delimited text.
        keep_literals: Whether literals of RDF become entities.
    """

    path: str | os.PathLike
    labels: str | os.PathLike | None = None
    format: Format = UNKNOWN
    keep_literals: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class InputTriples:
    """What the files hold.

    Attributes:
        tables: Columns head, relation and tail by part: train, valid and test when the input is
            split already, or else "all".
        negatives: The columns of the labelled negatives of valid and test, where they are given.
        labels: Labels by entity name; of several the first.
        in_labels_file: The names that a file of labels has.
        literals: Statements with a literal for an object, other than labels, by predicate.
        headers_in_doubt: Files whose first line was read as a fact and may be a header.
        notes: What a file was taken for, a line a file; what was left out.
    """

    tables: dict[str, pa.Table]
    negatives: dict[str, pa.Table]
    labels: dict[str, str]
    in_labels_file: list[str]
    literals: dict[str, int]
    headers_in_doubt: list[str]
    notes: list[str]


def read_input(source: Source) -> InputTriples:
    """Finds and reads the files of an input; see `delimited.read_columns` and `rdf.read_rdf`.

    Raises:
        DataError: There is no such file or folder, nothing to read in it, or a part of the splits;
            or a file cannot be read.
    """
    parts, labels_file, ignored = _find(source)
    paths = [path for paths in parts.values() for path in paths]
    _check_used(source, paths, labels_file)
    labels, notes = _read_labels(labels_file, source.format)
    in_labels_file = list(labels)
    several = sum(_kind(path) in FORMATS for path in paths) > 1
    read, in_doubt = {}, []
    literals: collections.Counter[str] = collections.Counter()
    for path in paths:
        read[path], note, may_have_header = _read(path, source, f"{path.name}/" if several else "")
        in_doubt += [path.name] * may_have_header
        labels = read[path].labels | labels
        notes.append(f"{path.name}: {len(read[path].table):,} triples; {note}")
        literals.update(read[path].literals)
    tables = {
        part: pa.concat_tables([read[path].table for path in paths]).unify_dictionaries()
        for part, paths in parts.items()
    }
    negatives = {split: tables.pop(part) for split, part in NEGATIVES.items() if part in tables}
    if ignored:
        notes.append(f"Not read: {', '.join(ignored)}.")
    by_predicate = dict(literals.most_common())
    return InputTriples(tables, negatives, labels, in_labels_file, by_predicate, in_doubt, notes)


def _find(
    source: Source,
) -> tuple[dict[str, list[pathlib.Path]], pathlib.Path | None, list[str]]:
    """Returns the files of each part, the file of labels, and the names of the others."""
    path = user_path(source.path)
    named = user_path(source.labels) if source.labels else None
    if path == STANDARD_INPUT or (os.path.exists(path) and not os.path.isdir(path)):
        return {"all": [path]}, named, []
    if not os.path.isdir(path):
        raise DataError(
            f"There is no file or folder {printable(str(path))}. Expected by --input: your triples."
        )
    visible = _visible(path)
    # However its path is spelled.
    taken = named.resolve() if named else None
    files = [path for path in visible if _kind(path) and path.resolve() != taken]
    labels_files = [path for path in files if may_hold_labels(path)]
    parts = _parts(path, [path for path in files if path not in labels_files])
    labels_file = named or (labels_files[0] if labels_files else None)
    used = [*filter(None, [labels_file]), *(path for paths in parts.values() for path in paths)]
    read = {path.resolve() for path in used}
    return parts, labels_file, [path.name for path in visible if path.resolve() not in read]


def _visible(folder: pathlib.Path) -> list[pathlib.Path]:
    try:
        return sorted(
            path for path in folder.iterdir() if not path.is_dir() and path.name[0] != "."
        )
    except OSError as error:
        raise DataError(f"Cannot read {folder}: {error.strerror}.") from error


def _kind(path: pathlib.Path) -> str:
    """Returns the suffix of a file that can be read (.csv for x.csv.gz), or else nothing."""
    suffix = pathlib.Path(path.name.lower().removesuffix(".gz")).suffix
    return suffix if suffix in _SUFFIXES else ""


def may_hold_labels(path: pathlib.Path) -> bool:
    """Tells whether a file of a folder is taken for labels."""
    return bool(_kind(path)) and _stem(path) == _LABELS


def _stem(path: pathlib.Path) -> str:
    return path.name.lower().partition(".")[0]


def _parts(folder: pathlib.Path, files: list[pathlib.Path]) -> dict[str, list[pathlib.Path]]:
    # Negatives are never taken for triples to split.
    triples = [path for path in files if _stem(path) not in NEGATIVES.values()]
    if not triples:
        raise DataError(
            f"{folder}: expected {', '.join(_SUFFIXES)} (or .gz), received no such file."
        )
    names = (*SPLITS, *NEGATIVES.values())
    found = {name: [path for path in files if _stem(path) == name] for name in names}
    if not any(found[split] for split in SPLITS):
        return {"all": triples}
    parts = {name: paths for name, paths in found.items() if paths or name in SPLITS}
    wrong = [name for name, paths in parts.items() if len(paths) != 1]
    if wrong:
        raise DataError(
            f"{folder}: expected one file each for {', '.join(SPLITS)}, received"
            f" {', '.join(path.name for paths in parts.values() for path in paths)}. Add or remove"
            f" what is wrong with {' and '.join(wrong)}; or give the files other names, and all of"
            " them are taken for triples to split."
        )
    return parts


def _check_used(
    source: Source, paths: Sequence[pathlib.Path], labels_file: pathlib.Path | None
) -> None:
    """Raises DataError for flags that no file is read by."""
    is_rdf = [_kind(path) in FORMATS for path in paths]
    names = ", ".join(path.name for path in paths)
    if source.keep_literals and not any(is_rdf):
        raise DataError(f"--keep_literals is for triples in RDF, not {names}. Leave it out.")
    # Labels are read by --strip alone.
    strip = source.format.strip and labels_file is not None and _kind(labels_file) not in FORMATS
    if all(is_rdf) and source.format != dataclasses.replace(UNKNOWN, strip=strip):
        raise DataError(
            "--delimiter, --columns, --header and --strip are for triples in CSV or TSV, not "
            f"{names}. Leave them out."
        )


def _read_labels(path: pathlib.Path | None, given: Format) -> tuple[dict[str, str], list[str]]:
    if path is None:
        return {}, []
    if _kind(path) in FORMATS:
        read = read_rdf(path)
        return read.labels, [f"{path.name}: {len(read.labels):,} labels; {read.format}"]
    # What was said about the triples need not hold for the labels.
    table, layout = read_columns(path, LABEL_ROLES, Format(strip=given.strip))
    names, labels = (column.to_pylist()[::-1] for column in table.columns)
    found = dict(zip(names, labels, strict=True))
    return found, [f"{path.name}: {len(found):,} labels; {layout}"]


def _read(path: pathlib.Path, source: Source, scope: str) -> tuple[RdfTriples, str, bool]:
    """Returns what a file holds, what it was taken for, and whether its first line is in doubt."""
    if _kind(path) in FORMATS:
        read = read_rdf(path, keep_literals=source.keep_literals, scope=scope)
        return read, read.format + _literals_text(read.literals, source.keep_literals), False
    table, layout = read_columns(path, TRIPLE_ROLES, source.format)
    in_doubt = not layout.header and _is_lonely(table)
    return RdfTriples("", table, {}, {}), str(layout), in_doubt


def _literals_text(literals: Mapping[str, int], are_kept: bool) -> str:
    """Returns how many there were for the most frequent predicates."""
    if not literals:
        return ""
    counts = list(itertools.islice(literals.items(), _SHOWN_PREDICATES))
    shown = [f"{number:,} of {printable(name, 200)}" for name, number in counts]
    if len(literals) > len(shown):
        shown.append(f"{sum(literals.values()) - sum(n for _, n in counts):,} of others")
    done = "taken for entities" if are_kept else "left out"
    return f"; literals {done}: {', '.join(shown)}"


def _is_lonely(table: pa.Table) -> bool:
    """Tells whether no name of the first line comes again, as with a header not recognised."""
    if len(table) < _HEADER_ROWS:
        return False
    columns = [column.combine_chunks().indices.to_numpy() for column in table.columns]
    return all(np.count_nonzero(column == column[0]) == 1 for column in columns)
