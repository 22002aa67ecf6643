"""The embedded graph `countries`: the quick start.

The countries of the world with their capitals, regions, land borders, official languages and
currencies. The held-out facts can be inferred from the train facts, so a model that has learnt
something answers them after a minute or two.

- `countries.tsv` is the source: one row per country, written by the authors of QuatRE-TF from
  public facts, as of February 2026. Nothing was taken from another data set.
- `train.txt`, `valid.txt` and `test.txt` are derived from it by
  `python -m datasets.countries.generate`; the folder reads like any folder of triples.
- Licence: Apache-2.0, like the project.

Known simplifications are listed in the README of this folder.
"""

import pathlib

DIRECTORY = pathlib.Path(__file__).parent
SPLITS = ("train", "valid", "test")
