import keras
import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import KGEModel
from quatre_tf.optimizers import SparseAdagrad, SparseAdam
from tests import reference

SHAPE = (7, 3)


def variable(rng):
    return keras.Variable(rng.normal(size=SHAPE), dtype="float32")


def slices(rng, ids):
    values = tf.constant(rng.normal(size=(len(ids), SHAPE[1])), tf.float32)
    return tf.IndexedSlices(values, tf.constant(ids), tf.constant(SHAPE))


def dense(gradient):
    result = np.zeros(SHAPE)
    np.add.at(result, gradient.indices.numpy(), gradient.values.numpy())
    return result


@pytest.mark.parametrize("ids", [[0, 4, 6], [2, 2, 5, 2, 0]], ids=["unique", "duplicates"])
def test_sparse_steps_equal_dense_adagrad_of_the_sum(rng, step_made_of, ids):
    table = variable(rng)
    expected, accumulator = table.numpy().astype(np.float64), np.zeros(SHAPE)
    optimizer = SparseAdagrad(0.3, epsilon=1e-10)
    for _ in range(4):
        gradient = slices(rng, ids)
        optimizer.apply([gradient], [table])
        expected, accumulator = reference.adagrad(
            expected, accumulator, dense(gradient), 0.3, 1e-10
        )
    np.testing.assert_allclose(table.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "scale"), [({"initial_accumulator_value": 0.2, "epsilon": 1e-3}, 1.0), ({}, 1e-6)]
)
def test_dense_gradients_take_the_same_form(rng, step_made_of, options, scale):
    """Mean losses give gradients near 1e-6, which the defaults must not swallow."""
    table = variable(rng)
    gradient = scale * rng.normal(size=SHAPE)
    start = np.full(SHAPE, options.get("initial_accumulator_value", 0.0))
    epsilon = options.get("epsilon", 1e-10)
    expected, _ = reference.adagrad(table.numpy(), start, gradient, 0.1, epsilon)
    SparseAdagrad(0.1, **options).apply([tf.constant(gradient, tf.float32)], [table])
    np.testing.assert_allclose(table.numpy(), expected, rtol=1e-5)


def test_adam_steps(rng):
    """Sparse steps of other rows each time, with duplicates, then a dense one."""
    table = variable(rng)
    expected, moments = table.numpy().astype(np.float64), np.zeros((2, *SHAPE))
    optimizer = SparseAdam(0.3)
    ids = [[0, 4, 6], [2, 2, 5, 2, 0], [0]]
    gradients = [*(slices(rng, some) for some in ids), tf.constant(rng.normal(size=SHAPE))]
    for step, gradient in enumerate(gradients, start=1):
        optimizer.apply([gradient], [table])
        whole = dense(gradient) if isinstance(gradient, tf.IndexedSlices) else gradient.numpy()
        expected, moments = reference.lazy_adam(expected, moments, whole, 0.3, 1e-8, step)
    np.testing.assert_allclose(table.numpy(), expected, rtol=1e-4, atol=2e-5)
    slots = optimizer.slots(table)
    assert list(slots) == ["momentum", "velocity"]
    np.testing.assert_allclose(list(slots.values()), moments, rtol=1e-4, atol=1e-7)


def test_adam_accumulates_gradients(rng):
    accumulating, plain = variable(rng), keras.Variable(tf.zeros(SHAPE))
    plain.assign(accumulating)
    gradients = rng.normal(size=(2, *SHAPE)).astype(np.float32)
    sparse = tf.IndexedSlices(gradients[1], tf.range(SHAPE[0]), tf.constant(SHAPE))
    optimizer = SparseAdam(0.1, gradient_accumulation_steps=2)
    for gradient in (tf.constant(gradients[0]), sparse):
        optimizer.apply([gradient], [accumulating])
    SparseAdam(0.1).apply([tf.constant(gradients.mean(axis=0))], [plain])
    np.testing.assert_allclose(accumulating.numpy(), plain.numpy(), rtol=1e-5)


def test_adam_is_keras_s_where_all_rows_have_a_gradient(rng):
    start, gradients = rng.normal(size=SHAPE), rng.normal(size=(3, *SHAPE)).astype(np.float32)
    tables = [keras.Variable(start, dtype="float32") for _ in range(3)]
    arguments = {"beta_1": 0.8, "beta_2": 0.9, "epsilon": 1e-3}
    for gradient in gradients:
        rows = tf.IndexedSlices(tf.constant(gradient), tf.range(SHAPE[0]), tf.constant(SHAPE))
        given = [tf.constant(gradient), tf.constant(gradient), rows]
        optimizers = [keras.optimizers.Adam, SparseAdam, SparseAdam]
        for table, make, value in zip(tables, optimizers, given, strict=True):
            optimizer = make(0.1, **arguments)
            optimizer.apply([value], [table])
    for table in tables[1:]:
        np.testing.assert_allclose(table.numpy(), tables[0].numpy(), rtol=1e-5)


