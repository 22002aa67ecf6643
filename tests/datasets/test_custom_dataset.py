import io
import itertools
import json
import os
import pathlib
import threading
from concurrent import futures

import pytest

from datasets import catalog, custom_dataset
from datasets.custom_dataset import Source, prepare
from datasets.readers.input_files import read_input
from datasets.readers.text_format import Format
from datasets.splitting import SplitOptions
from datasets.triples import write_triples
from quatre_tf.errors import DataError
from tests.datasets.tiny_archive import named_triples

CHAIN = [(f"n{i}", relation, f"n{i + 1}") for i in range(30) for relation in ("next", "near")]
# Each fact twice, the second time from somewhere else, so that all entities keep a triple in train.
FACTS = CHAIN + [(f"n{i}", "far", f"n{(i * 7 + 3) % 31}") for i in range(31)]


def write_csv(path, rows):
    path.write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_file_becomes_a_data_set(tmp_path):
    # Names of which nothing may get lost on the way.
    facts = FACTS + [(name, "is", f"n{i}") for name in ("'é\u2028\" x ", " NA") for i in range(4)]
    source = write_csv(tmp_path / "facts.csv", [("head", "relation", "tail"), *facts, facts[0]])
    (tmp_path / "names.csv").write_text(
        'id,name,type\nn1,"One, first",node\nn1,Uno,node\nn99,x,y\n'
    )

    report = prepare(Source(source, tmp_path / "names.csv"), tmp_path / "out", SplitOptions(seed=3))

    graph = catalog.load(str(tmp_path / "out"))
    assert sorted(itertools.chain(*named_triples(graph).values())) == sorted(facts)
    for split in ("train", "valid", "test"):
        lines = (tmp_path / "out" / f"{split}.txt").read_text("utf-8").split("\n")[:-1]
        order = [facts.index(tuple(line.split("\t"))) for line in lines]
        assert order == sorted(order), "expected the order of the source"
    assert graph.labels == {"n1": "One, first"}
    assert json.loads((tmp_path / "out" / "report.json").read_text()) == report
    assert report["fingerprint"] == graph.fingerprint
    assert report["name"] == "out"
    assert report["preparation"]["repeated_triples_dropped"] == 1
    # `near` is a copy of `next`.
    assert [row["kind"] for row in report["suspected_relations"]] == ["duplicate"]
    assert report["leakage"]["test"]["share"] == 0


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    source = Source(write_csv(tmp_path / "facts.csv", FACTS))
    for name, seed in (("a/x", 1), ("b/x", 1), ("c/x", 2)):
        prepare(source, tmp_path / name, SplitOptions(seed=seed))
    one, same, other = (
        {path.name: path.read_bytes() for path in (tmp_path / name / "x").iterdir()}
        for name in "abc"
    )
    assert one == same
    assert one["test.txt"] != other["test.txt"]


