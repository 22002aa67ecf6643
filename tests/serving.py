"""The ways in which a SavedModel is loaded in Python, behind one interface."""

import contextlib
import itertools
import pathlib

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2


@contextlib.contextmanager
def load_python(path):
    """`tf.saved_model.load`."""
    signatures = tf.saved_model.load(str(path)).signatures

    def ask(signature, **inputs):
        specs = signatures[signature].structured_input_signature[1]
        arrays = {name: typed_array(v, specs[name].dtype) for name, v in inputs.items()}
        tensors = {name: tf.constant(v, specs[name].dtype) for name, v in arrays.items()}
        return {name: output.numpy() for name, output in signatures[signature](**tensors).items()}

    yield ask


@contextlib.contextmanager
def load_session(path):
    """The loader of TensorFlow Serving: a graph, its init operation and a session.

    `ask` fills in the defaults of a signature as the server does; `ask.without_defaults` does not.
    """
    # Neither graph nor session is entered: other tests run while the fixture is alive.
    with contextlib.closing(tf.compat.v1.Session(graph=tf.Graph())) as session:
        with session.graph.as_default():
            meta_graph = tf.compat.v1.saved_model.loader.load(session, ["serve"], str(path))

        def run(signature, **inputs):
            definition = meta_graph.signature_def[signature]
            feed = {}
            for name, value in inputs.items():
                info = definition.inputs[name]
                feed[info.name] = typed_array(value, tf.as_dtype(info.dtype))
            return session.run({k: v.name for k, v in definition.outputs.items()}, feed)

        def ask(signature, **inputs):
            defaults = meta_graph.signature_def[signature].defaults
            return run(signature, **{k: tf.make_ndarray(v) for k, v in defaults.items()} | inputs)

        ask.without_defaults = run
        yield ask


def typed_array(value, dtype):
    """Returns an array, or raises the TypeError that Python's session leaves out: it converts."""
    integers = (int, np.integer)
    kinds = {tf.string: (str, bytes), tf.bool: (bool, np.bool_)}.get(dtype, integers)
    array = np.array(value, object)
    for leaf in array.ravel():
        if not isinstance(leaf, kinds) or (isinstance(leaf, bool) and dtype != tf.bool):
            raise TypeError(f"{leaf!r} is not of expected type: {dtype.name}")
    return array if dtype == tf.string else array.astype(dtype.as_numpy_dtype)


def meta_graph_of(path):
    """Returns the MetaGraphDef of a SavedModel."""
    content = (pathlib.Path(path) / "saved_model.pb").read_bytes()
    (meta_graph,) = saved_model_pb2.SavedModel.FromString(content).meta_graphs
    return meta_graph


def signatures_of(path):
    """Returns the SignatureDefs of a SavedModel by name, but for its init operation."""
    return {name: s for name, s in meta_graph_of(path).signature_def.items() if s.inputs}


# Values of the scalars of a signature, by type.
_OPTIONS = {tf.int32: (3, 100), tf.bool: (False, True)}


def requests_of(path, graph):
    """Returns (signature, inputs) for every signature, known triple and value of a scalar.

    The last row has an entity that the graph does not have.
    """
    heads, relations, tails = graph.known.T
    columns = {
        "head": np.append(graph.entities.names[heads], "Atlantis"),
        "relation": np.append(graph.relations.names[relations], graph.relations.names[0]),
        "tail": np.append(graph.entities.names[tails], graph.entities.names[0]),
    }
    requests = []
    for signature, definition in sorted(signatures_of(path).items()):
        names = [name for name in definition.inputs if name in columns]
        scalars = sorted(set(definition.inputs) - set(names))
        values = [_OPTIONS[tf.as_dtype(definition.inputs[scalar].dtype)] for scalar in scalars]
        for options in itertools.product(*values):
            inputs = {name: columns[name].astype(object) for name in names}
            requests.append((signature, {**inputs, **dict(zip(scalars, options, strict=True))}))
    return requests


def assert_identical(answer, expected):
    """Asserts that two answers are the same to the last bit."""
    assert set(answer) == set(expected)
    for name, values in expected.items():
        assert (answer[name].dtype, answer[name].shape) == (values.dtype, values.shape), name
        if values.dtype == object:
            assert answer[name].tolist() == values.tolist(), name
        else:
            assert answer[name].tobytes() == values.tobytes(), name
