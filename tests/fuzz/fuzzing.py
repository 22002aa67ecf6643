"""How much is tried, on what, and what counts as a refusal."""

import os

from hypothesis import settings
from hypothesis import strategies as st

from quatre_tf.errors import DataError

# Half a minute in all, and the same at every run.
_ASKED = int(os.environ.get("QUATRE_FUZZ_EXAMPLES", "0"))
_EXAMPLES = 200
_SPECIAL = [b"", b"\0", b"\r", b"\n", b"\t", b'"', b"[", b"]", b"\xff\xfe", b"\xef\xbb\xbf"]


def fuzz(share=1.0):
    """The settings of a test; `share` is below 1 where an example takes long."""
    return settings(
        max_examples=max(1, round(share * (_ASKED or _EXAMPLES))),
        derandomize=not _ASKED,
        print_blob=True,
    )


def attempt(function, *arguments):
    """Returns (result, None), or (None, message) of a refusal, which is one line."""
    try:
        return function(*arguments), None
    except DataError as error:
        message = str(error)
    assert "\n" not in message
    return None, message


@st.composite
def mutated(draw, originals, most=4):
    """Bytes of `originals`, a strategy, with up to `most` changes: of copying, editing, malice."""
    data = draw(originals)
    for _ in range(draw(st.integers(0, most))):
        place = draw(st.integers(0, len(data)))
        old = data[place : place + draw(st.integers(0, 4))]
        changes = st.sampled_from([*_SPECIAL, b"9" * 20]), st.binary(max_size=4), st.just(old + old)
        data = data[:place] + draw(st.one_of(*changes)) + data[place + len(old) :]
    return data
