"""A made-up evaluation with the keys of a real one, for tests of what is made of it."""

import numpy as np

METRICS = ("mr", "mrr", "hits@1", "hits@3", "hits@10")
SETS = ("all", "type_constrained", "train_type_constrained")
SIDES = ("both", "head", "tail")


def make_evaluation(relations, seed=0, compare=None):
    """Returns an evaluation of a test split with triples of the given relations."""
    rng = np.random.default_rng(seed)

    def metrics():
        hits = np.sort(rng.uniform(0.2, 0.9, 4))
        values = (1 / hits[1], hits[1], hits[0], hits[2], hits[3])
        return dict(zip(METRICS, map(float, values), strict=True))

    def sides():
        return {side: metrics() for side in SIDES}

    def around(figures):
        return {s: {m: [0.95 * v, 1.04 * v] for m, v in of.items()} for s, of in figures.items()}

    def part(num_triples):
        figures = sides()
        return {"num_triples": num_triples, **figures, "intervals": around(figures)}

    def counts(names):
        """The most frequent first, as in a real one."""
        numbers = sorted(map(int, rng.integers(1, 2000, len(names))), reverse=True)
        return dict(zip(names, numbers, strict=True))

    candidates = {name: sides() for name in SETS}
    frequencies = counts(relations)
    by_category = counts(("1-1", "1-M", "M-1", "M-M"))
    result = {
        "split": "test",
        "num_triples": sum(frequencies.values()),
        "tie_policy": "realistic",
        "candidates": candidates,
        "intervals": {name: around(by_side) for name, by_side in candidates.items()},
        "adjusted_mean_rank_index": {
            name: {s: float(rng.uniform(0.8, 1)) for s in SIDES} for name in SETS
        },
        "relations": {name: {r: part(n) for r, n in frequencies.items()} for name in SETS},
        "categories": {
            kind: {name: {c: part(n) for c, n in by_category.items()} for name in SETS}
            for kind in ("all_splits", "train")
        },
        "unseen_entities": {
            "num_triples": 3,
            "candidates": {name: sides() for name in SETS},
        },
        "test_only_answers": {name: {"head": 5, "tail": 2} for name in SETS},
    }
    if compare:
        difference = {"difference": 0.0123, "interval": [0.0023, 0.0223], "p_value": 0.0004}
        result["comparison"] = {
            "run_dir": compare,
            **{name: {s: dict.fromkeys(METRICS, difference) for s in SIDES} for name in SETS},
        }
    return result
