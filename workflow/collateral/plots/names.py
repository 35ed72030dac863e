"""Place text labels beside marks without overlap (adjustText)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from adjustText import adjust_text
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from collateral.plots.plot import Formula, Panel, Series, fit_x, fit_y

HALO = [withStroke(linewidth=1.5, foreground="white")]
LETTERS = 6.5  # font size of labels, in points
AREA = 16.0  # default area of a mark, in square points
STEPS = 300  # fixed number of adjustText steps, so that equal plots give equal files
GRAIN = 8  # distance in pixels of the points of a line that labels must not cover
MOST_POINTS = 60  # maximum number of such points on a segment
FAR = 12  # distance in pixels above which a line connects a label with its mark


@dataclass(frozen=True)
class Name:
    """A text label with the positions of its mark and of its text, in data coordinates."""

    series: Series
    text: str
    mark: tuple[float, float]
    place: tuple[float, float]


def escape(text: str) -> str:
    """Escape $ signs, between which matplotlib would typeset mathematics, unless it should."""
    return text if isinstance(text, Formula) else text.replace("$", r"\$")


def place_names(axes: Axes, panel: Panel, letters: float = LETTERS) -> list[Name]:
    """Draw the labels of a panel without overlap; lines connect far labels with their marks."""
    named = list(_named(axes, panel))
    texts = [
        axes.text(*mark, escape(name), color=one.look.colour, fontsize=letters, zorder=7)
        for one, mark, name in named
    ]
    for text in texts:
        text.set(path_effects=HALO, in_layout=False)
    if texts:
        x, y, areas = np.array(list(_marks(panel))).T
        marks = axes.scatter(x, y, areas, alpha=0)  # invisible marks that labels must not cover
        places = np.vstack([np.column_stack([x, y]), *_along_lines(axes, panel)])
        adjust_text(texts, *places.T, objects=marks, ax=axes, iter_lim=STEPS)
        marks.remove()
    keep_inside(axes, texts)
    separate(axes, texts)
    names = [
        Name(one, name, mark, _centre(axes, text))
        for (one, mark, name), text in zip(named, texts, strict=True)
    ]
    for name in names:
        if math.dist(*axes.transData.transform([name.mark, name.place])) > FAR:
            tie = {"arrowstyle": "-", "color": "0.5", "linewidth": 0.5}
            axes.annotate("", name.mark, name.place, arrowprops=tie, zorder=6)
    return names


def keep_inside(axes: Axes, texts: Sequence[Text]) -> None:
    """Move labels that reach beyond a panel back into it."""
    frame = axes.bbox
    for text in texts:
        box = text.get_window_extent()
        across = max(frame.x0 - box.x0, 0.0) + min(frame.x1 - box.x1, 0.0)
        up = max(frame.y0 - box.y0, 0.0) + min(frame.y1 - box.y1, 0.0)
        x, y = axes.transData.transform(text.get_position())
        text.set_position(tuple(axes.transData.inverted().transform((x + across, y + up))))


def separate(axes: Axes, texts: Sequence[Text]) -> None:
    """Move labels towards the middle of the panel until none covers another one."""
    middle = axes.bbox.y0 + axes.bbox.height / 2
    boxes: list[Bbox] = []
    for text in texts:
        box = text.get_window_extent()
        step = 1.0 if box.y0 < middle else -1.0  # in pixels
        while any(box.overlaps(other) for other in boxes):
            box = box.translated(0, step)
        boxes.append(box)
        x, y = axes.transData.transform(text.get_position())
        y += box.y0 - text.get_window_extent().y0
        text.set_position(tuple(axes.transData.inverted().transform((x, y))))


def find_name_places(
    panel: Panel, width: float, height: float, letters: float = LETTERS
) -> list[Name]:
    """Return the positions of labels in a panel of this size (inches) and font size (points)."""
    if not any(any(one.names) for one in panel.series):
        return []
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    set_scales(axes, panel)
    return place_names(axes, panel, letters)


def set_scales(axes: Axes, panel: Panel) -> None:
    """Set the scales and the limits of both axes."""
    axes.set(xscale=panel.x.scale, xlim=fit_x(panel))
    axes.set(yscale=panel.y.scale, ylim=fit_y(panel))


def _named(axes: Axes, panel: Panel) -> Iterator[tuple[Series, tuple[float, float], str]]:
    """Yield every label with its mark; marks beyond an axis move to the edge of the panel."""
    (left, right), (low, high) = sorted(axes.get_xlim()), sorted(axes.get_ylim())
    for one in panel.series:
        for x, y, name in zip(one.x, one.y, one.names, strict=False):
            if name and math.isfinite(x) and math.isfinite(y):
                yield one, (min(max(x, left), right), min(max(y, low), high)), name


def _marks(panel: Panel) -> Iterator[tuple[float, float, float]]:
    """Yield the positions of all marks, and their areas."""
    for one in panel.series:
        areas = one.areas if len(one.areas) else [AREA] * len(one.x)
        for x, y, area in zip(one.x, one.y, areas, strict=True):
            if math.isfinite(x) and math.isfinite(y):
                yield x, y, area


def _along_lines(axes: Axes, panel: Panel) -> Iterator[NDArray[np.float64]]:
    """Yield points on all lines and intervals, a few pixels apart, which labels must not cover."""
    for one in panel.series:
        if one.mark == "line":
            yield from _between(axes, list(zip(one.x, one.y, strict=True)))
        if not one.is_across and len(one.low):
            for x, low, high in zip(one.x, one.low, one.high, strict=True):
                yield from _between(axes, [(x, low), (x, high)])


def _between(axes: Axes, path: Sequence[tuple[float, float]]) -> Iterator[NDArray[np.float64]]:
    """Yield points inside the panel on the line through these points."""
    drawn = axes.transData.transform(path)
    for start, end in pairwise(drawn):
        if np.isfinite([start, end]).all():
            count = 2 + int(np.hypot(*(end - start)) // GRAIN)
            points = start + np.linspace(0, 1, min(count, MOST_POINTS))[:, None] * (end - start)
            inside = points[[axes.bbox.contains(*point) for point in points]]
            if len(inside):
                yield axes.transData.inverted().transform(inside)


def _centre(axes: Axes, text: Text) -> tuple[float, float]:
    """Return the centre of a text in data coordinates."""
    box = text.get_window_extent()
    x, y = axes.transData.inverted().transform(((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2))
    return float(x), float(y)
