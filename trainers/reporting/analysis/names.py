"""Short forms of long names, for pictures and tables."""

from collections import Counter
from collections.abc import Mapping, Sequence

_ELLIPSIS = "…"


def shorten(names: Sequence[str], limit: int = 38) -> dict[str, str]:
    """Returns forms of distinct names of about `limit` characters that still tell them apart.

    Of a path (`/people/person/nationality`, as in Freebase) the last parts are kept. Where two
    names would become one, the last part and the rarest one before it; where that is not enough
    start and end, and in the end a number.
    """
    parts = Counter(part for name in names for part in set(name.split("/")))
    rows = [
        (_last_parts(name, limit), _rarest_part(name, limit, parts), _both_ends(name, limit))
        for name in names
    ]
    counts = [Counter(column) for column in zip(*rows, strict=True)]
    return {
        name: next(
            (form for form, count in zip(row, counts, strict=True) if count[form] == 1),
            f"{row[-1]} #{number}",
        )
        for number, (name, row) in enumerate(zip(names, rows, strict=True), start=1)
    }


def _last_parts(name: str, limit: int) -> str:
    parts = name.split("/")
    tails = (f"{_ELLIPSIS}/{'/'.join(parts[start:])}" for start in range(1, len(parts)))
    fitting = (tail for tail in (name, *tails) if len(tail) <= limit)
    return next(fitting, _both_ends(name, limit))


def _rarest_part(name: str, limit: int, counts: Mapping[str, int]) -> str:
    *before, last = name.split("/")
    if not any(before):
        return _both_ends(name, limit)
    rarest = min(filter(None, before), key=lambda part: counts[part])
    return _both_ends(f"{_ELLIPSIS}{rarest}/{_ELLIPSIS}/{last}", limit)


def _both_ends(name: str, limit: int) -> str:
    if len(name) <= limit:
        return name
    front = (limit - 1) // 2
    return f"{name[:front]}{_ELLIPSIS}{name[front + 1 - limit :]}"
