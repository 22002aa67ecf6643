"""Errors users can fix.

Programs print them as one line, without a traceback, so the message says what was expected, what
was received and what to do.
"""

from collections.abc import Sequence


class DataError(ValueError):
    """Bad input: an invalid file, folder, name or archive."""


class UnknownNameError(DataError):
    """A name that is not in a vocabulary or list.

    Attributes:
        name: The unknown name.
        kind: What it should name, e.g. "entity" or "dataset".
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


class ConfigError(DataError):
    """Invalid settings, or settings that conflict with the resumed run."""


class TrainingError(DataError):
    """Training cannot continue; the message says what was kept and what to change."""


class ClusterError(DataError):
    """A process of the cluster was lost."""
