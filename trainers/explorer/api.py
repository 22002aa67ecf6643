"""The JSON API of the explore page."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from quatre_tf.errors import DataError
from quatre_tf.runs.run import load_run
from trainers.explorer import figures
from trainers.explorer.entity_facts import EntityFacts
from trainers.explorer.search import EntitySearch
from trainers.prediction.predicting import Options, Predictor
from trainers.prediction.questions import make_question
from trainers.reporting.runs import ReportedRun

Args = Mapping[str, str]

_MAX_FOUND = 20
_NUM_NEIGHBORS = 10
_NUM_EXAMPLES = 6
_NUM_FACTS, _MAX_FACTS = 50, 10_000
_NUM_ANSWERS, _MAX_ANSWERS = 25, 1_000


class Api:
    """Answers requests about a run; each public method is one of the paths below /api/.

    Requests are mappings of strings, as of a URL's query. Entities and relations are given by name
    or label (`quatre_tf.data.name_lookup`), and come back as `{"name", "label"}`.

    Args:
        run: What to explore.
        title: What to call it among several runs.

    Raises:
        DataError: The run holds no model, or one with NaN or infinite values.
    """

    def __init__(self, run: ReportedRun, title: str = "run"):
        self.title = title
        # Without weights there is nothing to ask; loading them says so.
        trained = self._trained = run.trained or load_run(run.path)
        self._run, self._graph = run, trained.graph
        self._predictor = Predictor(trained, Options())
        self._entity_facts = EntityFacts(trained.graph)
        self._search = EntitySearch(trained.graph)
        counts = np.bincount(trained.graph.known[:, 1], minlength=trained.graph.num_relations)
        self._relations = list(zip(trained.graph.relations.names, counts.tolist(), strict=True))

    def run(self, args: Args) -> dict[str, Any]:
        """Returns the facts of the run, and its relations with the number of their triples."""
        del args
        return {
            **figures.overview(self._run),
            "name": self._graph.name,
            "relations": self._relations,
            "calibrated": self._predictor.calibrated,
            "examples": self._examples(),
        }

    def curves(self, args: Args) -> dict[str, Any]:
        """Returns the learning curves."""
        del args
        return figures.curves(self._run)

    def search(self, args: Args) -> dict[str, Any]:
        """Returns the entities whose name or label has `text`."""
        found = self._search.find(args.get("text", ""), _MAX_FOUND)
        return {"found": [self._entity(entity) for entity in found]}

    def entity(self, args: Args) -> dict[str, Any]:
        """Returns the first `count` facts of an entity, and its nearest neighbors."""
        count = _number(args, "count", _NUM_FACTS, _MAX_FACTS)
        name = self._graph.entity_lookup.name(_given(args, "entity"))
        entity = self._graph.entities.id(name)
        facts = self._entity_facts.facts(entity)
        counts = self._entity_facts.relation_counts(facts, entity)
        neighbors = self._trained.neighbors(name, _NUM_NEIGHBORS)
        return {
            **self._entity(entity),
            "num_facts": len(facts),
            "facts": self._facts(facts[:count]),
            "relations": {asked: number.tolist() for asked, number in counts.items()},
            "neighbors": [{**self._named(n.entity), "cosine": n.cosine} for n in neighbors],
        }

    def answers(self, args: Args) -> dict[str, Any]:
        """Returns the best `count` answers to a `relation` and either a `head` or a `tail`.

        With `known=0` without those that the graph knows, with `seen=1` only entities that train
        has in this place of the relation.
        """
        ends = args.get("head", ""), args.get("tail", "")
        question = make_question(self._graph, ends[0], _given(args, "relation"), ends[1])
        options = Options(
            top_k=_number(args, "count", _NUM_ANSWERS, _MAX_ANSWERS),
            include_known=args.get("known") != "0",
            candidates="seen" if args.get("seen") == "1" else "all",
        )
        answers = next(self._predictor.with_options(options).answers([question]))
        return {
            "question": question.fields,
            "answers": [
                {
                    "name": answer["entity"],
                    "label": answer["label"],
                    "score": answer["score"],
                    "probability": answer["probability"],
                    "known": answer["known_from"],
                }
                for answer in answers
            ],
        }

    def _examples(self) -> list[dict[str, Any]]:
        """Returns a question for a tail of each of the relations with most test triples."""
        heads, relations, _ = self._graph.test.T
        degrees = np.bincount(self._graph.known[:, [0, 2]].reshape(-1))
        order = np.argsort(-np.bincount(relations), kind="stable")[:_NUM_EXAMPLES]
        found = []
        for relation in order[np.isin(order, relations)]:
            own = heads[relations == relation]
            entity = own[np.argmax(degrees[own])]
            name = self._graph.relations.names[relation]
            found.append({"entity": self._entity(entity), "relation": name})
        return found

    def _facts(self, facts: np.ndarray) -> list[dict[str, Any]]:
        return [
            {
                "head": self._entity(head),
                "relation": self._graph.relations.names[relation],
                "tail": self._entity(tail),
                "known": split,
            }
            for (head, relation, tail), split in zip(
                facts, self._entity_facts.splits(facts), strict=True
            )
        ]

    def _entity(self, entity: int) -> dict[str, Any]:
        return self._named(self._graph.entities.names[entity])

    def _named(self, name: str) -> dict[str, Any]:
        return {"name": name, "label": self._graph.entity_lookup.label(name)}


def _given(args: Args, name: str) -> str:
    if not args.get(name):
        raise DataError(f"expected the name of {name} in `{name}`, received none. Add it.")
    return args[name]


def _number(args: Args, name: str, default: int, most: int) -> int:
    text = args.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and 1 <= int(text) <= most):
        raise DataError(
            f"`{name}`: expected a whole number from 1 to {most:,}, received {text!r}. Change it."
        )
    return int(text)
