"""QuatRE in plain NumPy, written from the paper: the judge of the TensorFlow code.

It imports nothing of the project, computes in float64 and never uses the folded form.
"""

import numpy as np


def split(rows):
    """[..., 4n] stored as [r | i | j | k] -> [..., 4, n]."""
    return np.reshape(np.asarray(rows, np.float64), (*np.shape(rows)[:-1], 4, -1))


def hamilton(q, p):
    a1, b1, c1, d1 = np.moveaxis(q, -2, 0)
    a2, b2, c2, d2 = np.moveaxis(p, -2, 0)
    return np.stack(
        [
            a1 * a2 - b1 * b2 - c1 * c2 - d1 * d2,
            a1 * b2 + b1 * a2 + c1 * d2 - d1 * c2,
            a1 * c2 - b1 * d2 + c1 * a2 + d1 * b2,
            a1 * d2 + b1 * c2 - c1 * b2 + d1 * a2,
        ],
        axis=-2,
    )


def unit(q):
    return q / np.sqrt(np.sum(q**2, axis=-2, keepdims=True))


def scores(heads, relations, tails, head_rotations=None, tail_rotations=None):
    """f(h, r, t) of rows [batch, 4n], unfolded; a rotation left out is 1 (QuatE, ablations)."""
    head, tail = split(heads), split(tails)
    if head_rotations is not None:
        head = hamilton(head, unit(split(head_rotations)))
    if tail_rotations is not None:
        tail = hamilton(tail, unit(split(tail_rotations)))
    return np.sum(hamilton(head, unit(split(relations))) * tail, axis=(-2, -1))


def model_scores(model, triples):
    """Unfolded scores of triples [batch, 3] from the weights of a QuatRE model of any variant."""
    h, r, t = np.asarray(triples).T
    entities = model.entities.embeddings.numpy()
    rotations = [
        None if table is None else table.embeddings.numpy()[r]
        for table in (model.relations.head_rotation, model.relations.tail_rotation)
    ]
    relations = model.relations.relation.embeddings.numpy()[r]
    return scores(entities[h], relations, entities[t], *rotations)


def adagrad(variable, accumulator, gradient, learning_rate, epsilon):
    """One dense step in PyTorch's form; returns the new variable and accumulator."""
    accumulator = accumulator + gradient**2
    return variable - learning_rate * gradient / (np.sqrt(accumulator) + epsilon), accumulator
