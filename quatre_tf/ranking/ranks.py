"""Filtered ranks: how many candidates score better than the true answer.

A rank is 1 + the number of competitors with a better score. The other known answers of a query do
not compete; they are looked up in a sorted index, so the filter costs as much as there are known
answers and never a dense `[batch, num_entities]` mask. Equal scores are counted separately: how
they count is a policy (`ranks_from_counts`), not an accident of the comparison.

Scores that are not finite raise an error: every comparison with NaN is false, so a broken model
would get perfect ranks.
"""

import tensorflow as tf

from quatre_tf.validation import check_choice

TIE_POLICIES = ("optimistic", "realistic", "pessimistic")


def ranks_from_counts(
    better: tf.Tensor, equal: tf.Tensor, tie_policy: str = "realistic"
) -> tf.Tensor:
    """Returns ranks `[batch]` float64 from the counts of competitors.

    Args:
        better: `[batch]`, competitors with a better score.
        equal: `[batch]`, competitors with the same score.
        tie_policy: `"optimistic"` puts the target before its equals (rank `1 + better`),
            `"pessimistic"` behind them (`1 + better + equal`), `"realistic"` in their middle
            (`1 + better + equal / 2`, the mean of the two).

    Raises:
        ValueError: The policy is unknown.
    """
    check_choice("tie_policy", tie_policy, TIE_POLICIES)
    share = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}[tie_policy]
    return 1.0 + tf.cast(better, tf.float64) + share * tf.cast(equal, tf.float64)
