"""QuatRE: relation-aware quaternion embeddings of knowledge graphs, for TensorFlow.

The library works on tensors, arrays and run folders. It has no flags, downloads or console output.
Names are resolved at first use, so that code which needs only NumPy does not import TensorFlow.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # By the repeated name, a type checker knows that it is public.
    from quatre_tf.callbacks import FilteredRanking as FilteredRanking
    from quatre_tf.data.batches import labelled_triples as labelled_triples
    from quatre_tf.data.candidate_sets import CANDIDATE_SETS as CANDIDATE_SETS
    from quatre_tf.data.encoding import SPLITS as SPLITS
    from quatre_tf.data.graph import Graph as Graph
    from quatre_tf.data.labels import read_labels as read_labels
    from quatre_tf.data.vocabulary import Vocabulary as Vocabulary
    from quatre_tf.layers.embedding import QuaternionEmbedding as QuaternionEmbedding
    from quatre_tf.layers.registry import SCORE_FUNCTIONS as SCORE_FUNCTIONS
    from quatre_tf.layers.relation_rotations import VARIANTS as VARIANTS
    from quatre_tf.layers.relation_rotations import RelationRotations as RelationRotations
    from quatre_tf.layers.score_function import ScoreFunction as ScoreFunction
    from quatre_tf.model import KGEModel as KGEModel
    from quatre_tf.model import QuatRE as QuatRE
    from quatre_tf.model import from_tables as from_tables
    from quatre_tf.objectives.losses import LogisticLoss as LogisticLoss
    from quatre_tf.optimizers import SparseAdagrad as SparseAdagrad
    from quatre_tf.optimizers import SparseAdam as SparseAdam
    from quatre_tf.ranking.evaluator import Evaluator as Evaluator
    from quatre_tf.ranking.results import METRICS as METRICS
    from quatre_tf.ranking.results import Results as Results
    from quatre_tf.ranking.results import Row as Row
    from quatre_tf.runs.run import Run as Run
    from quatre_tf.runs.run import load_run as load_run
    from quatre_tf.runs.training import train as train

__version__ = "0.2.0"

_MODULES = {
    "CANDIDATE_SETS": "quatre_tf.data.candidate_sets",
    "Evaluator": "quatre_tf.ranking.evaluator",
    "FilteredRanking": "quatre_tf.callbacks",
    "from_tables": "quatre_tf.model",
    "Graph": "quatre_tf.data.graph",
    "KGEModel": "quatre_tf.model",
    "labelled_triples": "quatre_tf.data.batches",
    "load_run": "quatre_tf.runs.run",
    "LogisticLoss": "quatre_tf.objectives.losses",
    "METRICS": "quatre_tf.ranking.results",
    "QuaternionEmbedding": "quatre_tf.layers.embedding",
    "QuatRE": "quatre_tf.model",
    "read_labels": "quatre_tf.data.labels",
    "RelationRotations": "quatre_tf.layers.relation_rotations",
    "Results": "quatre_tf.ranking.results",
    "Row": "quatre_tf.ranking.results",
    "Run": "quatre_tf.runs.run",
    "SCORE_FUNCTIONS": "quatre_tf.layers.registry",
    "ScoreFunction": "quatre_tf.layers.score_function",
    "SparseAdagrad": "quatre_tf.optimizers",
    "SparseAdam": "quatre_tf.optimizers",
    "SPLITS": "quatre_tf.data.encoding",
    "train": "quatre_tf.runs.training",
    "VARIANTS": "quatre_tf.layers.relation_rotations",
    "Vocabulary": "quatre_tf.data.vocabulary",
}

__all__ = [*_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
