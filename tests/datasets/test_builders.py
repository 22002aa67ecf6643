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
from tests.datasets.tiny_archive import LABELLED_ARCHIVE, TINY_ARCHIVE, TINY_SPLITS

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


def sizes(graph):
    lengths = (len(graph.split(split)) for split in ("train", "valid", "test"))
    return (graph.num_entities, graph.num_relations, *lengths)


def names(graph):
    """The triples of names, by split, without using ids."""
    e, r = graph.entities.names, graph.relations.names
    return {split: [(e[h], r[k], e[t]) for h, k, t in graph.split(split)] for split in TINY_SPLITS}


class Tiny(BenchmarkBuilder):
    """Stands for a real benchmark in the tests of what goes wrong."""

    benchmark = None


@pytest.fixture
def tiny(tiny_benchmark, tmp_path, monkeypatch):
    """Loads the tiny benchmark through the catalogue; everything it writes is in tmp_path."""
    monkeypatch.delenv("QUATRE_MANUAL_DIR", raising=False)
    monkeypatch.setattr(Tiny, "benchmark", tiny_benchmark)
    monkeypatch.setitem(BUILDERS, "tiny", Tiny)
    monkeypatch.setitem(BENCHMARKS, "tiny", tiny_benchmark)
    (tmp_path / "archives").mkdir()

    def load(**options):
        return catalog.load("tiny", data_dir=tmp_path / "data", **options)

    load.archives = tmp_path / "archives"
    load.data = tmp_path / "data"
    return load


def files_below(folder):
    return [path for path in pathlib.Path(folder).rglob("*") if path.is_file()]


def test_prepared_once_then_needs_no_archive(tiny, capsys):
    archive = tiny.archives / "Tiny.tar.gz"
    archive.write_bytes(TINY_ARCHIVE)

    graph = tiny(manual_dir=tiny.archives)

    expected = {
        split: [tuple(line.split("\t")) for line in content.decode().splitlines()]
        for split, content in TINY_SPLITS.items()
    }
    assert names(graph) == expected
    assert graph.name == "tiny"
    # The screen shows one line and no progress bars.
    assert capsys.readouterr() == ("", f"Preparing tiny from {archive}\n")

    archive.unlink()
    assert names(tiny()) == expected
    assert capsys.readouterr() == ("", "")


def test_prepared_again_with_labelled_negatives(tiny, labelled_benchmark, monkeypatch):
    """A release that did not know of them has prepared the benchmark."""
    archive = tiny.archives / "Tiny.tar.gz"
    archive.write_bytes(TINY_ARCHIVE)
    before = tiny(manual_dir=tiny.archives)
    with tfds.core.registered.skip_registration():
        monkeypatch.setitem(BUILDERS, "tiny", builders._builder(labelled_benchmark))
    monkeypatch.setitem(BENCHMARKS, "tiny", labelled_benchmark)
    with pytest.raises(DataError, match="without the right valid_negatives and test_negatives"):
        tiny(manual_dir=tiny.archives)

    archive.write_bytes(LABELLED_ARCHIVE)
    graph = tiny(manual_dir=tiny.archives)

    assert (before.negatives, graph.fingerprint) == ({}, before.fingerprint)
    # Entities a, b, c; relations knows, likes.
    assert {split: triples.tolist() for split, triples in graph.negatives.items()} == {
        "valid": [[1, 0, 0]],
        "test": [[2, 1, 1], [0, 0, 2]],
    }
    assert sorted(path.name for path in (tiny.data / "tiny").iterdir()) == ["1.0.0", "1.1.0"]


def test_labels_beside_the_archive(tiny, tiny_benchmark):
    (tiny.archives / "Tiny.tar.gz").write_bytes(TINY_ARCHIVE)
    (tiny.archives / "umls.labels.tsv").write_text("a\tof another benchmark\n")
    assert tiny(manual_dir=tiny.archives).labels == {}
    (tiny.archives / "Tiny.labels.tsv").write_text("a\tAnna\nunknown\tnobody\n")
    assert tiny(manual_dir=tiny.archives).labels == {"a": "Anna"}


def test_wrong_archive_leaves_nothing_and_can_be_mended(tiny):
    archive = tiny.archives / "Tiny.tar.gz"
    archive.write_bytes(TINY_ARCHIVE[:-20])
    with pytest.raises(DataError, match=r"Tiny\.tar\.gz: expected the archive of tiny"):
        tiny(manual_dir=tiny.archives)
    assert files_below(tiny.data) == []

    archive.write_bytes(TINY_ARCHIVE)
    assert tiny(manual_dir=tiny.archives).num_entities == 3


