"""The C++ loader, on which TensorFlow Serving is built, against the two Python ones."""

import itertools
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from tests.serving import LOADERS, assert_identical, requests_of, signatures_of

SOURCE = pathlib.Path(__file__).with_name("ask.cc")
NAMES = {"head": ["日本"], "relation": ["is a"]}
TRIPLE = {**NAMES, "tail": ["100%"]}
# The C++ loader does not compare shapes with those of the signature, so the graph has to refuse.
MALFORMED = [
    ("predict_tails", {**NAMES, "top_k": 0}),
    ("predict_tails", {**NAMES, "top_k": [3]}),
    ("predict_tails", {**NAMES, "top_k": np.float32("nan")}),
    ("predict_tails", {**NAMES, "filtered": 0}),
    ("predict_tails", {**NAMES, "filtered": [False]}),
    ("predict_tails", {**NAMES, "type_constrained": [[True]]}),
    ("predict_tails", {**NAMES, "head": [7]}),
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
def program(tmp_path_factory):
    """The compiled `ask.cc`; takes about 15 seconds."""
    library = pathlib.Path(tf.sysconfig.get_lib())
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    path = tmp_path_factory.mktemp("cpp") / "ask"
    command = ["g++", "-w", *tf.sysconfig.get_compile_flags(), str(SOURCE), "-o", str(path)]
    command += [f"-L{library}", f"-Wl,-rpath,{library}", "-Wl,--no-as-needed"]
    command += ["-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2"]
    subprocess.run(command, check=True)
    return path


@pytest.fixture(scope="module")
def answers(program, exported, graph, tmp_path_factory):
    """`{kind: [(signature, inputs, status, outputs), ...]}`, all from one run of the program."""
    kinds = {
        "complete": requests_of(exported, graph),
        "defaults": [("predict_tails", NAMES)],
        "malformed": MALFORMED,
    }
    folder = tmp_path_factory.mktemp("requests")
    with tf.io.TFRecordWriter(str(folder / "requests")) as writer:
        for signature, inputs in itertools.chain(*kinds.values()):
            tensors = {name: tf.make_tensor_proto(value) for name, value in inputs.items()}
            request = meta_graph_pb2.SignatureDef(method_name=signature, defaults=tensors)
            writer.write(request.SerializeToString())
    command = [program, exported, folder / "requests", folder / "answers"]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    records = tf.data.TFRecordDataset(str(folder / "answers")).as_numpy_iterator()
    answers = {
        kind: [(*request, *parsed(next(records))) for request in requests]
        for kind, requests in kinds.items()
    }
    assert next(records, None) is None
    return answers


def parsed(record):
    """Returns the status and the outputs of an answer."""
    answer = meta_graph_pb2.SignatureDef.FromString(record)
    return answer.method_name, {k: tf.make_ndarray(v) for k, v in answer.defaults.items()}


@pytest.mark.parametrize("loader", sorted(LOADERS))
def test_all_signatures_answer_alike_in_cpp_and_python(loader, answers, exported):
    assert {signature for signature, *_ in answers["complete"]} == set(signatures_of(exported))
    with LOADERS[loader](exported) as ask:
        for signature, inputs, status, outputs in answers["complete"]:
            assert status == "OK"
            assert_identical(outputs, ask(signature, **inputs))


def test_scalars_that_are_left_out_have_defaults(answers, exported):
    ((signature, inputs, status, outputs),) = answers["defaults"]
    assert status == "OK"
    with LOADERS["session"](exported) as ask:
        defaults = {"top_k": 10, "filtered": True, "type_constrained": False}
        assert_identical(outputs, ask(signature, **inputs, **defaults))


def test_malformed_requests_are_refused(answers):
    for signature, inputs, status, outputs in answers["malformed"]:
        assert status.startswith("INVALID_ARGUMENT: "), (signature, inputs)
        assert not outputs
