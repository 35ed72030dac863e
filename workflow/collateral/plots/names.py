"""Place names beside marks, where they hide neither a mark nor one another (adjustText)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from adjustText import adjust_text
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.text import Text

from collateral.plots.plot import Panel, Series, fit_x, fit_y

HALO = [withStroke(linewidth=1.5, foreground="white")]
LETTERS = 7.0  # size of the letters in points
AREA = 16.0  # of a mark that states none, in square points
STEPS = 300  # of moving names apart: a count, so that equal plots are equal files
FAR = 12  # pixels from a mark from which on a line ties the name to it


@dataclass(frozen=True)
class Name:
    """A name, its mark, and the place of the text, in data coordinates."""

    series: Series
    text: str
    mark: tuple[float, float]
    place: tuple[float, float]


def escape(text: str) -> str:
    """Return a text that matplotlib draws as it is: between two $ it would set mathematics."""
    return text.replace("$", r"\$")


def place_names(axes: Axes, panel: Panel, letters: float = LETTERS) -> list[Name]:
    """Write the names of a panel, move them apart, and tie those that moved far to their marks."""
    named = list(_named(axes, panel))
    texts = [
        axes.text(*mark, escape(name), color=one.look.colour, fontsize=letters, zorder=7)
        for one, mark, name in named
    ]
    for text in texts:
        text.set(path_effects=HALO, in_layout=False)
    if texts:
        x, y, areas = np.array(list(_marks(panel))).T
        marks = axes.scatter(x, y, areas, alpha=0)  # the places that names must not cover
        tie = {"arrowstyle": "-", "color": "0.5", "linewidth": 0.5}
        options = {"arrowprops": tie, "min_arrow_len": FAR, "iter_lim": STEPS}
        adjust_text(texts, x, y, objects=marks, ax=axes, **options)
        marks.remove()
    return [
        Name(one, name, mark, _centre(axes, text))
        for (one, mark, name), text in zip(named, texts, strict=True)
    ]


def find_name_places(
    panel: Panel, width: float, height: float, letters: float = LETTERS
) -> list[Name]:
    """Return where names go in a panel of this size in inches, with letters of a size in points."""
    if not any(any(one.names) for one in panel.series):
        return []
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=fit_x(panel), ylim=fit_y(panel))
    return place_names(axes, panel, letters)


def _named(axes: Axes, panel: Panel) -> Iterator[tuple[Series, tuple[float, float], str]]:
    """Yield every name with its mark, moved to the edge where it lies beyond an axis."""
    (left, right), (low, high) = sorted(axes.get_xlim()), sorted(axes.get_ylim())
    for one in panel.series:
        for x, y, name in zip(one.x, one.y, one.names, strict=False):
            if name and math.isfinite(x) and math.isfinite(y):
                yield one, (min(max(x, left), right), min(max(y, low), high)), name


def _marks(panel: Panel) -> Iterator[tuple[float, float, float]]:
    """Yield the places of all marks, and their areas."""
    for one in panel.series:
        areas = one.areas if len(one.areas) else [AREA] * len(one.x)
        for x, y, area in zip(one.x, one.y, areas, strict=True):
            if math.isfinite(x) and math.isfinite(y):
                yield x, y, area


def _centre(axes: Axes, text: Text) -> tuple[float, float]:
    """Return the centre of a text in data coordinates."""
    box = text.get_window_extent()
    x, y = axes.transData.inverted().transform(((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2))
    return float(x), float(y)
