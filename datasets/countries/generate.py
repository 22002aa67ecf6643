"""Derives train.txt, valid.txt and test.txt from countries.tsv.

Run it after a change of the table: `python -m datasets.countries.generate`. It prints the counts
of the README.
"""

import collections
import sys
from collections.abc import Mapping, Sequence

from datasets.countries import DIRECTORY, SPLITS
from datasets.countries.source import Triple, all_facts, read_countries
from datasets.countries.split import split
from quatre_tf.errors import DataError

Splits = Mapping[str, Sequence[Triple]]


def generate() -> Splits:
    """Returns the triples of each split, as derived from the table."""
    return split(all_facts(read_countries()))


def file_text(triples: Sequence[Triple]) -> str:
    """Returns the text of a split file: head TAB relation TAB tail, one a line."""
    return "".join("\t".join(triple) + "\n" for triple in triples)


def counts_table(splits: Splits) -> str:
    """Returns a Markdown table of the triples per relation and split."""
    counts = [collections.Counter(relation for _, relation, _ in splits[name]) for name in SPLITS]
    rows = [
        (f"`{relation}`", *(count[relation] for count in counts))
        for relation in sorted(set().union(*counts))
    ]
    rows.append(("all", *(count.total() for count in counts)))
    header = ["| relation | train | valid | test |", "|---|--:|--:|--:|"]
    return "\n".join([*header, *("| " + " | ".join(map(str, row)) + " |" for row in rows)])


def main(argv: Sequence[str]) -> None:
    """Writes the split files beside the table."""
    if len(argv) > 1:
        sys.exit(f"Expected no arguments. Received: {' '.join(argv[1:])}")
    try:
        splits = generate()
    except DataError as error:
        sys.exit(str(error))
    for name in SPLITS:
        path = DIRECTORY / f"{name}.txt"
        path.write_text(file_text(splits[name]), encoding="utf-8", newline="\n")
    print(counts_table(splits))


if __name__ == "__main__":
    main(sys.argv)
