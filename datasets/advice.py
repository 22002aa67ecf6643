"""Actionable warnings about a graph: the problem, its effect, and what to do."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quatre_tf.data.encoding import SPLITS
from quatre_tf.data.graph import Graph
from quatre_tf.paths import printable

# Train triples below which a relation is hardly learned.
_FEW = 10
# Shares of leaked triples and of entities with one triple that deserve a warning.
_LEAKED = 0.05
_ONE_TRIPLE = 0.1
# Half width of a 95 % interval of Hits@10, in points, above which figures say little.
_NOISE = 5.0
# How far below the wanted share a split may stay.
_SHARE_MISSED = 0.9
_SHOWN_NAMES = 3
_MAX_NAME = 60


def advice(graph: Graph, facts: Mapping[str, Any]) -> dict[str, str]:
    """Returns `{subject: message}`, the gravest first.

    Args:
        graph: The graph.
        facts: What `datasets.graph_report.describe` found out about it.
    """
    parts = (_preparation, _leaked, _unseen, _repeated, _sparse, _noisy)
    found = dict(warning for part in parts for warning in part(graph, facts))
    return found | dict(_alike(graph))


def _leaked(graph: Graph, facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for split, found in facts["leakage"].items():
        if found["share"] >= _LEAKED:
            yield (
                f"leakage_{split}",
                f"{found['share']:.1%} of the {split} triples have an inverse, duplicate or"
                " symmetric twin in train; looking it up reaches Hits@1"
                f" {found['rule']['hits@1']:.1%}. That part of the figures says little about a"
                " model: split again with quatre prepare --split=leakage_aware, or"
                " leave one of each pair of relations out.",
            )
    if facts["counts"]["in_train_and_held_out"]:
        yield (
            "in_train_and_held_out",
            f"{_count(facts['counts']['in_train_and_held_out'], 'triple')} of valid and test also"
            " occur in train: the model has seen the answer. Remove them from one of the two.",
        )
    if facts["counts"]["in_valid_and_test"]:
        yield (
            "in_valid_and_test",
            f"valid and test share {_count(facts['counts']['in_valid_and_test'], 'triple')}: what"
            " is chosen on valid is then chosen on test. Remove them from one of the two.",
        )


def _unseen(graph: Graph, facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for split, found in facts["unseen"].items():
        kinds = [
            f"{_count(number, kind, plural)} ({_list(found[f'first_{plural}'], number)})"
            for kind, plural in (("entity", "entities"), ("relation", "relations"))
            if (number := found[plural])
        ]
        if kinds:
            yield (
                f"unseen_{split}",
                f"{split} has {' and '.join(kinds)} that train does not have, in"
                f" {_count(found['num_triples'], 'triple')}: their embeddings stay random. Move a"
                " triple of each to train, or split again with quatre prepare"
                " --split=leakage_aware.",
            )


def _repeated(graph: Graph, facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if facts["counts"]["repeated_in_a_split"]:
        yield (
            "repeated_triples",
            f"{_count(facts['counts']['repeated_in_a_split'], 'repetition')} of triples inside a"
            " split: they count twice in training or in the figures. Remove them.",
        )
    if facts["counts"]["loops"]:
        yield (
            "loops",
            f"An entity is joined to itself by {_count(facts['counts']['loops'], 'triple')}. If"
            " that says nothing in your graph, remove them.",
        )


def _sparse(graph: Graph, facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    few = [row["relation"] for row in facts["relations"] if row["train"] < _FEW]
    if few:
        yield (
            "rare_relations",
            f"Fewer than {_FEW} train triples for {_count(len(few), 'relation')}"
            f" ({_list(few, len(few))}): too few to learn. Merge relations, or leave them out.",
        )
    degrees = np.bincount(graph.known[:, [0, 2]].reshape(-1), minlength=graph.num_entities)
    single = np.flatnonzero(degrees == 1)
    if len(single) >= _ONE_TRIPLE * graph.num_entities:
        names = graph.entities.names[single[:_SHOWN_NAMES]].tolist()
        yield (
            "entities_with_one_triple",
            f"Only one triple for {_count(len(single), 'entity', 'entities')}"
            f" ({len(single) / graph.num_entities:.0%}: {_list(names, len(single))}): little is"
            " learned of them. Add facts about them, or leave them out; attributes such as dates"
            " and numbers are not entities.",
        )


def _noisy(graph: Graph, facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for split in SPLITS[1:]:
        number = facts["counts"][split]
        # At worst, Hits@10 of 50 %; the two queries of a triple are not independent, so they count
        # as one.
        half_width = 100 * 1.96 * math.sqrt(0.25 / number)
        if half_width > _NOISE:
            yield (
                f"small_{split}",
                f"{split} has {_count(number, 'triple')}: a Hits@10 of 50 % is known to"
                f" ±{half_width:.0f} points (95 %). Compare models on more: a larger"
                f" --{split}_share, or more data.",
            )


def _alike(graph: Graph) -> Iterator[tuple[str, str]]:
    for kind, names in (("entities", graph.entities.names), ("relations", graph.relations.names)):
        strings = pa.array(names, pa.large_string())
        plain = pc.utf8_lower(pc.utf8_trim_whitespace(pc.utf8_normalize(strings, form="NFC")))
        encoded = plain.dictionary_encode().indices.to_numpy()
        counts = np.bincount(encoded)
        number = int((counts > 1).sum())
        if number:
            # A stable order puts the names that are alike side by side.
            order = np.argsort(encoded, kind="stable")
            alike = [
                repr(name[:_MAX_NAME]) for name in names[order[counts[encoded[order]] > 1][:2]]
            ]
            yield (
                f"{kind}_alike",
                f"Names of {kind} in more than one spelling: {number:,} ({_list(alike, 2)}). They"
                " differ in case, white space at the ends or Unicode form, and are different to the"
                " model, the split and the check for leakage: the metrics may be too good. If they"
                " mean the same, spell them alike; `quatre prepare --strip` removes white space.",
            )


def _preparation(graph: Graph, facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    done = facts.get("preparation", {})
    if files := done.get("headers_in_doubt"):
        yield (
            "headers_in_doubt",
            f"The first line of {_list(files, len(files))} was read as a fact, but its names come"
            " nowhere else. If it is a header, read it as one: `quatre prepare --header`.",
        )
    read, used = done.get("labels_read", 0), done.get("labels_used", 0)
    unlabelled = graph.num_entities - len(graph.labels)
    if used < read / 2 and unlabelled > graph.num_entities / 2:
        yield (
            "labels_of_others",
            f"Only {used:,} of {_count(read, 'label')} belong to an entity, and {unlabelled:,} of"
            f" {graph.num_entities:,} entities have none. Write names in the file of labels exactly"
            " as in the triples, in the first column.",
        )
    if done.get("literals_left_out"):
        yield (
            "literals_left_out",
            f"{done['literals_left_out']:,} statements about literals were left out: numbers and"
            " texts are no entities. --keep_literals takes them for such.",
        )
    if done.get("repeated_triples_dropped"):
        yield (
            "repeated_triples_dropped",
            f"{done['repeated_triples_dropped']:,} repeated triples were dropped. Look whether the"
            " files overlap, if that is more than you expect.",
        )
    for split, reached in done.get("reached_shares", {}).items():
        wanted = done["split"][f"{split}_share"]
        if reached < _SHARE_MISSED * wanted:
            yield (
                f"share_of_{split}",
                f"{split} got {reached:.1%} of the triples instead of {wanted:.1%}: no others could"
                " be held out, when train is to keep a triple of every entity and relation, and"
                " twins stay together. Add facts about entities that have one triple.",
            )


def _list(names: Sequence[str], number: int) -> str:
    shown = [printable(name, _MAX_NAME) for name in names[:_SHOWN_NAMES]]
    return ", ".join(shown) + (", ..." if number > len(shown) else "")


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