def test_all_files_of_a_folder(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    write_csv(folder / "one.csv", FACTS[:40])
    (folder / "two.tsv").write_text("".join("\t".join(row) + "\n" for row in FACTS[40:]))
    (folder / "three.nt").write_text(
        '<http://a> <http://b> <http://c> .\n<http://a> <http://b> "1" .\n'
        '<http://a> <http://www.w3.org/2000/01/rdf-schema#label> "A" .\n'
        '<http://c> <http://www.w3.org/2000/01/rdf-schema#label> "C" .\n'
    )
    (folder / "labels.tsv").write_text("n0\tNull\nhttp://a\tAnna\n")
    (folder / "readme.md").write_text("about")

    found = read_input(Source(folder))

    assert list(found.tables) == ["all"]
    assert len(found.tables["all"]) == len(FACTS) + 1
    # The file of labels goes before the labels among the triples.
    assert found.labels == {"n0": "Null", "http://a": "Anna", "http://c": "C"}
    assert found.literals == {"http://b": 1}
    assert found.notes[2] == ("three.nt: 1 triples; N-Triples; literals left out: 1 of http://b")
    assert found.notes[-1] == "Not read: readme.md."


@pytest.fixture
def split_folder(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    write_csv(folder / "train.csv", [*FACTS[:60], FACTS[0]])
    write_csv(folder / "valid.csv", FACTS[60:70])
    write_csv(folder / "test.csv", [*FACTS[70:80], FACTS[1], ("new", "next", "n1")])
    return folder


def test_given_splits_are_kept_and_checked(tmp_path, split_folder):
    report = prepare(Source(split_folder), tmp_path / "out")
    graph = catalog.load(str(tmp_path / "out"))
    assert len(graph.train) == 61
    assert set(named_triples(graph)["test"]) == {*FACTS[70:80], FACTS[1], ("new", "next", "n1")}
    assert report["preparation"]["split"] == "as given"
    assert {"unseen_test", "in_train_and_held_out", "repeated_triples"} <= set(report["warnings"])


def test_labelled_negatives_stay_with_the_splits_they_belong_to(tmp_path, split_folder):
    false = [("n0", "far", "n0"), ("n2", "next", "n0")]
    write_csv(split_folder / "valid_negatives.csv", false)
    for out, split in (("kept", None), ("split", SplitOptions()), ("kept", SplitOptions())):
        report = prepare(Source(split_folder), tmp_path / out, split, overwrite=True)
        negatives = tmp_path / out / "valid_negatives.txt"
        if split:
            assert not negatives.exists()
            assert "negatives left out" in report["preparation"]["read"][-1]
            assert catalog.load(str(tmp_path / out)).negatives == {}
            # Distinct ones of all three.
            assert sum(report["counts"][part] for part in ("train", "valid", "test")) == 81
        else:
            assert negatives.read_text() == "n0\tfar\tn0\nn2\tnext\tn0\n"
            assert report["counts"]["valid_negatives"] == 2
    for part in ("train", "valid", "test"):
        (split_folder / f"{part}.csv").rename(split_folder / f"some_{part}.csv")
    read = read_input(Source(split_folder))
    assert (read.negatives, read.notes[-1]) == ({}, "Not read: valid_negatives.csv.")


def test_folders_that_are_not_whole(tmp_path, split_folder):
    (split_folder / "valid.csv").unlink()
    with pytest.raises(
        DataError, match=r"one file each .* received train.csv, test.csv.*with valid"
    ):
        read_input(Source(split_folder))
    with pytest.raises(DataError, match="There is no file or folder"):
        read_input(Source(tmp_path / "nothing"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="received no such file"):
        read_input(Source(tmp_path / "empty"))


def test_what_is_there_is_not_overwritten(tmp_path):
    source = Source(write_csv(tmp_path / "facts.csv", FACTS))
    out = tmp_path / "out"
    prepare(source, out, SplitOptions(seed=1))
    before = (out / "test.txt").read_bytes()
    with pytest.raises(DataError, match=r"is not empty .* --overwrite"):
        prepare(source, out, SplitOptions(seed=2))
    prepare(source, out, SplitOptions(seed=2), overwrite=True)
    assert (out / "test.txt").read_bytes() != before
    report = (out / "report.json").read_bytes()
    (out / "report.json").unlink()
    with pytest.raises(DataError, match=r"has no report\.json, so no earlier call wrote it"):
        prepare(source, out, overwrite=True)
    (out / "report.json").write_bytes(report)
    (out / "thesis.docx").write_text("years of work")
    with pytest.raises(DataError, match=r"holds thesis\.docx, which no earlier call wrote"):
        prepare(source, out, overwrite=True)
    with pytest.raises(DataError, match="holds the input"):
        prepare(source, tmp_path, overwrite=True)
    with pytest.raises(DataError, match="is a file"):
        prepare(source, tmp_path / "facts.csv")
    with pytest.raises(DataError, match=r"Cannot create .*facts\.csv: File exists"):
        prepare(source, tmp_path / "facts.csv" / "out")
    with pytest.raises(DataError, match=r"holds the input .*labels\.tsv"):
        prepare(Source(source.path, out / "labels.tsv"), out, overwrite=True)


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_appears_meanwhile_is_kept(tmp_path, monkeypatch, overwrite):
    source = Source(write_csv(tmp_path / "facts.csv", FACTS))
    out = tmp_path / "out"
    if overwrite:
        prepare(source, out, SplitOptions(seed=1))

    def write_and_disturb(*arguments):
        out.mkdir(exist_ok=True)
        (out / "thesis.docx").write_text("years of work")
        write_triples(*arguments)

    monkeypatch.setattr(custom_dataset, "write_triples", write_and_disturb)
    before = sorted(path.name for path in out.iterdir()) if overwrite else []
    with pytest.raises(DataError, match=r"out has changed since .* Nothing in it was replaced"):
        prepare(source, out, SplitOptions(seed=2), overwrite=overwrite)
    assert sorted(path.name for path in out.iterdir()) == sorted([*before, "thesis.docx"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["facts.csv", "out"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_one_of_several_that_write_one_folder(tmp_path, monkeypatch, overwrite):
    """They have all looked at the folder before the first of them puts its own there."""
    source = Source(write_csv(tmp_path / "facts.csv", FACTS))
    out, barrier = tmp_path / "out", threading.Barrier(4)
    if overwrite:
        prepare(source, out, SplitOptions(seed=9))

    def write_together(graph, report, folder):
        write(graph, report, folder)
        barrier.wait(60)

    def attempt(seed):
        try:
            prepare(source, out, SplitOptions(seed=seed), overwrite=overwrite)
        except DataError as error:
            return str(error)
        return "Written"

    write = custom_dataset._write
    monkeypatch.setattr(custom_dataset, "_write", write_together)
    with futures.ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(attempt, range(1, 5)))
    assert outcomes.count("Written") == 1
    seed = 1 + outcomes.index("Written")
    assert json.loads((out / "report.json").read_text())["preparation"]["split"]["seed"] == seed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["facts.csv", "out"]


def test_a_link_to_a_folder_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    prepare(Source(write_csv(tmp_path / "facts.csv", FACTS)), tmp_path / "out")
    assert (tmp_path / "out").is_symlink()
    assert (tmp_path / "real" / "train.txt").exists()


def test_literals_alone_are_no_triples(tmp_path):
    (tmp_path / "x.nt").write_text('<http://a> <http://b> "c" .\n')
    with pytest.raises(DataError, match=r"none but 1 with a literal, which --keep_literals"):
        prepare(Source(tmp_path / "x.nt"), tmp_path / "out")
    (tmp_path / "x.nt").write_text("")
    with pytest.raises(DataError, match=r"received none\.$"):
        prepare(Source(tmp_path / "x.nt"), tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "flags", "message"),
    [
        ("x.csv", {"keep_literals": True}, "--keep_literals is for triples in RDF, not x.csv."),
        (
            "x.nt",
            {"format": Format(columns=["1", "2", "3"])},
            "are for triples in CSV or TSV, not x.nt.",
        ),
    ],
)
def test_flags_that_no_file_is_read_by(tmp_path, name, flags, message):
    (tmp_path / name).write_text("<a:b> <a:c> <a:d> .\n")
    with pytest.raises(DataError, match=message):
        read_input(Source(tmp_path / name, **flags))


def test_labels_of_others_are_noticed(tmp_path):
    facts = write_csv(tmp_path / "facts.csv", FACTS)
    labels = [f"Null,{FACTS[0][0]}", *(f"Label {number},x{number}" for number in range(5))]
    (tmp_path / "names.csv").write_text("\n".join(labels))
    report = prepare(Source(facts, tmp_path / "names.csv"), tmp_path / "out")
    assert report["warnings"]["labels_of_others"].startswith("Only 0 of 6 labels belong to an ent")
    # Labels of a larger graph are no mistake.
    labels = [f"{name},Label" for name in {*sum(FACTS, ()), *map(str, range(500))}]
    (tmp_path / "names.csv").write_text("\n".join(labels))
    report = prepare(Source(facts, tmp_path / "names.csv"), tmp_path / "larger")
    assert "labels_of_others" not in report["warnings"]


def test_labels_in_rdf(tmp_path):
    (tmp_path / "facts.nt").write_text("<http://a> <http://b> <http://c> .\n")
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    (tmp_path / "labels.nt").write_text(f'<http://a> <{label}> "Anna"@en .\n')
    found = read_input(Source(tmp_path))
    assert found.labels == {"http://a": "Anna"}
    assert found.notes[0] == "labels.nt: 1 labels; N-Triples"


def test_a_failure_leaves_everything_as_it_was(tmp_path, monkeypatch):
    def fail(*arguments):
        raise OSError("disk full")

    def fail_at_the_last_step(path, target):
        return fail() if path.name == "folder" else rename(path, target)

    source, rename = Source(write_csv(tmp_path / "facts.csv", FACTS)), pathlib.Path.rename
    prepare(source, tmp_path / "old")
    before = sorted(tmp_path.rglob("*"))
    for owner, name, failing in (
        (pathlib.Path, "rename", fail_at_the_last_step),
        (custom_dataset, "write_triples", fail),
    ):
        monkeypatch.setattr(owner, name, failing)
        for out in ("new", "old"):
            with pytest.raises(DataError, match=r"Cannot write .*disk full"):
                prepare(source, tmp_path / out, overwrite=out == "old")
            assert sorted(tmp_path.rglob("*")) == before


def test_standard_input(tmp_path, monkeypatch):
    text = "".join(",".join(row) + "\n" for row in FACTS)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    report = prepare(Source("-"), tmp_path / "out")
    assert report["preparation"]["read"][0].startswith(f"-: {len(FACTS)} triples; comma separated")
    assert len(catalog.load(str(tmp_path / "out")).known) == len(FACTS)


@pytest.mark.parametrize("header", [("film", "what", "which"), ("film", "next", "which")])
def test_a_first_line_that_may_be_a_header(tmp_path, header):
    source = Source(write_csv(tmp_path / "facts.csv", [header, *FACTS]))
    report = prepare(source, tmp_path / "out")
    in_doubt = header[1] == "what"
    assert report["preparation"]["headers_in_doubt"] == ["facts.csv"] * in_doubt
    assert ("quatre prepare --header" in report["warnings"].get("headers_in_doubt", "")) == in_doubt


def test_an_input_that_is_no_regular_file(tmp_path):
    os.mkfifo(tmp_path / "facts.csv")
    for path in (tmp_path / "facts.csv", tmp_path):
        with pytest.raises(DataError, match=r"facts\.csv is a pipe, not a regular file"):
            read_input(Source(path))
