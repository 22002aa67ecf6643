"""A knowledge graph in memory: names, ids and three splits of triples."""

import concurrent.futures
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import tokenize
import types
import warnings
from collections.abc import Mapping

import numpy as np

from quatre_tf.data.encoding import NEGATIVES, SPLITS, Columns, encode_negatives, encode_splits
from quatre_tf.data.known_triples import KnownTriples, index_heads, index_tails
from quatre_tf.data.labels import read_labels, write_labels
from quatre_tf.data.name_lookup import NameLookup
from quatre_tf.data.vocabulary import Vocabulary
from quatre_tf.errors import DataError
from quatre_tf.paths import check_regular

# The saved indexes; the indexes of small splits are built faster than read.
_SAVED = tuple((side, split) for split in ("train", "known") for side in ("head", "tail"))
# NumPy sorts without the interpreter's lock. Each index takes 40 bytes for a triple meanwhile.
_INDEXED_TOGETHER = 2
# Errors of reading an array. The last four come from headers: numbers beyond 64 bits, invalid
# Python syntax, or Python 2.
_MALFORMED = (OSError, ValueError, OverflowError, SyntaxError, tokenize.TokenError, UserWarning)


@dataclasses.dataclass(frozen=True, eq=False)
class Graph:
    """A graph with its splits.

    Triples are [num_triples, 3] int32 with the columns head, relation, tail, in the order of the
    source; repeated triples are kept.

    Attributes:
        name: The name in the catalog, or of the folder.
        entities: Names of the entities.
        relations: Names of the relations.
        train: Training triples.
        valid: Validation triples.
        test: Test triples.
        labels: Human-readable labels by entity name; may be empty or have gaps.
        folder: Where the graph was saved, with its indexes.
        negatives: False triples of the data set, for "valid" and "test"; may be empty.
    """

    name: str
    entities: Vocabulary
    relations: Vocabulary
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    folder: pathlib.Path | None = None
    negatives: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    _indexes: dict[tuple[str, str], KnownTriples] = dataclasses.field(
        default_factory=dict, init=False, repr=False
    )

    @classmethod
    def from_names(
        cls,
        name: str,
        splits: Mapping[str, Columns],
        labels: Mapping[str, str] | None = None,
        negatives: Mapping[str, Columns] | None = None,
    ) -> "Graph":
        """Builds vocabularies and ids from triples of names.

        Args:
            name: Name of the graph.
            splits: For each of train, valid and test the columns head, relation, tail: a table of
                `datasets.triples.read_triples` or three sequences of strings.
            labels: Labels by entity name; labels of unknown names are ignored.
            negatives: For valid, test or both the columns of false triples, whose names are all in
                the splits.

        Raises:
            DataError: When a split is missing or has no triples; or a negative has an unknown name,
                or is in a split.
        """
        entities, relations, triples = encode_splits(splits)
        if labels:  # Or else no name becomes a Python string: millions take hundreds of MB.
            labels = {entity: labels[entity] for entity in entities.names if entity in labels}
        train, valid, test = (triples[split] for split in SPLITS)
        false = {
            split: encode_negatives(split, table, entities, relations)
            for split, table in (negatives or {}).items()
        }
        graph = cls(name, entities, relations, train, valid, test, labels or {}, negatives=false)
        graph._check_negatives()
        return graph

    @classmethod
    def load(cls, directory: str | pathlib.Path) -> "Graph":
        """Reads a folder written by `save`.

        Raises:
            DataError: When a file is missing, or is not what `save` wrote: shapes, types, ranges
                of the ids and the fingerprint, which does not include negatives, are checked.
        """
        directory = pathlib.Path(directory)
        facts = _read_facts(directory / "graph.json")
        entities = Vocabulary.load(directory / "entities.txt", "entity")
        relations = Vocabulary.load(directory / "relations.txt", "relation")
        limits = (len(entities), len(relations), len(entities))
        triples = {split: _read_split(directory / f"{split}.npy", limits) for split in SPLITS}
        negatives = {
            split: _read_split(path, limits)
            for split, name in NEGATIVES.items()
            if (path := directory / f"{name}.npy").exists()
        }
        named = directory / "labels.tsv"
        labels = read_labels(named, is_written=True) if named.exists() else {}
        graph = cls(
            facts["name"],
            entities,
            relations,
            **triples,
            labels=labels,
            negatives=negatives,
            folder=directory,
        )
        if graph.fingerprint != facts["fingerprint"]:
            raise DataError(
                f"The graph in {directory} was changed since it was saved: expected fingerprint"
                f" {facts['fingerprint']}, received {graph.fingerprint}. Restore its files."
            )
        return graph

    def save(self, directory: str | pathlib.Path) -> None:
        """Writes the graph and its indexes; the same graph always gives the same bytes.

        graph.json comes last: a folder without it was not written to the end.
        """
        directory = pathlib.Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        self.entities.save(directory / "entities.txt")
        self.relations.save(directory / "relations.txt")
        for split in SPLITS:
            _write_array(directory / f"{split}.npy", self.split(split))
        with concurrent.futures.ThreadPoolExecutor(_INDEXED_TOGETHER) as pool:
            written = [pool.submit(self._write_index, directory, *saved) for saved in _SAVED]
            for index in written:
                index.result()
        for split, name in NEGATIVES.items():
            if split in self.negatives:
                _write_array(directory / f"{name}.npy", self.negatives[split])
            else:
                (directory / f"{name}.npy").unlink(missing_ok=True)
        if self.labels:
            write_labels(self.labels, directory / "labels.tsv")
        else:
            (directory / "labels.tsv").unlink(missing_ok=True)
        facts = {"name": self.name, "fingerprint": self.fingerprint}
        (directory / "graph.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")

    @property
    def num_entities(self) -> int:
        """Number of entities."""
        return len(self.entities)

    @property
    def num_relations(self) -> int:
        """Number of relations."""
        return len(self.relations)

    @property
    def known(self) -> np.ndarray:
        """All triples: train, then valid, then test: [num_known, 3] int32."""
        return np.concatenate([self.train, self.valid, self.test])

    def split(self, name: str) -> np.ndarray:
        """Returns the triples of a split: [num_triples, 3] int32.

        Raises:
            DataError: When there is no split of that name.
        """
        if name not in SPLITS:
            raise DataError(f"Unknown split {name!r}. Available: {', '.join(SPLITS)}.")
        return getattr(self, name)

    def index(self, side: str, split: str) -> KnownTriples:
        """Returns what completes queries, by (relation, entity given); indexed once a process.

        It is mapped from the folder of the graph if it is there, so that processes share the
        memory. A file that is not the index of this graph is not used.

        Args:
            side: "head" or "tail": the side that is completed.
            split: "train", "valid", "test", or "known" for all three.
        """
        if (side, split) not in self._indexes:
            saved = self._saved_index(side, split)
            self._indexes[side, split] = saved or self._build_index(side, split)
        return self._indexes[side, split]

    def first_splits(self, triples: np.ndarray) -> np.ndarray:
        """Returns the place in `SPLITS` of the first split with each triple, or -1.

        Args:
            triples: [n, 3] ids.

        Returns:
            [n] int64.
        """
        heads, relations, tails = triples.T
        found = [self.index("tail", split).contains(relations, heads, tails) for split in SPLITS]
        return np.where(np.any(found, axis=0), np.argmax(found, axis=0), -1)

    @functools.cached_property
    def entity_lookup(self) -> NameLookup:
        """Finds entities by name or label."""
        return NameLookup(self.entities, self.labels)

    @functools.cached_property
    def relation_lookup(self) -> NameLookup:
        """Finds relations by name."""
        return NameLookup(self.relations)

    def _check_negatives(self) -> None:
        """Raises DataError for the first negative that is in a split."""
        for split, triples in self.negatives.items():
            found = self.first_splits(triples)
            if (found >= 0).any():
                row = int(np.argmax(found >= 0))
                names = (self.entities.names, self.relations.names, self.entities.names)
                triple = tuple(of[id_] for of, id_ in zip(names, triples[row], strict=True))
                raise DataError(
                    f"{triple} is in {SPLITS[found[row]]} and in the negatives of {split}. Remove"
                    " it from one of them."
                )

    def _build_index(self, side: str, split: str) -> KnownTriples:
        triples = self.known if split == "known" else self.split(split)
        return {"head": index_heads, "tail": index_tails}[side](triples, self.num_entities)

    def _write_index(self, directory: pathlib.Path, side: str, split: str) -> None:
        # Not kept in memory: `index` maps the file.
        packed = self._build_index(side, split).pack(self._source(side, split))
        _write_array(directory / f"{split}_{side}s.npy", packed)

    def _saved_index(self, side: str, split: str) -> KnownTriples | None:
        if self.folder is None or (side, split) not in _SAVED:
            return None
        try:
            packed = read_array(self.folder / f"{split}_{side}s.npy")
        except DataError:
            return None  # of an older version, or damaged
        return KnownTriples.unpack(packed, self._source(side, split), self.num_entities)

    def _source(self, side: str, split: str) -> str:
        return f"{side}s of {split} of {self.fingerprint}"

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) over the names and the triples of the three splits, in order.

        The name of the graph, the labels and the negatives do not count: a graph that gets them
        later is still the graph of its earlier runs.
        """
        digest = hashlib.sha256()
        for vocabulary in (self.entities, self.relations):
            digest.update(f"{vocabulary.kind} {len(vocabulary)}\n".encode())
            digest.update("\n".join(vocabulary.names).encode("utf-8"))
        for split in SPLITS:
            triples = self.split(split)
            digest.update(f"\n{split} {len(triples)}\n".encode())
            digest.update(np.ascontiguousarray(triples, dtype="<i4").data)
        return digest.hexdigest()


def stored_fingerprint(directory: str | pathlib.Path) -> str:
    """Returns the fingerprint that `Graph.save` wrote to a folder, without reading the graph.

    Raises:
        DataError: There is none.
    """
    return _read_facts(pathlib.Path(directory) / "graph.json")["fingerprint"]


def _read_facts(path: pathlib.Path) -> dict[str, str]:
    try:
        check_regular(path)
        facts = json.loads(path.read_text(encoding="utf-8"))
        return {key: str(facts[key]) for key in ("name", "fingerprint")}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(
            f"Cannot read the graph of {path.parent}: {error!r} in graph.json."
        ) from error


def _write_array(path: pathlib.Path, array: np.ndarray) -> None:
    # Not into the file, which the array may be mapped from.
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as file:
        # NumPy writes a file by itself, and forgets why the disk took less.
        np.save(types.SimpleNamespace(write=file.write), array)
    os.replace(partial, path)


def read_array(path: pathlib.Path) -> np.ndarray:
    """Returns the array of a .npy file, memory-mapped.

    Raises:
        DataError: The file cannot be read, or is of another kind.
    """
    try:
        with warnings.catch_warnings():
            # What NumPy mends with a warning, a header of Python 2, was not written by `save`.
            warnings.simplefilter("error")
            # Not np.load, which takes archives and, if allowed to, pickles for arrays as well.
            return np.lib.format.open_memmap(path, mode="r")
    except _MALFORMED as error:
        raise DataError(f"Cannot read {path}: {error}. Restore it.") from error


def _read_split(path: pathlib.Path, limits: tuple[int, int, int]) -> np.ndarray:
    """Reads triples, memory-mapped; `limits` are the numbers of ids of the three columns."""
    triples = read_array(path)
    if triples.ndim != 2 or triples.shape[1] != 3 or triples.dtype != np.int32:
        raise DataError(
            f"{path}: expected int32 triples [num_triples, 3], received {triples.dtype}"
            f" {list(triples.shape)}."
        )
    if triples.size and (triples.min() < 0 or (triples.max(axis=0) >= limits).any()):
        raise DataError(f"{path}: expected ids in [0, {limits}), received others.")
    return triples
