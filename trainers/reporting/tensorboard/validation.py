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
from quatre_tf.objectives.regularizers import squared_moduli
from quatre_tf.quaternion import as_quaternions
from quatre_tf.ranking.breakdowns import Breakdowns
from quatre_tf.ranking.split_ranks import SplitRanks
from quatre_tf.sharded_rows import lookup_rows, rows_of, sum_of_squares
from trainers.training.config import TrainConfig

NUM_RELATIONS = 20
# Of the validation split; each is scored beside itself with another head or tail.
NUM_TRIPLES = 1024
# Moduli of a histogram, in whole rows. TensorFlow takes 30 floats for each while it counts.
NUM_MODULI = 1 << 15


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
        function = model.score_function
        tables = {"entities": model.entities.embeddings}
        tables |= {name: function.tables[name] for name in function.relation_tables()}
        for name, table in tables.items():
            has_vectors = table.shape[1] == function.entity_width
            components = function.entity_components if has_vectors else 1
            # The table is read as a whole, as ranking did before.
            tf.summary.scalar(f"tables/{name}", tf.sqrt(sum_of_squares(rows_of(table.value))))
            ids = self._sample(table.shape, components)
            moduli = tf.sqrt(squared_moduli(lookup_rows(table.value, ids), components))
            tf.summary.histogram(f"moduli/{name}", moduli)
            if name == "relation" and isinstance(function, RelationRotations):
                # Not |w_r|: it is |v_r|, or 1 where v_r is normalized.
                tf.summary.histogram("rotation_angles/w_r", rotation_angles(function, ids))

    def _sample(self, shape: tuple[int, int], components: int) -> np.ndarray:
        """Draws the ids of rows with about `NUM_MODULI` moduli, all that there are if fewer."""
        count, width = shape
        number = min(count, max(1, NUM_MODULI * components // width))
        rng = np.random.default_rng(self._seed)
        return np.sort(rng.choice(count, number, replace=False)).astype(np.int32)

    def _write_scores(self, model: KGEModel) -> None:
        if self._triples is None:
            return
        scores = model.score_triples(*self._triples.reshape(-1, 3).T)
        true, corrupted = both = scores.numpy().reshape(-1, 2).T
        tf.summary.histogram("scores/true", true)
        tf.summary.histogram("scores/corrupted", corrupted)
        labels = np.repeat([True, False], len(true))
        figures, _ = curve_figures(labels, both.reshape(-1), seed=None)
        tf.summary.scalar("scores/auc", figures["roc_auc"].value)


def rotation_angles(function: RelationRotations, relation_ids: np.ndarray) -> tf.Tensor:
    """Returns how far each w_r is from the real numbers: `[len(relation_ids), embedding_dim]`.

    That is arccos(Re w / |w|), in radians. As <h ⊗ w, t> = <h, t ⊗ conj(w)>, a score stays the same
    with head and tail exchanged where w is real, 0 or pi, and changes its sign at pi / 2.
    """
    # After them, an affine form has its translations.
    folded = function.folded(tf.constant(relation_ids))[:, : function.entity_width]
    rotations = as_quaternions(folded)
    imaginary = tf.norm(rotations[:, 1:], axis=1)
    return tf.math.atan2(imaginary, rotations[:, 0])


def _tag_safe(name: str) -> str:
    """Returns a relation's name without what groups or breaks tags, `/` above all."""
    return re.sub(r"[^\w.-]+", ".", name).strip("._")
