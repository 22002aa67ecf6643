"""Five training steps of the reference implementation, repeated through our own parts."""

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf.objectives.sampled_logistic import sampled_logistic_objective
from quatre_tf.optimizers import SparseAdagrad
from tests.batches import from_triples
from tests.golden import NAMES, TABLES, load_golden, model_with


@pytest.mark.parametrize("name", NAMES)
def test_scores_before_training(name):
    golden = load_golden(name)
    model = model_with(golden, "init")
    scores = model.score_triples(*golden.triples[0].T)
    # A score is a sum of terms that cancel: float32 keeps 1e-6 of the terms, not of the sum.
    rounding = 1e-6 * np.max(np.abs(golden.scores))
    np.testing.assert_allclose(scores, golden.scores, rtol=1e-5, atol=rounding)


@pytest.mark.parametrize(
    ("name", "strategy"),
    [("umls", "default"), ("kinship", "default"), ("kinship", "mirrored")],
    indirect=["strategy"],
)
@pytest.mark.usefixtures("step_made_of")
def test_five_steps(name, strategy):
    """Losses, gradient norms and all tables to 1e-5, however many replicas share the batch."""
    golden = load_golden(name)
    meta = golden.meta
    with strategy.scope():
        model = model_with(golden, "init")
        optimizer = SparseAdagrad(meta["learning_rate"], global_clipnorm=meta["clip_norm"])
        optimizer.build(model.trainable_variables)

    def step(batch):
        def replica_step(replica_batch):
            objective = sampled_logistic_objective(
                model, replica_batch, l2=meta["regularization_rate"], num_triples=len(golden.labels)
            )
            optimizer.apply(objective.gradients, model.trainable_variables)
            return objective.loss + objective.regularization

        return strategy.reduce("SUM", strategy.run(replica_step, (batch,)), axis=None)

    losses, norms = [], []
    for triples in golden.triples:
        losses.append(step(share(from_triples(triples, golden.labels), strategy)).numpy())
        norms.append(optimizer.gradient_norm.numpy())

    np.testing.assert_allclose(losses, golden.losses, rtol=1e-5)
    np.testing.assert_allclose(norms, golden.gradient_norms, rtol=1e-5)
    tables = model.tables()
    for name in TABLES:
        expected = getattr(golden, f"final_{name}")
        np.testing.assert_allclose(tables[name], expected, rtol=1e-5, atol=2e-6)


def share(batch, strategy):
    """Splits the batch over the replicas, unevenly where it is odd."""
    replicas = strategy.num_replicas_in_sync
    parts = zip(*(np.array_split(x.numpy(), replicas) for x in batch), strict=True)
    parts = [type(batch)(*map(tf.constant, part)) for part in parts]
    if replicas == 1:
        return parts[0]
    return strategy.experimental_distribute_values_from_function(
        lambda context: parts[context.replica_id_in_sync_group]
    )
