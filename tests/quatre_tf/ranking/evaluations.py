"""Made-up results with the rows of real ones, for tests of what is made of them."""

import numpy as np

from quatre_tf.data.candidate_sets import CANDIDATE_SETS
from quatre_tf.ranking.results import METRICS, Results, Row

SIDES = ("both", "head", "tail")
DIFFERENCE = {"value": 0.0123, "low": 0.0023, "high": 0.0223, "p_value": 0.0004}


def make_results(relations, runs=("",), baseline=""):
    """Returns results of a test split with triples of the given relations."""
    rng = np.random.default_rng(0)

    def counts(names):
        """The most frequent first, as in a real one."""
        numbers = sorted(map(int, rng.integers(1, 2000, len(names))), reverse=True)
        return dict(zip(names, numbers, strict=True))

    def metrics():
        hits = np.sort(rng.uniform(0.2, 0.9, 4))
        values = (1 / hits[1], hits[1], hits[0], hits[2], hits[3])
        return zip(METRICS, map(float, values), strict=True)

    sizes = counts(relations)
    total = sum(sizes.values())
    parts = [("relation", name, size) for name, size in sizes.items()]
    for group_by in ("category", "train_category"):
        found = counts(("1-1", "1-M", "M-1", "M-M"))
        parts += [(group_by, name, size) for name, size in found.items()]
    parts.append(("entities", "unseen", 3))
    rows = []
    for run in runs:
        for group_by, group, size in [("", "", total), *parts]:
            where = {"group_by": group_by, "group": group, "run": run}
            for name in CANDIDATE_SETS:
                for side in SIDES:
                    place = ("test", "realistic", name, side, size)
                    rows += [
                        Row(*place, metric, value, 0.95 * value, 1.04 * value, **where)
                        for metric, value in metrics()
                    ]
        for name in CANDIDATE_SETS:
            for side in SIDES:
                place = ("test", "realistic", name, side, total)
                rows.append(Row(*place, "amri", 0.9, run=run))
                if side != "both":
                    rows.append(Row(*place, "unseen_answers", 5, run=run))
                if baseline and run != baseline:
                    rows += [
                        Row(*place, metric, **DIFFERENCE, run=run, baseline=baseline)
                        for metric in METRICS
                    ]
    return Results("test", total, "realistic", tuple(rows))
