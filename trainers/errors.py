"""Errors of programs that a person can mend; printed as one line."""

from datasets.errors import DataError


class ConfigError(DataError):
    """Settings that make no sense, or that conflict with those of the run they should resume."""


class TrainingError(DataError):
    """Training cannot go on; the message says what was kept and what to change."""


class ClusterError(DataError):
    """Another process that the run needs is gone."""
