"""The ways in which a SavedModel is loaded in Python, behind one interface."""

import contextlib

import tensorflow as tf


@contextlib.contextmanager
def load_python(path):
    """`tf.saved_model.load`."""
    signatures = tf.saved_model.load(str(path)).signatures

    def ask(signature, **inputs):
        specs = signatures[signature].structured_input_signature[1]
        tensors = {name: tf.constant(value, specs[name].dtype) for name, value in inputs.items()}
        return {name: output.numpy() for name, output in signatures[signature](**tensors).items()}

    yield ask


@contextlib.contextmanager
def load_session(path):
    """The loader of TensorFlow Serving: a graph, its init operation and a session."""
    # Neither graph nor session is entered: other tests run while the fixture is alive.
    with contextlib.closing(tf.compat.v1.Session(graph=tf.Graph())) as session:
        with session.graph.as_default():
            meta_graph = tf.compat.v1.saved_model.loader.load(session, ["serve"], str(path))

        def ask(signature, **inputs):
            definition = meta_graph.signature_def[signature]
            feed = {definition.inputs[name].name: value for name, value in inputs.items()}
            return session.run({k: v.name for k, v in definition.outputs.items()}, feed)

        yield ask


LOADERS = {"python": load_python, "session": load_session}
