"""Measures how good entities added from a few triples are, compared with trained ones.

Usage: python -m benchmarks.new_entities --dataset=fb15k237 --recipe=strong --work_dir=runs/added

Entities are held out with all their triples, a model is trained without them, and they are added
from k of their training triples each. Their validation and test triples are then ranked among
all entities, filtered by the whole graph: once the other entity is the answer, once the new one.
So are triples without new entities, to which the new ones are additional candidates. The same
triples are ranked by a model that was trained with everything.

One half of the held-out entities serves to compare --target_ranks on their validation triples, the
other half is reported. Trainings that --work_dir holds are not repeated.
"""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from absl import flags

from benchmarks import measure
from datasets.program import import_tensorflow, run_program
from datasets.text_table import table
from quatre_tf.paths import user_path
from trainers.training import presets

if TYPE_CHECKING:
    from quatre_tf.data.graph import Graph
    from quatre_tf.runs.run import Run

_DATASET = flags.DEFINE_string("dataset", "fb15k237", "Name or folder, as for `quatre fit`.")
_MANUAL_DIR = flags.DEFINE_string("manual_dir", None, "Folder with downloaded archives.")
_RECIPE = flags.DEFINE_string("recipe", "paper", "Recipe of both runs.")
_EMBEDDING_DIM = flags.DEFINE_integer("embedding_dim", 64, "Quaternions per embedding.")
_EPOCHS = flags.DEFINE_integer("epochs", None, "Epochs of both runs. Default: the preset's.")
_KS = flags.DEFINE_list("ks", "1,2,4,8,16", "Numbers of triples to add an entity from.")
_TARGET_RANKS = flags.DEFINE_list("target_ranks", "1,3,10,30,100", "Target ranks to compare.")
_NUM_ENTITIES = flags.DEFINE_integer(
    "num_entities", 200, "Entities to report; as many more tune --target_rank."
)
_SEED = flags.DEFINE_integer("seed", 1, "Seed of the choice of entities and triples.")
_WORK_DIR = flags.DEFINE_string("work_dir", None, "Folder of both runs.", required=True)

_ENDS = [0, 2]
# What is ranked: triples of new entities with the other entity or the new one as the answer, and
# triples without new entities.
_COLUMNS = ("other", "new", "old")
_METRICS = ("mrr", "hits@10")
_MAX_OLD_TRIPLES = 5_000
_CHOICE_K = 4


def main() -> None:
    """Trains what is missing, measures and prints."""
    import_tensorflow()
    from datasets import catalog

    ks = [int(k) for k in _KS.value]
    graph = catalog.load(_DATASET.value, manual_dir=_MANUAL_DIR.value)
    held_out = _hold_out(graph, least=max(ks))
    without, trained = _train_both(graph, held_out)
    study = Study(graph, held_out, without)
    to_report, to_choose = np.split(held_out, 2)
    chosen_by = study.of(graph.valid, to_choose)
    choice = {
        int(rank): study.figures(study.add_entities(_CHOICE_K, int(rank)), chosen_by)
        for rank in _TARGET_RANKS.value
    }
    print(f"\nValidation triples of {len(to_choose)} entities, {_CHOICE_K} triples each")
    print(_table("target_rank", choice))
    reported = study.of(np.concatenate([graph.valid, graph.test]), to_report)
    models = {"0": study.mean_rows(), **{str(k): study.add_entities(k) for k in ks}}
    models |= {"all": study.add_entities(None), "trained with": trained}
    rows = {name: study.figures(model, reported) for name, model in models.items()}
    print(f"\nValidation and test triples of {len(to_report)} other entities")
    print(_table("k", rows))
    counts = {"choice": len(chosen_by), "result": len(reported)}
    measure.write_result({"num_triples": counts, "choice": choice, "result": rows})


def _table(title: str, rows: Mapping[Any, Any]) -> str:
    header = [title, *(f"{column} {metric}" for column in _COLUMNS for metric in _METRICS)]
    cells = [
        [str(row), *(f"{figures[column][m]:.3f}" for column in _COLUMNS for m in _METRICS)]
        for row, figures in rows.items()
    ]
    return table([header, *cells])


