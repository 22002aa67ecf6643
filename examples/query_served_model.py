"""Asks a model in TensorFlow Serving which tails complete (head, relation, ?).

Usage: python -m examples.query_served_model --server=http://localhost:8501 --model=countries \
           --head=Egypt --relation=official_language
"""

from absl import flags

from datasets.program import run_program
from quatre_tf.errors import DataError
from saved_models.client import Client

_SERVER = flags.DEFINE_string("server", "http://localhost:8501", "http://HOST:PORT.")
_MODEL = flags.DEFINE_string("model", None, "Name of the model on the server.", required=True)
_HEAD = flags.DEFINE_string("head", None, "Name of the head.", required=True)
_RELATION = flags.DEFINE_string("relation", None, "Name of the relation.", required=True)
_TOP_K = flags.DEFINE_integer("top_k", 5, "How many tails.", lower_bound=1)
_FILTERED = flags.DEFINE_bool("filtered", False, "Leave out known facts.")


def main() -> None:
    """Asks one question and prints the answers, best first."""
    client = Client(_SERVER.value, _MODEL.value)
    question = (_HEAD.value, _RELATION.value)
    (answer,) = client.predict_tails([question], _TOP_K.value, _FILTERED.value)
    if answer.status != "OK":
        raise DataError(f"The model answers {answer.status} to {question}.")
    print("score, probability (of a true triple against one corrupted at random, at even odds)")
    print(f"({_HEAD.value}, {_RELATION.value}, ?)")
    for candidate in answer.candidates:
        name = candidate.label or candidate.entity
        print(f"  {candidate.score:7.3f}  {candidate.probability:.3f}  {name}")


if __name__ == "__main__":
    run_program(main)