def test_data_dir_that_cannot_be_written(tiny):
    (tiny.archives / "Tiny.tar.gz").write_bytes(TINY_ARCHIVE)
    tiny.data.write_text("a file where the folder should be")
    with pytest.raises(DataError, match=r"Cannot write the prepared tiny to .*--data_dir=FOLDER"):
        tiny(manual_dir=tiny.archives)


def truncate(path):
    path.write_bytes(path.read_bytes()[:-5])


@pytest.mark.parametrize("damage", [truncate, pathlib.Path.unlink, lambda p: p.write_bytes(b"")])
def test_damaged_records(tiny, damage):
    (tiny.archives / "Tiny.tar.gz").write_bytes(TINY_ARCHIVE)
    tiny(manual_dir=tiny.archives)
    [records] = [path for path in files_below(tiny.data) if "train" in path.name]
    damage(records)
    with pytest.raises(DataError, match=r"The prepared tiny in .* is damaged .*Remove that folder"):
        tiny(manual_dir=tiny.archives)


def test_an_error_of_ours_in_between_leaves_nothing(tiny, monkeypatch):
    (tiny.archives / "Tiny.tar.gz").write_bytes(TINY_ARCHIVE)
    monkeypatch.setattr(Tiny, "_generate_examples", lambda *_: iter([(0, {"head": "a"})]))
    with pytest.raises(Exception, match="encode example"):
        tiny(manual_dir=tiny.archives)
    assert files_below(tiny.data) == []


def test_another_run_prepares_the_same_in_the_meantime(tiny, monkeypatch):
    (tiny.archives / "Tiny.tar.gz").write_bytes(TINY_ARCHIVE)
    checks = iter([False])
    is_prepared = builders._is_prepared
    tiny(manual_dir=tiny.archives)
    monkeypatch.setattr(
        builders,
        "_is_prepared",
        lambda builder: next(checks, None) is None and is_prepared(builder),
    )
    assert tiny(manual_dir=tiny.archives).num_entities == 3


def test_plain_tfds(archive_dir, tmp_path):
    builder = tfds.builder("nations", data_dir=tmp_path)
    config = tfds.download.DownloadConfig(manual_dir=archive_dir)
    builder.download_and_prepare(download_dir=tmp_path / "downloads", download_config=config)

    assert builder.info.splits["train"].num_examples == SIZES["nations"][2]
    assert builder.info.citation.startswith("@inproceedings{kemp")
    first = next(iter(tfds.as_numpy(builder.as_dataset(split="train"))))
    archive = io.BytesIO(archives.read_splits(BENCHMARKS["nations"], archive_dir)["train"])
    assert [first[key] for key in ("head", "relation", "tail")] == archive.readline().split()


def test_a_real_benchmark(archive_dir, tmp_path):
    name = "nations"
    graph = catalog.load(name, data_dir=tmp_path, manual_dir=archive_dir)
    texts = archives.read_splits(BENCHMARKS[name], archive_dir)
    assert graph.fingerprint == read_directly(name, texts).fingerprint
    # A second time neither an archive nor the network is needed.
    assert catalog.load(name, data_dir=tmp_path).fingerprint == graph.fingerprint


# Written as records the large ones take a minute.
@pytest.mark.parametrize("name", SIZES)
def test_sizes_of_real_benchmarks(name, archive_dir):
    texts = archives.read_splits(BENCHMARKS[name], archive_dir)
    graph = read_directly(name, texts)
    assert sizes(graph) == SIZES[name]
    # Those of unknown names and those that are known triples would have been refused.
    assert tuple(map(len, graph.negatives.values())) == NEGATIVES.get(name, ())
    labels = archive_dir / BENCHMARKS[name].labels_name
    if labels.is_file():
        # CoDEx's are of relations only.
        names = graph.relations.names if name.startswith("codex") else graph.entities.names
        assert len({*read_labels(labels)} & {*names}) > 0.9 * len(names)


def read_directly(name, texts):
    tables = {split: parse_triples(text, split) for split, text in texts.items()}
    negatives = {
        split: tables[f"{split}_negatives"]
        for split in ("valid", "test")
        if f"{split}_negatives" in tables
    }
    return Graph.from_names(name, tables, negatives=negatives)


def test_archives_of_the_environment_variable(tiny, monkeypatch):
    (tiny.archives / "tiny.tar.gz").write_bytes(TINY_ARCHIVE)
    monkeypatch.setenv("QUATRE_MANUAL_DIR", str(tiny.archives))
    assert tiny().num_entities == 3
