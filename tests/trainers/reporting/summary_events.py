"""Reading back what was written for TensorBoard."""

import tensorflow as tf


def read_values(folder):
    """Returns `{tag: {step: summary value}}` of the event files that lie in a folder."""
    values = {}
    for path in sorted(folder.glob("events.out.tfevents.*")):
        for event in tf.compat.v1.train.summary_iterator(str(path)):
            for value in event.summary.value:
                values.setdefault(value.tag, {})[event.step] = value
    return values


def plugin_content(folder, tag):
    """Returns what the only value of a tag holds for a plugin."""
    (value,) = read_values(folder)[tag].values()
    return value.metadata.plugin_data.content


def read_tensors(folder):
    """Returns `{tag: {step: array}}`, without what has no tensor."""
    return {
        tag: {step: tf.make_ndarray(value.tensor) for step, value in steps.items()}
        for tag, steps in read_values(folder).items()
    }
