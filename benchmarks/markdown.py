"""What the generated pages share."""

from collections.abc import Sequence

# The benchmarks in the order of the paper's tables, then those that are not in them.
TITLES = {
    "wn18rr": "WN18RR",
    "fb15k237": "FB15k-237",
    "wn18": "WN18",
    "fb15k": "FB15k",
    "umls": "UMLS",
    "kinship": "Kinship",
    "nations": "Nations",
}


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a markdown table, a line each row."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
