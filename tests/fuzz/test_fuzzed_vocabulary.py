"""Names: there and back through the saved form, and saved forms that nobody saved."""

from hypothesis import given
from hypothesis import strategies as st

from quatre_tf import Vocabulary
from tests.fuzz.fuzzing import attempt, fuzz, mutated

characters = st.sampled_from("aAé\r\n\0 \x85\u2028\ufeff\ud800🜁%") | st.characters()
some_names = st.lists(st.text(characters, max_size=4), max_size=8)


def are_names(names):
    """What a vocabulary may hold."""
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        return False
    return len(set(names)) == len(names) and all(n and "\n" not in n for n in names)


@fuzz()
@given(names=some_names)
def test_there_and_back(names, tmp_path):
    if not are_names(names):
        assert attempt(Vocabulary, names)[1]
        return
    path = tmp_path / "names.txt"
    Vocabulary(names).save(path)
    loaded = Vocabulary.load(path)
    assert loaded.names.tolist() == names
    assert loaded.ids(names).tolist() == list(range(len(names)))
    assert Vocabulary.from_set(names[::-1] + names).names.tolist() == sorted(names)


@fuzz()
@given(data=mutated(st.lists(st.text("ab\u2028é", min_size=1)).map("\n".join).map(str.encode)))
def test_files_that_nobody_saved(data, tmp_path):
    path = tmp_path / "names.txt"
    path.write_bytes(data)
    try:
        expected = data.decode("utf-8").removesuffix("\n").split("\n") if data else []
    except UnicodeDecodeError:
        expected = [""]
    loaded, refusal = attempt(Vocabulary.load, path)
    assert (refusal is None) == are_names(expected)
    assert refusal or loaded.names.tolist() == expected
