"""How much is tried: the same examples at every run, or as many others as are asked for."""

import os

from hypothesis import settings

# Each a decorator: half a minute in all, and the same at every run.
_ASKED = int(os.environ.get("QUATRE_FUZZ_EXAMPLES", "0"))
_EXAMPLES = 200


def fuzz(share=1.0):
    """The settings of a test; `share` is below 1 where an example takes long."""
    return settings(
        max_examples=max(1, round(share * (_ASKED or _EXAMPLES))),
        derandomize=not _ASKED,
        print_blob=True,
    )
