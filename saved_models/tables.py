"""The lookup tables in a SavedModel: names and labels by id, ids by name, known answers."""

import pathlib
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from quatre_tf.data.candidate_sets import constraint
from quatre_tf.data.graph import Graph
from quatre_tf.data.vocabulary import Vocabulary
from quatre_tf.ranking.entity_lists import Tile, keep_members, mask_members
from saved_models.table_internals import AnonymousTable

# What a line of a text file cannot hold: TensorFlow's reader ends lines at \n and drops every \r.
# "%" comes first when writing and last when reading.
_ESCAPES = (("%", "%25"), ("\n", "%0A"), ("\r", "%0D"))
# Nor may a line be empty.
_EMPTY = "%_"


class LineTable(tf.Module):
    """Strings by id: an asset file with one escaped string a line.

    Args:
        lines: The strings in id order.
        filename: Name of the file among the assets of the SavedModel.
    """

    def __init__(self, lines: Sequence[str] | np.ndarray, filename: str):
        super().__init__()
        # TensorFlow copies the file when it saves, so it must live as long as the table.
        folder = tempfile.mkdtemp(prefix="quatre_tf_")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._path = pathlib.Path(folder) / filename
        self._path.write_bytes("".join(f"{_escape(line)}\n" for line in lines).encode())
        self._size = len(lines)
        number, line = tf.lookup.TextFileIndex.LINE_NUMBER, tf.lookup.TextFileIndex.WHOLE_LINE
        self._lines = self._table(tf.int64, number, tf.string, line, default="")

    def lines(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns strings in the shape of the integer tensor `ids`; "" for -1."""
        lines = self._lines.lookup(tf.cast(ids, tf.int64))
        lines = tf.strings.regex_replace(lines, _EMPTY, "")
        for character, escape in reversed(_ESCAPES):
            lines = tf.strings.regex_replace(lines, escape, character)
        return lines

    def _table(self, *columns: Any, default: Any) -> tf.lookup.StaticHashTable:
        file = tf.lookup.TextFileInitializer(str(self._path), *columns, vocab_size=self._size)
        return AnonymousTable(file, default)


class NameTable(LineTable):
    """Names by id, and ids by name.

    Args:
        names: Distinct, non-empty names in id order.
        filename: Name of the file among the assets of the SavedModel.
    """

    def __init__(self, names: Sequence[str] | np.ndarray, filename: str):
        super().__init__(names, filename)
        number, line = tf.lookup.TextFileIndex.LINE_NUMBER, tf.lookup.TextFileIndex.WHOLE_LINE
        self._ids = self._table(tf.string, line, tf.int64, number, default=-1)

    def ids(self, names: tf.Tensor) -> tf.Tensor:
        """Returns int64 ids in the shape of the string tensor `names`; -1 where unknown."""
        for character, escape in _ESCAPES:
            names = tf.strings.regex_replace(names, character, escape)
        return self._ids.lookup(names)


class AnswerTable(tf.Module):
    """Known answers and types of one side, as the sorted lists of `quatre_tf.ranking`.

    Args:
        graph: The graph.
        side: `"head"` or `"tail"`: the place of the answers.

    Attributes:
        known_keys: Variable `[known]` int64, lists of known answers.
    """

    def __init__(self, graph: Graph, side: str):
        super().__init__(name=f"{side}s")
        known, slot = graph.index(side, "known"), constraint(graph, "train_type_constrained", side)
        self._num_entities = graph.num_entities
        self._groups = tf.Variable(known.keys, trainable=False, name="groups")
        self.known_keys = tf.Variable(known.list_keys, trainable=False, name="known_keys")
        self._slot_keys = tf.Variable(slot.keys, trainable=False, name="slot_keys")

    def known_lists(
        self, relations: tf.Tensor, entities: tf.Tensor, wanted: tf.Tensor | bool = True
    ) -> tf.Tensor:
        """Returns the list of known answers of int64 ids `[batch]`, -1 for none: `[batch]` int64.

        All are -1 unless the scalar `wanted` is true.
        """
        keys = relations * self._num_entities + entities
        places = tf.searchsorted(self._groups, tf.concat([keys, keys + 1], 0), out_type=tf.int64)
        here, after = tf.split(places, 2)
        return tf.where((here < after) & wanted, here, -1)

    def mask_scores(
        self,
        relations: tf.Tensor,
        entities: tf.Tensor,
        filtered: tf.Tensor,
        type_constrained: tf.Tensor,
    ) -> Callable[[tf.Tensor, Tile], tf.Tensor]:
        """Returns the `mask_scores` of `quatre_tf.ranking.tiles.top_k` for queries `[batch]`.

        Args:
            relations: `[batch]` int64.
            entities: `[batch]` int64, the entity that is given.
            filtered: Scalar: leave out known answers.
            type_constrained: Scalar: leave out what train does not have in the slot.
        """
        known_lists = self.known_lists(relations, entities, filtered)

        def mask(scores: tf.Tensor, tile: Tile) -> tf.Tensor:
            scores = mask_members(scores, self.known_keys, known_lists, tile)
            return tf.cond(
                type_constrained,
                lambda: keep_members(scores, self._slot_keys, relations, tile),
                lambda: scores,
            )

        return mask


def read_names(model: pathlib.Path, kind: str) -> Vocabulary:
    """Returns the names of an exported model: of its `"entity"` or `"relation"` kind."""
    file = {"entity": "entities.txt", "relation": "relations.txt"}[kind]
    lines = (model / "assets" / file).read_text("utf-8").split("\n")[:-1]
    for character, escape in reversed(_ESCAPES):
        lines = [line.replace(escape, character) for line in lines]
    return Vocabulary(lines, kind)


def _escape(line: str) -> str:
    for character, escape in _ESCAPES:
        line = line.replace(character, escape)
    return line or _EMPTY