def _hold_out(graph: "Graph", least: int) -> np.ndarray:
    """Draws the ids of entities that have `least` training triples and at least one to rank."""
    train, ranked = (
        np.bincount(triples[:, _ENDS].ravel(), minlength=graph.num_entities)
        for triples in (graph.train, np.concatenate([graph.valid, graph.test]))
    )
    eligible = np.random.default_rng(_SEED.value).permutation(
        np.flatnonzero((train >= least) & (ranked > 0))
    )
    return eligible[: 2 * min(_NUM_ENTITIES.value, len(eligible) // 2)]


def _train_both(graph: "Graph", held_out: np.ndarray) -> tuple["Run", "Run"]:
    """Returns a model trained without the held-out entities, and one trained with them."""
    from quatre_tf.data.encoding import SPLITS
    from quatre_tf.runs.run import load_run
    from trainers.training.fitting import fit
    from trainers.training.run_directory import RunDirectory, drop_unless_resumable

    given = {"embedding_dim": _EMBEDDING_DIM.value, "epochs": _EPOCHS.value}
    given = {name: value for name, value in given.items() if value is not None}
    config = presets.resolve(_DATASET.value, _RECIPE.value, given)
    work_dir = user_path(_WORK_DIR.value)
    folder = work_dir / "graph_without"
    folder.mkdir(parents=True, exist_ok=True)
    for split in SPLITS:
        triples = graph.split(split)
        kept = triples[~np.isin(triples[:, _ENDS], held_out).any(axis=1)]
        lines = ("\t".join(names) + "\n" for names in _names(graph, kept))
        (folder / f"{split}.txt").write_text("".join(lines), encoding="utf-8")
    runs = {"without": dataclasses.replace(config, dataset=str(folder)), "with": config}
    for name, settings in runs.items():
        run = RunDirectory(work_dir / name)
        if not run.test_metrics_file.exists():
            drop_unless_resumable(run)
            fit(settings, run.path, resume=run.has_run, manual_dir=_MANUAL_DIR.value)
    without, trained_with = (load_run(work_dir / name) for name in runs)
    return without, trained_with


def _names(graph: "Graph", triples: np.ndarray) -> np.ndarray:
    """Returns names `[num_triples, 3]` for ids."""
    heads, relations, tails = triples.T
    entities = graph.entities.names
    return np.stack([entities[heads], graph.relations.names[relations], entities[tails]], axis=1)


class Study:
    """Folds held-out entities into a model and ranks their triples.

    Args:
        graph: The whole graph.
        held_out: Ids of the entities.
        without: The model trained without them, and its graph.
    """

    def __init__(self, graph: "Graph", held_out: np.ndarray, without: "Run"):
        self._graph, self._without = graph, without
        # Entities and relations that occur only together with held-out ones are left out: no model
        # could know them.
        self._known_entities = np.isin(graph.entities.names, without.graph.entities.names)
        self._known_entities[held_out] = True
        self._known_relations = np.isin(graph.relations.names, without.graph.relations.names)
        self._is_new = np.isin(np.arange(graph.num_entities), held_out)
        train = self.of(graph.train, held_out)
        self._train = train[np.random.default_rng(_SEED.value).permutation(len(train))]

    def of(self, triples: np.ndarray, entities: np.ndarray) -> np.ndarray:
        """Returns the triples of one of the entities with one that was not held out."""
        ends = triples[:, _ENDS]
        mixed = self._is_new[ends].sum(axis=1) == 1
        return self._known(triples[mixed & np.isin(ends, entities).any(axis=1)])

    def add_entities(self, k: int | None, target_rank: int | None = None) -> "Run":
        """Returns the model with each entity added from k triples; None: from all."""
        from saved_models.new_entities import TARGET_RANK, add_entities

        names = _names(self._graph, self._given(k))
        return add_entities(self._without, names, target_rank=target_rank or TARGET_RANK)

    def mean_rows(self) -> "Run":
        """Returns the model with the mean row for each entity, as if nothing was known of it."""
        from saved_models.new_entities import extend_graph, extend_model

        names = _names(self._graph, self._given(1))
        mean = self._without.model.entities.embeddings.numpy().mean(axis=0)
        model = extend_model(self._without.model, np.tile(mean, [self._is_new.sum(), 1]))
        graph = extend_graph(self._without.graph, names, "train")
        return dataclasses.replace(self._without, model=model, graph=graph)

    def figures(self, trained: "Run", triples: np.ndarray) -> dict[str, Any]:
        """Returns `{column: {metric: value}}`, filtered by the whole graph."""
        from quatre_tf.metrics import rank_metrics

        old = self._known(np.concatenate([self._graph.valid, self._graph.test]))
        old = old[~self._is_new[old[:, _ENDS]].any(axis=1)]
        old = np.random.default_rng(0).permutation(old)[:_MAX_OLD_TRIPLES]
        heads, tails = self._ranks(trained, np.concatenate([triples, old]))
        new, new_head = slice(len(triples)), self._is_new[triples[:, 0]]
        ranks = (
            np.where(new_head, tails[new], heads[new]),
            np.where(new_head, heads[new], tails[new]),
            np.concatenate([heads[len(triples) :], tails[len(triples) :]]),
        )
        return {c: rank_metrics(values) for c, values in zip(_COLUMNS, ranks, strict=True)}

    def _known(self, triples: np.ndarray) -> np.ndarray:
        known = self._known_entities[triples[:, _ENDS]].all(axis=1)
        return triples[known & self._known_relations[triples[:, 1]]]

    def _given(self, k: int | None) -> np.ndarray:
        """Returns the first k training triples of each held-out entity."""
        heads, _, tails = self._train.T
        entities = np.where(self._is_new[heads], heads, tails)
        order = np.argsort(entities, kind="stable")
        _, starts, counts = np.unique(entities[order], return_index=True, return_counts=True)
        places = np.arange(len(order)) - np.repeat(starts, counts)
        return self._train[order[places < (k or len(order))]]

    def _ranks(self, trained: "Run", triples: np.ndarray) -> list[np.ndarray]:
        """Returns the ranks of heads and of tails."""
        from quatre_tf.ranking.evaluator import Evaluator

        known, ranked = (
            _translate(self._graph, trained.graph, ids)
            for ids in (self._known(self._graph.known), triples)
        )
        graph = dataclasses.replace(trained.graph, train=known, valid=ranked)
        ranks = Evaluator(graph).rank(trained.model, "valid")
        return [ranks.ranks("all", side) for side in ("head", "tail")]


def _translate(graph: "Graph", other: "Graph", triples: np.ndarray) -> np.ndarray:
    """Returns the ids that the triples of one graph have in another."""
    vocabularies = (other.entities, other.relations, other.entities)
    columns = _names(graph, triples).T
    return np.stack([v.ids(c) for v, c in zip(vocabularies, columns, strict=True)], axis=1)


if __name__ == "__main__":
    run_program(main)
