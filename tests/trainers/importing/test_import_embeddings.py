"""Tables of an .npz file become runs, with the scores of their formula."""

import io
import os
import zipfile

import numpy as np
import pytest

from quatre_tf import KGEModel, load_run
from quatre_tf.errors import DataError
from tests import commands, systems
from trainers.importing.imported_run import import_embeddings

CASES = [
    (systems.Case("transe", {"norm": 1}), {"norm": "1"}),
    (systems.Case("transr", {"relation_dim": 3}), {}),
    (systems.Case("murp", {}, scale=0.2), {}),
    (systems.Case("convkb", {"num_filters": 3}), {}),
    (systems.Case("complex", {}), {"reciprocal": True}),
    (systems.Case("quate", {"normalize_relations": False}), {"normalize_relations": False}),
]
# In another order than the run's, which sorts them.
ENTITIES = [f"p{i}" for i in range(23, -1, -1)]
RELATIONS = ["sibling_of", "child_of", "parent_of"]
INFINITE_IN_ROW_7 = np.where(np.arange(96).reshape(24, 4) == 30, np.inf, 1.0)


def tables_of(rng, case, reciprocal=False):
    model = KGEModel(24, 3, 4, case.name, reciprocal, options=dict(case.options))
    return {n: rng.normal(0, case.scale, t.shape) for n, t in model.tables().items()}


@pytest.fixture
def save(tmp_path):
    """Writes arrays, with the names unless others are given."""

    def save(**arrays):
        names = {"entity_names": np.array(ENTITIES), "relation_names": np.array(RELATIONS)}
        np.savez(tmp_path / "tables.npz", **{**names, **arrays})
        return tmp_path / "tables.npz"

    return save


@pytest.mark.parametrize(("case", "settings"), CASES, ids=[str(case) for case, _ in CASES])
def test_runs_score_as_the_tables(case, settings, save, family, tmp_path, rng):
    tables = tables_of(rng, case, settings.get("reciprocal", False))
    path = save(**{f"table_{name}": table for name, table in tables.items()})
    imported = import_embeddings(
        path, str(family), tmp_path / "run", {"model": case.name, **settings}
    )
    assert f"Imported {case.name}, embedding_dim 4: 24 entities" in imported
    trained = load_run(tmp_path / "run")
    expected = systems.scores(case, tables, ENTITIES.index("p3"), 1, np.arange(24))
    answers = trained.predict(head="p3", relation="child_of", top_k=99)
    assert len(answers) > 20
    for answer in answers:
        wanted = expected[ENTITIES.index(answer.entity)]
        assert answer.score == pytest.approx(wanted, rel=1e-4, abs=1e-4)


def test_models_that_train_with_reciprocal_relations_only(save, family, tmp_path, rng):
    """Without them, every entity makes a query where heads are asked for."""
    model = KGEModel(24, 3, 12, "conve")
    path = save(**{name: rng.normal(0, 0.3, t.shape) for name, t in model.tables().items()})
    import_embeddings(path, str(family), tmp_path / "run", {"model": "conve"})
    trained = load_run(tmp_path / "run")
    answers = trained.predict(relation="child_of", tail="p3", top_k=99)
    triples = [(answer.entity, "child_of", "p3") for answer in answers]
    np.testing.assert_allclose(trained.score(triples), [a.score for a in answers], rtol=1e-3)


def test_names_in_files(save, family, tmp_path, rng):
    case = CASES[0][0]
    np.savez(tmp_path / "tables.npz", **tables_of(rng, case))
    settings, path = {"model": "transe", "norm": "1"}, tmp_path / "tables.npz"
    with pytest.raises(DataError, match="must hold `entity_names` and `relation_names`, or --ent"):
        import_embeddings(path, str(family), tmp_path / "run", settings)
    files = [tmp_path / "entities.txt", tmp_path / "relations.txt"]
    for file, names in zip(files, (ENTITIES, RELATIONS), strict=True):
        file.write_text("\n".join(names) + "\n")
    flags = {"tables": path, "dataset": family, "run_dir": tmp_path / "run", **settings}
    flags |= dict(zip(("entity_names", "relation_names"), files, strict=True))
    arguments = [f"--{name}={value}" for name, value in flags.items()]
    code, printed = commands.run("trainers.import_embeddings", *arguments, folder=tmp_path)
    assert code == 0, printed
    assert load_run(tmp_path / "run").model.num_entities == 24


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            {"entity": np.ones([23, 4])},
            r"expected entity \[24, 4\].*received entity \[23",
        ),
        ({"entity": INFINITE_IN_ROW_7}, "infinite values: 1 of 96, the first in row 7"),
        ({"entity": np.ones([24, 4], complex)}, "entity must hold real numbers, is complex128"),
        ({"entity": np.ones([])}, r"expected a table `entity` of transe"),
        ({"other": np.ones([3, 4])}, r"expected entity .* received .*other \[3, 4\]"),
        ({"entity_names": np.array(["p1"] * 24)}, "the entity name 'p1' is there a second time"),
        ({"entity_names": np.array(["x", *ENTITIES[1:]])}, "1 .for example 'x'. is unknown"),
        ({"entity_names": np.arange(24)}, "entity_names must be a vector of strings"),
        ({"entity": np.array([{}])}, "cannot be read as an .npz file of tables .Object arrays"),
    ],
)
def test_tables_that_are_refused(arrays, message, save, family, tmp_path):
    path = save(**{"entity": np.ones([24, 4]), "relation": np.ones([3, 4]), **arrays})
    with pytest.raises(DataError, match=message):
        import_embeddings(path, str(family), tmp_path / "run", {"model": "transe"})
    assert not (tmp_path / "run").exists()


def test_files_that_are_refused(family, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="is a pipe, not a regular file"):
        import_embeddings(tmp_path / "pipe", str(family), tmp_path / "run", {"model": "transe"})
    checkpoint = io.BytesIO()
    with zipfile.ZipFile(checkpoint, "w") as archive:
        archive.writestr("trained_model/data.pkl", b"\x80\x02}.")
    single = io.BytesIO()
    np.save(single, np.ones(3))
    for content, message in (
        (checkpoint.getvalue(), "is a PyTorch checkpoint, such as PyKEEN's"),
        (b"\x80\x02}q\x00.", "cannot be read as an .npz file"),
        (b"PK\x03\x04", "cannot be read as an .npz file"),
        (b"", "cannot be read as an .npz file"),
        (single.getvalue(), "cannot be read as an .npz file"),
    ):
        (tmp_path / "tables.npz").write_bytes(content)
        with pytest.raises(DataError, match=message):
            import_embeddings(
                tmp_path / "tables.npz", str(family), tmp_path / "run", {"model": "transe"}
            )
