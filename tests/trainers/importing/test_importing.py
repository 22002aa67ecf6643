"""Embeddings of the reference implementation and of OpenKE become runs."""

import dataclasses
import json
import os
import pathlib
import pickle

import numpy as np
import pytest

from quatre_tf import Evaluator, load_run
from quatre_tf.errors import ConfigError, DataError
from tests import reference
from tests.golden import NAMES, folder_from, load_golden
from trainers.importing.imported_run import import_openke
from trainers.training import config as configs
from trainers.training.fitting import fit

QUATRE_KEYS = ["ent_embeddings.weight", "rel_embeddings.weight", "Whr.weight", "Wtr.weight"]
NUM_ENTITIES, NUM_RELATIONS = 24, 3


@dataclasses.dataclass
class Files:
    """What a training with OpenKE leaves behind, and how to import it."""

    folder: pathlib.Path
    dataset: str
    names: list[str]
    relation_names: list[str]
    weights: dict[str, np.ndarray]

    def write(self):
        for kind, names in (("entity", self.names), ("relation", self.relation_names)):
            lines = [str(len(names)), *(f"{name}\t{i}" for i, name in enumerate(names))]
            (self.folder / f"{kind}2id.txt").write_text("\n".join(lines) + "\n")
        tables = {key: np.asarray(value).tolist() for key, value in self.weights.items()}
        (self.folder / "model.json").write_text(json.dumps(tables))

    def run(self):
        return import_openke(
            self.folder / "model.json",
            self.dataset,
            self.folder / "entity2id.txt",
            self.folder / "relation2id.txt",
            self.folder / "run",
        )

    def refused(self, message, error=DataError):
        with pytest.raises(error, match=message):
            self.run()
        assert not (self.folder / "run").exists()


@pytest.fixture
def files(family, tmp_path, rng):
    """QuatRE of 2 quaternions on the family graph, its ids in an order of their own."""
    tables = {
        key: rng.normal(size=(rows, 8)).astype(np.float32)
        for key, rows in zip(QUATRE_KEYS, [NUM_ENTITIES, *[NUM_RELATIONS] * 3], strict=True)
    }
    names = [f"p{i}" for i in rng.permutation(NUM_ENTITIES)]
    files = Files(tmp_path, str(family), names, ["sibling_of", "child_of", "parent_of"], tables)
    files.write()
    return files


class Bomb:
    """Goes off when something unpickles it."""

    unpickled = False

    def __reduce__(self):
        return setattr, (Bomb, "unpickled", True)


def score(files, head, relation, tail):
    """The reference's score of names, from the tables as they are in the file."""
    entity, *tables = (files.weights.get(key) for key in QUATRE_KEYS)
    head, tail = (entity[[files.names.index(name)]] for name in (head, tail))
    row = [files.relation_names.index(relation)]
    rows = (table if table is None else table[row] for table in tables)
    relation, *rotations = (x if x is None else x.astype(np.float64) for x in rows)
    return reference.scores(head, relation, tail, *rotations).item()


