"""Files of OpenKE against `json.loads`."""

import json

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from tests.fuzz.fuzzing import attempt, fuzz, mutated
from trainers.importing.openke_files import read_ids, read_weights
from trainers.importing.openke_tables import embeddings_of

KEYS = ["ent_embeddings.weight", "rel_embeddings.weight", "Whr.weight", "Wtr.weight"]
numbers = st.one_of(
    st.floats(width=32), st.integers(-9, 9), st.sampled_from([True, None, "1", 1e300, 10**400, "0"])
)
rows = st.lists(numbers, max_size=3)
values = st.recursive(
    numbers | st.lists(st.lists(st.floats(-1, 1), min_size=2, max_size=2), max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab[]", max_size=2), inner),
    max_leaves=6,
)
keys = st.sampled_from(KEYS) | st.text('ab[]{}"é', max_size=3)
objects = st.dictionaries(keys, values, max_size=4)


@fuzz()
@given(data=mutated(objects.map(json.dumps).map(str.encode)) | st.binary().map(b"{".__add__))
@example(data=b'{"a": "0", "b": [[1, 2]]}')
@example(data=b'{"a": ' + b"[" * 100_000)
@example(data=b'{"a": [["1.5", true]]}')
@example(data=b'{"a": 1' + b"0" * 400 + b"}")
def test_weights(data, tmp_path):
    path = tmp_path / "model.json"
    path.write_bytes(data)
    received, refusal = attempt(read_weights, path)
    if not refusal:
        assert received.keys() == json.loads(data).keys()
        assert {array.dtype for array in received.values()} <= {np.dtype("float32")}


@st.composite
def id_files(draw):
    names = draw(st.lists(st.text("ab é", min_size=1, max_size=3), max_size=4, unique=True))
    ids = draw(st.permutations(range(len(names))))
    separator, end = draw(st.sampled_from(["\t", " "])), draw(st.sampled_from(["\n", "\r\n"]))
    lines = [str(len(names)), *(f"{n}{separator}{i}" for n, i in zip(names, ids, strict=True))]
    return end.join([*lines, ""]).encode()


def plain_ids(data):
    """Returns the names in the order of their ids, or None."""
    try:
        while data.startswith(b"\xef\xbb\xbf"):
            data = data[3:]
        count, *entries = [line.decode("utf-8") for line in data.split(b"\n") if line.strip()]
        found = [(int(position), name) for name, position in map(str.split, entries)]
        is_whole = int(count) == len(found)
    except ValueError:
        return None
    found.sort()
    ids = [position for position, _ in found]
    fits = is_whole and b"\0" not in data and ids == list(range(len(ids)))
    return [name for _, name in found] if fits else None


@fuzz()
@given(data=mutated(id_files()) | st.binary(max_size=20))
@example(data=b"9" * 5000 + b"\n")
@example(data=b"1\n\x00a\t0\n")
@example(data=b"1\na\t" + b"9" * 5000 + b"\n")
def test_names_with_ids(data, tmp_path):
    path = tmp_path / "entity2id.txt"
    path.write_bytes(data)
    expected = plain_ids(data)
    received, refusal = attempt(read_ids, path)
    assert received == expected
    assert refusal or expected is not None


shapes = st.sampled_from([(3, 8), (2, 8), (3, 4), (3, 6), (0, 8), (3, 0), (8,), ()])


@fuzz()
@given(weights=st.dictionaries(keys, shapes.map(np.zeros), max_size=5))
def test_tables_of_any_shape(weights, tmp_path):
    found, refusal = attempt(embeddings_of, weights, tmp_path)
    if refusal:
        return
    variant, tables = found
    (width,) = {table.shape[1] for table in tables.values()}
    assert width % 4 == 0
    assert variant in ("quatre", "quatre_head", "quatre_tail")
