"""The golden files: numbers that the reference implementation produced.

They lie outside the checkout, in the folder that QUATRE_GOLDEN_DIR names.
"""

import json
import os
import pathlib
import types

import numpy as np
import pytest

from quatre_tf import QuatRE

# The tables of a model, by the names that the files give them.
TABLES = ("entity", "relation", "head_rotation", "tail_rotation")
NAMES = ("umls", "kinship")


def folder_from(variable: str) -> pathlib.Path:
    """Returns the folder that an environment variable names; skips the test when it is unset."""
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"{variable} is not set")
    return pathlib.Path(folder)


def load_golden(name: str) -> types.SimpleNamespace:
    """Returns everything known of one golden run; skips the test without QUATRE_GOLDEN_DIR.

    Fields: `init_*` and `final_*` tables (`TABLES`, [rows, 4n] float32), `triples`
    [steps, rows, 3], `labels` [rows], `scores` [rows] of step 0 before training, `losses` and
    `gradient_norms` [steps], `meta` (the JSON file), `entity_names` and `relation_names`.
    """
    folder = folder_from("QUATRE_GOLDEN_DIR")
    with np.load(folder / f"{name}.npz") as arrays:
        fields = dict(arrays)
    return types.SimpleNamespace(
        **fields,
        meta=json.loads((folder / f"{name}.json").read_text(encoding="utf-8")),
        entity_names=_read_lines(folder / f"{name}.entity_names.txt"),
        relation_names=_read_lines(folder / f"{name}.relation_names.txt"),
    )


def model_with(golden: types.SimpleNamespace, prefix: str) -> QuatRE:
    """Returns a model with the tables `init_*` or `final_*` of a golden run."""
    num_entities, width = golden.init_entity.shape
    model = QuatRE(num_entities, len(golden.init_relation), width // 4)
    model.assign_tables({name: getattr(golden, f"{prefix}_{name}") for name in TABLES})
    return model


def _read_lines(path: pathlib.Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
