import io
import pathlib

import pytest
import tensorflow_datasets as tfds

from datasets import catalog
from datasets.published import archives, builders
from datasets.published.benchmarks import BENCHMARKS
from datasets.published.builders import BUILDERS, BenchmarkBuilder
from datasets.triples import parse_triples
from quatre_tf import Graph, read_labels
from quatre_tf.errors import DataError
from tests.datasets.tiny_archive import (
    LABELLED_ARCHIVE,
    TINY_ARCHIVE,
    TINY_SPLITS,
    named_triples,
)

# Entities, relations and triples as the literature gives them.
SIZES = {
    "wn18rr": (40943, 11, 86835, 3034, 3134),
    "fb15k237": (14541, 237, 272115, 17535, 20466),
    "wn18": (40943, 18, 141442, 5000, 5000),
    "fb15k": (14951, 1345, 483142, 50000, 59071),
    "umls": (135, 46, 5216, 652, 661),
    "kinship": (104, 25, 8544, 1068, 1074),
    "nations": (14, 55, 1592, 199, 201),
    "codex-s": (2034, 42, 32888, 1827, 1828),
    "codex-m": (17050, 51, 185584, 10310, 10311),
}
NEGATIVES = {"codex-s": (1827, 1828), "codex-m": (10310, 10311)}


class Tiny(BenchmarkBuilder):
    """Stands for a real benchmark in the tests of what goes wrong."""

    benchmark = None


@pytest.fixture
def tiny(tiny_benchmark, tmp_path, monkeypatch):
    """Loads the tiny benchmark through the catalogue; all files are in tmp_path."""
    monkeypatch.delenv("QUATRE_MANUAL_DIR", raising=False)
    monkeypatch.setattr(Tiny, "benchmark", tiny_benchmark)
    monkeypatch.setitem(BUILDERS, "tiny", Tiny)
    monkeypatch.setitem(BENCHMARKS, "tiny", tiny_benchmark)
    folder, data = tmp_path / "archives", tmp_path / "data"
    folder.mkdir()

    def load(manual_dir=folder):
        return catalog.load("tiny", data_dir=data, manual_dir=manual_dir)

    load.archive, load.data = folder / "Tiny.tar.gz", data
    load.archive.write_bytes(TINY_ARCHIVE)
    return load


def files_below(folder):
    return [path for path in pathlib.Path(folder).rglob("*") if path.is_file()]


def test_prepared_once_then_needs_no_archive(tiny, capsys):
    graph = tiny()

    expected = {
        split: [tuple(line.split("\t")) for line in content.decode().splitlines()]
        for split, content in TINY_SPLITS.items()
    }
    assert named_triples(graph) == expected
    assert graph.name == "tiny"
    # The screen shows one line and no progress bars.
    assert capsys.readouterr() == ("", f"Preparing tiny from {tiny.archive}\n")

    tiny.archive.unlink()
    assert named_triples(tiny(manual_dir=None)) == expected
    assert capsys.readouterr() == ("", "")


def test_labelled_negatives(tiny, labelled_benchmark, monkeypatch):
    monkeypatch.setattr(Tiny, "benchmark", labelled_benchmark)
    monkeypatch.setitem(BENCHMARKS, "tiny", labelled_benchmark)
    with pytest.raises(DataError, match="without the right valid_negatives and test_negatives"):
        tiny()
    tiny.archive.write_bytes(LABELLED_ARCHIVE)
    # Entities a, b, c; relations knows, likes.
    assert {split: triples.tolist() for split, triples in tiny().negatives.items()} == {
        "valid": [[1, 0, 0]],
        "test": [[2, 1, 1], [0, 0, 2]],
    }


def test_labels_beside_the_archive(tiny, tiny_benchmark):
    tiny.archive.with_name("umls.labels.tsv").write_text("a\tof another benchmark\n")
    assert tiny().labels == {}
    tiny.archive.with_name("Tiny.labels.tsv").write_text("a\tAnna\nunknown\tnobody\n")
    assert tiny().labels == {"a": "Anna"}


