"""Names beside the ends of lines, in their colours: each nearest to its own, none on another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from collateral.findings._shared.style import as_text

SIZE = 7  # of the letters, in points
LETTER = 0.62  # width of a letter by its height
GAP = 5.0  # points between an end and its name
STEP = 2.5  # points between two places that are tried
FARTHEST = 45.0  # points from the end
WRONG = 500.0  # what it costs to stand nearest to another end, in points from the own one
AXES_SHARE = (0.86, 0.6)  # of a panel's width and height that its axes take, about
HALO = [withStroke(linewidth=1.5, foreground="white")]

Points = NDArray[np.float64]  # (n, 2)


@dataclass(frozen=True)
class End:
    """A line's name, and where it ends, in data."""

    x: float
    y: float
    name: str
    colour: str
    is_fixed: bool = False  # its name stands right below or above it, whatever else does


@dataclass(frozen=True)
class Box:
    """A name's place in points, from the axes' lower left."""

    left: float
    middle: float
    width: float
    height: float = 1.2 * SIZE

    def meets(self, other: Box) -> bool:
        """Tell whether two overlap."""
        across = self.left < other.left + other.width and other.left < self.left + self.width
        return across and abs(self.middle - other.middle) < (self.height + other.height) / 2

    def count(self, points: Points) -> int:
        """Return how many points lie in it."""
        across, up = points.T
        is_across = (across > self.left) & (across < self.left + self.width)
        return int(np.count_nonzero(is_across & (abs(up - self.middle) < self.height / 2)))

    def distance(self, place: Points) -> float:
        """Return how far a place is from it; 0 inside."""
        across = max(self.left - place[0], place[0] - self.left - self.width, 0)
        return float(np.hypot(across, max(abs(place[1] - self.middle) - self.height / 2, 0)))


@dataclass(frozen=True)
class Surroundings:
    """What is around the end at `place`: all ends, names and marks, and points of lines."""

    place: Points
    ends: Sequence[Points]
    taken: Sequence[Box]
    drawn: Points

    def price(self, box: Box) -> float:
        """Return how bad a place of its name is: on a name, beside another end, on a line, far."""
        on_names = sum(box.meets(other) for other in self.taken)
        beside = max(box.left - float(self.place[0]) - GAP, 0)
        far = abs(box.middle - float(self.place[1])) + beside
        return 1000 * on_names + WRONG * self.is_misread(box) + 4 * box.count(self.drawn) + far

    def is_misread(self, box: Box) -> bool:
        """Tell whether the name would be nearer to another end."""
        return box.distance(self.place) > min(map(box.distance, self.ends))


def label_ends(axes: Axes, ends: Sequence[End]) -> None:
    """Write each name near its end, where least is in the way; tie to it what stands far off."""
    size = _size(axes)
    lines = [_in_points(axes, line.get_xydata(), size) for line in axes.lines]
    drawn = np.concatenate([_dense(line) for line in lines])
    places = [_in_points(axes, np.array([[end.x, end.y]]), size)[0] for end in ends]
    taken = [Box(x - 3, y, 6, 6) for x, y in places]
    known = [place for place in places if not np.isnan(place).any()]
    for end, place in zip(ends, places, strict=True):
        if not np.isnan(place).any():
            surroundings = Surroundings(place, known, taken, drawn)
            box = min(_around(end, place, size), key=surroundings.price)
            taken.append(box)
            _write(axes, end, place / size, box, size, surroundings.is_misread(box))


def _size(axes: Axes) -> Points:
    """Return width and height of the axes in points, as the layout will leave them, about."""
    figure, spec = axes.get_figure(), axes.get_subplotspec()
    assert figure is not None and spec is not None
    rows, columns = spec.get_gridspec().get_geometry()
    inches = np.array(figure.bbox.size) / figure.dpi
    return 72 * inches / (columns, rows) * AXES_SHARE


def _in_points(axes: Axes, data: Any, size: Points) -> Points:
    """Return places in data as points from the axes' lower left."""
    shares = axes.transLimits.transform(axes.transScale.transform(np.asarray(data, dtype=float)))
    return np.asarray(shares * size)


def _dense(line: Points) -> Points:
    """Return many points of a line."""
    steps = np.linspace(0, 1, 20)[:, None, None]
    return np.concatenate([line, (line[:-1] + steps * (line[1:] - line[:-1])).reshape(-1, 2)])


def _around(end: End, place: Points, size: Points) -> Iterator[Box]:
    """Yield places for a name: right and left of its end, above and below it, within the axes."""
    width = LETTER * SIZE * len(end.name)
    if end.is_fixed:
        left = float(np.clip(place[0] - width / 2, 0, size[0] - width))
        for side in (-1, 1):
            yield Box(left, float(place[1]) + side * (GAP + SIZE / 2), width)
        return
    for left in (place[0] + GAP, place[0] - GAP - width, place[0] - width / 2, place[0] + 4 * GAP):
        for shift in np.arange(-FARTHEST, FARTHEST + STEP, STEP):
            middle = np.clip(place[1] + shift, SIZE / 2, size[1] - SIZE / 2)
            yield Box(float(np.clip(left, 0, size[0] - width)), float(middle), width)


def _write(axes: Axes, end: End, share: Points, box: Box, size: Points, is_misread: bool) -> None:
    # In shares of the axes, whose true size is known when all is drawn.
    at = np.array([box.left + box.width / 2, box.middle]) / size
    off = abs(at - share) * size - (box.width / 2, 0)
    is_tied = is_misread or max(off) > 1.5 * SIZE
    tie = {"arrowstyle": "-", "color": end.colour, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 2}
    text = axes.annotate(
        as_text(end.name),
        xy=(float(share[0]), float(share[1])),
        xycoords="axes fraction",
        xytext=(float(at[0]), float(at[1])),
        textcoords="axes fraction",
        color=end.colour,
        fontsize=SIZE,
        va="center",
        ha="center",
        arrowprops=tie if is_tied else None,
        path_effects=HALO,
        annotation_clip=False,
        zorder=7,
    )
    text.set_in_layout(False)  # or the axes would shrink to make room
