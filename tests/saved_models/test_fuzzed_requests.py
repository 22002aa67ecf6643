"""Requests that nobody would send: a status for the row or a refusal, never a wrong answer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.saved_models.conftest import ENTITIES, RELATIONS
from tests.serving import signatures_of

ROLES = ("head", "relation", "tail")
# As many as fit into a few seconds.
BUDGET = settings(max_examples=15)

entities = st.sampled_from(ENTITIES)
relations = st.sampled_from(RELATIONS)
strangers = st.one_of(
    st.just(""),
    st.text(st.characters(codec="utf-8"), max_size=8),
    st.binary(max_size=8),
    st.sampled_from(["x" * 1_000_000, "日本\0", "%0D ", "\ufeff日本"]),
)
triples = st.tuples(entities | strangers, relations | strangers, entities | strangers)


def is_known(name, names):
    return name in names or (isinstance(name, bytes) and name in [n.encode() for n in names])


def expected_status(triple, roles):
    """The contract, row by row."""
    for role, name in zip(ROLES, triple, strict=True):
        if role in roles and not is_known(name, RELATIONS if role == "relation" else ENTITIES):
            return f"UNKNOWN_{role.upper()}".encode()
    return b"OK"


def row(answer, place):
    return {name: values[place : place + 1].tolist() for name, values in answer.items()}


@pytest.fixture(scope="module")
def definitions(exported):
    return {name: set(signature.inputs) for name, signature in signatures_of(exported).items()}


@BUDGET
@given(rows=st.lists(triples, min_size=1, max_size=4), data=st.data())
def test_every_row_is_answered_as_if_it_were_alone(ask_session, definitions, rows, data):
    signature = data.draw(st.sampled_from(sorted(definitions)))
    roles = [role for role in ROLES if role in definitions[signature]]
    scalars = {"top_k": 3, "filtered": True, "type_constrained": False}
    options = {name: value for name, value in scalars.items() if name in definitions[signature]}
    table = np.array(rows, object).reshape(-1, 3)
    columns = dict(zip(ROLES, table.T, strict=True))
    answer = ask_session(signature, **{role: columns[role].tolist() for role in roles}, **options)
    assert answer["status"].tolist() == [expected_status(triple, roles) for triple in rows]
    for place in range(len(rows)):
        one = {role: columns[role][place : place + 1].tolist() for role in roles}
        alone = row(ask_session(signature, **one, **options), 0)
        for name, value in row(answer, place).items():
            if name in ("scores", "score", "probability", "probabilities"):
                np.testing.assert_allclose(value, alone[name], rtol=1e-5, atol=1e-5)
            else:
                assert value == alone[name]
