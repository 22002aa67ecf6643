"""A finished run: its graph, its best model, and methods to query them.

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
from collections.abc import Sequence
from typing import Any

import numpy as np

from quatre_tf.calibration.answer_probabilities import AnswerProbabilities
from quatre_tf.data.candidate_sets import CANDIDATE_SETS
from quatre_tf.data.graph import Graph
from quatre_tf.errors import DataError
from quatre_tf.model import KGEModel
from quatre_tf.paths import CONFIG, GRAPH, check_regular, user_path
from quatre_tf.ranking.cosines import Cosines
from quatre_tf.ranking.evaluator import Evaluator
from quatre_tf.ranking.results import Results
from quatre_tf.records import Answer, Neighbor, RankedTriple, RecordLists, Records
from quatre_tf.runs.answering import Answerer
from quatre_tf.runs.best_model import load_model, save_best
from quatre_tf.runs.entity_index import EntityIndex
from quatre_tf.runs.programs import run_program
from quatre_tf.runs.questions import Names, ids_or_all, question_ids, triple_ids
from quatre_tf.validation import check_choice, check_positive

# Questions answered at once: more of them are answered no faster.
_BATCH = 256


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A trained model and its graph.

    Questions are asked by names or labels, whatever their case and accents. The first call of each
    kind takes seconds, because the known triples are indexed and TensorFlow compiles it; later ones
    take milliseconds. The embeddings are read once: if the model changes, make a new run of it,
    `Run(run.model, run.graph, run.run_dir)`.

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
            check_regular(path)
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise DataError(f"Cannot read the settings {path}: {error}.") from error

    def predict(
        self,
        head: Names | None = None,
        relation: Names | None = None,
        tail: Names | None = None,
        *,
        top_k: int = 10,
        filtered: bool = True,
        probabilities: bool = False,
        index: EntityIndex | None = None,
    ) -> Records[Answer] | RecordLists[Answer]:
        """Returns the best answers to a question, best first; for several, a list of such lists.

        Args:
            head: Name, or sequence of names.
            relation: Name, or sequence of names.
            tail: Name, or sequence of names.
            top_k: How many answers at most.
            filtered: Whether known facts of all three splits are left out.
            probabilities: Whether answers have the probability that they are true among all
                entities. The first call fits it on the validation split.
            index: Of `build_index`: answers are found by it, and some may be missed.

        Raises:
            DataError: Not exactly one of `head` and `tail` is given, or no `relation`; or
                probabilities are wanted and there are no validation triples; or an index is given
                and the scores of the model are no inner products.
            UnknownNameError: A name is not in the graph; the message suggests similar ones.
            ValueError: `top_k` is not a positive integer.
        """
        check_positive("top_k", top_k)
        side, triples, is_single = question_ids(self.graph, head, relation, tail)
        answers: RecordLists[Answer] = RecordLists()
        for start in range(0, len(triples), _BATCH):
            batch = triples[start : start + _BATCH]
            if index is None:
                scores, ids = self._answerer.best(side, batch, top_k, filtered)
            else:
                scores, ids = self._answerer.best_of_index(index, side, batch, top_k, filtered)
            chances = np.full(scores.shape, None)
            if probabilities:
                chances = self._probabilities.of_rows(side, batch[:, 1], scores)
            answers += (self._answers(*row) for row in zip(scores, ids, chances, strict=True))
        return answers[0] if is_single else answers

    def score(self, triples: Any) -> np.ndarray:
        """Returns the scores `[n]` float32 of triples; higher is more plausible.

        Args:
            triples: `[n, 3]` names of head, relation and tail: a sequence of tuples, or an array.

        Raises:
            DataError: They are not triples of names.
            UnknownNameError: A name is not in the graph.
        """
        return self._answerer.scores(triple_ids(self.graph, triples)).numpy()

    def rank(self, triples: Any) -> Records[RankedTriple]:
        """Returns the filtered ranks of the heads and tails of triples among all entities.

        The other known answers of all splits do not compete. The triple need not be known.

        Args:
            triples: As for `score`.

        Raises:
            DataError: As for `score`.
            UnknownNameError: As for `score`.
        """
        ids = triple_ids(self.graph, triples)
        ranks = {side: self._answerer.ranks(side, ids) for side in ("head", "tail")}
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
        return np.array(
            np.asarray(self._answerer.table.rows)[ids_or_all(self.graph.entity_lookup, names)]
        )

    def relation_embeddings(self, names: Names | None = None) -> dict[str, np.ndarray]:
        """Returns copies of the rows of relations, by the name of the score function's table.

        The rows of inverse relations, which a reciprocal model has, are in `model.tables()`.

        Args:
            names: As for `embeddings`; None: all relations.

        Raises:
            UnknownNameError: A name is not in the graph.
        """
        function, ids = self.model.score_function, ids_or_all(self.graph.relation_lookup, names)
        return {
            name: np.array(
                function.tables[name].numpy().reshape(-1, *shape)[: self.graph.num_relations][ids]
            )
            for name, shape in function.relation_tables().items()
        }

    def query(
        self, head: Names | None = None, relation: Names | None = None, tail: Names | None = None
    ) -> np.ndarray:
        """Returns the query of a question, `[width]`, or of several, `[n, width]`.

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
        side, triples, is_single = question_ids(self.graph, head, relation, tail)
        queries = self._answerer.queries(side, triples)
        return queries[0] if is_single else queries

    def build_index(self, num_probes: int = 64) -> EntityIndex:
        """Returns an index for `predict`; docs/large_graphs.md has measurements.

        Args:
            num_probes: As for `EntityIndex`.

        Raises:
            DataError: Faiss is not installed.
            ValueError: `num_probes` is not a positive integer.
        """
        return EntityIndex(np.asarray(self._answerer.table.rows), num_probes)

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
        (entity,), names = self.graph.entity_lookup.ids([name]), self.graph.entities.names
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

    def save(self) -> None:
        """Writes the graph and the model to `run_dir`, for `load_run`, replacing any that exist.

        Raises:
            OSError: The folder cannot be written.
        """
        self.graph.save(self.run_dir / GRAPH)
        save_best(self.model, self.run_dir)

    def export(self, path: str | os.PathLike, version: int | None = None) -> pathlib.Path:
        """Exports the saved run for TensorFlow Serving, like `quatre export`.

        Args:
            path: Folder of the served model; each export is a version in it.
            version: Number of the version; None: one more than the highest.

        Returns:
            The folder of the new version.

        Raises:
            DataError: The version exists, or the folder cannot be written.
        """
        flags = {"run_dir": self.run_dir, "output": path, "version": version}
        printed = run_program("export", flags)
        exported = next(line for line in printed if line.startswith("Exported "))
        return pathlib.Path(exported.removeprefix("Exported "))

    @functools.cached_property
    def _answerer(self) -> Answerer:
        return Answerer(self.model, self.graph)

    @functools.cached_property
    def _cosines(self) -> Cosines:
        return Cosines(np.asarray(self._answerer.table.rows))

    @functools.cached_property
    def _probabilities(self) -> AnswerProbabilities:
        return AnswerProbabilities(self.model, self.graph)

    def _answers(
        self, scores: np.ndarray, ids: np.ndarray, probabilities: np.ndarray
    ) -> Records[Answer]:
        # Candidates may run out before `top_k`.
        found = scores > -np.inf
        columns = (
            self.graph.entities.names[ids[found]],
            *(column[found].tolist() for column in (scores, probabilities)),
        )
        return Records(
            Answer(name, score, self.graph.labels.get(name), probability)
            for name, score, probability in zip(*columns, strict=True)
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
