"""Asks an exported model which entities complete (head, relation, ?) or (?, relation, tail).

Usage: python -m examples.ask_saved_model --model=DIR --head=NAME --relation=NAME --top_k=3

The export needs only TensorFlow; `import_tensorflow` hides TensorFlow's start-up messages.
"""

import pathlib

from absl import flags

from datasets.program import import_tensorflow, run_program
from quatre_tf.errors import DataError

_MODEL = flags.DEFINE_string("model", None, "Folder of the versions of a model.", required=True)
_HEAD = flags.DEFINE_string("head", None, "Name of the head; its tails are predicted.")
_TAIL = flags.DEFINE_string("tail", None, "Name of the tail; its heads are predicted.")
_RELATION = flags.DEFINE_string("relation", None, "Name of the relation.", required=True)
_TOP_K = flags.DEFINE_integer("top_k", 5, "How many answers.", lower_bound=1)


def main() -> None:
    """Loads the newest version and prints its best answers, known facts included."""
    if (_HEAD.value is None) == (_TAIL.value is None):
        raise DataError("Give either --head or --tail; the other one is predicted.")
    import_tensorflow()
    import tensorflow as tf

    model = tf.saved_model.load(str(newest_version(pathlib.Path(_MODEL.value))))
    names = {"head": _HEAD.value, "relation": _RELATION.value, "tail": _TAIL.value}
    predict = model.predict_tails if _TAIL.value is None else model.predict_heads
    answer = predict(
        **{place: tf.constant([name]) for place, name in names.items() if name is not None},
        top_k=tf.constant(_TOP_K.value),
        # True would leave out every fact of the data set, its validation and test split included.
        filtered=tf.constant(False),
    )
    question = f"({', '.join(name or '?' for name in names.values())})"
    status = answer["status"][0].numpy().decode()
    if status != "OK":
        raise DataError(f"The model answers {status} to {question}.")
    print(f"{question}\n  score  probability  entity")
    columns = (answer[name][0].numpy() for name in ("scores", "probabilities", "entities"))
    for score, probability, entity in zip(*columns, strict=True):
        print(f"{score:7.3f}  {probability:11.4f}  {entity.decode()}")


def newest_version(folder: pathlib.Path) -> pathlib.Path:
    """Returns the version folder with the highest number, as TensorFlow Serving chooses it."""
    versions = [path for path in folder.glob("[0-9]*") if path.name.isdigit()]
    if not versions:
        raise DataError(f"{folder} has no version folders. Expected RUN_DIR/saved_model.")
    return max(versions, key=lambda path: int(path.name))


if __name__ == "__main__":
    run_program(main)
