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

    def counted():
        return {"num_triples": int(rng.integers(1, 2000)), **sides()}

    def around(value):
        return [value * 0.95, value * 1.04]

    candidates = {name: sides() for name in SETS}
    categories = ("1-1", "1-M", "M-1", "M-M")
    counts = {relation: int(rng.integers(1, 2000)) for relation in relations}
    result = {
        "split": "test",
        "num_triples": sum(counts.values()),
        "tie_policy": "realistic",
        "candidates": candidates,
        "intervals": {
            name: {s: {m: around(v) for m, v in values.items()} for s, values in by_side.items()}
            for name, by_side in candidates.items()
        },
        "adjusted_mean_rank_index": {
            name: {s: float(rng.uniform(0.8, 1)) for s in SIDES} for name in SETS
        },
        "relations": {
            name: {r: {"num_triples": n, **sides()} for r, n in counts.items()} for name in SETS
        },
        "categories": {
            kind: {name: {c: counted() for c in categories} for name in SETS}
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
