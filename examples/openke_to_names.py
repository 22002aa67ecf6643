"""Converts a data set from OpenKE's ids (head, tail, relation) to names (head, relation, tail).

Usage: python -m examples.openke_to_names --input=openke/umls --output=data/umls
"""

import pathlib

from absl import flags

from datasets.program import run_program

_INPUT = flags.DEFINE_string("input", None, "Folder with entity2id.txt and others.", required=True)
_OUTPUT = flags.DEFINE_string("output", None, "Folder of the splits.", required=True)


def main() -> None:
    """Translates the flags."""
    convert(pathlib.Path(_INPUT.value), pathlib.Path(_OUTPUT.value))


def convert(source: pathlib.Path, target: pathlib.Path) -> None:
    """Writes train.txt, valid.txt and test.txt to the folder `target`."""
    target.mkdir(parents=True, exist_ok=True)
    entities, relations = (_names(source / f"{kind}2id.txt") for kind in ("entity", "relation"))
    for split in ("train", "valid", "test"):
        # The first line is the number of triples.
        rows = (source / f"{split}2id.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")[1:]
        with (target / f"{split}.txt").open("w", encoding="utf-8") as file:
            for head, tail, relation in (map(int, row.split()) for row in rows):
                print(entities[head], relations[relation], entities[tail], sep="\t", file=file)


def _names(path: pathlib.Path) -> list[str]:
    """Returns the names in the order of their ids."""
    lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")[1:]
    pairs = [line.rsplit(maxsplit=1) for line in lines]
    return [name for name, _ in sorted(pairs, key=lambda pair: int(pair[1]))]


if __name__ == "__main__":
    run_program(main)
