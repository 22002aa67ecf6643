"""The score functions in plain NumPy, from their papers, and the cases that tests share.

A score function is declared here once; every conformance test then runs for it.
"""

from typing import NamedTuple

import numpy as np

from tests import reference
from tests.golden import folder_from


class Case(NamedTuple):
    """A score function to test.

    Attributes:
        name: In the registry.
        options: Of its constructor.
        golden: Name of its file in `golden/systems`, None where there is none.
        scale: Standard deviation of random tables.
        tolerance: Of scores, relative and absolute.
        dim: Embedding dimension of small models.
    """

    name: str
    options: dict
    golden: str | None = None
    scale: float = 1.0
    tolerance: float = 1e-5
    dim: int = 2

    def __str__(self):
        norm = self.options.get("norm")
        return self.golden or (f"{self.name}_l{norm}" if norm else self.name)


CASES = [
    Case("quatre", {"normalize_relations": True}),
    Case("quate", {"normalize_relations": False}),
    Case("quatre_head", {"normalize_relations": True}),
    Case("quatre_tail", {"normalize_relations": True}),
    Case("quatre_affine", {"normalize_relations": True}),
    Case("distmult", {}, "distmult"),
    Case("complex", {}, "complex"),
    Case("rescal", {}),
    Case("transe", {"norm": 1}, "transe_l1"),
    Case("transe", {"norm": 2}, "transe_l2"),
    Case("rotate", {"norm": 1}),
    Case("rotate", {"norm": 2}, "rotate"),
    Case("toruse", {"norm": 1}, "toruse_l1"),
    Case("toruse", {"norm": 2}, "toruse_l2"),
    Case("toruse", {"norm": "el2"}, "toruse_el2"),
    *[
        Case("autosf", {"structure": name}, f"autosf_{name}")
        for name in ("wn18rr", "fb15k237", "wn18", "fb15k")
    ],
    Case("transr", {}, "transr"),
    Case("transr", {"relation_dim": 3}),
    Case("stranse", {"norm": 1}, "stranse_l1"),
    Case("stranse", {"norm": 2}, "stranse_l2"),
    # Points of the unit ball.
    Case("murp", {}, "murp", scale=0.25, tolerance=1e-6),
    Case("convkb", {}, "convkb"),
    # Dropout has tests of its own: tests/quatre_tf/layers/test_conve.py.
    Case(
        "conve",
        {
            "num_filters": 4,
            "input_dropout": 0.0,
            "feature_map_dropout": 0.0,
            "hidden_dropout": 0.0,
        },
        "conve",
        dim=6,
    ),
]

# What comes after the scores depends on the similarity alone: of cases with the same one, tests of
# ranks, gradients, replicas and serving take the first.
SAME_SIMILARITY = {
    *("quate", "quatre_head", "quatre_tail", "quatre_affine", "complex", "rescal", "rotate"),
    *("autosf_fb15k237", "autosf_wn18", "autosf_fb15k", "toruse_l1", "toruse_l2", "stranse_l2"),
}
DISTINCT = [case for case in CASES if str(case) not in SAME_SIMILARITY]


def golden(case):
    """Returns tables, then triples [3, n] and the scores of public implementations.

    These are of the triples, and of every entity as the tail, and as the head, of the first ones.
    """
    with np.load(folder_from("QUATRE_GOLDEN_DIR") / "systems" / f"{case.golden}.npz") as file:
        arrays = dict(file)
    tables = {k.removeprefix("table_"): v for k, v in arrays.items() if k.startswith("table_")}
    triples = np.stack([arrays[name] for name in ("heads", "relations", "tails")])
    return tables, triples, *(arrays[name] for name in ("scores", "tail_scores", "head_scores"))


def scores(case, tables, heads, relations, tails, training=False):
    """f(h, r, t) of ids that broadcast, in float64 and from unfolded formulas.

    In training, the pairs of heads and relations are a batch, of which moments are taken.
    """
    tables = {name: np.asarray(table, np.float64) for name, table in tables.items()}
    h, t = tables["entity"][heads], tables["entity"][tails]
    ids = {"head_bias": heads, "tail_bias": tails}
    if case.name == "conve":
        return _conve(h, t, tables, tables["relation"][relations], tails, training)
    rows = {
        name: table if name in _SHARED else table[ids.get(name, relations)]
        for name, table in tables.items()
        if name != "entity"
    }
    return _SCORES[case.name](h, t, case.options, **rows)


def _quaternions(h, t, options, relation, head_rotation=None, tail_rotation=None):
    if not options["normalize_relations"]:
        q = reference.split(relation)
        return np.sum(reference.hamilton(reference.split(h), q) * reference.split(t), (-2, -1))
    shape = np.broadcast_shapes(h.shape[:-1], t.shape[:-1], relation.shape[:-1])
    rows = [h, relation, t, head_rotation, tail_rotation]
    rows = [row if row is None else np.broadcast_to(row, (*shape, row.shape[-1])) for row in rows]
    return reference.scores(*rows)


def _affine(h, t, options, translation, **rotations):
    return _quaternions(h, t, options, **rotations) + np.sum(translation * t, axis=-1)


def random_tables(case, model, seed):
    """Tables of the size of trained ones; variances are positive."""
    rng = np.random.default_rng(seed)
    tables = {name: rng.normal(0, case.scale, t.shape) for name, t in model.tables().items()}
    return {name: abs(t) + 0.5 if name.endswith("_var") else t for name, t in tables.items()}


def _complex(rows):
    real, imaginary = np.split(rows, 2, axis=-1)
    return real + 1j * imaginary


def _transe(h, t, options, relation):
    return -np.linalg.norm(h + relation - t, ord=options["norm"], axis=-1)


