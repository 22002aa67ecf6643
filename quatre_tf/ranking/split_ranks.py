"""Counts of better and equal candidates per triple of a split, before averaging."""

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from quatre_tf.metrics import rank_values
from quatre_tf.ranking.counting import ranks_from_counts
from quatre_tf.ranking.results import METRICS, Row
from quatre_tf.ranking.statistics import bootstrap_intervals

SIDES = ("both", "head", "tail")


@dataclasses.dataclass(frozen=True, eq=False)
class Counts:
    """Competitors of the answers on one side, in one candidate set; all `[n]` int64.

    Attributes:
        better: Competitors that score better than the answer.
        equal: Competitors that score the same.
        competitors: All competitors: the candidates but for the answer and other known answers.
    """

    better: np.ndarray
    equal: np.ndarray
    competitors: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class SplitRanks:
    """The ranking of a split.

    Attributes:
        split: Name of the split.
        triples: `[n, 3]`: head, relation, tail; all other arrays have a row for each of these.
        counts: By candidate set, then by side: `"head"` and `"tail"`, the predicted side.
    """

    split: str
    triples: np.ndarray
    counts: Mapping[str, Mapping[str, Counts]]

    @property
    def candidates(self) -> tuple[str, ...]:
        """The candidate sets."""
        return tuple(self.counts)

    def ranks(self, candidates: str, side: str, tie_policy: str = "realistic") -> np.ndarray:
        """Returns the ranks `[n]` float64 of one side."""
        counts = self.counts[candidates][side]
        return ranks_from_counts(counts.better, counts.equal, tie_policy).numpy()

    def values(self, tie_policy: str) -> np.ndarray:
        """Returns what each triple contributes to each figure: `[n, sets, 3, 5]` float64.

        Axis 1 is as `candidates`, axis 2 as `SIDES` and axis 3 as `METRICS`. A triple contributes
        to `both` the mean of its two sides.
        """
        sets = []
        for name in self.candidates:
            head, tail = (rank_values(self.ranks(name, s, tie_policy)) for s in SIDES[1:])
            sets.append(np.stack([(head + tail) / 2, head, tail], axis=1))
        return np.stack(sets, axis=1)

    def rows(
        self,
        values: np.ndarray,
        tie_policy: str,
        *,
        seed: int | None = None,
        p_values: np.ndarray | None = None,
        **columns: Any,
    ) -> list[Row]:
        """Returns the means over triples as rows of a results table.

        Args:
            values: `[m, sets, 3, 5]`: of these triples, as `values` returns them; or their
                differences.
            tie_policy: The one of `values`.
            seed: Of the bootstrap; None: no intervals.
            p_values: `[sets, 3, 5]`.
            **columns: Other columns of `Row`, the same in all rows.
        """
        shape = values.shape[1:]
        no_figures = np.full(shape, None)
        low = high = no_figures
        if seed is not None:
            low, high = np.moveaxis(bootstrap_intervals(values, seed=seed), -1, 0)
        tests = no_figures if p_values is None else p_values
        return [
            Row(
                *(self.split, tie_policy, candidates, side, len(values), metric),
                *(value, low, high),
                p_value=p_value,
                **columns,
            )
            for (candidates, side, metric), value, low, high, p_value in zip(
                itertools.product(self.candidates, SIDES, METRICS),
                *(array.ravel().tolist() for array in (values.mean(axis=0), low, high, tests)),
                strict=True,
            )
        ]
