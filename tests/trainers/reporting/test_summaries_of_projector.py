"""Points and names of the Projector, on a graph of a dozen triples."""

import dataclasses

import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorboard.plugins.projector import ProjectorConfig

from tests.quatre_tf.ranking.small_graph import NUMBERS, small_graph, small_model
from trainers.reporting.tensorboard import projector

# Counted by hand over the three splits; e, with one of each, is a head first.
ROWS = [
    "b\tb\t7\tlikes\ttail of likes",
    "Ann A.\ta\t6\tlikes\thead of likes",
    "c\tc\t5\tlikes\thead of likes",
    "d\td\t5\tlikes\ttail of likes",
    "e\te\t2\tlikes\thead of likes",
    "f\tf\t1\tlikes\thead of likes",
]


def written(folder):
    """Returns the tensor and the lines of metadata that the Projector finds in a folder."""
    config = text_format.Parse(
        (folder / "projector_config.pbtxt").read_text(), ProjectorConfig()
    ).embeddings[0]
    reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(str(folder)))
    header, *lines = (folder / config.metadata_path).read_text().splitlines()
    assert header == "label\tname\tdegree\trelation\ttype"
    return reader.get_tensor(config.tensor_name), lines


def test_each_row_belongs_to_its_point(tmp_path):
    # A TAB or a line break in a label would move the columns.
    graph = dataclasses.replace(small_graph(), labels={"a": "Ann\tA.\n"})
    projector.write_projector(tmp_path, small_model(), graph)
    points, lines = written(tmp_path)
    assert lines == ROWS
    assert (points.dtype, points.shape) == (np.float32, (6, 4))
    assert points[:, 0].tolist() == [NUMBERS[line.split("\t")[1]] for line in lines]
