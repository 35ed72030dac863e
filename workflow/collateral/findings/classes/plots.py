"""Whole classes deleted: the other classes' loss of accuracy by their similarity to them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from collateral.findings._shared.series import (
    NOISE_LABEL,
    describe_failures,
    describe_seeds,
    find_looks,
)
from collateral.findings.classes.reading import (
    Points,
    kept_names,
    points_of,
    short_names,
    slope_text,
)
from collateral.findings.metric_index import find_metric
from collateral.plots.plot import Axis, Band, Level, Panel, Plot, Series, fit_x, fit_y
from collateral.plots.style import DARK, Look
from collateral.results.table import CellTable

CAPTION = (
    "The classes that were not deleted: Retrain's accuracy on a class's test examples minus the "
    "unlearned model's, over the cosine of its mean features in the base model with the deleted "
    "class's (of several, the most similar). Mean over seeds and its 95 % Student-t interval. "
    "Dashed: linear fit; its slope is the mean of the seeds' slopes, with a 95 % Student-t "
    "interval. Grey: where 95 % of differences between retrainings lie. The panels' scales differ."
)
MOST_COLUMNS = 4
MOST_NAMES = 12  # classes that are named, those with the largest drop or gain
MOST = 105.0  # points: no difference is beyond, though an interval may be
NOISE_WIDTH = 0.02  # of the axis: half the width of a class's grey bar
FIT = Look(DARK, dash="dashed", is_control=True)


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield one panel per method and control, if whole classes are deleted."""
    runs = list(find_looks(cell))
    if not runs or not kept_names(cell):
        return
    columns = min(len(runs), MOST_COLUMNS)
    panels = [_panel(cell, run) for run in runs]
    titles = ["Retrain − unlearned (points)" if not i % columns else "" for i in range(len(runs))]
    panels = [
        replace(panel, y=replace(panel.y, title=title))
        for panel, title in zip(panels, titles, strict=True)
    ]
    one = "the" if len(cell.forgotten) < 2 else "a"
    reading = f"Above zero: less accurate than Retrain. Right: more like {one} deleted class."
    notes = [f"{reading} {describe_seeds(cell)}", *describe_failures(cell)]
    yield Plot("classes", cell.title, CAPTION, panels, columns, notes=notes)


def _panel(cell: CellTable, run: str) -> Panel:
    points = points_of(cell, run)
    slope = cell.number(run, "class_slope")
    text = f"slope {slope_text(cell, run)}\n{find_metric('class_slope').unit}"
    panel = Panel(
        [*_fit(cell, run, points), _classes(cell, run, points)],
        cell.labels[run],
        Axis("Class similarity"),
        levels=[Level(0.0)],
        text=text if math.isfinite(slope) else "",
        value_name="loss",
        x_name="similarity",
        number_format="+.1f",
        unit=" points",
    )
    panel = replace(panel, bands=_noise(panel, points))
    reach = max((noise for noise in points.noise if math.isfinite(noise)), default=0.0)
    low, high = fit_y(panel)
    low, high = max(min(low, -reach), -MOST), min(max(high, reach), MOST)
    high += 0.3 * (high - low) if panel.text else 0.0  # room for the slope
    return replace(panel, y=Axis(limits=(low, high)))


def _classes(cell: CellTable, run: str, points: Points) -> Series:
    """Return one point per class, with its name if it is among those that changed most."""
    named = set(np.argsort(-abs(points.drop), kind="stable")[:MOST_NAMES].tolist())
    texts = short_names(points.names)
    look = find_looks(cell)[run]
    return Series(
        cell.labels[run],
        look,
        points.similarity.tolist(),
        points.drop.tolist(),
        run=run,
        mark="point",
        low=(points.drop - points.error).tolist(),
        high=(points.drop + points.error).tolist(),
        n=[len(cell.seeds)] * len(texts),
        noise=points.noise.tolist(),
        details={"class": points.names},
        names=[text if place in named else "" for place, text in enumerate(texts)],
    )


def _fit(cell: CellTable, run: str, points: Points) -> Iterator[Series]:
    """Yield the fitted line; it goes through the mean of the classes, as each seed's line does."""
    slope = find_metric("class_drop").factor * cell.number(run, "class_slope")
    if math.isfinite(slope):
        x, y = points.similarity, points.drop
        line = y.mean() + slope * (x - x.mean())
        yield Series("Linear fit", FIT, x.tolist(), line.tolist(), run=run)


def _noise(panel: Panel, points: Points) -> list[Band]:
    """Return one grey bar per class: between classes there is nothing."""
    left, right = fit_x(panel)
    half = NOISE_WIDTH * (right - left)
    return [
        Band(x - half, x + half, -noise, noise, NOISE_LABEL)
        for x, noise in zip(points.similarity, points.noise, strict=True)
        if math.isfinite(noise)
    ]
