"""Names of entities or relations, and their ids."""

import difflib
import functools
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quatre_tf.errors import DataError, UnknownNameError
from quatre_tf.paths import check_regular

_MAX_SUGGESTIONS = 3
# difflib takes about 10 us a name: above this many, only names that begin alike are compared.
_MAX_COMPARED = 50_000
# Up to so many names, a pass over the vocabulary for each takes less than a hash table of it.
_FEW = 8


class Vocabulary:
    """An immutable list of distinct names; the id of a name is its position.

    The names live in one Arrow buffer (the UTF-8 bytes and 8 bytes a name), so that millions of
    them cost little more than their text.

    Example:
        >>> countries = Vocabulary(["France", "Japan"])
        >>> countries.ids(["Japan", "France"])
        array([1, 0], dtype=int32)

    Args:
        names: Distinct, non-empty names without line breaks, in id order: strings or an
            Arrow array.
        kind: What a name stands for ("entity", "relation"); used in messages.

    Raises:
        DataError: When a name is empty, has a line break or is there twice.
    """

    def __init__(self, names: Iterable[str] | pa.Array, kind: str = "entity"):
        self.kind = kind
        self._names = as_strings(names)
        self._validate()

    @classmethod
    def load(cls, path: str | pathlib.Path, kind: str = "entity") -> "Vocabulary":
        """Reads a file of `save`; raises DataError when it is missing or malformed."""
        path = pathlib.Path(path)
        try:
            check_regular(path)
            text = path.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"Cannot read the {kind} names of {path}: {error}.") from error
        # Not splitlines(): names may hold other Unicode line separators.
        return cls(text.removesuffix("\n").split("\n") if text else [], kind)

    def save(self, path: str | pathlib.Path) -> None:
        """Writes one name per line, UTF-8, in id order."""
        pathlib.Path(path).write_bytes(as_lines(self._names))

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} names, kind={self.kind!r})"

    @functools.cached_property
    def names(self) -> np.ndarray:
        """All names in id order: [len] of str (dtype object), built at the first use."""
        return self._names.to_numpy(zero_copy_only=False)

    def ids(self, names: Sequence[str] | np.ndarray | pa.Array) -> np.ndarray:
        """Returns the ids of names: [len(names)] int32.

        More than a few names take one hash table of the vocabulary per call (0.1 s at a million
        names), so ask for many at once.

        Raises:
            UnknownNameError: Names the first unknown name and the closest known ones.
        """
        wanted = as_strings(names)
        if len(wanted) <= _FEW:
            found = pa.array([self._find(name) for name in wanted], pa.int32())
        else:
            found = pc.index_in(wanted, value_set=self._names)
        if found.null_count:
            position = pc.index(found.is_null(), True).as_py()
            name = wanted[position].as_py()
            raise UnknownNameError(name, self.kind, self.suggest(name))
        return found.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)

    def take(self, ids: np.ndarray) -> pa.Array:
        """Returns the names of ids as a `large_string` array, faster than `names[ids]`."""
        return self._names.take(pa.array(ids))

    def id(self, name: str) -> int:
        """Returns the id of one name; raises UnknownNameError like `ids`."""
        return int(self.ids([name])[0])

    def _find(self, name: pa.Scalar) -> int | None:
        """Returns the id of a name by one pass over all names."""
        position = pc.index(self._names, name).as_py()
        return position if position >= 0 else None

    def suggest(self, name: str) -> list[str]:
        """Returns the known names closest to `name`, best first: spelt alike, whatever the case."""
        candidates = self._names
        if len(candidates) > _MAX_COMPARED and name:
            candidates = candidates.filter(
                pc.starts_with(candidates, pattern=name[:3], ignore_case=True)
            )[:_MAX_COMPARED]
        spelling: dict[str, str] = {known.casefold(): known for known in candidates.to_pylist()}
        close = difflib.get_close_matches(name.casefold(), spelling, n=_MAX_SUGGESTIONS)
        return [spelling[folded] for folded in close]

    def _validate(self) -> None:
        """Raises DataError for the first empty, broken or repeated name."""
        for broken, problem in (
            (pc.equal(self._names, ""), "an empty name"),
            (pc.match_substring(self._names, "\n"), "a name with a line break"),
        ):
            position = pc.index(broken, True).as_py()
            if position >= 0:
                raise DataError(f"The {self.kind} names hold {problem} at position {position}.")
        if pc.count_distinct(self._names).as_py() < len(self):
            counts = pc.value_counts(self._names)
            repeated = pc.index(pc.greater(counts.field("counts"), 1), True).as_py()
            name = counts.field("values")[repeated].as_py()
            raise DataError(f"The {self.kind} name {name!r} is there more than once.")


def as_lines(*columns: pa.Array) -> pa.Buffer:
    """Returns UTF-8 text: a line for each row of `large_string` columns, joined by TABs."""
    tab, line_break, nothing = (pa.scalar(text, pa.large_string()) for text in ("\t", "\n", ""))
    rows = pc.binary_join_element_wise(*columns, tab)
    lines = pc.binary_join_element_wise(rows, nothing, line_break)
    # The strings of an Arrow array lie in one buffer, one after another, perhaps with padding.
    return lines.buffers()[2].slice(0, pc.sum(pc.binary_length(lines)).as_py() or 0)


def as_strings(names: Any) -> pa.Array:
    """Returns names as one Arrow array of strings (64-bit offsets: text of any length).

    Raises:
        DataError: When something is not a string, or cannot be encoded as UTF-8.
    """
    if isinstance(names, pa.ChunkedArray):
        names = names.combine_chunks()
    try:
        if not isinstance(names, pa.Array):
            # Arrow reads arrays of objects without a detour, but not numpy's fixed-width strings.
            objects = isinstance(names, np.ndarray) and names.dtype == object
            names = pa.array(names if objects else list(names), pa.large_string())
        if pa.types.is_dictionary(names.type):
            names = names.dictionary_decode()
        strings = names.cast(pa.large_string())
    except (pa.ArrowException, UnicodeEncodeError, TypeError) as error:
        raise DataError(f"Names must be strings: {error}.") from error
    if strings.null_count:
        position = pc.index(strings.is_null(), True).as_py()
        raise DataError(f"Names must be strings, received None at position {position}.")
    return strings


def folded(texts: Sequence[str] | np.ndarray) -> pa.Array:
    """Returns texts in lower case without accents: they are marks of their own when decomposed."""
    plain = pc.replace_substring_regex(pc.utf8_normalize(as_strings(texts), "NFKD"), r"\p{M}", "")
    return pc.utf8_lower(plain)
