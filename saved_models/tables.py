"""What a SavedModel looks things up in: names and known triples."""

import pathlib
import shutil
import tempfile
import weakref
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from datasets.known_triples import KnownTriples
from quatre_tf.ranking import lookup_known

# What a line of a text file cannot hold: TensorFlow's reader ends lines at \n and drops every \r.
# "%" comes first when writing and last when reading.
_ESCAPES = (("%", "%25"), ("\n", "%0A"), ("\r", "%0D"))


class NameTable(tf.Module):
    """Names to ids and back: an asset file with one escaped name a line, and two tables of it.

    Args:
        names: Distinct, non-empty names in id order.
        filename: Name of the file among the assets of the SavedModel.
    """

    def __init__(self, names: Sequence[str] | np.ndarray, filename: str):
        super().__init__()
        # TensorFlow copies the file when it saves, so it must live as long as the table.
        folder = tempfile.mkdtemp(prefix="quatre_tf_")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        path = pathlib.Path(folder) / filename
        path.write_bytes("".join(f"{_escape(name)}\n" for name in names).encode())
        line, number = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
        self._ids = tf.lookup.StaticHashTable(
            _File(str(path), tf.string, line, tf.int64, number, vocab_size=len(names)), -1
        )
        self._names = tf.lookup.StaticHashTable(
            _File(str(path), tf.int64, number, tf.string, line, vocab_size=len(names)), ""
        )

    def ids(self, names: tf.Tensor) -> tf.Tensor:
        """Returns int64 ids in the shape of the string tensor `names`; -1 where unknown."""
        for character, escape in _ESCAPES:
            names = tf.strings.regex_replace(names, character, escape)
        return self._ids.lookup(names)

    def names(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns strings in the shape of the integer tensor `ids`; "" for -1."""
        names = self._names.lookup(tf.cast(ids, tf.int64))
        for character, escape in reversed(_ESCAPES):
            names = tf.strings.regex_replace(names, escape, character)
        return names


class KnownTable(tf.Module):
    """The known entities of each (relation, entity at the other side), as CSR variables.

    Args:
        known: The index, as `datasets.known_triples` builds it.
        num_entities: Number of entities of the graph.
        name: Name of the variables.
    """

    def __init__(self, known: KnownTriples, num_entities: int, name: str):
        super().__init__(name=name)
        self._num_entities = num_entities
        self._keys = tf.Variable(known.keys, trainable=False, name="keys")
        self._row_splits = tf.Variable(known.row_splits, trainable=False, name="row_splits")
        self._entities = tf.Variable(known.entities, trainable=False, name="entities")

    def lookup(self, relations: tf.Tensor, entities: tf.Tensor) -> tf.RaggedTensor:
        """Returns entity ids `[batch, None]` int32 for int64 ids `[batch]`."""
        keys = relations * self._num_entities + entities
        return lookup_known(self._keys, self._row_splits, self._entities, keys)


class _File(tf.lookup.TextFileInitializer):
    """Lets TensorFlow invent the shared name of the table.

    By default it is made of the path of the file, and that of the exporting machine would be
    published with every SavedModel.
    """

    @property
    def _shared_name(self) -> str:
        return ""


def _escape(name: str) -> str:
    for character, escape in _ESCAPES:
        name = name.replace(character, escape)
    return name
