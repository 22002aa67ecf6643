"""Holds out entities, folds them in, and ranks their triples; see `benchmarks.fold_in`."""

import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from datasets import text_table
from quatre_tf.data.encoding import SPLITS
from quatre_tf.data.graph import Graph
from quatre_tf.metrics import rank_metrics
from quatre_tf.ranking.evaluator import Evaluator
from quatre_tf.run import Trained, load_trained
from saved_models.folding import TARGET_RANK, extend_model, fold_in
from saved_models.new_triples import extend_graph
from trainers.training.config import TrainConfig
from trainers.training.fitting import fit

_ENDS = [0, 2]
_QUESTIONS = {
    "other": "the other entity is asked for",
    "new": "the new entity is asked for",
    "old": "triples without new entities",
}
_MAX_OLD_TRIPLES = 5_000


def hold_out(graph: Graph, num_entities: int, least: int, seed: int) -> np.ndarray:
    """Draws twice `num_entities` entities with `least` train triples and one to rank: their ids."""
    train, ranked = (
        np.bincount(triples[:, _ENDS].ravel(), minlength=graph.num_entities)
        for triples in (graph.train, np.concatenate([graph.valid, graph.test]))
    )
    eligible = np.flatnonzero((train >= least) & (ranked > 0))
    return np.random.default_rng(seed).permutation(eligible)[: 2 * num_entities]


def train_both(
    config: TrainConfig,
    graph: Graph,
    held_out: np.ndarray,
    work_dir: pathlib.Path,
    manual_dir: str | None,
) -> tuple[Trained, Trained]:
    """Returns a model trained without the held out entities, and one trained with them."""
    folder = work_dir / "graph_without"
    folder.mkdir(parents=True, exist_ok=True)
    for split in SPLITS:
        triples = graph.split(split)
        kept = triples[~np.isin(triples[:, _ENDS], held_out).any(axis=1)]
        lines = ("\t".join(names) + "\n" for names in as_names(graph, kept))
        (folder / f"{split}.txt").write_text("".join(lines), encoding="utf-8")
    runs = {"without": dataclasses.replace(config, dataset=str(folder)), "with": config}
    for name, settings in runs.items():
        if not (work_dir / name / "test_metrics.json").exists():
            fit(settings, work_dir / name, manual_dir=manual_dir)
    without, trained_with = (load_trained(work_dir / name) for name in runs)
    return without, trained_with


def as_names(graph: Graph, triples: np.ndarray) -> np.ndarray:
    """Returns names `[num_triples, 3]` for ids."""
    heads, relations, tails = triples.T
    entities = graph.entities.names
    return np.stack([entities[heads], graph.relations.names[relations], entities[tails]], axis=1)


