"""The JSON API of the explore page."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from quatre_tf.data.encoding import SPLITS
from quatre_tf.errors import DataError
from quatre_tf.ranking.results import Results
from quatre_tf.runs.run import load_run
from trainers.explorer.search import EntitySearch
from trainers.prediction.predicting import Options, Predictor
from trainers.prediction.questions import make_question
from trainers.reporting.evaluation_tables import overall
from trainers.reporting.runs import ReportedRun, facts
from trainers.reporting.training_log import SAMPLE, TRAIN, VALID, read_records, series
from trainers.training.run_directory import RunDirectory

Args = Mapping[str, str]

_MAX_FOUND = 20
_NUM_NEIGHBORS = 10
_NUM_EXAMPLES = 6
_NUM_FACTS, _MAX_FACTS = 50, 10_000
_NUM_ANSWERS, _MAX_ANSWERS = 25, 1_000
_LINES = {"loss": (TRAIN,), "mrr": (VALID, SAMPLE), "hits@10": (VALID, SAMPLE)}
# More than a chart has room for.
_MAX_POINTS = 500


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
        self._run, self._graph, self._known = run, trained.graph, trained.graph.known
        self._predictor = Predictor(trained, Options())
        self._search = EntitySearch(trained.graph)
        counts = np.bincount(self._known[:, 1], minlength=trained.graph.num_relations)
        self._relations = list(zip(trained.graph.relations.names, counts.tolist(), strict=True))

    def run(self, args: Args) -> dict[str, Any]:
        """Returns the facts and settings of the run, and its relations with their triple counts.

        The figures of the test split are the cells of a table.

        Raises:
            DataError: test_metrics.json is damaged.
        """
        return {
            "facts": facts(self._run_now()),
            "settings": self._run.settings,
            "test": self._test_table(),
            "name": self._graph.name,
            "relations": self._relations,
            "calibrated": self._predictor.calibrated,
            "examples": self._examples(),
        }

    def curves(self, args: Args) -> dict[str, Any]:
        """Returns the learning curves, read anew: the run may still be training.

        Returns:
            For `"loss"`, `"mrr"` and `"hits@10"` the points `[epoch, value]` of each group of
            records that has it; for `"best"` the validation whose weights were kept, or None.

        Raises:
            DataError: See `trainers.reporting.training_log.read_records`.
        """
        run = self._run_now()
        lines = {
            metric: {group: _points(series(run.records, group, metric)) for group in groups}
            for metric, groups in _LINES.items()
        }
        return {**lines, "best": run.best}

    def _run_now(self) -> ReportedRun:
        """Returns the run with its log as it is now."""
        records = read_records(RunDirectory(self._run.path).metrics_file)
        return dataclasses.replace(self._run, records=records)

    def search(self, args: Args) -> dict[str, Any]:
        """Returns the entities whose name or label has `text`."""
        found = self._search.find(args.get("text", ""), _MAX_FOUND)
        return {"found": [self._entity(entity) for entity in found]}

    def entity(self, args: Args) -> dict[str, Any]:
        """Returns the first `count` facts of an entity, and its nearest neighbors."""
        count = _number(args, "count", _NUM_FACTS, _MAX_FACTS)
        name = self._graph.entity_lookup.name(_given(args, "entity"))
        entity = self._graph.entities.id(name)
        found, size = self._facts_of(entity), self._graph.num_relations
        neighbors = self._trained.neighbors(name, _NUM_NEIGHBORS)
        return {
            **self._entity(entity),
            "num_facts": len(found),
            "facts": self._facts(found[:count]),
            # Facts by relation that answer a question for a tail, and for a head.
            "relations": {
                asked: np.bincount(found[found[:, given] == entity, 1], minlength=size).tolist()
                for asked, given in (("tail", 0), ("head", 2))
            },
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
        degrees = np.bincount(self._known[:, [0, 2]].reshape(-1))
        order = np.argsort(-np.bincount(relations), kind="stable")[:_NUM_EXAMPLES]
        found = []
        for relation in order[np.isin(order, relations)]:
            own = heads[relations == relation]
            entity = own[np.argmax(degrees[own])]
            name = self._graph.relations.names[relation]
            found.append({"entity": self._entity(entity), "relation": name})
        return found

    def _test_table(self) -> list[list[str]]:
        path = RunDirectory(self._run.path).test_metrics_file
        if not path.exists():
            return []
        table = overall(Results.load(path))
        return [list(row) for row in (table.header, *table.rows)]

    def _facts_of(self, entity: int) -> np.ndarray:
        """Returns the distinct facts of an entity: `[n, 3]` ids, those with it as head first."""
        heads, _, tails = self._known.T
        found = np.unique(self._known[(heads == entity) | (tails == entity)], axis=0)
        heads, relations, tails = found.T
        return found[np.lexsort((tails, heads, relations, heads != entity))]

    def _facts(self, triples: np.ndarray) -> list[dict[str, Any]]:
        return [
            {
                "head": self._entity(head),
                "relation": self._graph.relations.names[relation],
                "tail": self._entity(tail),
                "known": SPLITS[split],
            }
            for (head, relation, tail), split in zip(
                triples, self._graph.first_splits(triples), strict=True
            )
        ]

    def _entity(self, entity: int) -> dict[str, Any]:
        return self._named(self._graph.entities.names[entity])

    def _named(self, name: str) -> dict[str, Any]:
        return {"name": name, "label": self._graph.entity_lookup.label(name)}


def _points(curve: np.ndarray) -> list[list[float]]:
    step = -(-curve.shape[1] // _MAX_POINTS) or 1
    # Backwards, so that the last point is always one of them.
    return curve.T[::-1][::step][::-1].tolist()


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
