"""The embedded graph `countries`: the quick start.

The countries of the world with their capitals, regions, land borders, official languages and
currencies. The held-out facts can be inferred from the train facts, so a trained model answers
them after a minute or two. The README of this folder lists sources and simplifications.
"""

import pathlib

DIRECTORY = pathlib.Path(__file__).parent
