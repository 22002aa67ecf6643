"""The model under plain Keras: fit, evaluate, predict, save."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import LogisticLoss, QuatRE, RelationRotations, SparseAdagrad, labelled_triples
from quatre_tf.layers.embedding import Embedding
from tests import batches, reference

ENTITIES, RELATIONS, DIM = 5, 2, 2


@pytest.fixture
def triples(rng):
    """Twelve triples of five entities: every id is there many times."""
    return rng.integers(0, [ENTITIES, RELATIONS, ENTITIES], [12, 3], np.int32)


@pytest.fixture
def labels(rng):
    return rng.choice([-1.0, 1.0], 12)


def make(optimizer=None, **compile_options):
    keras.utils.set_random_seed(3)
    model = QuatRE(ENTITIES, RELATIONS, DIM, embeddings_initializer="random_normal")
    model.compile(optimizer or SparseAdagrad(0.1), LogisticLoss(), **compile_options)
    return model


def losses(scores, labels):
    return np.log1p(np.exp(-labels * scores))


def mean_loss(tables, triples, labels):
    """The loss in NumPy."""
    return losses(reference.table_scores(tables, triples, True), labels).mean()


@pytest.mark.parametrize(
    ("optimizer", "run_eagerly"),
    [
        (SparseAdagrad(0.1, initial_accumulator_value=1e-3), False),
        (keras.optimizers.Adagrad(0.1, 1e-3), True),
    ],
    ids=["SparseAdagrad", "keras.Adagrad"],
)
def test_a_step_of_fit_is_the_step_of_numpy(triples, labels, optimizer, run_eagerly):
    """Ids repeat: an optimizer that squares the parts of a row's gradient apart would differ."""
    model = make(optimizer, run_eagerly=run_eagerly)
    tables = {name: table.astype(np.float64) for name, table in model.tables().items()}
    gradients = reference.central_differences(
        lambda moved: [mean_loss(moved, triples, labels)], tables
    )
    model.fit(triples, labels, batch_size=len(triples), shuffle=False, verbose=0)
    for name, found in model.tables().items():
        accumulators = np.full(found.shape, 1e-3)
        expected, _ = reference.adagrad(tables[name], accumulators, gradients[name], 0.1, 0.0)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_gradients_are_sparse_with_each_row_once(triples, policy):
    model = QuatRE(ENTITIES, RELATIONS, DIM, dtype=keras.DTypePolicy(policy))
    with tf.GradientTape() as tape:
        scores = model(triples)
    for gradient in tape.gradient(scores, [weight.value for weight in model.weights]):
        assert isinstance(gradient, tf.IndexedSlices)
        assert len(set(gradient.indices.numpy())) == len(gradient.indices)


def test_evaluate_and_predict(rng, triples, labels):
    model = make()
    expected = reference.model_scores(model, triples)
    np.testing.assert_allclose(model.predict(triples, verbose=0), expected, rtol=1e-4, atol=1e-7)
    weights = rng.random(len(triples))
    loss = model.evaluate(triples, labels, sample_weight=weights, verbose=0)
    assert loss == pytest.approx(np.mean(weights * losses(expected, labels)), rel=1e-5)


def test_saving_keeps_everything(tmp_path, triples, labels):
    """Scores and optimizer are the same to the last bit, and so is training that goes on."""
    model = make(SparseAdagrad(0.1, global_clipnorm=0.5), run_eagerly=True)
    options = {"batch_size": 5, "shuffle": False, "verbose": 0}
    model.fit(triples, labels, **options)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert isinstance(loaded.loss, LogisticLoss)
    assert loaded.get_config() == model.get_config()
    loaded.run_eagerly = True
    np.testing.assert_array_equal(
        loaded.predict(triples, verbose=0), model.predict(triples, verbose=0)
    )
    for one in (model, loaded):
        one.fit(triples, labels, **options)
    assert int(loaded.optimizer.iterations) == 6
    pairs = zip(
        model.weights + model.optimizer.variables,
        loaded.weights + loaded.optimizer.variables,
        strict=True,
    )
    for one, other in pairs:
        np.testing.assert_array_equal(one.numpy(), other.numpy(), err_msg=one.path)


def assert_scores_are_equal(found, expected, rtol):
    assert found.dtype == expected.dtype
    found, expected = (tf.cast(scores, tf.float32) for scores in (found, expected))
    np.testing.assert_allclose(found, expected, rtol, atol=1e-7)


