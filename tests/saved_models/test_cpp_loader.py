"""The C++ loader, on which TensorFlow Serving is built, against the two Python ones."""

import numpy as np
import pytest

from tests.saved_models import c_api
from tests.serving import assert_identical, requests_of, signatures_of

NAMES = {"head": ["日本"], "relation": ["is a"]}
TRIPLE = {**NAMES, "tail": ["100%"]}
# The C++ loader does not compare shapes with those of the signature, so the graph has to refuse.
MALFORMED = [
    ("predict_tails", {**NAMES, "top_k": np.int32(0)}),
    ("predict_tails", {**NAMES, "top_k": np.int32(-(2**31))}),
    ("predict_tails", {**NAMES, "top_k": np.int32([3])}),
    ("predict_tails", {**NAMES, "top_k": True}),
    ("predict_heads", {"relation": ["is a"], "tail": np.empty([1, 0], object)}),
    ("predict_tails", {**NAMES, "top_k": np.float32("nan")}),
    ("predict_tails", {**NAMES, "filtered": np.int32(0)}),
    ("predict_tails", {**NAMES, "filtered": [False]}),
    ("predict_tails", {**NAMES, "type_constrained": [[True]]}),
    ("predict_tails", {**NAMES, "head": np.int32([7])}),
    ("predict_tails", {**NAMES, "head": ["日本", "100%"]}),
    ("predict_tails", {"head": [["日本"]], "relation": [["is a"]]}),
    ("predict_tails", {"head": "日本", "relation": "is a"}),
    ("predict_tails", {"head": ["日本"]}),
    ("score_triples", {**NAMES, "tail": ["日本", "100%"]}),
    ("score_triples", {name: [values] for name, values in TRIPLE.items()}),
    ("score_triples", {name: values[0] for name, values in TRIPLE.items()}),
    ("rank_heads", {name: [values] for name, values in TRIPLE.items()}),
]


@pytest.fixture(scope="module")
def ask_cpp(exported):
    with c_api.load(exported) as ask:
        yield ask


def test_all_signatures_answer_alike_in_cpp_and_python(
    ask_cpp, ask_python, ask_session, exported, graph
):
    requests = requests_of(exported, graph)
    assert {signature for signature, _ in requests} == set(signatures_of(exported))
    for signature, inputs in requests:
        typed = {k: np.int32(v) if k == "top_k" else v for k, v in inputs.items()}
        status, outputs = ask_cpp(signature, typed)
        assert status == "OK"
        assert_identical(outputs, ask_python(signature, **inputs))
        assert_identical(outputs, ask_session(signature, **inputs))


def test_malformed_requests_are_refused(ask_cpp):
    for signature, inputs in MALFORMED:
        status, outputs = ask_cpp(signature, inputs)
        assert (status, outputs) == ("INVALID_ARGUMENT", {}), (signature, inputs)
