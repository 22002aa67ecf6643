"""Sizes of a training step on the paper's four benchmarks, by recipe."""

# Entities, relations, training triples (distinct ones).
_GRAPHS = {
    "wn18rr": (40_943, 11, 86_835),
    "fb15k237": (14_541, 237, 272_115),
    "wn18": (40_943, 18, 141_442),
    "fb15k": (14_951, 1_345, 483_142),
}
BENCHMARKS = tuple(_GRAPHS)
RECIPES = ("paper", "strong", "sampled")
# The paper's quaternions and negatives per positive; a step has |train| / 100 positives.
_PAPER = {"wn18rr": (256, 5), "fb15k237": (384, 10), "wn18": (256, 10), "fb15k": (384, 5)}
_QUERIES = 1_000
# Targets of so many distinct queries, on average.
_TARGETS = {"wn18rr": 1_678, "fb15k237": 3_636, "wn18": 1_652, "fb15k": 3_530}
_QUERY_DIM = 128
_CANDIDATES = 4_096


def shape_of(
    recipe: str, benchmark: str, *, dim: int | None = None, candidates: int | None = None
) -> dict[str, int]:
    """Returns the sizes of a step by name, in the order of the arguments of `step_parts`.

    Args:
        recipe: One of `RECIPES`.
        benchmark: One of `BENCHMARKS`.
        dim: Quaternions per embedding; None: the paper's, or 128 for the softmax recipes.
        candidates: Sampled entities, of `sampled` only; None: 4,096.
    """
    entities, relations, train = _GRAPHS[benchmark]
    graph = {"entities": entities, "relations": relations}
    if recipe == "paper":
        paper_dim, negatives = _PAPER[benchmark]
        sizes = {"positives": train // 100, "negatives": negatives}
        return {**graph, "quaternions": dim or paper_dim, **sizes}
    sizes = {"queries": _QUERIES, "targets": _TARGETS[benchmark]}
    if recipe == "sampled":
        sizes["candidates"] = candidates or _CANDIDATES
    return {**graph, "quaternions": dim or _QUERY_DIM, **sizes}


def steps_per_pass(benchmark: str, shape: dict[str, int]) -> float:
    """Returns how many steps of a shape take as many triples as the training split has.

    Each triple is a target of two queries, one for its tail and one for its head.
    """
    triples = shape["positives"] if "positives" in shape else shape["targets"] / 2
    return _GRAPHS[benchmark][2] / triples