@pytest.mark.parametrize("make", [SparseAdagrad, SparseAdam])
def test_rows_without_gradient_keep_their_bits(rng, make):
    table = variable(rng)
    before = table.numpy().copy()
    optimizer = make(0.5)
    for ids in ([1, 3, 3], [3], [1]):
        optimizer.apply([slices(rng, ids)], [table])
    untouched = [0, 2, 4, 5, 6]
    np.testing.assert_array_equal(table.numpy()[untouched], before[untouched])
    assert np.all(table.numpy()[[1, 3]] != before[[1, 3]])


@pytest.mark.parametrize("clip", [0.5, 1e3], ids=["clips", "does not clip"])
def test_global_norm_counts_duplicates_once_and_clips(rng, clip):
    first, second = variable(rng), variable(rng)
    before = first.numpy().astype(np.float64)
    gradients = [slices(rng, [2, 2, 5]), tf.constant(rng.normal(size=SHAPE), tf.float32)]
    norm = np.sqrt(np.sum(dense(gradients[0]) ** 2) + np.sum(gradients[1].numpy() ** 2))
    optimizer = SparseAdagrad(0.1, initial_accumulator_value=1.0, global_clipnorm=clip)
    optimizer.apply(gradients, [first, second])
    np.testing.assert_allclose(optimizer.gradient_norm.numpy(), norm, rtol=1e-6)
    scaled = dense(gradients[0]) * min(1.0, clip / norm)
    expected, _ = reference.adagrad(before, np.ones(SHAPE), scaled, 0.1, 1e-10)
    np.testing.assert_allclose(first.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("options", [{"clipnorm": 1.0}, {"clipvalue": 1.0}], ids=str)
def test_duplicates_are_added_before_each_gradient_is_clipped(options):
    table = keras.Variable(np.zeros([3, 2], np.float32))
    optimizer = SparseAdagrad(0.1, **options)
    twice = tf.IndexedSlices(tf.constant([[3.0, 0.0], [3.0, 0.0]]), tf.constant([1, 1]), [3, 2])
    optimizer.apply([twice], [table])
    np.testing.assert_allclose(
        optimizer.slots(table)["accumulator"], [[0, 0], [1, 0], [0, 0]], rtol=1e-6
    )


def geodesic_steps(rng, model, steps, dim=3, rate=0.4):
    """Random gradients of the tables of MuRP, and the tables after NumPy's steps with them."""
    tables = [v.numpy().astype(np.float64) for v in model.trainable_variables]
    gradients = [[rng.normal(size=t.shape) for t in tables] for _ in range(steps)]
    # The entities' points with their two biases, the relations' points, and the diagonals.
    points, others = [tables[0][:, :dim], tables[1]], [tables[0][:, dim:], tables[2]]
    sums, squares = [0.0, 0.0], [0.0, 0.0]
    for entities, relations, diagonals in gradients:
        for i, gradient in enumerate([entities[:, :dim], relations]):
            points[i], sums[i] = reference.riemannian_adagrad(points[i], sums[i], gradient, rate)
        for i, gradient in enumerate([entities[:, dim:], diagonals]):
            others[i], squares[i] = reference.adagrad(others[i], squares[i], gradient, rate, 0.0)
    expected = [np.concatenate([points[0], others[0]], axis=1), points[1], others[1]]
    return gradients, expected


def murp(rng):
    model = KGEModel(7, 5, 3, "murp")
    tables = {n: rng.normal(0, 0.3, t.shape) for n, t in model.tables().items()}
    model.assign_tables(tables)
    return model


@pytest.mark.parametrize("strategy", ["default", "mirrored"], indirect=True)
def test_points_of_murp_move_along_geodesics(rng, strategy):
    """The entities' gradient is sparse with duplicates; each replica gives its share."""
    with strategy.scope():
        model, optimizer = murp(rng), SparseAdagrad(0.4)
        optimizer.build(model.trainable_variables)
    gradients, expected = geodesic_steps(rng, model, steps=2)
    share = 1.0 / strategy.num_replicas_in_sync

    def replica(entities, relations, diagonals):
        ids = tf.concat([tf.range(7), tf.range(7)], axis=0)
        halves = tf.concat([0.25 * share * entities, 0.75 * share * entities], axis=0)
        sparse = tf.IndexedSlices(halves, ids, tf.shape(entities))
        shares = [sparse, share * relations, share * diagonals]
        optimizer.apply(shares, model.trainable_variables)

    for arrays in gradients:
        strategy.run(replica, [tf.constant(array, tf.float32) for array in arrays])
    for variable, table in zip(model.trainable_variables, expected, strict=True):
        np.testing.assert_allclose(variable.numpy(), table, rtol=1e-5, atol=1e-6)


def test_first_steps_of_adam_are_those_of_adagrad_on_the_ball(rng):
    """Both are the learning rate times the direction."""
    models = [murp(np.random.default_rng(1)) for _ in range(2)]
    gradients = [rng.normal(size=v.shape).astype(np.float32) for v in models[0].trainable_variables]
    for model, optimizer in zip(models, (SparseAdagrad(0.4), SparseAdam(0.4)), strict=True):
        optimizer.apply([tf.constant(g) for g in gradients], model.trainable_variables)
    for name, table in models[0].tables().items():
        np.testing.assert_allclose(models[1].tables()[name], table, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("make", [SparseAdagrad, SparseAdam])
def test_points_stay_in_the_ball_and_others_where_they_are(rng, make):
    model, optimizer = murp(rng), make(50.0)
    before = model.tables()
    for _ in range(3):
        gradients = [
            tf.constant(rng.normal(size=v.shape), tf.float32) for v in model.trainable_variables
        ]
        gradients[0] = tf.IndexedSlices(gradients[0][:2], [4, 1])
        optimizer.apply(gradients, model.trainable_variables)
    tables = model.tables()
    for points in (tables["entity"][[1, 4]], tables["relation"]):
        norms = np.linalg.norm(points, axis=1)
        assert (norms <= 1.0 - 1e-5 + 1e-6).all()
        assert (norms > 0.9999).all()  # steps this long end at the edge
    for name in ("entity", "head_bias", "tail_bias"):
        others = [0, 2, 3, 5, 6]
        np.testing.assert_array_equal(tables[name][others], before[name][others])


def test_config_round_trips():
    optimizers = (
        SparseAdagrad(0.2, 0.3, 1e-5, global_clipnorm=0.7),
        SparseAdam(0.2, 0.3, 0.4, 1e-5, global_clipnorm=0.7),
    )
    for optimizer in optimizers:
        copy = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
        assert type(copy) is type(optimizer)
        assert copy.get_config() == optimizer.get_config()
        assert (copy.epsilon, copy.global_clipnorm) == (1e-5, 0.7)
    with pytest.raises(ValueError, match="Expected amsgrad=False"):
        SparseAdam(amsgrad=True)


@pytest.mark.parametrize("make", [SparseAdagrad, SparseAdam])
@pytest.mark.parametrize("strategy", ["mirrored"], indirect=True)
def test_replicas_update_as_one(rng, strategy, make):
    """Each replica gives half of the gradient; norm and update are those of the sum."""
    whole = slices(rng, [1, 4, 1, 6])
    start = rng.normal(size=SHAPE).astype(np.float32)
    with strategy.scope():
        table = keras.Variable(start)
        optimizer = make(0.1, global_clipnorm=0.5)
        optimizer.build([table])

    @tf.function
    def step():
        def replica():
            # Of the four parts, the first one has the first, and the second one the others.
            is_first = tf.distribute.get_replica_context().replica_id_in_sync_group == 0
            is_given = tf.equal([[True], [False], [False], [False]], is_first)
            values = tf.where(is_given, whole.values, 0.0)
            optimizer.apply([tf.IndexedSlices(values, whole.indices, whole.dense_shape)], [table])

        strategy.run(replica)

    step()
    norm = np.sqrt(np.sum(dense(whole) ** 2))
    clipped = dense(whole) * min(1, 0.5 / norm)
    expected, _ = (
        reference.adagrad(start, np.zeros(SHAPE), clipped, 0.1, 1e-10)
        if make is SparseAdagrad
        else reference.lazy_adam(start, np.zeros((2, *SHAPE)), clipped, 0.1, 1e-8, 1)
    )
    np.testing.assert_allclose(optimizer.gradient_norm.numpy(), norm, rtol=1e-6)
    np.testing.assert_allclose(table.numpy(), expected, rtol=1e-4, atol=2e-5)
