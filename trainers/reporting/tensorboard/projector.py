"""TensorBoard's Projector: rows of the entity table with their names."""

import os
import pathlib

import numpy as np
import tensorflow as tf
from tensorboard.plugins.projector import ProjectorConfig, visualize_embeddings

from quatre_tf.data.graph import Graph
from quatre_tf.model import KGEModel

NUM_ENTITIES = 10_000
METADATA = "metadata.tsv"
TENSOR = "entities"
_COLUMNS = ("label", "name", "degree", "relation", "type")


def write_projector(logdir: pathlib.Path, model: KGEModel, graph: Graph) -> None:
    """Writes the most frequent entities, `NUM_ENTITIES` at most, the most frequent first.

    Each comes with its label, its name, its degree (how often it occurs in triples, of any split),
    the relation that it occurs in most often, and the side of a relation where it does: the closest
    to a type that every graph has.

    Args:
        logdir: Where TensorBoard looks for the run.
        model: The model; a point is a row of its entity table, `[4 * embedding_dim]` float32.
        graph: Its graph.
    """
    degrees = np.bincount(graph.known[:, [0, 2]].ravel(), minlength=graph.num_entities)
    entities = np.argsort(-degrees, kind="stable")[:NUM_ENTITIES].astype(np.int32)
    logdir.mkdir(parents=True, exist_ok=True)
    _write_checkpoint(logdir, model.entities.lookup(entities))
    lines = [_COLUMNS, *_metadata(graph, entities, degrees[entities])]
    text = "".join("\t".join(" ".join(cell.split()) for cell in line) + "\n" for line in lines)
    (logdir / METADATA).write_text(text, encoding="utf-8")
    config = ProjectorConfig()
    config.embeddings.add(tensor_name=TENSOR, metadata_path=METADATA)
    visualize_embeddings(os.fspath(logdir), config)


def _write_checkpoint(logdir: pathlib.Path, rows: tf.Tensor) -> None:
    """Not a file of bytes: TensorBoard takes one for text when its first line might be some."""
    name = f"{TENSOR}.ckpt"
    prefix = os.fspath(logdir / name)
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=[TENSOR], shape_and_slices=[""], tensors=[rows])
    # What tf.train.latest_checkpoint, and so TensorBoard, reads; relative, so that runs may move.
    (logdir / "checkpoint").write_text(f'model_checkpoint_path: "{name}"\n', encoding="utf-8")


def _metadata(
    graph: Graph, entities: np.ndarray, degrees: np.ndarray
) -> list[tuple[str, str, str, str, str]]:
    """Returns the columns of each entity."""
    heads, relations, tails = graph.known.T.astype(np.int64)
    occurring = np.concatenate([heads, tails])
    # Twice the relation, and one more where the entity is its tail.
    sides = np.concatenate([2 * relations, 2 * relations + 1])
    names = graph.relations.names
    return [
        (
            graph.labels.get(name, name),
            name,
            str(degree),
            names[relation],
            f"{('head', 'tail')[side % 2]} of {names[side // 2]}",
        )
        for name, degree, relation, side in zip(
            graph.entities.names[entities],
            degrees,
            _most_frequent(occurring, sides // 2)[entities],
            _most_frequent(occurring, sides)[entities],
            strict=True,
        )
    ]


def _most_frequent(groups: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Returns the most frequent value of each group, the smallest of several; every one has some.

    Args:
        groups: `[n]`, every number from 0 to the largest.
        values: `[n]`, not negative.
    """
    base = values.max() + 1
    pairs, counts = np.unique(groups * base + values, return_counts=True)
    order = np.lexsort((-counts, pairs // base))
    _, first = np.unique(pairs[order] // base, return_index=True)
    return pairs[order][first] % base