def _rotate(h, t, options, phase):
    moduli = np.abs(_complex(h) * np.exp(1j * phase) - _complex(t))
    return -np.linalg.norm(moduli, ord=options["norm"], axis=-1)


def _toruse(h, t, options, relation):
    difference = h + relation - t
    delta = np.abs(difference - np.round(difference))
    return {
        1: -2 * delta.sum(-1),
        2: -4 * (delta**2).sum(-1),
        "el2": -(2 - 2 * np.cos(2 * np.pi * difference)).sum(-1) / 4,
    }[options["norm"]]


# The published structures: (head block, tail block, signed relation block).
_AUTOSF = {
    "fb15k237": "131 222 343 414",
    "fb15k": "141 232 323 414 122 213",
    "wn18rr": "121 212 333 444 224 114 43-1 34-2 42-2 24-1",
    "wn18": "141 232 323 414 43-4 34-1 122 213 31-3 13-2",
}


def _autosf(h, t, options, relation):
    h, t, r = (np.split(rows, 4, axis=-1) for rows in (h, t, relation))
    total = 0.0
    for term in _AUTOSF[options["structure"]].split():
        a, b, c = int(term[0]) - 1, int(term[1]) - 1, int(term[2:])
        total = total + np.sign(c) * (h[a] * r[abs(c) - 1] * t[b]).sum(-1)
    return total


# Weights of all relations.
_SHARED = ("filters", "filter_bias", "weights")


def _transr(h, t, options, relation, projection):
    heads, tails = (np.matmul(rows[..., np.newaxis, :], projection)[..., 0, :] for rows in (h, t))
    return -np.linalg.norm(heads + relation - tails, axis=-1)


def _stranse(h, t, options, relation, head_projection, tail_projection):
    heads = np.matmul(head_projection, h[..., np.newaxis])[..., 0]
    tails = np.matmul(tail_projection, t[..., np.newaxis])[..., 0]
    return -np.linalg.norm(heads + relation - tails, ord=options["norm"], axis=-1)


def _convkb(h, t, options, relation, filters, filter_bias, weights):
    h, r, t = (rows[..., np.newaxis, :] for rows in (h, relation, t))
    maps = filters[:, :1] * h + filters[:, 1:2] * r + filters[:, 2:] * t + filter_bias[:, None]
    return (np.maximum(maps, 0) * weights.reshape([len(filters), -1])).sum((-2, -1))


def _length(points):
    return np.linalg.norm(points, axis=-1, keepdims=True)


def _clamped(points):
    return points / np.maximum(1, _length(points) / (1 - 1e-5))


def _murp(h, t, options, relation, relation_diagonal, head_bias, tail_bias):
    h, t, relation = map(_clamped, (h, t, relation))
    tangent = relation_diagonal * np.arctanh(_length(h)) * h / _length(h)
    h = _clamped(np.tanh(_length(tangent)) * tangent / _length(tangent))
    difference = reference.moebius_sum(-h, _clamped(reference.moebius_sum(t, relation)))
    distance = 2 * np.arctanh(np.minimum(_length(difference)[..., 0], 1 - 1e-5))
    return head_bias + tail_bias - distance**2


def _conve(h, t, tables, r, tails, training):
    """Pixel by pixel; h and r broadcast against each other, and their query against t."""
    h, r = np.broadcast_arrays(h, r)
    height = max(n for n in range(1, h.shape[-1]) if h.shape[-1] % n == 0 and n * n <= h.shape[-1])
    stacked = np.concatenate([h, r], axis=-1)
    batch = stacked.reshape(-1, 2 * height, h.shape[-1] // height)

    def normalize(name, x):
        """Of channels in axis 1."""
        axes = tuple(axis for axis in range(x.ndim) if axis != 1)
        moments = [tables[f"{name}_running_{moment}"] for moment in ("mean", "var")]
        if training:
            moments = [x.mean(axes), x.var(axes)]
        given = (*moments, tables[f"{name}_weight"], tables[f"{name}_bias"])
        mean, variance, scale, offset = (
            values.reshape([-1] + [1] * (x.ndim - 2)) for values in given
        )
        return (x - mean) / np.sqrt(variance + 1e-5) * scale + offset

    x = normalize("hr2d_0", batch[:, np.newaxis])[:, 0]
    filters, biases = tables["hr2d_2_weight"], tables["hr2d_2_bias"]
    maps = np.stack(
        [
            [
                np.einsum("bij,fij->bf", x[:, i : i + 3, j : j + 3], filters[:, 0]) + biases
                for j in range(x.shape[2] - 2)
            ]
            for i in range(x.shape[1] - 2)
        ]
    )
    maps = np.maximum(normalize("hr2d_3", np.transpose(maps, [2, 3, 0, 1])), 0)
    dense = maps.reshape(len(maps), -1) @ tables["hr1d_0_weight"].T + tables["hr1d_0_bias"]
    query = np.maximum(normalize("hr1d_2", dense), 0).reshape(h.shape)
    return (query * t).sum(-1) + tables["tail_bias"][tails][..., 0]


_SCORES = {
    **dict.fromkeys(("quatre", "quate", "quatre_head", "quatre_tail"), _quaternions),
    "quatre_affine": _affine,
    "distmult": lambda h, t, options, relation: (h * relation * t).sum(-1),
    "complex": lambda h, t, options, relation: np.real(
        (_complex(h) * _complex(relation) * np.conj(_complex(t))).sum(-1)
    ),
    "rescal": lambda h, t, options, relation: (
        np.matmul(h[..., np.newaxis, :], relation)[..., 0, :] * t
    ).sum(-1),
    "transe": _transe,
    "rotate": _rotate,
    "toruse": _toruse,
    "autosf": _autosf,
    "transr": _transr,
    "stranse": _stranse,
    "murp": _murp,
    "convkb": _convkb,
}
