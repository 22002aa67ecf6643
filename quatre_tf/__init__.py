"""QuatRE: relation-aware quaternion embeddings of knowledge graphs, for TensorFlow.

The library knows nothing of files, flags or datasets: ids in, scores, ranks and gradients out.
"""

from quatre_tf.callbacks import FilteredRanking
from quatre_tf.labelled_triples import labelled_triples
from quatre_tf.layers import VARIANTS, QuaternionEmbedding, RelationRotations
from quatre_tf.losses import LogisticLoss
from quatre_tf.models import QuatRE
from quatre_tf.optimizers import SparseAdagrad
from quatre_tf.version import __version__

__all__ = [
    "VARIANTS",
    "FilteredRanking",
    "LogisticLoss",
    "QuatRE",
    "QuaternionEmbedding",
    "RelationRotations",
    "SparseAdagrad",
    "__version__",
    "labelled_triples",
]
