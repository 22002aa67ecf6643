"""Asks an exported model which tails complete (head, relation, ?).

Usage: python examples/ask_saved_model.py RUN_DIR/saved_model HEAD RELATION

It needs TensorFlow and the export, nothing else of this project.
"""

import pathlib
import sys

import tensorflow as tf


def main() -> None:
    """Loads the newest version and prints the five best answers, known facts among them."""
    folder, head, relation = sys.argv[1:]
    version = max(int(path.name) for path in pathlib.Path(folder).iterdir() if path.name.isdigit())
    model = tf.saved_model.load(str(pathlib.Path(folder) / str(version)))
    answer = model.signatures["predict_tails"](
        head=tf.constant([head]),
        relation=tf.constant([relation]),
        top_k=tf.constant(5),
        # True would leave out every fact of the data set, its validation and test split included.
        filtered=tf.constant(False),
    )
    status = answer["status"][0].numpy().decode()
    if status != "OK":
        sys.exit(f"error: {status}: ({head}, {relation}, ?)")
    print(f"({head}, {relation}, ?)")
    answers = zip(answer["entities"][0].numpy(), answer["scores"][0].numpy(), strict=True)
    for entity, score in answers:
        print(f"  {score:7.3f}  {entity.decode()}")


if __name__ == "__main__":
    main()
