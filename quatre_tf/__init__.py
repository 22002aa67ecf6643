"""QuatRE: relation-aware quaternion embeddings of knowledge graphs, for TensorFlow.

The library works on tensors, arrays and run folders. It has no flags, downloads or console output.
Names are resolved at first use, so that code which needs only NumPy does not import TensorFlow.
"""

import importlib
from typing import TYPE_CHECKING, Any

from quatre_tf.version import __version__

if TYPE_CHECKING:
    from quatre_tf.callbacks import FilteredRanking
    from quatre_tf.data.batches import labelled_triples
    from quatre_tf.data.graph import Graph
    from quatre_tf.data.vocabulary import Vocabulary
    from quatre_tf.layers.embedding import QuaternionEmbedding
    from quatre_tf.layers.relation_rotations import VARIANTS, RelationRotations
    from quatre_tf.layers.score_function import ScoreFunction
    from quatre_tf.model import KGEModel, QuatRE, from_tables
    from quatre_tf.objectives.losses import LogisticLoss
    from quatre_tf.optimizers import SparseAdagrad, SparseAdam
    from quatre_tf.ranking.evaluator import Evaluator
    from quatre_tf.runs.run import Run, load_run
    from quatre_tf.runs.training import train

_MODULES = {
    "Evaluator": "quatre_tf.ranking.evaluator",
    "FilteredRanking": "quatre_tf.callbacks",
    "Graph": "quatre_tf.data.graph",
    "LogisticLoss": "quatre_tf.objectives.losses",
    "KGEModel": "quatre_tf.model",
    "QuatRE": "quatre_tf.model",
    "QuaternionEmbedding": "quatre_tf.layers.embedding",
    "RelationRotations": "quatre_tf.layers.relation_rotations",
    "Run": "quatre_tf.runs.run",
    "ScoreFunction": "quatre_tf.layers.score_function",
    "SparseAdagrad": "quatre_tf.optimizers",
    "SparseAdam": "quatre_tf.optimizers",
    "VARIANTS": "quatre_tf.layers.relation_rotations",
    "Vocabulary": "quatre_tf.data.vocabulary",
    "from_tables": "quatre_tf.model",
    "labelled_triples": "quatre_tf.data.batches",
    "load_run": "quatre_tf.runs.run",
    "train": "quatre_tf.runs.training",
}

__all__ = [
    "VARIANTS",
    "Evaluator",
    "FilteredRanking",
    "Graph",
    "KGEModel",
    "LogisticLoss",
    "QuatRE",
    "QuaternionEmbedding",
    "RelationRotations",
    "Run",
    "ScoreFunction",
    "SparseAdagrad",
    "SparseAdam",
    "Vocabulary",
    "__version__",
    "from_tables",
    "labelled_triples",
    "load_run",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
