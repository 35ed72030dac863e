"""A whole class deleted: the other classes' loss of accuracy by their similarity to it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from collateral.figures.style import NOISE, NOISE_LABEL, WIDTH, Look, annotate, looks, style
from collateral.metrics.classes import half_width
from collateral.tables.compare import NORMAL_95
from collateral.tables.results import REFERENCE, Cell, Runs, mean

SIMILARITY = "class_similarity:"
CAPTION = (
    "The classes that were not deleted: Retrain's accuracy on a class's test examples minus the "
    "unlearned model's, over the similarity of the class to the deleted one, the cosine of their "
    "mean features in the base model. Mean over seeds and its 95 % Student-t interval. Dashed: "
    "linear fit over these classes; its slope is the mean of the slopes of single seeds, in points "
    "per 0.1 of similarity, with a 95 % Student-t interval over seeds. Grey: where 95 % of "
    "differences between retrainings lie. Original shows what retraining alone changes."
)
MOST_COLUMNS = 4
MOST_NAMES = 12  # those with the largest drop or gain: more would not be legible
# Where a name may stand, in points from its mark; the first that is free is taken.
PLACES = (
    *((5, 0), (-5, 0), (0, 6), (0, -6), (4, 5), (4, -5), (-4, 5), (-4, -5)),
    *((9, 9), (9, -9), (-9, 9), (-9, -9), (0, 15), (0, -15)),
)


@dataclass(frozen=True)
class Points:
    """The classes in a run's panel: mean over seeds."""

    names: NDArray[np.str_]
    similarity: NDArray[np.float64]
    drop: NDArray[np.float64]  # in points
    error: NDArray[np.float64]  # half an interval; NaN with one seed
    noise: NDArray[np.float64]  # half the range of chance; NaN with one seed


def kept_names(cell: Cell) -> list[str]:
    """Return the classes that remain where whole classes are deleted; else none."""
    metrics = [metric for run, metric in cell.by_seed.index if run == REFERENCE]
    return [m.removeprefix(SIMILARITY) for m in metrics if m.startswith(SIMILARITY)]


def points_of(cell: Cell, run: str) -> Points:
    """Return the classes of which both numbers are known, by similarity."""
    names = kept_names(cell)
    similarity = [mean(cell.values(REFERENCE, f"{SIMILARITY}{name}")) for name in names]
    drops = [100 * cell.values(run, f"class_drop:{name}") for name in names]
    floors = [cell.number(REFERENCE, f"floor_class:{name}") for name in names]
    columns = (
        np.array(similarity),
        np.array([mean(values) for values in drops]),
        np.array([half_width(values) for values in drops]),
        100 * NORMAL_95 * np.array(floors),
    )
    order = [i for i in np.argsort(similarity) if not np.isnan(columns[0][i] + columns[1][i])]
    return Points(np.array(names)[order], *(column[order] for column in columns))


def draw(cell: Cell, runs: Runs) -> Figure:
    """Draw a panel for each method and control."""
    drawn = looks(cell, runs)
    columns = min(max(len(drawn), 1), MOST_COLUMNS)
    rows = max(math.ceil(len(drawn) / columns), 1)
    with style():
        fig = Figure(figsize=(WIDTH, 0.9 + 2.3 * rows), layout="constrained")
        grid = fig.subplots(rows, columns, squeeze=False, sharex=True)
        panels = [(run, axes) for run, axes in zip(drawn, grid.flat, strict=False)]
        for run, axes in panels:
            _draw_panel(axes, cell, run, drawn[run])
        for axes in grid.flat[len(panels) :]:
            axes.remove()
        for axes in grid[:, 0]:
            axes.set_ylabel("Retrain − unlearned (points)")
        reading = "Above zero: less accurate than Retrain."
        annotate(fig, grid[0, 0], cell, reading, "95 % Student-t interval")
        fig.draw_without_rendering()  # names are placed where the layout has put the points
        for run, axes in panels:
            _write_names(axes, points_of(cell, run))
    return fig


def _draw_panel(axes: Axes, cell: Cell, run: str, look: Look) -> None:
    points = points_of(cell, run)
    x, y, slope = points.similarity, points.drop, 100 * cell.number(run, "class_slope")
    if not np.isnan(points.noise).all():
        axes.fill_between(x, -points.noise, points.noise, label=NOISE_LABEL, **NOISE)
    axes.axhline(0, color="0.3", linewidth=0.8)
    axes.vlines(x, y - points.error, y + points.error, color=look.colour, linewidth=0.8)
    axes.plot(x, y, linestyle="", marker=look.marker or "o", color=look.colour)
    if not math.isnan(slope):
        # Through the mean of all classes, as every fitted line goes.
        fit = y.mean() + slope * (x - x.mean())
        axes.plot(x, fit, "--", color="0.35", linewidth=1, label="linear fit")
        axes.text(0.03, 0.98, _slope(cell, run), transform=axes.transAxes, va="top", fontsize=7)
    axes.margins(0.12, 0.2)
    axes.set_title(cell.labels[run])
    axes.set_xlabel("Similarity to the deleted class")


def _slope(cell: Cell, run: str) -> str:
    names = ("class_slope", "class_slope_low", "class_slope_high")
    # Points are a hundred, and a step is a tenth of the cosine.
    center, low, high = (f"{10 * cell.number(run, n):+.1f}".replace("-", "−") for n in names)
    interval = "" if "nan" in low else f" [{low}, {high}]"
    return f"slope {center}{interval}\npoints per 0.1"


def _write_names(axes: Axes, points: Points) -> None:
    """Write the names where they hide neither a point nor one another, as far as there is room."""
    marks = zip(points.similarity, points.drop, np.nan_to_num(points.error), strict=True)
    taken = [_box_of_mark(axes, *mark) for mark in marks]
    taken += [text.get_window_extent() for text in axes.texts]
    for i in np.argsort(-abs(points.drop), kind="stable")[:MOST_NAMES]:
        place = (points.similarity[i], points.drop[i])
        name = axes.annotate(points.names[i], place, textcoords="offset points", fontsize=6.5)
        name.set_in_layout(False)
        best = min(PLACES, key=lambda at: _hidden(_moved(name, at), taken, axes.bbox))
        taken.append(_moved(name, best))


def _moved(name: Annotation, at: tuple[float, float]) -> Bbox:
    """Put a name beside its mark; return the box it fills."""
    name.set_position(at)
    name.set_horizontalalignment(("center", "left", "right")[int(np.sign(at[0]))])
    name.set_verticalalignment(("center", "bottom", "top")[int(np.sign(at[1]))])
    return name.get_window_extent()


def _hidden(box: Bbox, taken: list[Bbox], inside: Bbox) -> float:
    """Return the area that a box at this place shares with others, or has outside its panel."""
    shared = [Bbox.intersection(box, other) for other in taken]
    within = Bbox.intersection(box, inside)
    lost = _area(box) - (_area(within) if within else 0)
    return lost + sum(_area(part) for part in shared if part)


def _area(box: Bbox) -> float:
    return float(box.width * box.height)


def _box_of_mark(axes: Axes, x: float, y: float, error: float) -> Bbox:
    ends = axes.transData.transform([(x, y - error), (x, y + error)])
    return Bbox(ends).padded(3)
