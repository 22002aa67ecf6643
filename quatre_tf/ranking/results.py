"""The results of an evaluation: one flat table, a row per figure.

Text, JSON, HTML, TensorBoard and comparisons are all made from these rows.
"""

import dataclasses
import functools
import json
import os
import pathlib
import reprlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from quatre_tf.errors import DataError
from quatre_tf.records import data_frame


class Metric(NamedTuple):
    """A mean over ranks.

    Attributes:
        title: Its name in tables.
        values: Returns what ranks `[...]` float64 contribute to the mean, `[...]`.
    """

    title: str
    values: Callable[[np.ndarray], np.ndarray]


def _hits(k: int) -> Metric:
    return Metric(f"H@{k}", lambda ranks: (ranks <= k).astype(np.float64))


METRICS = {
    "mr": Metric("MR", lambda ranks: ranks),
    "mrr": Metric("MRR", lambda ranks: 1.0 / ranks),
    "hits@1": _hits(1),
    "hits@3": _hits(3),
    "hits@10": _hits(10),
}
AMRI = "amri"
UNSEEN_ANSWERS = "unseen_answers"


class Row(NamedTuple):
    """One metric value, and the columns that identify it.

    Attributes:
        split: The split that was ranked.
        tie_policy: How equal scores count.
        candidates: The candidate set; empty if the figure depends on none. Of a classification, one
            of `quatre_tf.classification.evaluating.NEGATIVE_SOURCES`.
        side: `"both"`, `"head"` or `"tail"`: the side that was predicted; empty as above.
        num_triples: Triples that the figure is about.
        metric: One of `METRICS`; `"amri"`, the adjusted mean rank index; or
            `"unseen_answers"`, see `quatre_tf.data.candidate_sets.unseen_answers`. Comparisons of
            models add costs; `quatre_tf.classification.evaluating` has its own.
        value: The figure; hits are fractions.
        low: Low end of the 95 % interval; None: no interval was computed.
        high: High end of it.
        group_by: What divides the triples: `"relation"`, `"category"` (of the relation, over all
            splits), `"train_category"` (over train) or `"entities"`; of a curve, the level of its
            `"false_positive_rate"` or `"recall"`; empty: the whole split.
        group: The part of the split: the name of a relation or category, or `"unseen"` (triples
            with an entity that train does not have).
        run: Name of the run; empty where there is only one.
        baseline: For a difference, the run that was subtracted; empty otherwise.
        p_value: For a difference, the p value of the paired test.
    """

    split: str
    tie_policy: str
    candidates: str
    side: str
    num_triples: int
    metric: str
    value: float
    low: float | None = None
    high: float | None = None
    group_by: str = ""
    group: str = ""
    run: str = ""
    baseline: str = ""
    p_value: float | None = None


_NUMBERS = {"num_triples", "value", "low", "high", "p_value"}


@dataclasses.dataclass(frozen=True)
class Results:
    """The metrics of one split, for one or several runs.

    Attributes:
        split: The split.
        num_triples: Its triples.
        tie_policy: How equal scores count where a row is not about another policy.
        rows: The figures.
    """

    split: str
    num_triples: int
    tie_policy: str
    rows: tuple[Row, ...]

    @functools.cached_property
    def runs(self) -> tuple[str, ...]:
        """Names of the runs."""
        return tuple(dict.fromkeys(row.run for row in self.rows))

    @functools.cached_property
    def candidates(self) -> tuple[str, ...]:
        """The candidate sets."""
        return tuple(dict.fromkeys(row.candidates for row in self.rows if row.candidates))

    def select(self, **columns: Any) -> list[Row]:
        """Returns the rows with these values, such as `select(group_by="relation")`."""
        wanted = [(Row._fields.index(name), value) for name, value in columns.items()]
        return [row for row in self.rows if all(row[i] == value for i, value in wanted)]

    def find(
        self,
        metric: str,
        *,
        candidates: str = "all",
        side: str = "both",
        group_by: str = "",
        group: str = "",
        tie_policy: str | None = None,
        run: str | None = None,
        baseline: str = "",
    ) -> Row | None:
        """Returns the row of one metric, or None.

        Args:
            metric: See `Row`, as for the arguments below.
            candidates: The candidate set.
            side: The side.
            group_by: What divides the triples.
            group: The part of the split.
            tie_policy: How ties count; None: the table's tie policy.
            run: The run; None: the first one.
            baseline: The run that was subtracted.
        """
        run = self.runs[0] if run is None else run
        policy = tie_policy or self.tie_policy
        return self._by_place.get(
            (metric, candidates, side, group_by, group, policy, run, baseline)
        )

    def metrics(self, **columns: Any) -> dict[str, float]:
        """Returns `{"mr", "mrr", "hits@1", "hits@3", "hits@10"}`: by default of both sides.

        Args:
            **columns: The arguments of `find`, without `metric`.

        Raises:
            KeyError: There are no such figures.
        """
        found = {metric: self.find(metric, **columns) for metric in METRICS}
        if None in found.values():
            raise KeyError(f"There are no figures of {columns}.")
        return {metric: row.value for metric, row in found.items() if row}

    def groups(self, group_by: str) -> dict[str, int]:
        """Returns the parts of the split and their numbers of triples, such as the relations."""
        return {row.group: row.num_triples for row in self.rows if row.group_by == group_by}

    def to_pandas(self) -> Any:
        """Returns a `pandas.DataFrame` of the rows; ImportError if pandas is not installed."""
        return data_frame(row._asdict() for row in self.rows)

    def to_json(self) -> str:
        """Returns the table as JSON, one row a line.

        A row leaves out columns that are empty or have the value at the top of the file.
        """
        facts = {name: getattr(self, name) for name in ("split", "num_triples", "tie_policy")}
        rows = [
            json.dumps(
                {
                    name: value
                    for name, value in row._asdict().items()
                    if value not in (None, "") and value != facts.get(name)
                }
            )
            for row in self.rows
        ]
        return f'{json.dumps(facts)[:-1]}, "rows": [\n' + ",\n".join(rows) + "\n]}\n"

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Results":
        """Reads a file with the output of `to_json`.

        Raises:
            DataError: The file cannot be read, or holds something else.
        """
        path = pathlib.Path(path)
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
            rows = tuple(
                _checked(Row(**{"candidates": "", "side": "", **facts, **row}))
                for row in facts.pop("rows")
            )
            if not rows:
                raise ValueError("no figures")
            return cls(**facts, rows=rows)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DataError(
                f"{path}: expected the results that `quatre fit` and `quatre evaluate` write, "
                f"received {error!r}. Remove it, and evaluate the run again."
            ) from error

    @functools.cached_property
    def _by_place(self) -> dict[tuple, Row]:
        return {
            (
                *(row.metric, row.candidates, row.side, row.group_by, row.group),
                *(row.tie_policy, row.run, row.baseline),
            ): row
            for row in self.rows
        }


def _checked(row: Row) -> Row:
    """Returns the row; raises TypeError unless its figures are numbers and all else is text."""
    for name, value in row._asdict().items():
        expected = (int, float) if name in _NUMBERS else str
        is_left_out = value is None and name in Row._field_defaults
        if not isinstance(value, expected) and not is_left_out:
            raise TypeError(f"{name} is {reprlib.repr(value)}")
    return row