class Study:
    """Folds held out entities into a model and ranks their triples.

    Args:
        graph: The whole graph.
        held_out: Ids of entities: the first half is to report, the second to choose by.
        without: The model trained without them, and its graph.
        seed: Of the order in which an entity's triples are given.
    """

    def __init__(self, graph: Graph, held_out: np.ndarray, without: Trained, seed: int):
        self._graph, self._without = graph, without
        # What has to do with entities or relations that occurred with held out ones only is left
        # out: no model could know them.
        known = np.isin(graph.entities.names, without.graph.entities.names)
        known[held_out] = True
        self._known_relations = np.isin(graph.relations.names, without.graph.relations.names)
        self._known_entities = known
        self._is_new = np.isin(np.arange(graph.num_entities), held_out)
        half = len(held_out) // 2
        self._to_report, self._to_choose = held_out[:half], held_out[half:]
        train = self._of(graph.train, held_out)
        self._train = train[np.random.default_rng(seed).permutation(len(train))]

    @property
    def num_triples(self) -> dict[str, int]:
        """How many triples of new entities the choice and the report rank."""
        return {
            "choice": len(self._of(self._graph.valid, self._to_choose)),
            "result": len(self._of(self._ranked, self._to_report)),
        }

    def choice(self, k: int, target_rank: int) -> dict[str, Any]:
        """Returns the figures of the validation triples of the second half."""
        triples = self._of(self._graph.valid, self._to_choose)
        return self._figures(self._fold(k, target_rank), triples)

    def report(self, k: int | None) -> dict[str, Any]:
        """Returns the figures of the first half, each entity from k triples; None: from all."""
        return self._figures(self._fold(k, TARGET_RANK), self._of(self._ranked, self._to_report))

    def baseline(self) -> dict[str, Any]:
        """Returns the figures of entities of which nothing is known: the mean row for each."""
        graph = extend_graph(self._without.graph, as_names(self._graph, self._given(1)), "train")
        mean = self._without.model.entities.embeddings.numpy().mean(axis=0)
        model = extend_model(self._without.model, np.tile(mean, [self._is_new.sum(), 1]))
        folded = Trained(model, graph, self._without.run_dir)
        return self._figures(folded, self._of(self._ranked, self._to_report))

    def trained_with(self, trained: Trained) -> dict[str, Any]:
        """Returns the figures of the first half for a model that was trained with it."""
        return self._figures(trained, self._of(self._ranked, self._to_report))

    @property
    def _ranked(self) -> np.ndarray:
        return np.concatenate([self._graph.valid, self._graph.test])

    def _of(self, triples: np.ndarray, entities: np.ndarray) -> np.ndarray:
        """Returns the triples that one of the entities has with one that was not held out."""
        ends = triples[:, _ENDS]
        mixed = self._is_new[ends].sum(axis=1) == 1
        return self._known(triples[mixed & np.isin(ends, entities).any(axis=1)])

    def _known(self, triples: np.ndarray) -> np.ndarray:
        known = self._known_entities[triples[:, _ENDS]].all(axis=1)
        return triples[known & self._known_relations[triples[:, 1]]]

    def _given(self, k: int | None) -> np.ndarray:
        """Returns the first k train triples of each held out entity."""
        heads, _, tails = self._train.T
        newcomers = np.where(self._is_new[heads], heads, tails)
        order = np.argsort(newcomers, kind="stable")
        _, starts, counts = np.unique(newcomers[order], return_index=True, return_counts=True)
        places = np.arange(len(order)) - np.repeat(starts, counts)
        return self._train[order[places < (k or len(order))]]

    def _fold(self, k: int | None, target_rank: int) -> Trained:
        names = as_names(self._graph, self._given(k))
        return fold_in(self._without, names, target_rank=target_rank)

    def _figures(self, trained: Trained, triples: np.ndarray) -> dict[str, Any]:
        """Returns `{question: {metric: value}}`, filtered by the whole graph."""
        old = self._known(self._ranked)
        old = old[~self._is_new[old[:, _ENDS]].any(axis=1)]
        old = np.random.default_rng(0).permutation(old)[:_MAX_OLD_TRIPLES]
        heads, tails = self._ranks(trained, np.concatenate([triples, old]))
        new, new_head = slice(len(triples)), self._is_new[triples[:, 0]]
        ranks = {
            "other": np.where(new_head, tails[new], heads[new]),
            "new": np.where(new_head, heads[new], tails[new]),
            "old": np.concatenate([heads[len(triples) :], tails[len(triples) :]]),
        }
        return {question: rank_metrics(values) for question, values in ranks.items()}

    def _ranks(self, trained: Trained, triples: np.ndarray) -> list[np.ndarray]:
        """Returns the ranks of heads and of tails; `valid` holds what to rank."""
        known = _translate(self._graph, trained.graph, self._known(self._graph.known))
        ranked = _translate(self._graph, trained.graph, triples)
        graph = dataclasses.replace(trained.graph, train=known, valid=ranked)
        ranks = Evaluator(graph).rank(trained.model, "valid")
        return [ranks.ranks("all", side) for side in ("head", "tail")]


def _translate(graph: Graph, other: Graph, triples: np.ndarray) -> np.ndarray:
    """Returns the ids that triples of one graph have in another."""
    vocabularies = (other.entities, other.relations, other.entities)
    columns = as_names(graph, triples).T
    return np.stack([v.ids(c) for v, c in zip(vocabularies, columns, strict=True)], axis=1)


def table(rows: Mapping[Any, Any], title: str) -> str:
    """Returns MRR and Hits@10 by question as text."""
    names = ("mrr", "hits@10")
    header = [title, *(f"{question} {name}" for question in _QUESTIONS for name in names)]
    cells = [
        [str(row), *(f"{figures[q][n]:.3f}" for q in _QUESTIONS for n in names)]
        for row, figures in rows.items()
    ]
    return text_table.table([header, *cells])
