"""What a search may vary, for each recipe."""

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class LogUniform:
    """Numbers whose logarithm is uniform in [log low, log high]."""

    low: float
    high: float


Choices = tuple[float, ...]
Space = Mapping[str, Choices | LogUniform]

# Nguyen et al., QuatRE, WWW 2022 Companion, training protocol: learning rate, negatives s,
# quaternions n and lambda. The last varies fastest: small models come first.
PAPER: dict[str, Choices] = {
    "embedding_dim": (128, 256, 384),
    "num_negatives": (1, 5, 10),
    "learning_rate": (0.02, 0.05, 0.1),
    "l2": (0.05, 0.1, 0.2, 0.5),
}
# About the presets. N3 of 0.5 drives a model to zero on WN18RR; too little of it overfits.
_SOFTMAX: dict[str, Choices | LogUniform] = {
    "n3": LogUniform(0.003, 0.3),
    "dura": LogUniform(0.003, 0.3),
    "learning_rate": LogUniform(0.03, 0.3),
    "batch_size": (500, 1000, 2000),
    "relation_prediction": (0.0, 0.1, 0.3, 1.0),
}
SPACES: dict[str, Space] = {
    "paper": PAPER,
    "strong": {**_SOFTMAX, "embedding_dim": (64, 128, 256)},
    "sampled": {
        **_SOFTMAX,
        "embedding_dim": (128, 256, 512),
        "num_candidates": (2048, 4096, 8192),
    },
}
