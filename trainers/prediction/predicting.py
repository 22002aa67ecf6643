"""Answers to questions (head, relation, ?) and (?, relation, tail) by a trained model."""

import copy
import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import tensorflow as tf

from quatre_tf.calibration.answer_probabilities import AnswerProbabilities
from quatre_tf.data.encoding import SPLITS
from quatre_tf.runs.run import Run
from saved_models.calibrating import calibration_of
from saved_models.scorer import Outputs, build_scorer
from trainers.prediction.explaining import Evidence, Explainer
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


@dataclasses.dataclass(frozen=True)
class Answer:
    """One answer to a question.

    Attributes:
        entity: Name of the entity put in.
        score: Higher is more plausible.
        probability: As `PROBABILITIES` says; None where the run cannot be calibrated.
        known: The split that holds the completed triple, None when the graph does not know it.
        because: The known facts that are most like the completed triple.
    """

    entity: str
    score: float
    probability: float | None
    known: str | None = None
    because: tuple[Evidence, ...] = ()


class Predictor:
    """Asks the scorer that is exported for serving, so the answers are those of a served model.

    Args:
        trained: The run.
        options: What to answer.

    Attributes:
        calibrated: Whether answers have probabilities; if not, standard error has said why.

    Raises:
        DataError: The model holds NaN or infinite values.
    """

    def __init__(self, trained: Run, options: Options):
        self._graph, self._options = trained.graph, options
        calibration = calibration_of(trained)
        self.calibrated = calibration is not None
        self._scorer = build_scorer(trained.model, trained.graph, calibration)
        self._of_answers = None
        if options.probability == "answer":
            self._of_answers = AnswerProbabilities(trained.model, trained.graph)
            self.calibrated = True
        self._explainer = Explainer(trained.model, trained.graph) if options.explain else None

    def with_options(self, options: Options) -> "Predictor":
        """Returns one that answers otherwise, with the same scorer and without explanations."""
        other = copy.copy(self)
        other._options = options
        return other

    def answers(self, questions: Iterable[Question]) -> Iterator[list[Answer]]:
        """Yields the answers to each question, best first, in the order of the questions."""
        size = max(1, min(_BATCH, _BATCH_ANSWERS // self._options.top_k))
        rest = iter(questions)
        while batch := list(itertools.islice(rest, size)):
            found: dict[int, list[Answer]] = {}
            for asked in ("tail", "head"):
                rows = [row for row, question in enumerate(batch) if question.asked == asked]
                if rows:
                    answers = self._ask(asked, [batch[row] for row in rows])
                    found |= zip(rows, answers, strict=True)
            yield from (found[row] for row in range(len(batch)))

    def _ask(self, asked: str, questions: list[Question]) -> list[list[Answer]]:
        """Answers questions that ask for the same place."""
        outputs = self._predict(asked, questions)
        names = [[n.decode() for n in row if n] for row in outputs["entities"].numpy()]
        counts = [len(row) for row in names]
        facts = self._facts(asked, questions, names)
        scores = _in_use(outputs["scores"].numpy(), counts)
        probabilities: Sequence[float | None] = [None] * len(scores)
        if self._of_answers:
            found = self._of_answers.probabilities(asked, facts[:, 1], np.array(scores))
            probabilities = found.tolist()
        elif self.calibrated:
            probabilities = _in_use(outputs["probabilities"].numpy(), counts)
        columns = [
            itertools.chain.from_iterable(names),
            scores,
            probabilities,
            self._splits(facts),
            self._evidence(asked, facts),
        ]
        answers = (Answer(*row) for row in zip(*columns, strict=True))
        return [list(itertools.islice(answers, count)) for count in counts]

    def _predict(self, asked: str, questions: list[Question]) -> Outputs:
        given, predict = {
            "tail": ("head", self._scorer.predict_tails),
            "head": ("tail", self._scorer.predict_heads),
        }[asked]
        if len(questions) == 1:
            # Tracing takes longer than answering once.
            predict = predict.python_function
        return predict(
            **{given: tf.constant([question.given for question in questions])},
            relation=tf.constant([question.relation for question in questions]),
            top_k=tf.constant(self._options.top_k),
            filtered=tf.constant(not self._options.include_known),
            type_constrained=tf.constant(self._options.candidates == "seen"),
        )

    def _facts(self, asked: str, questions: list[Question], names: list[list[str]]) -> np.ndarray:
        """Returns the completed triples of all answers as ids `[num_answers, 3]`."""
        graph, counts = self._graph, [len(row) for row in names]
        entities = graph.entities.ids(list(itertools.chain.from_iterable(names)))
        given = graph.entities.ids([question.given for question in questions])
        relations = graph.relations.ids([question.relation for question in questions])
        ends = [np.repeat(given, counts), entities]
        heads, tails = ends if asked == "tail" else ends[::-1]
        return np.stack([heads, np.repeat(relations, counts), tails], axis=1)

    def _splits(self, facts: np.ndarray) -> list[str | None]:
        return [SPLITS[split] if split >= 0 else None for split in self._graph.first_splits(facts)]

    def _evidence(self, asked: str, facts: np.ndarray) -> list[tuple[Evidence, ...]]:
        if self._explainer is None:
            return [()] * len(facts)
        return self._explainer.explain(asked, facts, self._options.explain)


def _in_use(values: np.ndarray, counts: list[int]) -> list[float]:
    """Returns the first `counts[i]` values of each row i, all in one list."""
    return values[np.arange(values.shape[1]) < np.array(counts)[:, np.newaxis]].tolist()
