"""Probabilities that an entity answers a question, when every entity is a candidate.

`saved_models.calibrating` holds true triples against as many corrupted ones. A question has far
more wrong candidates than answers: with E expected answers among N candidates, a share q = E / N is
right. By Bayes' rule the odds are multiplied by q / (1 - q):

    probability = logistic(slope * score + intercept + log(q / (1 - q)))

E is the mean number of train answers to the questions of a relation, for heads and tails apart.
Slope and intercept are fitted on questions of the validation split as in
`quatre_tf.calibration.platt`, but against all candidates, because the wrong ones that score best
decide (docs/calibration.md).
"""

import dataclasses

import numpy as np
import tensorflow as tf

from quatre_tf.calibration import platt
from quatre_tf.data.encoding import SPLITS
from quatre_tf.data.graph import Graph
from quatre_tf.errors import DataError
from quatre_tf.model import KGEModel

SIDES = ("tail", "head")
_SEED = 1
# Questions of a side: what two curves need, at the cost of a part of a validation.
_MAX_QUESTIONS = 500
# Of a side at once: at most so many, and so many scores.
_MAX_BATCH, _MAX_SCORES = 64, 2**24
# Of each question these are looked at: the best, and as many of the others drawn by chance.
_BEST = 100


@dataclasses.dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates of questions, each with the number of candidates that it stands for.

    Attributes:
        groups: `[n]` int, `side * num_relations + relation`; side is a place in `SIDES`.
        scores: `[n]` float64.
        labels: `[n]` float64, 1 for an answer of the split, 0 for none that is known.
        weights: `[n]` float64, how many candidates it stands for.
        num_questions: How many questions there are.
    """

    groups: np.ndarray
    scores: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    num_questions: int


class AnswerProbabilities:
    """Turns scores of answers into probabilities, with curves fitted on the validation split.

    Args:
        model: The model; `score_tails` and `score_heads` give its scores.
        graph: Its graph.

    Raises:
        DataError: There are no validation triples, or a score is not finite.
    """

    def __init__(self, model: KGEModel, graph: Graph):
        self._num_relations = graph.num_relations
        rates = np.concatenate([_expected(graph, side) for side in SIDES]) / graph.num_entities
        # Where every entity is an answer, a rate of 1 would leave no odds.
        rates = np.clip(rates, 1e-12, 0.5)
        self._offsets = np.log(rates / (1 - rates))
        found = candidates_of(model, graph, "valid")
        columns = found.scores, found.labels, found.weights, self._offsets[found.groups]
        self._curves = platt.fit_groups(*columns, found.groups, len(self._offsets))

    def probabilities(self, side: str, relations: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Returns `[n]` float64 for the relations `[n]` (ids) and scores `[n]` of answers.

        Args:
            side: "tail" or "head": the place of the answers.
            relations: Of the questions.
            scores: Of the answers.
        """
        return self.of_groups(SIDES.index(side) * self._num_relations + relations, scores)

    def of_rows(self, side: str, relations: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Returns `[n, k]` float64 for scores `[n, k]`, of which -inf is no answer: 0."""
        finite = np.maximum(scores, np.finfo(np.float32).min)
        found = self.probabilities(side, np.repeat(relations, scores.shape[1]), finite.reshape(-1))
        return np.where(np.isneginf(scores), 0.0, found.reshape(scores.shape))

    def of_groups(self, groups: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Returns `[n]` float64 for `Candidates.groups` and scores `[n]`."""
        slopes, intercepts = self._curves[groups].T
        return platt.logistic(slopes * scores + intercepts + self._offsets[groups])


def candidates_of(model: KGEModel, graph: Graph, split: str) -> Candidates:
    """Returns candidates of at most 500 questions of a split for each side, drawn by a fixed seed.

    Raises:
        DataError: The split has no triples, or a score is not finite.
    """
    if not len(graph.split(split)):
        raise DataError(f"The {split} split of {graph.name} has no triples.")
    rng = np.random.default_rng(_SEED)
    parts, num_questions = [], 0
    for side in SIDES:
        columns = [1, 0] if side == "tail" else [1, 2]
        questions = np.unique(graph.split(split)[:, columns], axis=0)
        questions = rng.permutation(questions)[:_MAX_QUESTIONS]
        num_questions += len(questions)
        size = max(1, min(_MAX_BATCH, _MAX_SCORES // graph.num_entities))
        parts += [
            _judge(model, graph, split, side, questions[start : start + size], rng)
            for start in range(0, len(questions), size)
        ]
    groups, scores, labels, weights = map(np.concatenate, zip(*parts, strict=True))
    if not np.isfinite(scores).all():
        raise DataError("Expected finite scores, received NaN or infinite ones.")
    return Candidates(groups, scores, labels, weights, num_questions)


def _judge(
    model: KGEModel,
    graph: Graph,
    split: str,
    side: str,
    questions: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Returns groups, scores, labels and weights of candidates for questions (relation, given)."""
    relations, given = questions.T
    if side == "tail":
        scores = model.score_tails(tf.constant(given), tf.constant(relations)).numpy()
    else:
        scores = model.score_heads(tf.constant(relations), tf.constant(given)).numpy()
    chosen, weights = _sample(scores, rng)
    # Answers of the split are all there, and once.
    index = graph.index(side, split)
    groups, entities = index.groups(relations, given), index.entities
    answers = [entities[index.row_splits[g] : index.row_splits[g + 1]] for g in groups]
    every_row = np.arange(len(questions))
    sizes = [len(found) for found in answers]
    rows = np.concatenate([np.repeat(every_row, chosen.shape[1]), np.repeat(every_row, sizes)])
    places = np.concatenate([chosen.reshape(-1), *answers])
    weights = np.concatenate([weights.reshape(-1), np.ones(sum(sizes))])
    is_answer = np.arange(len(rows)) >= chosen.size
    ends = [given[rows], places] if side == "tail" else [places, given[rows]]
    found_in = graph.first_splits(np.stack([ends[0], relations[rows], ends[1]], axis=1))
    # What another split knows is neither right nor wrong.
    kept = np.where(is_answer, found_in == SPLITS.index(split), found_in < 0)
    sides = SIDES.index(side) * graph.num_relations + relations[rows]
    columns = (sides, scores[rows, places].astype(np.float64), is_answer.astype(float), weights)
    groups, scores, labels, weights = (column[kept] for column in columns)
    return groups, scores, labels, weights


def _sample(scores: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Returns the best candidates of each row and some of the others, and how many each is."""
    number = scores.shape[1]
    best = min(_BEST, number)
    order = np.argpartition(-scores, best - 1, axis=1)
    rest, drawn = number - best, min(number - best, _BEST)
    places = rng.integers(best, max(number, best + 1), [len(scores), drawn])
    others = np.take_along_axis(order, places, axis=1)
    weights = np.concatenate([np.ones(best), np.full(drawn, rest / max(drawn, 1))])
    return np.concatenate([order[:, :best], others], axis=1), np.tile(weights, (len(scores), 1))


def _expected(graph: Graph, side: str) -> np.ndarray:
    """Returns the mean number of train answers to a question: `[num_relations]`, at least 1."""
    questions = graph.index(side, "train").groups_per_relation(graph.num_relations)
    triples = np.bincount(graph.train[:, 1], minlength=graph.num_relations)
    return np.maximum(triples / np.maximum(questions, 1), 1.0)
