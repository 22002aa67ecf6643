"""A finished run: its graph, its best model, and what can be asked of them.

    run_dir/config.json        the settings
    run_dir/graph/             names and triples (`quatre_tf.data.graph.Graph.save`)
    run_dir/best/model.keras   the model with the weights that validated best

Nothing else is read, so a run answers alike after its data set was moved or deleted.
"""

import dataclasses
import functools
import json
import os
import pathlib
import zipfile
from collections.abc import Sequence
from typing import Any, TypeAlias

import keras
import numpy as np
import tensorflow as tf

from quatre_tf.data.candidate_sets import CANDIDATE_SETS
from quatre_tf.data.graph import Graph
from quatre_tf.data.vocabulary import Vocabulary
from quatre_tf.errors import DataError
from quatre_tf.model import KGEModel
from quatre_tf.paths import user_path
from quatre_tf.ranking.cosines import Cosines
from quatre_tf.ranking.counting import ranks_from_counts
from quatre_tf.ranking.entity_lists import Tile, mask_members
from quatre_tf.ranking.evaluator import Evaluator
from quatre_tf.ranking.results import Results
from quatre_tf.ranking.sides import RankingSide
from quatre_tf.ranking.tile_runner import TileRunner
from quatre_tf.ranking.tiles import CandidateTable, top_k
from quatre_tf.records import Answer, Neighbor, RankedTriple, Records
from quatre_tf.validation import check_choice, check_finite, check_positive

CONFIG = "config.json"
GRAPH = "graph"
BEST_MODEL = pathlib.PurePath("best", "model.keras")

# A name, or one for each question.
Names: TypeAlias = str | Sequence[str]

