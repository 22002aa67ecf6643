"""What the ranking of a split counts, before anything is averaged."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from quatre_tf.metrics import METRICS, rank_values
from quatre_tf.ranking.ranks import ranks_from_counts

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
        triples: `[n, 3]`: head, relation, tail; a row of everything else belongs to one of these.
        counts: By candidate set, then by side: `"head"` and `"tail"`, the side asked for.
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

    def figures(self, means: np.ndarray) -> dict[str, dict[str, dict[str, float]]]:
        """Returns `{set: {side: {metric: value}}}` from `[sets, 3, 5]`."""
        return {
            name: {
                side: dict(zip(METRICS, row.tolist(), strict=True))
                for side, row in zip(SIDES, rows, strict=True)
            }
            for name, rows in zip(self.candidates, means, strict=True)
        }
