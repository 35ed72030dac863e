"""A whole class deleted: the other classes' loss of accuracy by their similarity to it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from collateral.figures.style import NOISE, NOISE_LABEL, WIDTH, Look, annotate, looks, style
from collateral.metrics.classes import half_width
from collateral.metrics.gaps import student_95
from collateral.tables.results import REFERENCE, Cell, Runs, mean

SIMILARITY = "class_similarity:"
CAPTION = (
    "The classes that were not deleted: Retrain's accuracy on a class's test examples minus the "
    "unlearned model's, over the similarity of the class to the deleted one, the cosine of their "
    "mean features in the base model. Mean over seeds and its 95 % Student-t interval. Dashed: "
    "linear fit over these classes; its slope is the mean of the slopes of single seeds, in points "
    "per 0.1 of similarity, with a 95 % Student-t interval over seeds. Grey: where 95 % of "
    "differences between retrainings lie. The panels' scales differ."
)
MOST_COLUMNS = 4
MOST_NAMES = 12  # of more classes, those with the largest drop or gain that find room
# Where a name may stand, in points from its mark; the first that is free is taken.
PLACES = (
    *((4, 0), (-4, 0), (3, 3), (3, -3), (-3, 3), (-3, -3), (0, 4), (0, -4)),
    *((6, 7), (6, -7), (-6, 7), (-6, -7), (0, 11), (0, -11)),
)
HALO = [withStroke(linewidth=1.5, foreground="white")]


@dataclass(frozen=True)
class Points:
    """The classes in a run's panel, by similarity; means over seeds."""

    names: list[str]
    similarity: NDArray[np.float64]
    drop: NDArray[np.float64]  # in points
    error: NDArray[np.float64]  # half an interval; NaN with one seed
    noise: NDArray[np.float64]  # half the range of chance; NaN with one seed


def kept_names(cell: Cell) -> list[str]:
    """Return the classes that remain where whole classes are deleted; else none."""
    metrics = [metric for run, metric in cell.by_seed.index if run == REFERENCE]
    return [m.removeprefix(SIMILARITY) for m in metrics if m.startswith(SIMILARITY)]


def points_of(cell: Cell, run: str) -> Points:
    """Return the classes of which both similarity and drop are known."""
    names = kept_names(cell)
    drops = [100 * cell.values(run, f"class_drop:{name}") for name in names]
    floors = [cell.number(REFERENCE, f"floor_class:{name}") for name in names]
    columns = np.array(
        [
            [mean(cell.values(REFERENCE, f"{SIMILARITY}{name}")) for name in names],
            [mean(values) for values in drops],
            [half_width(values) for values in drops],
            [100 * student_95(len(cell.seeds)) * floor for floor in floors],
        ]
    )
    known = ~np.isnan(columns[:2]).any(axis=0)
    order = [i for i in np.argsort(columns[0], kind="stable") if known[i]]
    return Points([names[i] for i in order], *columns[:, order])


def draw(cell: Cell, runs: Runs) -> Figure:
    """Draw a panel for each method and control."""
    drawn = looks(cell, runs)
    columns = min(max(len(drawn), 1), MOST_COLUMNS)
    rows = max(math.ceil(len(drawn) / columns), 1)
    with style():
        fig = Figure(figsize=(WIDTH, 0.9 + 2.2 * rows), layout="constrained")
        grid = fig.subplots(rows, columns, squeeze=False, sharex=True)
        panels = dict(zip(drawn, grid.flat, strict=False))
        for run, axes in panels.items():
            _draw_panel(axes, cell, run, drawn[run])
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        fig.supylabel("Retrain − unlearned (points)", fontsize=8)
        reading = "Above zero: less accurate than Retrain. Right: more like the deleted class."
        annotate(fig, grid[0, 0], cell, reading, "95 % Student-t interval")
        fig.draw_without_rendering()  # names are placed where the layout has put the marks
        fig.set_layout_engine("none")
        for run, axes in panels.items():
            _write_names(axes, points_of(cell, run))
    return fig


def _draw_panel(axes: Axes, cell: Cell, run: str, look: Look) -> None:
    points = points_of(cell, run)
    x, y, slope = points.similarity, points.drop, 100 * cell.number(run, "class_slope")
    if not np.isnan(points.noise).all():
        axes.fill_between(x, -points.noise, points.noise, label=NOISE_LABEL, **NOISE)
    axes.axhline(0, color="0.3", linewidth=0.8)
    axes.vlines(x, y - points.error, y + points.error, color=look.colour, linewidth=0.8)
    size = 4 if len(x) <= MOST_NAMES else 2
    axes.plot(x, y, linestyle="", marker=look.marker or "o", color=look.colour, markersize=size)
    if not math.isnan(slope):
        # Through the mean of the classes, as each seed's line goes through its own.
        fit = y.mean() + slope * (x - x.mean())
        axes.plot(x, fit, "--", color="0.35", linewidth=1, label="Linear fit")
        axes.text(0.03, 0.99, _slope(cell, run), transform=axes.transAxes, va="top", fontsize=7)
    axes.margins(0.12, 0.1)
    # No difference is beyond 100 points, though an interval may be.
    bottom, top = np.clip(axes.get_ylim(), -105, 105)
    axes.set_ylim(bottom, top + 0.3 * (top - bottom))  # room for the slope
    axes.set_yticks([tick for tick in axes.get_yticks() if bottom <= tick <= top])
    axes.set_title(cell.labels[run])
    axes.set_xlabel("Class similarity")
    axes.tick_params(labelbottom=True)  # the panel below may be missing


def _slope(cell: Cell, run: str) -> str:
    names = ("class_slope", "class_slope_low", "class_slope_high")
    # From a rate per unit of cosine to points per tenth.
    center, low, high = (f"{10 * cell.number(run, n):.2g}".replace("-", "−") for n in names)
    interval = f" [{low}, {high}]" if low != "nan" else ""
    return f"slope {center}{interval}\npoints per 0.1"


def _write_names(axes: Axes, points: Points) -> None:
    """Write names where they hide neither a mark nor one another, as far as there is room."""
    places = list(zip(points.similarity, points.drop, strict=True))
    taken = [Bbox([axes.transData.transform(place)] * 2).padded(3) for place in places]
    taken += [text.get_window_extent() for text in axes.texts]
    texts = _short(points.names)
    for i in np.argsort(-abs(points.drop), kind="stable")[:MOST_NAMES]:
        name = axes.annotate(texts[i], places[i], (0, 0), textcoords="offset points", fontsize=7)
        name.set(in_layout=False, path_effects=HALO)
        hidden = [_hidden(_moved(name, at), taken, axes.bbox) for at in PLACES]
        if min(hidden) and len(texts) > MOST_NAMES:
            name.remove()
        else:
            taken.append(_moved(name, PLACES[int(np.argmin(hidden))]))


def _short(names: list[str]) -> list[str]:
    """Leave away what all names begin with: digit_3, digit_8 are 3, 8."""
    parts = [name.rpartition("_") for name in names]
    is_shared = len({head for head, _, _ in parts}) == 1
    return [tail for _, _, tail in parts] if is_shared else names


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
