"""Whole classes deleted: the other classes' loss of accuracy by their similarity to them."""

import math
from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from collateral.contract.pictures import Picture
from collateral.findings._shared.panels import ZERO
from collateral.findings._shared.style import (
    NOISE,
    NOISE_LABEL,
    WIDTH,
    Look,
    annotate,
    as_text,
    looks,
    style,
)
from collateral.findings.catalogue import metric_of
from collateral.findings.classes.reading import (
    Points,
    kept_names,
    points_of,
    short_names,
    slope_text,
)
from collateral.results.table import CellTable

CAPTION = (
    "The classes that were not deleted: Retrain's accuracy on a class's test examples minus the "
    "unlearned model's, over the cosine of its mean features in the base model with the deleted "
    "class's (of several, the most similar). Mean over seeds and its 95 % Student-t interval. "
    "Dashed: linear fit; its slope is the mean of the seeds' slopes, with a 95 % Student-t "
    "interval. Grey: where 95 % of differences between retrainings lie. The panels' scales differ."
)
MOST_COLUMNS = 4
MOST_NAMES = 12  # of more classes, those with the largest drop or gain that find room
# Where a name may stand, in points from its mark; the first that is free is taken.
PLACES = (
    *((4, 0), (-4, 0), (3, 3), (3, -3), (-3, 3), (-3, -3), (0, 4), (0, -4)),
    *((6, 7), (6, -7), (-6, 7), (-6, -7), (0, 11), (0, -11)),
)
HALO = [withStroke(linewidth=1.5, foreground="white")]


def figures(cell: CellTable) -> Iterator[Picture]:
    """Yield the figure of the other classes, where whole classes are deleted."""
    if looks(cell) and kept_names(cell):
        yield Picture("classes", draw(cell), CAPTION)


@style()
def draw(cell: CellTable) -> Figure:
    """Draw a panel for each method and control."""
    drawn = looks(cell)
    columns = min(len(drawn), MOST_COLUMNS)
    rows = math.ceil(len(drawn) / columns)
    fig = Figure(figsize=(WIDTH, 0.9 + 2.2 * rows), layout="constrained")
    grid = fig.subplots(rows, columns, squeeze=False, sharex=True)
    panels = dict(zip(drawn, grid.flat, strict=False))
    for run, axes in panels.items():
        _draw_panel(axes, cell, run, drawn[run])
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    fig.supylabel("Retrain − unlearned (points)", fontsize=8)
    one = "the" if len(cell.forgotten) < 2 else "a"
    reading = f"Above zero: less accurate than Retrain. Right: more like {one} deleted class."
    annotate(fig, grid[0, 0], cell, reading, "Error bars: 95 % Student-t interval")
    fig.draw_without_rendering()  # names are placed where the layout has put the marks
    fig.set_layout_engine("none")
    for run, axes in panels.items():
        _write_names(axes, points_of(cell, run))
    return fig


def _draw_panel(axes: Axes, cell: CellTable, run: str, look: Look) -> None:
    points = points_of(cell, run)
    axes.axhline(0, **ZERO)
    axes.errorbar(
        points.similarity,
        points.drop,
        np.nan_to_num(points.error),
        linestyle="",
        elinewidth=0.8,
        marker=look.marker or "o",
        color=look.colour,
        markersize=4 if len(points.names) <= MOST_NAMES else 2,
    )
    _draw_fit(axes, cell, run, points)
    if not np.isnan(points.noise).all():
        # A bar a class: between classes there is nothing.
        bars = {**NOISE, "linewidth": 5, "label": NOISE_LABEL}
        axes.vlines(points.similarity, -points.noise, points.noise, **bars)
    axes.margins(0.12, 0.1)
    # No difference is beyond 100 points, though an interval may be.
    bottom, top = np.clip(axes.get_ylim(), -105, 105)
    axes.set_ylim(bottom, top + 0.3 * (top - bottom))  # room for the slope
    axes.set_yticks([tick for tick in axes.get_yticks() if bottom <= tick <= top])
    axes.set_title(cell.labels[run])
    axes.set_xlabel("Class similarity")
    axes.tick_params(labelbottom=True)  # the panel below may be missing


def _draw_fit(axes: Axes, cell: CellTable, run: str, points: Points) -> None:
    slope = metric_of("class_drop").factor * cell.number(run, "class_slope")
    if math.isnan(slope):
        return
    # Through the mean of the classes, as each seed's line goes through its own.
    x, y = points.similarity, points.drop
    axes.plot(
        x, y.mean() + slope * (x - x.mean()), "--", color="0.35", linewidth=1, label="Linear fit"
    )
    text = f"slope {slope_text(cell, run)}\n{metric_of('class_slope').unit}"
    axes.text(0.03, 0.99, text, transform=axes.transAxes, va="top", fontsize=7)


def _write_names(axes: Axes, points: Points) -> None:
    """Write names where they hide neither a mark nor one another, as far as there is room."""
    places = list(zip(points.similarity, points.drop, strict=True))
    taken = [Bbox([axes.transData.transform(place)] * 2).padded(3) for place in places]
    taken += [text.get_window_extent() for text in axes.texts]
    texts = [as_text(name) for name in short_names(points.names)]
    for i in np.argsort(-abs(points.drop), kind="stable")[:MOST_NAMES]:
        name = axes.annotate(texts[i], places[i], (0, 0), textcoords="offset points", fontsize=7)
        name.set(in_layout=False, path_effects=HALO)
        hidden = [_hidden(_moved(name, at), taken, axes.bbox) for at in PLACES]
        if min(hidden) and len(texts) > MOST_NAMES:
            name.remove()
        else:
            taken.append(_moved(name, PLACES[int(np.argmin(hidden))]))


def _moved(name: Annotation, at: tuple[float, float]) -> Bbox:
    """Put a name at a place beside its mark; return the box it fills."""
    name.set_position(at)
    name.set_horizontalalignment(("center", "left", "right")[int(np.sign(at[0]))])
    name.set_verticalalignment(("center_baseline", "bottom", "top")[int(np.sign(at[1]))])
    return name.get_window_extent()


def _hidden(box: Bbox, taken: list[Bbox], panel: Bbox) -> float:
    """Return the area that a box shares with others, or has outside its panel."""
    shared = [Bbox.intersection(box, other) for other in taken]
    return _area(box) - _area(Bbox.intersection(box, panel)) + sum(map(_area, shared))


def _area(box: Bbox | None) -> float:
    return float(box.width * box.height) if box else 0.0
