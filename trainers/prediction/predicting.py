"""Answers to questions (head, relation, ?) and (?, relation, tail) by a trained model."""

import copy
import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from quatre_tf.calibration.answer_probabilities import AnswerProbabilities
from quatre_tf.calibration.platt import probabilities_of
from quatre_tf.data.encoding import SPLITS
from quatre_tf.runs.answering import Answerer
from quatre_tf.runs.run import Run
from saved_models.calibrating import calibration_of
from trainers.prediction.explaining import Explainer, named_ends
from trainers.prediction.missing_facts import missing_facts
from trainers.prediction.questions import Question

# Questions asked at once: from here on more of them are answered no faster. Fewer where that would
# be more answers than memory should hold.
_BATCH = 256
_BATCH_ANSWERS = 1 << 18
# By name: what a probability means, for people.
PROBABILITIES = {
    "even_odds": "probability: of a true triple against one corrupted at random, at even odds",
    "answer": "probability: that it is an answer among all {:,} entities, from how often answers "
    "of the validation split had such scores (docs/calibration.md)",
}


_OTHER = "; --probability=answer is among all candidates (docs/calibration.md)"
_LEFT_OUT = "Known facts are left out; --include_known shows them."


@dataclasses.dataclass(frozen=True)
class Options:
    """What to answer.

    Attributes:
        top_k: How many answers to a question at most.
        include_known: Whether the facts of the three splits are among them.
        candidates: `"all"` entities, or those `"seen"` in train in this place of the relation.
        explain: How many known facts to show for each answer (`Explainer`).
        probability: One of `PROBABILITIES`.
    """

    top_k: int = 10
    include_known: bool = False
    candidates: str = "all"
    explain: int = 0
    probability: str = "even_odds"

    def note(self, calibrated: bool, num_entities: int | None) -> str:
        """Returns what people should know about the answers.

        Args:
            calibrated: Whether the answers have probabilities.
            num_entities: Of a run; None for an exported model, which has one kind of probability.
        """
        notes = [PROBABILITIES[self.probability].format(num_entities)] if calibrated else []
        if notes and self.probability == "even_odds" and num_entities:
            notes = [f"{notes[0]}{_OTHER}"]
        return "\n".join(notes if self.include_known else [*notes, _LEFT_OUT])


class Predictor:
    """Answers the questions of the programs.

    Args:
        trained: The run.
        options: What to answer.

    Attributes:
        graph: That of the run.
        options: What is answered.
        calibrated: Whether answers have probabilities; if not, standard error has said why.

    Raises:
        DataError: The model holds NaN or infinite values.
    """

    def __init__(self, trained: Run, options: Options):
        self._model, self.graph, self.options = trained.model, trained.graph, options
        self._answerer = Answerer(trained.model, trained.graph)
        self._curves = self._of_answers = None
        if options.probability == "answer":
            self._of_answers = AnswerProbabilities(trained.model, trained.graph)
        else:
            self._curves = calibration_of(trained)
        self.calibrated = self._curves is not None or self._of_answers is not None
        self._explainer = Explainer(trained.model, trained.graph) if options.explain else None

    def with_options(self, options: Options) -> "Predictor":
        """Returns one that answers otherwise, without explanations."""
        other = copy.copy(self)
        other.options = options
        return other

    def answers(self, questions: Iterable[Question]) -> Iterator[list[dict[str, Any]]]:
        """Yields the answers to each question, best first, in the order of the questions.

        Yields:
            Dictionaries of `entity` and `label`, the name and label of the answer; `score`, higher
            is more plausible; `probability`, as `PROBABILITIES` says, None where the run cannot be
            calibrated; `known_from`, the first split that holds the completed triple, None when
            the graph does not know it; and `because`, the known facts that are most like the
            completed triple (`Explainer.explain`).
        """
        size = max(1, min(_BATCH, _BATCH_ANSWERS // self.options.top_k))
        rest = iter(questions)
        while batch := list(itertools.islice(rest, size)):
            found: dict[int, list[dict[str, Any]]] = {}
            for asked in ("tail", "head"):
                rows = [row for row, question in enumerate(batch) if question.asked == asked]
                if rows:
                    answers = self._ask(asked, [batch[row] for row in rows])
                    found |= zip(rows, answers, strict=True)
            yield from (found[row] for row in range(len(batch)))

    def missing(self, relation: str) -> list[dict[str, Any]]:
        """Returns the most plausible facts of a relation that no split has, best first.

        Args:
            relation: Its name.

        Returns:
            Dictionaries as of `named_ends`, with `score`, `probability` and `because` as of an
            answer.

        Raises:
            UnknownNameError: The relation is unknown.
        """
        graph, options = self.graph, self.options
        wanted = graph.relations.id(relation), options.top_k, options.candidates
        facts, scores = missing_facts(self._model, graph, *wanted)
        cells = self._cells("tail", facts, scores)
        return [
            {**named_ends(graph, head, tail), **row}
            for (head, _, tail), row in zip(facts, cells, strict=True)
        ]

    def _ask(self, asked: str, questions: list[Question]) -> list[list[dict[str, Any]]]:
        """Answers questions that ask for the same place."""
        graph, options = self.graph, self.options
        given = graph.entities.ids([question.given for question in questions])
        relations = graph.relations.ids([question.relation for question in questions])
        triples = np.stack([given, relations, given], axis=1)
        filtered, constrained = not options.include_known, options.candidates == "seen"
        scores, ids = self._answerer.best(asked, triples, options.top_k, filtered, constrained)
        places = np.nonzero(scores > -np.inf)
        facts, scores, found = triples[places[0]], scores[places], ids[places]
        facts[:, 2 if asked == "tail" else 0] = found
        columns = graph.entities.names[found], self._cells(asked, facts, scores)
        answers = (
            {
                "entity": name,
                "label": graph.entity_lookup.label(name),
                **row,
                "known_from": SPLITS[split] if split >= 0 else None,
            }
            for name, row, split in zip(*columns, graph.first_splits(facts), strict=True)
        )
        counts = np.bincount(places[0], minlength=len(questions))
        return [list(itertools.islice(answers, count)) for count in counts]

    def _cells(self, asked: str, facts: np.ndarray, scores: np.ndarray) -> Iterator[dict[str, Any]]:
        """Yields what is said of each completed triple `[n, 3]` with scores `[n]`."""
        because: list[list[dict[str, Any]]] = [[]] * len(facts)
        if self._explainer is not None:
            because = self._explainer.explain(asked, facts, self.options.explain)
        columns = scores.tolist(), self._probabilities(asked, facts, scores), because
        for row in zip(*columns, strict=True):
            yield dict(zip(("score", "probability", "because"), row, strict=True))

    def _probabilities(
        self, asked: str, facts: np.ndarray, scores: np.ndarray
    ) -> list[float] | list[None]:
        """Returns the probabilities of completed triples `[n, 3]` with scores `[n]`."""
        if self._of_answers:
            return self._of_answers.probabilities(asked, facts[:, 1], scores).tolist()
        if self._curves is None:
            return [None] * len(facts)
        if asked == "head" and self._model.reciprocal:
            # The curves are for scores of triples, not for those by the inverse relation.
            scores = self._answerer.scores(tf.constant(facts)).numpy()
        return probabilities_of(self._curves, scores[:, np.newaxis], facts[:, 1])[:, 0].tolist()
