import os

import pytest

from datasets.catalog import read_graph
from datasets.readers import delimited
from datasets.triples import parse_triples, read_triples
from quatre_tf.errors import DataError


def rows(table):
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"a\tr\tb\na\tr\n",
            r"here:2: expected 3 fields as in 'head\\trelation\\ttail', received 2: 'a\\tr'",
        ),
        (b"a\tr\tb\n\tr\tb\n", "here:2: expected a name for the head, received none"),
        (b"a\tr\tb\nonly " + b"x" * 200, "here:2: .*'only x{55}…'"),
        (b"\n\n", "here: expected head, relation, tail .* received an empty file"),
    ],
)
def test_malformed_text_is_located(content, message):
    with pytest.raises(DataError, match=message) as error:
        parse_triples(content, "here")
    assert "\n" not in str(error.value)


def test_error_far_into_a_file_of_several_blocks():
    good = b"some_head\tsome_relation\tsome_tail\n" * 100_000
    with pytest.raises(DataError, match=r"here:100001: .* received 2"):
        parse_triples(good + b"a\tb\n" + good, "here")


def test_good_text_is_not_read_line_by_line(monkeypatch):
    monkeypatch.setattr(delimited, "_parse_slowly", None)
    assert len(parse_triples(b"a\tr\tb\r\n" * 200_000, "here")) == 200_000


def test_a_line_longer_than_a_block_of_the_fast_parser():
    long = b"x" * 3_000_000
    table = parse_triples(b"a\tr\t" + long + b"\nb\tr\t" + long + b"\n", "here")
    assert [row[0] for row in rows(table)] == ["a", "b"]


def test_columns_of_a_long_text_are_in_one_piece():
    """Arrow reads a megabyte at a time; each piece would cost a look at the whole dictionary."""
    rows = [(f"head {n}", f"relation {n % 7}", f"tail {n % 1000}") for n in range(100_000)]
    table = parse_triples("\n".join("\t".join(row) for row in rows).encode(), "long.tsv")
    assert [column.num_chunks for column in table.columns] == [1, 1, 1]
    assert list(zip(*table.to_pydict().values(), strict=True)) == rows


def test_a_sparse_file_is_refused_before_it_is_held(tmp_path):
    with (tmp_path / "train.txt").open("wb") as file:
        file.write(b"a\tr\tb\n")
        file.truncate(2**40)
    with pytest.raises(DataError, match=r"train\.txt:2: .* received a NUL character"):
        read_triples(tmp_path / "train.txt")


def test_a_nul_character_far_into_a_file(tmp_path):
    lines = b"a\tr\tb\n" * 300_000
    (tmp_path / "train.txt").write_bytes(lines + b"a\tr\0\tb\n")
    with pytest.raises(DataError, match=r"train\.txt:300001: .* received a NUL character"):
        read_triples(tmp_path / "train.txt")


@pytest.mark.parametrize("suffix", [".txt", ".tsv"])
def test_a_pipe_in_place_of_a_split(folder, suffix):
    (folder / "train.txt").unlink()
    os.mkfifo(folder / f"train{suffix}")
    with pytest.raises(DataError, match=f"train{suffix} is a pipe, not a regular file"):
        read_graph(folder)
