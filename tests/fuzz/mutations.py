"""Bytes that were right once: what copying, editing and malice make of a file."""

from hypothesis import strategies as st


@st.composite
def mutated(draw, originals, most=4):
    """Bytes of `originals`, a strategy, with up to `most` changes."""
    data = draw(originals)
    for _ in range(draw(st.integers(0, most))):
        place = draw(st.integers(0, len(data)))
        size = draw(st.integers(0, 4))
        data = data[:place] + draw(_changes(data[place : place + size])) + data[place + size :]
    return data


def _changes(old):
    """What a few bytes may be replaced with."""
    special = [
        b"",
        b"\0",
        b"\r",
        b"\n",
        b"\t",
        b'"',
        b"[",
        b"]",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"9" * 20,
    ]
    return st.one_of(st.sampled_from(special), st.binary(max_size=4), st.just(old + old))
