import pickle

import numpy as np
import pyarrow as pa
import pytest

from quatre_tf.data.vocabulary import Vocabulary
from quatre_tf.errors import DataError, UnknownNameError


@pytest.mark.parametrize(
    "names",
    [
        np.array(["b", "a"]),
        np.array(["b", "a"], dtype=object),
        np.array([b"b", b"a"], dtype=object),
        pa.array(["b", "a"]),
        pa.chunked_array([["b"], ["a"]]),
        pa.array(["b", "a"]).dictionary_encode(),
        iter(["b", "a"]),
    ],
    ids=lambda names: type(names).__name__,
)
def test_names_come_in_many_forms(names):
    assert list(Vocabulary(names).names) == ["b", "a"]


def test_unknown_name_tells_the_first_one_and_the_closest():
    vocabulary = Vocabulary(["France", "Greece", "Japan", "Jordan"])

    with pytest.raises(UnknownNameError, match=r"Unknown entity 'japn'. Did you mean 'Japan'") as e:
        vocabulary.ids(["France", "japn", "nothing"])

    assert (e.value.name, e.value.kind, e.value.suggestions[0]) == ("japn", "entity", "Japan")


def test_suggestions_of_a_large_vocabulary_begin_alike():
    vocabulary = Vocabulary([f"entity_{i:06d}" for i in range(60_000)] + ["France"])

    assert vocabulary.suggest("fran") == ["France"]
    assert vocabulary.suggest("") == []


def test_errors_survive_pickling():
    error = UnknownNameError("x", "entity", ["y"], "Look again.")
    copy = pickle.loads(pickle.dumps(error))

    assert str(copy) == str(error) == "Unknown entity 'x'. Did you mean 'y'? Look again."
    assert copy.suggestions == ("y",)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b", "a"], "entity name 'a' is there more than once"),
        (["a", ""], "an empty name at position 1"),
        (["a\nb"], "a line break at position 0"),
        (["a", None], "received None at position 1"),
        ([1, 2], "must be strings"),
        (["\ud800"], "must be strings"),
    ],
)
def test_bad_names_are_refused(names, message):
    with pytest.raises(DataError, match=message):
        Vocabulary(names)
