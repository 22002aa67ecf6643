"""QuatRE: relation-aware quaternion embeddings of knowledge graphs, for TensorFlow.

The library knows nothing of files, flags or datasets: ids in, scores, ranks and gradients out.
"""

from quatre_tf.layers import VARIANTS, QuaternionEmbedding, RelationRotations
from quatre_tf.models import QuatRE
from quatre_tf.version import __version__

__all__ = ["VARIANTS", "QuatRE", "QuaternionEmbedding", "RelationRotations", "__version__"]
