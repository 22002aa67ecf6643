import pytest

from quatre_tf import Vocabulary
from quatre_tf.data.name_lookup import NameLookup
from quatre_tf.errors import DataError, UnknownNameError

LABELS = {
    "Q1": "El Paso",
    "Q2": "Springfield",
    "Q3": "Springfield",
    "Q4": "el  paso",
    "Q5": "q6",
    "Q6": "Lyon",
    "Q7": "",
    "Q9": "Unique Place",
    "Q10": "Gabriel García Márquez",
}


@pytest.fixture
def lookup():
    return NameLookup(Vocabulary([f"Q{i}" for i in range(1, 11)]), LABELS)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("Q2", "Q2"),  # a name
        ("El Paso", "Q1"),  # a label, though another differs in case only
        ("el paso", "Q4"),  # white space of the label counts once
        ("unique  PLACE", "Q9"),  # a label in another case
        ("gabriel garcia marquez", "Q10"),  # a label without its accents
        ("q9", "Q9"),  # a name in another case
        ("q6", "Q5"),  # a label as it is written, before a name in another case
        ("Q6", "Q6"),  # a name before a label in another case
    ],
)
def test_what_is_meant(lookup, given, name):
    assert lookup.name(given) == name


def test_spaces_of_names_count_once():
    lookup = NameLookup(Vocabulary(["New  York", " Egypt"]))
    assert [lookup.name(given) for given in ("new york", "egypt")] == ["New  York", " Egypt"]


def test_a_label_of_several_lists_their_names(lookup):
    message = (
        r"Expected one entity, received 'springfield', which may be any of 2: "
        r"Q2 \(Springfield\), Q3 \(Springfield\)\. Give the name\."
    )
    with pytest.raises(DataError, match=message):
        lookup.name("springfield")
    with pytest.raises(DataError, match=r"any of 2: Q1 .*, Q4"):
        lookup.name("EL PASO")


def test_unknown_names_have_the_closest_names_and_labels(lookup):
    with pytest.raises(UnknownNameError, match=r"entity 'Springfeld'.*'Springfield'"):
        lookup.name("Springfeld")
    with pytest.raises(UnknownNameError, match=r"'Q9x'. Did you mean 'Q9'"):
        lookup.name("Q9x")
    with pytest.raises(UnknownNameError, match=r"^Unknown entity ''\.$"):
        lookup.name("")


def test_shown_with_its_label_if_there_is_one(lookup):
    assert [lookup.shown(name) for name in ("Q6", "Q7", "Q8")] == ["Q6 (Lyon)", "Q7", "Q8"]
    assert [lookup.label(name) for name in ("Q6", "Q7", "Q8")] == ["Lyon", None, None]
