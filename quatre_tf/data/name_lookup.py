"""Resolves user input to a name: by name, by label, or either without case and accents."""

import functools
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from quatre_tf.data.vocabulary import Vocabulary, folded
from quatre_tf.errors import DataError, UnknownNameError

_MAX_LISTED = 5


class NameLookup:
    """Finds the entity or relation that is meant.

    The first of these that fits decides: the name; a label; a name or a label, whatever the case,
    the accents and repeated spaces.

    Args:
        vocabulary: The names.
        labels: What people call an entity, by its name; may have gaps. White space counts once.
    """

    def __init__(self, vocabulary: Vocabulary, labels: Mapping[str, str] | None = None):
        self._vocabulary = vocabulary
        squeezed = ((name, _squeezed(label)) for name, label in (labels or {}).items())
        self._labels = {name: label for name, label in squeezed if label}

    def name(self, given: str) -> str:
        """Returns the name that is meant.

        Raises:
            UnknownNameError: Nothing is called so; the message has the closest names and labels.
            DataError: Several are; the message lists their names.
        """
        if given in self._names:
            return given
        label = _squeezed(given)
        if label in self._names:
            return label
        found = self._by_label.get(label) or self._by_folded.get(folded([label])[0].as_py())
        if not found:
            raise UnknownNameError(given, self._vocabulary.kind, self._suggestions(given))
        if len(found) > 1:
            raise DataError(self._several(given, found))
        return found[0]

    def ids(self, given: Sequence[str]) -> np.ndarray:
        """Returns the ids `[n]` int32 of the names that are meant.

        Raises:
            UnknownNameError: As for `name`.
            DataError: As for `name`.
        """
        try:
            return self._vocabulary.ids(given)
        except UnknownNameError:
            return self._vocabulary.ids([self.name(name) for name in given])

    def shown(self, name: str) -> str:
        """Returns a name with its label for people to read."""
        label = self._labels.get(name)
        return f"{name} ({label})" if label else name

    def label(self, name: str) -> str | None:
        """Returns the label of a name, None if it has none."""
        return self._labels.get(name)

    def _suggestions(self, given: str) -> list[str]:
        labels = Vocabulary(self._by_label, "label")
        return list(dict.fromkeys([*self._vocabulary.suggest(given), *labels.suggest(given)]))

    def _several(self, given: str, found: list[str]) -> str:
        listed = ", ".join(map(self.shown, found[:_MAX_LISTED]))
        rest = f" and {len(found) - _MAX_LISTED} more" if len(found) > _MAX_LISTED else ""
        return (
            f"Expected one {self._vocabulary.kind}, received {given!r}, which may be any of "
            f"{len(found)}: {listed}{rest}. Give the name."
        )

    @functools.cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self._vocabulary.names)

    @functools.cached_property
    def _by_label(self) -> dict[str, list[str]]:
        found = defaultdict(list)
        for name, label in self._labels.items():
            found[label].append(name)
        return dict(found)

    @functools.cached_property
    def _by_folded(self) -> dict[str, list[str]]:
        found: dict[str, dict[str, None]] = defaultdict(dict)
        names = self._vocabulary.names
        squeezed = [_squeezed(name) for name in names]
        labels = [self._labels.get(*pair) for pair in zip(names, squeezed, strict=True)]
        for texts in (squeezed, labels):
            for name, text in zip(names, folded(texts).to_pylist(), strict=True):
                found[text][name] = None
        return {text: list(names) for text, names in found.items()}


def _squeezed(text: str) -> str:
    """Returns a text as `quatre_tf.data.labels.write_labels` writes it."""
    return " ".join(text.split())
