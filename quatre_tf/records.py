"""Record types of the answers of a run, and of a served model."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Answer:
    """An answer to a question.

    Attributes:
        entity: Its name.
        score: Higher is more plausible.
        label: Its label; None if the graph has none.
        probability: Of a run, that it is an answer among all entities; None unless requested. Of a
            served model, that the triple is true (docs/calibration.md).
    """

    entity: str
    score: float
    label: str | None
    probability: float | None = None


@dataclasses.dataclass(frozen=True)
class RankedTriple:
    """The filtered ranks of a triple's entities; each tie counts half.

    Attributes:
        head: Name.
        relation: Name.
        tail: Name.
        head_rank: Rank of the head among all entities, from 1 on.
        tail_rank: Rank of the tail.
    """

    head: str
    relation: str
    tail: str
    head_rank: float
    tail_rank: float


@dataclasses.dataclass(frozen=True)
class Neighbor:
    """An entity with a similar embedding.

    Attributes:
        entity: Its name.
        cosine: Cosine of the two embeddings.
        label: Its label; None if the graph has none.
    """

    entity: str
    cosine: float
    label: str | None


class Records(list[T]):
    """A list of records."""

    def to_pandas(self) -> Any:
        """Returns a `pandas.DataFrame` with a row for each record.

        Raises:
            ImportError: pandas is not installed.
        """
        return data_frame(map(vars, self))


class RecordLists(list[Records[T]]):
    """The records of several questions, a list for each."""

    def to_pandas(self) -> Any:
        """Returns a `pandas.DataFrame` of all records; `question` counts the questions from 0.

        Raises:
            ImportError: pandas is not installed.
        """
        return data_frame(
            {"question": number, **vars(record)}
            for number, records in enumerate(self)
            for record in records
        )


def data_frame(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Returns a `pandas.DataFrame`; ImportError if pandas is not installed."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("`to_pandas` needs pandas: `pip install pandas`.") from error
    return pd.DataFrame(list(rows))
