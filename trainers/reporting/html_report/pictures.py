"""Style and saving of pictures."""

import contextlib
import io
import pathlib
from collections.abc import Iterator
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from PIL import Image

# Okabe and Ito's palette: distinct under all common kinds of color blindness, and in gray.
# Yellow is left out: too pale for a line on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
NEUTRAL = "#000000"
MARKERS = ("o", "^", "s", "D", "v", "P")
# Width of a page's text in inches.
WIDTH = 6.5

_DOTS_PER_INCH = 200
_COLORS = 128
# Inches that an entry of a legend takes: mark and gaps, and a letter.
_LEGEND_MARK = 0.65
_LEGEND_LETTER = 0.062
_GRAY = "#444444"
# Any: what matplotlib declares for its settings differs between its versions.
_RC: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "legend.fontsize": 8.5,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "axes.edgecolor": _GRAY,
    "xtick.color": _GRAY,
    "ytick.color": _GRAY,
    "xtick.labelcolor": "black",
    "ytick.labelcolor": "black",
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
}


@contextlib.contextmanager
def picture(
    path: pathlib.Path, height: float, rows: int = 1, columns: int = 1, width: float = WIDTH
) -> Iterator[tuple[Figure, np.ndarray]]:
    """Gives a figure and its axes [rows, columns], and writes them to a PNG file at the end.

    Args:
        path: The PNG file.
        height: Height in inches.
        rows: Rows of axes.
        columns: Columns of axes.
        width: Width in inches.
    """
    # Figure instead of pyplot: no global state, and no window system.
    with matplotlib.rc_context(_RC):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots(rows, columns, squeeze=False)
        _save(figure, path)


def legend_above(figure: Figure, handles: list, labels: list[str]) -> None:
    """Puts one legend above all axes of a figure, in as many columns as its width holds."""
    width = _LEGEND_MARK + _LEGEND_LETTER * max(map(len, labels))
    columns = int(np.clip(figure.get_figwidth() // width, 1, len(labels)))
    figure.legend(handles, labels, loc="outside upper center", ncols=columns)


def plain(text: str) -> str:
    """Returns text that matplotlib draws literally.

    It takes `$` for the start of a formula, and hides legend entries that begin with `_`.
    """
    return (text.lstrip("_") or "-").replace("$", r"\$")


def _save(figure: Figure, path: pathlib.Path) -> None:
    """Writes a PNG file of few colors: a third of the bytes, and no difference to the eye."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=_DOTS_PER_INCH)
    image = Image.open(buffer).convert("RGB").quantize(_COLORS, dither=Image.Dither.NONE)
    image.save(path, optimize=True, dpi=(_DOTS_PER_INCH, _DOTS_PER_INCH))
