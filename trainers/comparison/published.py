"""Published results of the systems in the paper, printed next to ours."""

from collections.abc import Iterator

from quatre_tf.errors import ConfigError
from quatre_tf.ranking.results import Row

# Nguyen et al., QuatRE, WWW 2022 Companion: Table 1 (wn18, fb15k) and Table 2, test split. MR, MRR,
# and Hits@10, @3 and @1 in percent; "-": not given. Most rows are quoted there from others' papers.
_METRICS = ("mr", "mrr", "hits@10", "hits@3", "hits@1")
_PAPER = {
    "wn18rr": {
        "quatre": "3038 .479 57.1 50.3 42.9",
        "quate": "3472 .481 56.4 50.0 43.6",
        "transe": "3384 .226 50.1 - -",
        "distmult": "5110 .430 49.0 44.0 39.0",
        "complex": "5261 .440 51.0 46.0 41.0",
        "conve": "5277 .460 48.0 43.0 39.0",
        "convkb": "2741 .220 50.8 - -",
        "rotate": "3277 .470 56.5 48.8 42.2",
        "autosf": "- .490 56.7 - 45.1",
        "murp": "- .481 56.6 49.5 44.0",
    },
    "fb15k237": {
        "quatre": "168 .332 52.2 36.7 23.8",
        "quate": "176 .311 49.5 34.2 22.1",
        "transe": "357 .294 46.5 - -",
        "distmult": "254 .241 41.9 26.3 15.5",
        "complex": "339 .247 42.8 27.5 15.8",
        "conve": "246 .316 49.1 35.0 23.9",
        "convkb": "196 .302 48.3 - -",
        "rotate": "185 .297 48.0 32.8 20.5",
        "autosf": "- .360 55.2 - 26.7",
        "murp": "- .335 51.8 36.7 24.3",
    },
    "wn18": {
        "quatre": "249 .936 96.1 95.1 91.9",
        "quate": "388 .949 96.0 95.4 94.1",
        "transe": "- .495 94.3 88.8 11.3",
        "stranse": "206 .657 93.4 - -",
        "distmult": "655 .797 94.6 - -",
        "complex": "- .941 94.7 94.5 93.6",
        "conve": "374 .943 95.6 94.6 93.5",
        "toruse": "- .947 95.4 95.0 94.3",
        "rotate": "184 .947 96.1 95.3 93.8",
    },
    "fb15k": {
        "quatre": "44 .786 88.1 83.0 72.5",
        "quate": "41 .770 87.8 82.1 70.0",
        "transe": "- .463 74.9 57.8 29.7",
        "stranse": "69 .543 79.7 - -",
        "distmult": "42 .798 89.3 - -",
        "complex": "- .692 84.0 75.9 59.9",
        "conve": "51 .657 83.1 72.3 55.8",
        "toruse": "- .733 83.2 77.1 67.4",
        "rotate": "32 .699 87.2 78.8 58.5",
    },
}
# The same tables and Table 4, which rank among the entities of the slot in any split.
_PAPER_CONSTRAINED = {
    "wn18rr": {
        "quatre": "1986 .493 59.2 51.9 43.9",
        "quate": "2314 .488 58.2 50.8 43.8",
        "quatre_head": "- .491 58.9 - -",
        "quatre_tail": "- .491 58.8 - -",
    },
    "fb15k237": {
        "quatre": "88 .367 56.3 40.4 26.9",
        "quate": "87 .348 55.0 38.2 24.8",
        "quatre_head": "- .364 56.0 - -",
        "quatre_tail": "- .364 56.1 - -",
    },
    "wn18": {
        "quatre": "116 .939 96.3 95.3 92.3",
        "quate": "162 .950 95.9 95.4 94.5",
    },
    "fb15k": {
        "quatre": "23 .808 89.6 85.1 75.1",
        "quate": "17 .782 90.0 83.5 71.1",
    },
}
_PAPER_TABLES = {"all": _PAPER, "type_constrained": _PAPER_CONSTRAINED}
# The best test MRR over all entities and with unbiased ties that others report.
_BEST_HONEST = {
    "wn18rr": {
        "transe": (0.233, "KGTuner"),
        "distmult": (0.453, "KGTuner"),
        "complex": (0.484, "KGTuner"),
        "rescal": (0.479, "KGTuner"),
        "conve": (0.442, "LibKGE"),
        "convkb": (0.220, "its authors, run again"),
        "rotate": (0.480, "KGTuner"),
        "autosf": (0.490, "its authors"),
        "murp": (0.481, "its authors"),
        "quate": (0.482, "QuatE with N3 and reciprocal relations"),
    },
    "fb15k237": {
        "transe": (0.327, "KGTuner"),
        "distmult": (0.345, "KGTuner"),
        "complex": (0.352, "KGTuner"),
        "rescal": (0.357, "KGTuner"),
        "conve": (0.339, "LibKGE"),
        "convkb": (0.302, "its authors, run again"),
        "rotate": (0.338, "KGTuner"),
        "autosf": (0.360, "its authors"),
        "murp": (0.335, "its authors"),
        "quate": (0.366, "QuatE with N3 and reciprocal relations"),
    },
}


def paper_models(dataset: str) -> list[str]:
    """Returns the models of the paper's table for a data set, `quatre` first.

    Raises:
        ConfigError: The paper has no table for it.
    """
    if dataset not in _PAPER:
        raise ConfigError(
            f"--models=paper_table is for {', '.join(_PAPER)}. Received: --dataset={dataset}."
        )
    return list(_PAPER[dataset])


def paper_figures(dataset: str, model: str, candidates: str) -> dict[str, float]:
    """Returns the paper's figures of a model by metric, those that it gives; hits are fractions."""
    cells = _PAPER_TABLES.get(candidates, {}).get(dataset, {}).get(model, "").split()
    return {
        metric: float(cell) / (100 if metric.startswith("hits") else 1)
        for metric, cell in zip(_METRICS, cells, strict=bool(cells))
        if cell != "-"
    }


def published_rows(dataset: str, model: str, like: Row) -> Iterator[Row]:
    """Yields what is published about a model on a data set: the paper's figures, then the best.

    They are rows of the runs "MODEL, SOURCE"; the source is "paper", or who reports the best.

    Args:
        dataset: The data set.
        model: The model.
        like: A row of the same split.
    """
    place = (like.split, like.tie_policy, "all", "both", like.num_triples)
    row = Row(*place, metric="mrr", value=0.0, run=f"{model}, paper")
    for candidates in _PAPER_TABLES:
        for metric, value in paper_figures(dataset, model, candidates).items():
            yield row._replace(candidates=candidates, metric=metric, value=value)
    if model in _BEST_HONEST.get(dataset, {}):
        value, source = _BEST_HONEST[dataset][model]
        yield row._replace(value=value, run=f"{model}, {source}")