@pytest.mark.parametrize(("policy", "rtol"), [("float32", 1e-5), ("mixed_bfloat16", 2**-7)])
def test_exported_scores_are_the_model_s(tmp_path, triples, labels, policy, rtol):
    """Other numbers of triples than in training, and without an input signature."""
    model = QuatRE(ENTITIES, RELATIONS, DIM, dtype=keras.DTypePolicy(policy))
    model.compile(SparseAdagrad(0.1), LogisticLoss(), run_eagerly=True)
    model.fit(triples, labels, batch_size=4, verbose=0)
    model.export(tmp_path, verbose=False)
    exported = tf.saved_model.load(tmp_path)
    assert_scores_are_equal(exported.serve(triples[:7]), model(triples[:7]), rtol)


def test_export_needs_no_call_and_takes_another_signature(tmp_path, triples):
    model = QuatRE(ENTITIES, RELATIONS, DIM)
    signature = [keras.InputSpec(shape=(None, 3), dtype="int64")]
    model.export(tmp_path, verbose=False, input_signature=signature)
    exported = tf.saved_model.load(tmp_path)
    ids = tf.constant(triples, tf.int64)
    assert_scores_are_equal(exported.serve(ids), model(ids), 1e-5)


@keras.saving.register_keras_serializable("tests")
class Shifted(keras.initializers.Initializer):
    """A user's initializer, of which None is not the default."""

    def __init__(self, shift=1.0):
        self.shift = shift

    def __call__(self, shape, dtype=None):
        return tf.fill(shape, tf.cast(self.shift or 0.0, dtype))

    def get_config(self):
        return {"shift": self.shift}


@pytest.mark.parametrize(
    ("initializer", "expected"),
    [
        (keras.initializers.GlorotUniform(), {}),
        (keras.initializers.GlorotUniform(3), {"seed": 3}),
        (Shifted(None), {"shift": None}),
    ],
)
def test_saved_initializers_have_only_the_arguments_that_were_given(initializer, expected):
    """Keras 3.12 refuses a file with the new arguments of Keras 3.15, even at their defaults."""
    model = QuatRE(ENTITIES, RELATIONS, DIM, embeddings_initializer=initializer)
    copy = QuatRE.from_config(model.get_config())
    for saved in (model, model.entities, model.score_function, copy):
        assert saved.get_config()["embeddings_initializer"]["config"] == expected


@pytest.mark.parametrize("policy", ["bfloat16", "float16", "float64"])
def test_tables_in_other_precisions_are_refused(policy):
    message = rf"must keep tables in float32, as 'float32' does, .*Received: dtype='{policy}'"
    makers = [(QuatRE, ENTITIES, RELATIONS), (Embedding, ENTITIES), (RelationRotations, RELATIONS)]
    for make_tables, *sizes in makers:
        with pytest.raises(ValueError, match=message):
            make_tables(*sizes, DIM, dtype=policy)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_fit_keeps_tables_and_ranks_in_float32(triples, labels, policy):
    model = QuatRE(ENTITIES, RELATIONS, DIM, dtype=keras.DTypePolicy(policy))
    model.compile(SparseAdagrad(0.1), LogisticLoss(), run_eagerly=True)
    before = model.get_weights()
    model.fit(triples, labels, verbose=0)
    assert all(weight.dtype == "float32" for weight in model.weights)
    assert all(np.any(one != other) for one, other in zip(before, model.get_weights(), strict=True))
    assert model.score_tails(triples[:, 0], triples[:, 1]).dtype == tf.float32
    assert model.score_heads(triples[:, 1], triples[:, 2]).dtype == tf.float32


def test_batches_are_traced_once(rng):
    model = make()
    batch = batches.random_batch(rng, ENTITIES, RELATIONS, batch_size=4, num_negatives=3)
    calls = []
    tail_queries = model.score_function.tail_queries
    model.score_function.tail_queries = lambda *rows: calls.append(1) or tail_queries(*rows)
    data = tf.data.Dataset.from_tensors(batch._asdict()).repeat().map(labelled_triples)
    model.fit(data, steps_per_epoch=2, shuffle=False, verbose=0)
    traces = len(calls)
    assert traces
    model.fit(data, steps_per_epoch=3, epochs=2, shuffle=False, verbose=0)
    assert len(calls) == traces


def test_labelled_triples_are_those_of_the_batch(rng):
    batch = batches.random_batch(rng, 50, 7, batch_size=6, num_negatives=4)
    triples, labels = labelled_triples(batch._asdict())
    expected, signs = batches.as_triples(batch)
    np.testing.assert_array_equal(triples, expected)
    np.testing.assert_array_equal(labels, signs)
