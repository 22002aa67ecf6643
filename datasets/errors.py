"""Errors that a person can mend.

A program prints them as one line, without a traceback: what was expected, what was received and
what to do must therefore all be in the message.
"""

from collections.abc import Sequence


class DataError(ValueError):
    """Bad input: a file, a folder, a name or an archive that is not as it has to be."""


class UnknownNameError(DataError):
    """A name that is not in a vocabulary or list.

    Attributes:
        name: The name that was asked for.
        kind: What it was taken for, e.g. "entity" or "dataset".
        suggestions: The closest known names, best first; may be empty.
    """

    def __init__(self, name: str, kind: str, suggestions: Sequence[str] = (), hint: str = ""):
        self.name = name
        self.kind = kind
        self.suggestions = tuple(suggestions)
        self._hint = hint
        parts = [f"Unknown {kind} {name!r}."]
        if self.suggestions:
            parts.append(f"Did you mean {' or '.join(map(repr, self.suggestions))}?")
        if hint:
            parts.append(hint)
        super().__init__(" ".join(parts))

    def __reduce__(self) -> tuple:
        """Survives pickling, so that it can cross from a worker process."""
        return type(self), (self.name, self.kind, self.suggestions, self._hint)