def test_wrong_archive_leaves_nothing_and_can_be_mended(tiny):
    tiny.archive.write_bytes(TINY_ARCHIVE[:-20])
    with pytest.raises(DataError, match=r"Tiny\.tar\.gz: expected the archive of tiny"):
        tiny()
    assert files_below(tiny.data) == []

    tiny.archive.write_bytes(TINY_ARCHIVE)
    assert tiny().num_entities == 3


def test_data_dir_that_cannot_be_written(tiny):
    tiny.data.write_text("a file where the folder should be")
    with pytest.raises(DataError, match=r"Cannot write the prepared tiny to .*--data_dir=FOLDER"):
        tiny()


def truncate(path):
    path.write_bytes(path.read_bytes()[:-5])


@pytest.mark.parametrize("damage", [truncate, pathlib.Path.unlink, lambda p: p.write_bytes(b"")])
def test_damaged_records(tiny, damage):
    tiny()
    [records] = [path for path in files_below(tiny.data) if "train" in path.name]
    damage(records)
    with pytest.raises(DataError, match=r"The prepared tiny in .* is damaged .*Remove that folder"):
        tiny()


def test_an_error_of_ours_in_between_leaves_nothing(tiny, monkeypatch):
    monkeypatch.setattr(Tiny, "_generate_examples", lambda *_: iter([(0, {"head": "a"})]))
    with pytest.raises(Exception, match="encode example"):
        tiny()
    assert files_below(tiny.data) == []


def test_another_run_prepares_the_same_in_the_meantime(tiny, monkeypatch):
    checks = iter([False])
    is_prepared = builders._is_prepared
    tiny()
    monkeypatch.setattr(
        builders,
        "_is_prepared",
        lambda builder: next(checks, None) is None and is_prepared(builder),
    )
    assert tiny().num_entities == 3


def test_plain_tfds(archive_dir, tmp_path):
    builder = tfds.builder("nations", data_dir=tmp_path)
    config = tfds.download.DownloadConfig(manual_dir=archive_dir)
    builder.download_and_prepare(download_dir=tmp_path / "downloads", download_config=config)

    assert builder.info.splits["train"].num_examples == SIZES["nations"][2]
    assert builder.info.citation.startswith("@inproceedings{kemp")
    first = next(iter(tfds.as_numpy(builder.as_dataset(split="train"))))
    archive = io.BytesIO(archives.read_splits(BENCHMARKS["nations"], archive_dir)["train"])
    assert [first[key] for key in ("head", "relation", "tail")] == archive.readline().split()


# Written as records the large ones take a minute.
@pytest.mark.parametrize("name", SIZES)
def test_sizes_of_real_benchmarks(name, archive_dir):
    texts = archives.read_splits(BENCHMARKS[name], archive_dir)
    tables = {split: parse_triples(text, split) for split, text in texts.items()}
    negatives = {
        split: tables[f"{split}_negatives"]
        for split in ("valid", "test")
        if f"{split}_negatives" in tables
    }
    graph = Graph.from_names(name, tables, negatives=negatives)
    lengths = (len(graph.split(split)) for split in ("train", "valid", "test"))
    assert (graph.num_entities, graph.num_relations, *lengths) == SIZES[name]
    # Those of unknown names and those that are known triples would have been refused.
    assert tuple(map(len, graph.negatives.values())) == NEGATIVES.get(name, ())
    labels = archive_dir / BENCHMARKS[name].labels_name
    if labels.is_file():
        # CoDEx's are of relations only.
        names = graph.relations.names if name.startswith("codex") else graph.entities.names
        assert len({*read_labels(labels)} & {*names}) > 0.9 * len(names)


def test_archives_of_the_environment_variable(tiny, monkeypatch):
    archive = tiny.archive.rename(tiny.archive.with_name("tiny.tar.gz"))
    monkeypatch.setenv("QUATRE_MANUAL_DIR", str(archive.parent))
    assert tiny(manual_dir=None).num_entities == 3
