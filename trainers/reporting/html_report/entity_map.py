"""A map of entities: t-SNE of the rows of the entity table, colored by relation."""

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from quatre_tf.data.graph import Graph
from quatre_tf.errors import ConfigError
from trainers.reporting.formatting import shorten
from trainers.reporting.html_report import pictures

MAX_POINTS = 2000
_SEED = 1
_PERPLEXITY = 30.0
# t-SNE places a point by its neighbors, so it needs some.
_MIN_POINTS = 8
# Relations among which a pair is looked for.
_MAX_CANDIDATES = 50
_POINT_STYLE: dict[str, Any] = {"s": 10, "alpha": 0.7, "linewidths": 0.6}


@dataclasses.dataclass(frozen=True)
class EmbeddingMap:
    """Entities in two dimensions.

    Attributes:
        relations: Names of the chosen relations.
        entities: Ids: [points].
        groups: Place of the only chosen relation that an entity occurs in, len(relations) if in
            several: [points].
        positions: [points, 2]; neither axis has a unit or a meaning of its own.
        totals: Entities by group before the draw: [len(relations) + 1].
    """

    relations: tuple[str, ...]
    entities: np.ndarray
    groups: np.ndarray
    positions: np.ndarray
    totals: np.ndarray

    @property
    def group_names(self) -> list[str]:
        """What the groups are called, in full."""
        return [*self.relations, "both" if len(self.relations) == 2 else "several"]


def check_relations(graph: Graph, relations: Sequence[str]) -> None:
    """Raises UnknownNameError or ConfigError unless a map can be made of these relations."""
    graph.relations.ids(relations)
    if len(relations) > len(pictures.PALETTE) or len(set(relations)) < len(relations):
        raise ConfigError(
            f"--relations must be at most {len(pictures.PALETTE)} different relations. "
            f"Received: {', '.join(relations)}."
        )


def choose_relations(graph: Graph) -> tuple[str, ...]:
    """Returns the two relations whose entities are many and least the same.

    Of the most frequent relations the pair is taken whose smaller number of entities of its own is
    the largest: the two most frequent ones often hold the same entities, and a map of these would
    have one color. The only relation of a graph is returned alone.
    """
    counts = np.bincount(graph.known[:, 1], minlength=graph.num_relations)
    frequent = np.argsort(-counts, kind="stable")[:_MAX_CANDIDATES]
    members = _members(graph, frequent).astype(np.float32)
    own = members.sum(axis=1)[:, None] - members @ members.T
    smaller = np.minimum(own, own.T)
    if len(frequent) > 1:
        np.fill_diagonal(smaller, -1)
    pair = np.unravel_index(np.argmax(smaller), smaller.shape)
    ids = frequent[sorted(set(map(int, pair)))]
    return tuple(graph.relations.names[ids])


def make_map(graph: Graph, table: np.ndarray, relations: Sequence[str]) -> EmbeddingMap | None:
    """Lays out the entities that occur in relations, as head or tail, in any split.

    Args:
        graph: The graph.
        table: Rows of the entities, component blocks (r, i, j, k) side by side as in the paper:
            [num_entities, 4 * dim].
        relations: Names of at most as many relations as there are colors.

    Returns:
        The map of at most `MAX_POINTS` entities, drawn alike from each group; None when there are
        too few for one.

    Raises:
        UnknownNameError: A relation is not of the graph.
    """
    members = _members(graph, graph.relations.ids(relations))
    entities, groups = _draw(members)
    if len(entities) < _MIN_POINTS:
        return None
    totals = np.bincount(_groups(members)[members.any(axis=0)], minlength=len(relations) + 1)
    return EmbeddingMap(tuple(relations), entities, groups, _lay_out(table[entities]), totals)


def draw_map(layout: EmbeddingMap, path: pathlib.Path) -> None:
    """Draws a map, each group with its own color and marker."""
    names = [*shorten(layout.relations).values(), layout.group_names[-1]]
    colors = [*pictures.PALETTE[: len(layout.relations)], pictures.NEUTRAL]
    markers = [*pictures.MARKERS[: len(layout.relations)], "x"]
    with pictures.picture(path, height=5.2, width=5.2) as (figure, grid):
        axis, handles, labels = grid[0, 0], [], []
        for group in np.unique(layout.groups):
            points = layout.positions[layout.groups == group]
            mark = {"c": colors[group], "marker": markers[group]}
            handles.append(axis.scatter(*points.T, **mark, **_POINT_STYLE))
            labels.append(f"{pictures.plain(names[group])} ({_count(layout, group)})")
        axis.set_xticks([])
        axis.set_yticks([])
        axis.set_aspect("equal")
        axis.spines[["top", "right"]].set_visible(True)
        axis.set_xlabel("t-SNE, axis 1 (no unit)")
        axis.set_ylabel("t-SNE, axis 2 (no unit)")
        pictures.legend_above(figure, handles, labels)


def map_rows(graph: Graph, layout: EmbeddingMap) -> list[dict[str, Any]]:
    """Returns a row per entity of a map, for the CSV file."""
    names = graph.entities.names[layout.entities]
    return [
        {
            "entity": name,
            "label": graph.labels.get(name, ""),
            "relation": layout.group_names[group],
            "x": float(x),
            "y": float(y),
        }
        for name, group, (x, y) in zip(names, layout.groups, layout.positions, strict=True)
    ]


def _members(graph: Graph, relations: np.ndarray) -> np.ndarray:
    """Tells which entities occur in which of the relations: bool [len(relations), num_entities]."""
    row = np.full(graph.num_relations, -1)
    row[relations] = np.arange(len(relations))
    heads, ids, tails = graph.known[row[graph.known[:, 1]] >= 0].T
    members = np.zeros((len(relations), graph.num_entities), dtype=bool)
    members[row[ids], heads] = members[row[ids], tails] = True
    return members


def _groups(members: np.ndarray) -> np.ndarray:
    return np.where(members.sum(axis=0) > 1, len(members), members.argmax(axis=0))


def _draw(members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns entities and their groups, from each group alike so that a small one shows."""
    rng, groups = np.random.default_rng(_SEED), _groups(members)
    present = members.any(axis=0)
    pools = [np.flatnonzero(present & (groups == group)) for group in range(len(members) + 1)]
    share = MAX_POINTS // max(sum(len(pool) > 0 for pool in pools), 1)
    entities = np.sort(
        np.concatenate([rng.choice(pool, min(share, len(pool)), replace=False) for pool in pools])
    )
    return entities, groups[entities]


def _lay_out(rows: np.ndarray) -> np.ndarray:
    perplexity = min(_PERPLEXITY, (len(rows) - 1) / 3)
    method = TSNE(perplexity=perplexity, init="pca", random_state=_SEED)
    # A few thousand points are too few for threads: where a core is busy with something else, the
    # others wait for it at every one of the thousands of small steps.
    with threadpool_limits(1):
        return method.fit_transform(np.asarray(rows, dtype=np.float32))


def _count(layout: EmbeddingMap, group: int) -> str:
    drawn, total = np.sum(layout.groups == group), layout.totals[group]
    return f"{drawn:,}" if drawn == total else f"{drawn:,} of {total:,}"
