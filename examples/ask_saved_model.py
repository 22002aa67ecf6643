"""Asks an exported model which tails complete (head, relation, ?).

Usage: python -m examples.ask_saved_model --model=DIR --head=NAME --relation=NAME

The export needs TensorFlow and nothing else of this project; the project's helper only keeps
TensorFlow's start-up notes off the screen.
"""

import pathlib
from collections.abc import Sequence

from absl import flags

from datasets.program import import_tensorflow, run_program
from quatre_tf.errors import DataError

_MODEL = flags.DEFINE_string("model", None, "Folder with the versions of a model.", required=True)
_HEAD = flags.DEFINE_string("head", None, "Name of the head.", required=True)
_RELATION = flags.DEFINE_string("relation", None, "Name of the relation.", required=True)


def main(argv: Sequence[str]) -> None:
    """Loads the newest version and prints its five best answers, known facts among them."""
    del argv
    import_tensorflow()
    import tensorflow as tf

    model = tf.saved_model.load(str(newest_version(pathlib.Path(_MODEL.value))))
    answer = model.predict_tails(
        head=tf.constant([_HEAD.value]),
        relation=tf.constant([_RELATION.value]),
        top_k=tf.constant(5),
        # True would leave out every fact of the data set, its validation and test split included.
        filtered=tf.constant(False),
    )
    status = answer["status"][0].numpy().decode()
    if status != "OK":
        raise DataError(f"The model answers {status} to ({_HEAD.value}, {_RELATION.value}, ?).")
    print(f"({_HEAD.value}, {_RELATION.value}, ?)")
    answers = zip(answer["entities"][0].numpy(), answer["scores"][0].numpy(), strict=True)
    for entity, score in answers:
        print(f"  {score:7.3f}  {entity.decode()}")


def newest_version(folder: pathlib.Path) -> pathlib.Path:
    """Returns the version folder with the highest number, as TensorFlow Serving chooses it."""
    versions = [path for path in folder.glob("[0-9]*") if path.name.isdigit()]
    if not versions:
        raise DataError(f"{folder} has no version folders. Expected RUN_DIR/saved_model.")
    return max(versions, key=lambda path: int(path.name))


if __name__ == "__main__":
    run_program(main)
