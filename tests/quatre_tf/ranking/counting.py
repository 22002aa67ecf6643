"""Counting of competitors, by `count_better` and as a person would."""

import numpy as np
import tensorflow as tf
from hypothesis import strategies as st

from quatre_tf.ranking.counting import count_better
from quatre_tf.ranking.entity_lists import RankTargets
from quatre_tf.ranking.tiles import candidate_table
from tests import reference

# (entities, queries) of a tile: those of programs; the largest one; small ones, of which the last
# has a single entity. Sizes are compiled once each, so there are few.
TILE, LARGEST_TILE, SMALL_TILE = (3072, 512), (4095, 16), (3, 2)


def keys_of(lists, num_entities):
    """The ascending keys of lists of entities."""
    keys = [i * num_entities + e for i, entities in enumerate(lists) for e in sorted(entities)]
    return tf.constant(keys, tf.int64)


def count(queries, table, targets, known, sets, tile=TILE):
    """`count_better` of any number of queries; `sets` is a list of (lists, list of each query).

    Targets are `[queries]`, and counts `[2, 1 + sets, queries]`; or both have a dimension of depth
    before the last.
    """
    if np.ndim(targets) == 1:
        return count(queries, table, [targets], known, sets, tile)[:, :, 0]
    targets = np.asarray(targets)
    queries, table = (tf.constant(x, tf.float32) for x in (queries, table))
    lists = [members for set_lists, _ in sets for members in set_lists]
    offsets = np.cumsum([0, *(len(set_lists) for set_lists, _ in sets)])
    rows = [np.asarray(of) + o for (_, of), o in zip(sets, offsets, strict=False)]
    set_lists = np.array(rows, np.int64).reshape(len(sets), len(queries))
    counts = [np.zeros([2, 1 + len(sets), len(targets), 0])]
    for start in range(0, len(queries), tile[1]):
        part = slice(start, start + tile[1])
        rank_targets = RankTargets(
            tf.constant(targets[:, part], tf.int64),
            keys_of(known, len(table)),
            tf.range(len(queries), dtype=tf.int64)[part],
            keys_of(lists, len(table)),
            tf.constant(set_lists[:, part]),
        )
        result = count_better(
            queries[part], candidate_table(table), rank_targets, entity_tile=tile[0]
        )
        counts.append(tf.stack(result).numpy())
    counts = np.concatenate(counts, axis=3)
    # They have no meaning where nothing was asked for.
    return np.where(targets >= 0, counts, 0)


def naive(scores, targets, known, sets):
    """Candidate by candidate, as a person would count: [2, 1 + sets, depth, queries]."""
    everyone = [range(scores.shape[1])] * len(scores)
    candidates = [everyone, *([lists[i] for i in of] for lists, of in sets)]
    counts = np.zeros([2, len(candidates), *targets.shape])
    for s, depth, q in np.ndindex(counts.shape[1:]):
        if targets[depth, q] >= 0:
            triple, others = (q, 0, targets[depth, q]), [(q, 0, e) for e in known[q]]
            counts[:, s, depth, q] = reference.competitors(
                scores[:, np.newaxis], triple, 2, others, candidates[s][q]
            )
    return counts


@st.composite
def cases(draw):
    """Small integers, so that ties are the rule; lists from empty to all."""
    num_entities = draw(st.sampled_from([1, 7]))
    batch = draw(st.integers(0, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    entities = st.lists(st.integers(0, num_entities - 1), unique=True)
    some = st.one_of(st.just([]), st.just(list(range(num_entities))), entities)
    # As in an evaluation: a set has a list a relation, and queries share it.
    sets = []
    for _ in range(draw(st.integers(0, 2))):
        lists = draw(st.lists(some, min_size=1, max_size=3))
        sets.append((lists, rng.integers(0, len(lists), batch)))
    known = [draw(some) for _ in range(batch)]
    return (
        rng.integers(-1, 2, [batch, 3]),
        rng.integers(-1, 2, [num_entities, 3]),
        # -1 for none, in any order.
        rng.integers(-1, num_entities, [draw(st.sampled_from([1, 3])), batch]),
        known,
        sets,
        draw(st.sampled_from([LARGEST_TILE, SMALL_TILE])),
    )
