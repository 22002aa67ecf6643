"""The serving contract, asked through both loaders; expected values from NumPy."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from datasets.errors import DataError
from quatre_tf import ranking
from saved_models.scorer import build_scorer
from tests import reference


class Truth:
    """What every signature should answer, from the unfolded NumPy scores of all triples."""

    def __init__(self, model, graph):
        self.entities, self.relations = graph.entities.names, graph.relations.names
        sizes = (graph.num_entities, graph.num_relations, graph.num_entities)
        triples = list(itertools.product(*map(range, sizes)))
        self.scores = reference.model_scores(model, triples).reshape(sizes)
        self.known = {tuple(triple) for triple in graph.known.tolist()}
        self.triples = graph.known

    def candidates(self, side, relation, entity, filtered):
        """Returns [(id, score)] of the candidates, best first."""
        pairs = []
        for candidate in range(len(self.entities)):
            ends = (entity, candidate) if side == "tails" else (candidate, entity)
            triple = (ends[0], relation, ends[1])
            if not (filtered and triple in self.known):
                pairs.append((candidate, self.scores[triple]))
        return sorted(pairs, key=lambda pair: -pair[1])

    def names(self, triples):
        """Returns the names of ids [batch, 3] as inputs of a signature."""
        heads, relations, tails = np.transpose(triples)
        inputs = {"head": self.entities[heads], "tail": self.entities[tails]}
        return {**inputs, "relation": self.relations[relations]}


@pytest.fixture(scope="module")
def truth(model, graph):
    return Truth(model, graph)


def strings(array):
    return np.vectorize(bytes.decode, otypes=[object])(array)


def question(truth, side):
    """Returns ids of all (relation, entity) pairs, and their names as inputs."""
    pairs = list(itertools.product(range(len(truth.relations)), range(len(truth.entities))))
    relations, entities = np.transpose(pairs)
    given = "head" if side == "tails" else "tail"
    return pairs, {"relation": truth.relations[relations], given: truth.entities[entities]}


@pytest.mark.parametrize("side", ["tails", "heads"])
@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("top_k", [1, 3, 8, 100])
def test_predictions(ask, truth, side, filtered, top_k):
    pairs, inputs = question(truth, side)
    answer = ask(f"predict_{side}", **inputs, top_k=top_k, filtered=filtered)
    width = min(top_k, 8)
    assert answer["entities"].shape == answer["scores"].shape == (len(pairs), width)
    assert set(answer["status"]) == {b"OK"}
    for pair, names, scores in zip(
        pairs, strings(answer["entities"]), answer["scores"], strict=True
    ):
        expected = truth.candidates(side, *pair, filtered)[:width]
        exhausted = width - len(expected)
        expected_scores = [score for _, score in expected] + [-np.inf] * exhausted
        np.testing.assert_allclose(scores, expected_scores, rtol=1e-4, atol=1e-4)
        assert list(names[len(expected) :]) == [""] * exhausted
        # The two equal entities come in id order, as the stable sort of the expectation has them.
        assert list(names[: len(expected)]) == [truth.entities[e] for e, _ in expected]


def test_everything_known_leaves_nothing(ask):
    answer = ask("predict_tails", head=["New York"], relation=["is a"], top_k=2, filtered=True)
    assert answer["entities"].tolist() == [[b"", b""]]
    assert answer["scores"].tolist() == [[-np.inf, -np.inf]]
    assert answer["status"].tolist() == [b"OK"]


def test_scores(ask, truth):
    answer = ask("score_triples", **truth.names(truth.triples))
    expected = truth.scores[tuple(truth.triples.T)]
    np.testing.assert_allclose(answer["score"], expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(answer["probability"], 1 / (1 + np.exp(-expected)), atol=1e-4)


def expected_rank(truth, triple, side):
    """Filtered rank with realistic ties, counted candidate by candidate."""
    target = triple[2] if side == "tails" else triple[0]
    entity = triple[0] if side == "tails" else triple[2]
    competitors = truth.candidates(side, triple[1], entity, filtered=True)
    score = truth.scores[tuple(triple)]
    differences = [s - score for e, s in competitors if e != target]
    # Equal embeddings give equal scores; other scores are never as close as this.
    ties = sum(abs(difference) < 1e-9 for difference in differences)
    return 1 + sum(difference >= 1e-9 for difference in differences) + ties / 2


@pytest.mark.parametrize("side", ["tails", "heads"])
def test_ranks(ask, truth, side):
    answer = ask(f"rank_{side}", **truth.names(truth.triples))
    expected = [expected_rank(truth, triple, side) for triple in truth.triples.tolist()]
    assert any(rank % 1 for rank in expected), "the graph should have ties"
    np.testing.assert_array_equal(answer["rank"], expected)
    assert answer["rank"].dtype == np.float32


def test_a_rank_alone_equals_the_one_of_the_library(ask, truth, model, graph):
    triples = graph.test
    heads, relations, tails = triples.T
    known = [[t for t in range(8) if (h, r, t) in truth.known] for h, r, _ in triples.tolist()]
    counts = ranking.rank_queries(
        model.tail_queries(heads, relations),
        model.entities.embeddings,
        tails,
        tf.ragged.constant(known, dtype=tf.int32, ragged_rank=1),
    )
    alone = [ask("rank_tails", **truth.names([triple]))["rank"][0] for triple in triples]
    np.testing.assert_array_equal(alone, ranking.ranks_from_counts(*counts))


# Good and bad rows in one batch; the unknown names include near misses and the escaped form.
HEADS = ["New York", "Atlantis", "日本", "Atlantis", "cr\rname", " padded", "", "%250D"]
RELATIONS = ["borders", "borders", "hates", "hates", "is a", "is a", "is a", "is a"]
TAILS = ["日本", "100%", "100%", "Atlantis", "El Dorado", "100%", "%0D", "%0D"]
STATUS = ["OK", "UNKNOWN_HEAD", "UNKNOWN_RELATION", "UNKNOWN_HEAD"]


@pytest.mark.parametrize("signature", ["score_triples", "rank_tails", "rank_heads"])
def test_status_of_triples(ask, signature):
    answer = ask(signature, head=HEADS, relation=RELATIONS, tail=TAILS)
    expected = [*STATUS, "UNKNOWN_TAIL", "UNKNOWN_HEAD", "UNKNOWN_HEAD", "UNKNOWN_HEAD"]
    assert strings(answer.pop("status")).tolist() == expected
    alone = ask(signature, head=HEADS[:1], relation=RELATIONS[:1], tail=TAILS[:1])
    for name, values in answer.items():
        np.testing.assert_allclose(values[0], alone[name][0], rtol=1e-6)
        assert not values[1:].any()


@pytest.mark.parametrize("filtered", [False, True])
def test_status_of_questions(ask, filtered):
    options = {"top_k": 3, "filtered": filtered}
    tails = ask("predict_tails", head=HEADS, relation=RELATIONS, **options)
    expected = [*STATUS, "OK", "UNKNOWN_HEAD", "UNKNOWN_HEAD", "UNKNOWN_HEAD"]
    assert strings(tails["status"]).tolist() == expected
    heads = ask("predict_heads", relation=RELATIONS, tail=TAILS, **options)
    expected = ["OK", "OK", *["UNKNOWN_RELATION"] * 2, "UNKNOWN_TAIL", "OK", "OK", "OK"]
    assert strings(heads["status"]).tolist() == expected
    for answer in (tails, heads):
        bad = answer["status"] != b"OK"
        assert set(answer["entities"][bad].ravel()) == {b""}
        assert not answer["scores"][bad].any()
        assert b"" not in answer["entities"][~bad]


def test_the_default_signature_predicts_tails(ask):
    question = {"head": ["日本"], "relation": ["is a"], "top_k": 4, "filtered": True}
    default, named = ask("serving_default", **question), ask("predict_tails", **question)
    for output in ("entities", "scores", "status"):
        np.testing.assert_array_equal(default[output], named[output])


def test_empty_batches(ask):
    options = {"top_k": 3, "filtered": True}
    assert ask("predict_tails", head=[], relation=[], **options)["entities"].shape == (0, 3)
    assert ask("predict_heads", relation=[], tail=[], **options)["scores"].shape == (0, 3)
    for signature, output in (("score_triples", "score"), ("rank_tails", "rank")):
        assert ask(signature, head=[], relation=[], tail=[])[output].shape == (0,)


@pytest.mark.parametrize("top_k", [0, -1, -(2**31)])
def test_top_k_must_be_positive(ask, top_k):
    with pytest.raises(tf.errors.InvalidArgumentError, match="`top_k` must be a positive integer"):
        ask("predict_tails", head=["日本"], relation=["is a"], top_k=top_k, filtered=False)


def test_columns_of_different_lengths_are_an_error(ask):
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have as many rows"):
        ask("score_triples", head=["日本"], relation=["is a"] * 2, tail=["日本"] * 2)


@pytest.mark.parametrize("table", ["entities", "relations"])
def test_a_broken_model_is_refused(model, graph, table):
    broken = type(model).from_config(model.get_config())
    weights = {"entities": broken.entities, "relations": broken.relations.relation}[table]
    weights.embeddings.assign(np.full(weights.embeddings.shape, np.nan))
    with pytest.raises(DataError, match=f"table of {table} holds NaN"):
        build_scorer(broken, graph)