_MEMBERS = {"config.json", "metadata.json", "model.weights.h5"}
# Where version 1 had its models, as their files say.
_VERSION_1 = "quatre_tf.models."
# Questions answered at once: more of them are answered no faster.
_BATCH = 256
_TRIPLES = tf.TensorSpec([None, 3], tf.int32)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A trained model and its graph.

    Questions are asked by names. The first call of each kind takes seconds, because the known
    triples are indexed and TensorFlow compiles it; later ones take milliseconds.

    A question is `head` and `relation`, which asks for tails, or `relation` and `tail`, which asks
    for heads. For several questions, give sequences of names; a single name among them belongs to
    all questions.

    Attributes:
        model: The model.
        graph: The graph that it was trained on.
        run_dir: The folder of the run.

    Example:
        run = quatre_tf.load_run("runs/countries")
        run.predict("Egypt", "official_language", top_k=3)
        run.predict(relation="official_language", tail="Arabic").to_pandas()
    """

    model: KGEModel
    graph: Graph
    run_dir: pathlib.Path

    def __repr__(self) -> str:
        return f"Run({str(self.run_dir)!r})"

    @functools.cached_property
    def config(self) -> dict[str, Any]:
        """The settings of the run, as in config.json.

        Raises:
            DataError: The file is missing or damaged.
        """
        path = self.run_dir / CONFIG
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(f"Cannot read the settings {path}: {error}.") from error

    def predict(
        self,
        head: Names | None = None,
        relation: Names | None = None,
        tail: Names | None = None,
        *,
        top_k: int = 10,
        filtered: bool = True,
    ) -> Records[Answer] | list[Records[Answer]]:
        """Returns the best answers to a question, best first; a list of them for several.

        Args:
            head: Name, or sequence of names.
            relation: Name, or sequence of names.
            tail: Name, or sequence of names.
            top_k: How many answers at most.
            filtered: Whether known facts of all three splits are left out.

        Raises:
            DataError: Not exactly one of `head` and `tail` is given, or no `relation`.
            UnknownNameError: A name is not in the graph; the message suggests similar ones.
            ValueError: `top_k` is not a positive integer.
        """
        check_positive("top_k", top_k)
        side, triples, is_single = self._questions(head, relation, tail)
        answers: list[Records[Answer]] = []
        for start in range(0, len(triples), _BATCH):
            found = self._best(side, triples[start : start + _BATCH], top_k, filtered)
            answers += (self._answers(*row) for row in zip(*found, strict=True))
        return answers[0] if is_single else answers

    def score(self, triples: Any) -> np.ndarray:
        """Returns the scores `[n]` float32 of triples; higher is more plausible.

        Args:
            triples: `[n, 3]` names of head, relation and tail: a sequence of tuples, or an array.

        Raises:
            DataError: They are not triples of names.
            UnknownNameError: A name is not in the graph.
        """
        return self._scores(self._triple_ids(triples)).numpy()

    def rank(self, triples: Any) -> Records[RankedTriple]:
        """Returns the filtered ranks of the heads and tails of triples among all entities.

        The other known answers of all splits do not compete. The triple need not be known.

        Args:
            triples: As for `score`.

        Raises:
            DataError: As for `score`.
            UnknownNameError: As for `score`.
        """
        ids = self._triple_ids(triples)
        ranks = {}
        for name, side in self._sides.items():
            (better,), (equal,) = self._runner.run(self._table, side, ids)
            ranks[name] = ranks_from_counts(better, equal).numpy().tolist()
        entities, relations = self.graph.entities.names, self.graph.relations.names
        columns = entities[ids[:, 0]], relations[ids[:, 1]], entities[ids[:, 2]]
        rows = zip(*columns, ranks["head"], ranks["tail"], strict=True)
        return Records(RankedTriple(*row) for row in rows)

    def embeddings(self, names: Names | None = None) -> np.ndarray:
        """Returns a copy of entity embeddings, float32 in C order.

        Args:
            names: Names `[n]` give rows `[n, width]`, a single name `[width]`; None: all entities,
                in the order of `graph.entities.names`.

        Raises:
            UnknownNameError: A name is not in the graph.
        """
        return np.array(np.asarray(self._table.rows)[_ids(self.graph.entities, names)])

    def relation_embeddings(self, names: Names | None = None) -> dict[str, np.ndarray]:
        """Returns copies of the rows of relations, by the name of the score function's table.

        The rows of inverse relations, which a reciprocal model has, are in `model.tables()`.

        Args:
            names: As for `embeddings`; None: all relations.

        Raises:
            UnknownNameError: A name is not in the graph.
        """
        function, ids = self.model.score_function, _ids(self.graph.relations, names)
        return {
            name: np.array(
                function.tables[name].numpy().reshape(-1, *shape)[: self.graph.num_relations][ids]
            )
            for name, shape in function.relation_tables().items()
        }

    def query(
        self, head: Names | None = None, relation: Names | None = None, tail: Names | None = None
    ) -> np.ndarray:
        """Returns the query of a question, `[width]`, or `[n, width]` of several.

        If `model.score_function.similarity.linear`, the score of an answer is the dot product of
        the query and the answer's embedding: an index of `embeddings()` by inner product, such as
        Faiss has, finds the best answers.

        Args:
            head: As for `predict`.
            relation: As for `predict`.
            tail: As for `predict`.

        Raises:
            DataError: As for `predict`.
            UnknownNameError: As for `predict`.
        """
        side, triples, is_single = self._questions(head, relation, tail)
        queries = self._runner.queries(side, tf.constant(triples)).numpy()
        return queries[0] if is_single else queries

    def neighbors(self, name: str, top_k: int = 10) -> Records[Neighbor]:
        """Returns the other entities with the most similar embeddings, by cosine, best first.

        A row of zeros has the cosine 0 with every other.

        Args:
            name: The entity.
            top_k: How many.

        Raises:
            UnknownNameError: The name is not in the graph.
            ValueError: `top_k` is not a positive integer.
        """
        check_positive("top_k", top_k)
        entity, names = self.graph.entities.id(name), self.graph.entities.names
        # One more, as the entity itself is among them.
        (cosines,), (ids,) = self._cosines.nearest(np.array([entity]), top_k + 1)
        others = [pair for pair in zip(ids, cosines.tolist(), strict=True) if pair[0] != entity]
        return Records(
            Neighbor(names[id_], cosine, self.graph.labels.get(names[id_]))
            for id_, cosine in others[:top_k]
        )

    def evaluate(self, split: str = "test", candidates: Sequence[str] = ("all",)) -> Results:
        """Returns the filtered ranking metrics of a split.

        Args:
            split: `"train"`, `"valid"` or `"test"`.
            candidates: Candidate sets (`quatre_tf.data.candidate_sets.CANDIDATE_SETS`).

        Raises:
            DataError: The split is unknown.
            TrainingError: A score is NaN or infinite, or all scores are equal.
            ValueError: A candidate set is unknown.
        """
        for name in candidates:
            check_choice("candidates", name, CANDIDATE_SETS)
        return Evaluator(self.graph, candidates=candidates).evaluate(self.model, split)

    @functools.cached_property
    def _runner(self) -> TileRunner:
        return TileRunner(self.model, tf.distribute.get_strategy())

    @functools.cached_property
    def _table(self) -> CandidateTable:
        """The entity table, read once."""
        table = self._runner.read_table()
        check_finite("entities", np.asarray(table.rows))
        check_finite("relations", self.model.score_function.folded().numpy())
        return table

    @functools.cached_property
    def _sides(self) -> dict[str, RankingSide]:
        """The known triples, indexed once."""
        return {side: RankingSide.build(self.graph, side, ("all",)) for side in ("head", "tail")}

    @functools.cached_property
    def _known_keys(self) -> dict[str, tf.Tensor]:
        return {name: tf.constant(side.known.list_keys) for name, side in self._sides.items()}

    @functools.cached_property
    def _cosines(self) -> Cosines:
        return Cosines(np.asarray(self._table.rows))

    def _questions(
        self, head: Names | None, relation: Names | None, tail: Names | None
    ) -> tuple[str, np.ndarray, bool]:
        """Returns the side to predict, triples `[n, 3]`, and whether it is a single question.

        The ids on the side to predict mean nothing.
        """
        if relation is None or (head is None) == (tail is None):
            names = {"head": head, "relation": relation, "tail": tail}
            given = " and ".join(name for name, value in names.items() if value is not None)
            raise DataError(
                "Expected `relation` and exactly one of `head` and `tail`. "
                f"Received: {given or 'none of them'}."
            )
        side, entity = ("tail", head) if tail is None else ("head", tail)
        columns = [np.asarray(names, object) for names in (entity, relation)]
        try:
            entities, relations = np.broadcast_arrays(*map(np.atleast_1d, columns))
        except ValueError as error:
            raise DataError(
                "Expected as many relations as entities, or a single one. "
                f"Received: {columns[0].size} entities, {columns[1].size} relations."
            ) from error
        ids = self.graph.entities.ids(entities.tolist())
        triples = np.stack([ids, self.graph.relations.ids(relations.tolist()), ids], axis=1)
        return side, triples, not any(column.ndim for column in columns)

    def _triple_ids(self, triples: Any) -> np.ndarray:
        """Returns ids `[n, 3]` int32 of triples of names."""
        names = np.asarray(triples, object)
        if not names.size:
            names = names.reshape(0, 3)
        if names.ndim != 2 or names.shape[1] != 3:
            raise DataError(
                "Expected triples [n, 3] of names: head, relation, tail. "
                f"Received: {list(names.shape)}."
            )
        heads, relations, tails = names.T.tolist()
        ids = self.graph.entities.ids(heads), self.graph.relations.ids(relations)
        return np.stack([*ids, self.graph.entities.ids(tails)], axis=1)

    def _best(
        self, side: str, triples: np.ndarray, k: int, filtered: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns scores and ids, both `[n, min(k, num_entities)]`, best first."""
        known = self._sides[side].known_lists(triples)
        rows, keys = self._table.rows, self._known_keys[side]
        tensors = (
            *(rows, keys, tf.constant(triples)),
            tf.constant(known if filtered else np.full_like(known, -1)),
            tf.constant(min(k, self.graph.num_entities)),
        )
        # For any number of questions, so that each side is compiled once.
        specs = (
            *(tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in (rows, keys)),
            *(_TRIPLES, tf.TensorSpec([None], tf.int64), tf.TensorSpec([], tf.int32)),
        )
        scores, ids = self._find_best.get_concrete_function(side, *specs)(*tensors)
        return scores.numpy(), ids.numpy()

    @tf.function
    def _find_best(
        self,
        side: str,
        rows: tf.Tensor,
        known_keys: tf.Tensor,
        triples: tf.Tensor,
        known_lists: tf.Tensor,
        k: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        def mask_known(scores: tf.Tensor, tile: Tile) -> tf.Tensor:
            return mask_members(scores, known_keys, known_lists, tile)

        similarity = self.model.score_function.similarity
        return top_k(similarity, rows, self._runner.queries(side, triples), k, mask_known)

    @tf.function(input_signature=[_TRIPLES])
    def _scores(self, triples: tf.Tensor) -> tf.Tensor:
        return self.model.score_triples(*tf.unstack(triples, axis=1))

    def _answers(self, scores: np.ndarray, ids: np.ndarray) -> Records[Answer]:
        # Candidates may run out before `top_k`.
        found = scores > -np.inf
        names = self.graph.entities.names[ids[found]]
        return Records(
            Answer(name, score, self.graph.labels.get(name))
            for name, score in zip(names, scores[found].tolist(), strict=True)
        )


def _ids(vocabulary: Vocabulary, names: Names | None) -> Any:
    """Returns what selects the rows of names: all of them, one, or ids `[n]`."""
    if names is None:
        return slice(None)
    return vocabulary.id(names) if isinstance(names, str) else vocabulary.ids(names)


def save_best(model: KGEModel, run_dir: pathlib.Path) -> None:
    """Replaces the best model of a run; the one before stays until the new one is complete."""
    path = run_dir / BEST_MODEL
    path.parent.mkdir(exist_ok=True)
    partial = path.with_name("partial.keras")
    try:
        model.save(partial)
        os.replace(partial, path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def load_model(run_dir: pathlib.Path) -> KGEModel:
    """Returns the best model of a run; DataError when there is none or it cannot be read."""
    path = run_dir / BEST_MODEL
    if not path.is_file():
        raise DataError(
            f"{run_dir} holds no trained model: {path} is missing. "
            "Expected a run of `quatre fit` that has validated at least once."
        )
    try:
        _check_members(path)
        model = keras.models.load_model(path, compile=False)
    except DataError:
        raise
    # What a damaged file makes of zipfile, h5py, Keras and TensorFlow is a list without an end.
    except Exception as error:
        reason = " ".join(str(error).split())
        raise DataError(
            f"Cannot read the model {path}: {reason} Expected what `quatre fit` saved: restore it,"
            " or train again."
        ) from error
    if not isinstance(model, KGEModel):
        raise DataError(f"{path}: expected a KGEModel, received a {type(model).__name__}.")
    return model


def _check_members(path: pathlib.Path) -> None:
    """Expects the files of a saved model, not compressed: what fits into the file fits in memory.

    Raises:
        ValueError: The archive holds something else.
        DataError: It is of version 1.
    """
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        unknown = {member.filename for member in members} - _MEMBERS
        if unknown:
            raise ValueError(f"It holds {min(unknown)!r} beside {', '.join(sorted(_MEMBERS))}.")
        if sum(member.file_size for member in members) > path.stat().st_size:
            raise ValueError("It unpacks to more than its size.")
        config = json.loads(archive.read("config.json"))
    if str(config.get("module")).startswith(_VERSION_1):
        raise DataError(
            f"The model {path} was saved by version 1, whose weights have another layout. "
            "Train again."
        )


def load_run(run_dir: str | os.PathLike) -> Run:
    """Reads the graph and the best model of a run.

    Raises:
        DataError: The folder is not a run, or model and graph do not belong together.
    """
    run_dir = user_path(run_dir)
    if not run_dir.is_dir():
        raise DataError(f"There is no run directory {run_dir}.")
    model = load_model(run_dir)
    graph = Graph.load(run_dir / GRAPH)
    sizes = (model.num_entities, model.num_relations)
    if sizes != (graph.num_entities, graph.num_relations):
        raise DataError(
            f"The model of {run_dir} has {sizes[0]} entities and {sizes[1]} relations, its graph "
            f"{graph.num_entities} and {graph.num_relations}: they are of different runs."
        )
    return Run(model, graph, run_dir)