@pytest.mark.parametrize("name", NAMES)
def test_golden_tables_have_the_reference_s_metrics(name, tmp_path):
    golden = load_golden(name)
    folder_from("QUATRE_MANUAL_DIR")
    tables = [golden.final_entity, golden.final_relation]
    tables += [golden.final_head_rotation, golden.final_tail_rotation]
    weights = dict(zip(QUATRE_KEYS, tables, strict=True))
    files = Files(tmp_path, name, golden.entity_names, golden.relation_names, weights)
    files.write()
    files.run()
    trained = load_run(tmp_path / "run")
    result = Evaluator(trained.graph, "optimistic").evaluate(trained.model, "test")
    for side, row in {"both": "averaged", "head": "head", "tail": "tail"}.items():
        expected = golden.meta["metrics"][f"{row}(filter)"]
        received = {metric: result.metrics(side=side)[metric] for metric in expected}
        assert received == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("left_out", "variant"),
    [(None, "quatre"), ("Wtr.weight", "quatre_head"), ("Whr.weight", "quatre_tail")],
)
def test_variants_keep_their_scores(files, left_out, variant):
    files.weights.pop(left_out, None)
    files.write()
    assert f"Imported {variant}, " in files.run()
    trained = load_run(files.folder / "run")
    answers = trained.predict(head="p3", relation="child_of", top_k=99)
    assert len(answers) > 20
    for answer in answers:
        expected = score(files, "p3", "child_of", answer.entity)
        assert answer.score == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_quate_component_tables(files):
    """A file of QuatE scores like a one-sided QuatRE whose rotation is 1."""
    entity, relation = (files.weights[key] for key in QUATRE_KEYS[:2])
    files.weights = {
        name.format(component): part
        for name, table in (("emb_{}_a.weight", entity), ("rel_{}_b.weight", relation))
        for component, part in zip("sxyz", np.split(table, 4, 1), strict=True)
    }
    # No score has them.
    files.weights |= {
        "rel_w.weight": np.ones((NUM_RELATIONS, 2)),
        "fc.weight": np.ones((50, 100)),
        **{f"bn.{name}": np.ones(2) for name in ("weight", "bias", "running_mean", "running_var")},
        "bn.num_batches_tracked": 0,
    }
    files.write()
    assert "Imported quate, " in files.run()
    files.weights = dict(zip(QUATRE_KEYS, (entity, relation), strict=False))
    trained = load_run(files.folder / "run")
    for answer in trained.predict(tail="p9", relation="parent_of", top_k=5):
        expected = score(files, answer.entity, "parent_of", "p9")
        assert answer.score == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_run_says_what_it_is_and_what_comes_next(files):
    described = files.run()
    assert "Imported quatre, embedding_dim 2: 24 entities and 3 relations" in described
    assert f"quatre evaluate --run_dir={files.folder}/run" in described
    config = configs.TrainConfig.from_file(files.folder / "run" / "config.json")
    assert (config.dataset, config.model, config.embedding_dim) == (files.dataset, "quatre", 2)
    origin = json.loads((files.folder / "run" / "imported_from.json").read_text())
    assert pathlib.Path(origin["files"][0]["path"]).name == "model.json"
    assert not (files.folder / "run" / "test_metrics.json").exists()
    # It can be neither resumed nor overwritten.
    with pytest.raises(ConfigError, match=r"There is no checkpoint in .* to resume from"):
        fit(config, files.folder / "run", resume=True)
    with pytest.raises(ConfigError, match=r"run already holds a run\. Choose another --run_dir"):
        files.run()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"model\.json is not the JSON of OpenKE .*copied to the end"),
        (b"PK\x03\x04", "Checkpoints of PyTorch are not read"),
        (b"{}", r"ent_embeddings\.weight, rel_embeddings\.weight, .* missing\. .* received none"),
        (b'{"Whr.weight": {"a": [1]}}', "is not the JSON of OpenKE .expected numbers, received"),
        (b'{"Whr.weight": [["1.5", true]]}', r"expected numbers, received \[\['1.5', True\]\]"),
        (b'{"Whr.weight": [[1, null]]}', "expected numbers, received"),
        (b'{"Whr.weight": [[1' + b"0" * 400 + b"]]}", "is not the JSON of OpenKE"),
        (pickle.dumps({"Whr.weight": Bomb()}), "runs whatever code is in it"),
        (pickle.dumps(Bomb(), protocol=0), "is not the JSON of OpenKE"),
    ],
)
def test_broken_weights_file(files, content, message):
    (files.folder / "model.json").write_bytes(content)
    files.refused(message)
    assert not Bomb.unpickled


def test_missing_files_are_named(files):
    for name in ("model.json", "entity2id.txt", "relation2id.txt"):
        (files.folder / name).unlink()
        files.refused(f"Cannot read .*{name}: No such file")
        os.mkfifo(files.folder / name)
        files.refused(f"{name} is a pipe, not a regular file")
        (files.folder / name).unlink()
        files.write()


def test_translation_models_are_not_taken_for_quatre(files):
    del files.weights["Whr.weight"], files.weights["Wtr.weight"]
    files.write()
    found = r"ent_embeddings\.weight, rel_embeddings\.weight"
    files.refused(rf"Whr\.weight or Wtr\.weight missing.*received {found}\.$")
    files.weights |= {"Whr.weight": np.ones((3, 8)), "norm_vector.weight": np.ones((3, 8))}
    files.write()
    files.refused(r"holds norm_vector\.weight beside .*another model than QuatRE and QuatE")


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(24, 6), (3, 6), (3, 6), (3, 6)], "width divisible by 4, .*received .*[24, 6]"),
        ([(24, 8), (3, 4), (3, 8), (3, 8)], r"tables of one width, .*rel_embeddings.weight \[3, 4"),
        ([(24, 8), (3, 8), (3, 8), (4, 8)], r"3 relation .*received .*tail_rotation \[4, 8\]"),
    ],
)
def test_wrong_shapes(files, shapes, message):
    files.weights = {k: np.ones(shape) for k, shape in zip(QUATRE_KEYS, shapes, strict=True)}
    files.write()
    files.refused(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\t0\nb\t1\nc\t2\n", "txt:1: expected the number of names, received"),
        ("4\na\t0\nb\t1\nc\t2\n", "each id from 0 to 3 once, received 3 ids"),
        ("3\na\t0\nb c\t1\nc\t2\n", r"txt:3: expected a name \(no spaces\) and its id"),
        ("3\na\t0\nb\t1\na\t2\n", "the relation name 'a' is there a second time"),
        ("0\n", "have the same relation names: of family's 3, 3 .* missing in the file"),
    ],
)
def test_broken_id_file(files, text, message):
    (files.folder / "relation2id.txt").write_text(text)
    files.refused(message)
