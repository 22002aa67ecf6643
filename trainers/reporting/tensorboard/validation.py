"""Further TensorBoard summaries of a validation, which are not in metrics.jsonl."""

import itertools
import re
import sys

import numpy as np
import tensorflow as tf

from quatre_tf.classification.examples import with_negatives
from quatre_tf.classification.figures import curve_figures
from quatre_tf.data.graph import Graph
from quatre_tf.errors import DataError
from quatre_tf.layers.relation_rotations import RelationRotations
from quatre_tf.model import KGEModel
from quatre_tf.ranking.breakdowns import Breakdowns
from quatre_tf.ranking.split_ranks import SplitRanks
from trainers.reporting.tensorboard import table_norms
from trainers.training.config import TrainConfig

NUM_RELATIONS = 20
# Of the validation split; each is scored beside itself with another head or tail.
NUM_TRIPLES = 1024


class ValidationSummaries:
    """Writes to the default writer, at its step.

    Samples are drawn once, by the seed of the run, so that what changes is the model.

    Args:
        config: The settings of the run.
        graph: Its graph.
    """

    def __init__(self, config: TrainConfig, graph: Graph):
        self._seed, self._tie_policy, self._graph = config.seed, config.tie_policy, graph
        number = min(NUM_TRIPLES, len(graph.valid))
        rng = np.random.default_rng(config.seed)
        rows = np.sort(rng.choice(len(graph.valid), number, replace=False))
        self._triples = None
        try:
            self._triples = with_negatives(graph, "valid", rows, 1, config.seed)
        except DataError as error:
            print(f"No scores of corrupted triples in TensorBoard: {error}", file=sys.stderr)

    def write(self, model: KGEModel, ranks: SplitRanks) -> None:
        """Writes MRR by relation, norms of the tables and scores of true and corrupted triples."""
        self._write_relations(ranks)
        self._write_norms(model)
        self._write_scores(model)

    def _write_relations(self, ranks: SplitRanks) -> None:
        rows = Breakdowns(ranks, self._graph, self._tie_policy).by_relation()
        found = (row for row in rows if (row.side, row.metric) == ("both", "mrr"))
        for place, row in enumerate(itertools.islice(found, NUM_RELATIONS), 1):
            tf.summary.scalar(f"valid/per_relation/{place:02d}_{_tag_safe(row.group)}", row.value)

    def _write_norms(self, model: KGEModel) -> None:
        for table in table_norms.tables_of(model):
            tf.summary.scalar(f"tables/{table.name}", table_norms.frobenius_norm(table))
            rows = table_norms.sample_rows(table, self._seed)
            tf.summary.histogram(f"moduli/{table.name}", table_norms.moduli(table, rows))
        if isinstance(model.score_function, RelationRotations):
            _, relation, *_ = table_norms.tables_of(model)
            # Not |w_r|: it is |v_r|, or 1 where v_r is normalized.
            angles = table_norms.rotation_angles(
                model.score_function, table_norms.sample_rows(relation, self._seed)
            )
            tf.summary.histogram("rotation_angles/w_r", angles)

    def _write_scores(self, model: KGEModel) -> None:
        if self._triples is None:
            return
        scores = model.score_triples(*(ids.reshape(-1) for ids in self._triples))
        true, corrupted = both = scores.numpy().reshape(-1, 2).T
        tf.summary.histogram("scores/true", true)
        tf.summary.histogram("scores/corrupted", corrupted)
        labels = np.repeat([True, False], len(true))
        figures, _ = curve_figures(labels, both.reshape(-1), seed=None)
        tf.summary.scalar("scores/auc", figures["roc_auc"].value)


def _tag_safe(name: str) -> str:
    """Returns a relation's name without what groups or breaks tags, `/` above all."""
    return re.sub(r"[^\w.-]+", ".", name).strip("._")
