"""The Custom Scalars dashboard of TensorBoard: the charts that tell how a run is doing."""

import tensorflow as tf
from tensorboard.plugins.custom_scalar import layout_pb2, summary

# Category, then chart, then the scalars in it: regular expressions over whole tags.
CHARTS = {
    "Validation": {
        "MRR": "valid/all/mrr",
        "Hits@k": r"valid/all/hits@\d+",
        "MRR by relation": "valid/per_relation/.+",
        "True above corrupted (AUC)": "scores/auc",
    },
    "Training": {
        "Loss and regularisation": "train/(loss|regularization)",
        "Gradient norm": "train/gradient_norm",
        "Learning rate": "train/learning_rate",
        "Table norms": "tables/.+",
    },
    "Speed": {"Triples per second": "train/triples_per_second"},
}


def write_layout() -> None:
    """Writes the layout to the default writer."""
    text = summary.pb(_layout()).SerializeToString()
    tf.summary.experimental.write_raw_pb(text, step=0)


def _layout() -> layout_pb2.Layout:
    return layout_pb2.Layout(
        category=[
            layout_pb2.Category(
                title=category, chart=[_chart(title, tags) for title, tags in charts.items()]
            )
            for category, charts in CHARTS.items()
        ]
    )


def _chart(title: str, tags: str) -> layout_pb2.Chart:
    lines = layout_pb2.MultilineChartContent(tag=[f"^{tags}$"])
    return layout_pb2.Chart(title=title, multiline=lines)
