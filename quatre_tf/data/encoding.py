"""Converts triples of names to vocabularies and triples of ids."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quatre_tf.data.vocabulary import Vocabulary, as_strings
from quatre_tf.errors import DataError, UnknownNameError

SPLITS = ("train", "valid", "test")
# The splits that may have labelled negatives, and the names of the files of these.
NEGATIVES = {"valid": "valid_negatives", "test": "test_negatives"}
# The columns head, relation, tail of strings: an Arrow table or three sequences.
Columns: TypeAlias = "pa.Table | Sequence[Sequence[str] | np.ndarray | pa.Array]"


def encode_splits(
    splits: Mapping[str, Columns], names: Sequence[str] = SPLITS
) -> tuple[Vocabulary, Vocabulary, dict[str, np.ndarray]]:
    """Builds the vocabularies of a fresh graph and translates its triples.

    Args:
        splits: For each split its columns.
        names: The splits.

    Returns:
        Entities and relations (each sorted, over all splits) and by split the triples of ids:
        [num_triples, 3] int32.

    Raises:
        DataError: When a split is missing or has no triples.
    """
    columns = {split: _split_columns(split, splits) for split in names}
    heads, relations, tails = zip(*columns.values(), strict=True)
    entities, entity_ids = _numbered(heads + tails, "entity")
    relation_names, relation_ids = _numbered(relations, "relation")
    head_ids, tail_ids = entity_ids[: len(names)], entity_ids[len(names) :]
    ids = zip(names, head_ids, relation_ids, tail_ids, strict=True)
    return entities, relation_names, {split: np.stack(of, axis=1) for split, *of in ids}


def encode_negatives(
    split: str, table: Columns, entities: Vocabulary, relations: Vocabulary
) -> np.ndarray:
    """Translates the labelled negatives of a split: [num_triples, 3] int32.

    Raises:
        DataError: When the split cannot have negatives, or there are none.
        UnknownNameError: When a name is in none of the splits.
    """
    if split not in NEGATIVES:
        raise DataError(f"Expected negatives of {' or '.join(NEGATIVES)}. Received: {split!r}.")
    columns = [as_strings(column) for column in getattr(table, "columns", table)]
    if not len(columns[0]):
        raise DataError(f"The negatives of {split} have no triples. Leave them out.")
    try:
        ids = [
            vocabulary.ids(column)
            for vocabulary, column in zip((entities, relations, entities), columns, strict=True)
        ]
        return np.stack(ids, axis=1)
    except UnknownNameError as error:
        hint = (
            f"It is in the negatives of {split}, but in no triple of {', '.join(SPLITS)}. Remove"
            " the negatives with this name."
        )
        raise UnknownNameError(error.name, error.kind, error.suggestions, hint) from error


def _split_columns(split: str, splits: Mapping[str, Columns]) -> list[pa.DictionaryArray]:
    if split not in splits:
        raise DataError(f"The split {split} is missing. Required: {', '.join(SPLITS)}.")
    table = splits[split]
    columns = [_encoded(column) for column in getattr(table, "columns", table)]
    if not len(columns[0]):
        raise DataError(f"The split {split} has no triples. Each split needs at least one.")
    return columns


def _encoded(column: pa.ChunkedArray | Sequence[str]) -> pa.DictionaryArray:
    """Returns a column with each distinct name held once."""
    if isinstance(column, pa.ChunkedArray) and pa.types.is_dictionary(column.type):
        encoded = column.unify_dictionaries().combine_chunks()
        # A selection from a table keeps the names of all its rows.
        used = encoded.indices.drop_null().unique()
        if len(used) == len(encoded.dictionary) and not encoded.null_count:
            names = encoded.dictionary.cast(pa.large_string())
            return pa.DictionaryArray.from_arrays(encoded.indices, names)
    return as_strings(column).dictionary_encode()


def _numbered(
    columns: Sequence[pa.DictionaryArray], kind: str
) -> tuple[Vocabulary, list[np.ndarray]]:
    """Returns the distinct names of all columns, sorted by code point, and int32 ids of each.

    Arrow numbers the names when it unifies the dictionaries, so none is looked up. It compares
    UTF-8 bytes, which order like code points.
    """
    unified = pa.chunked_array(columns).unify_dictionaries()
    names = unified.chunk(0).dictionary
    order = pc.sort_indices(names)
    ids = np.empty(len(names), np.int32)
    ids[order.to_numpy()] = np.arange(len(names))
    found = [ids[column.indices.to_numpy()] for column in unified.chunks]
    return Vocabulary(names.take(order), kind), found
