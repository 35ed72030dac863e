"""Table and plot of the accuracy that the remaining classes lose if whole classes are deleted."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Line, Table
from collateral.findings._shared.captions import fill_caption
from collateral.findings._shared.compare import noise_floor_by_sd
from collateral.findings._shared.series import NOISE_LABEL, find_looks, plot_cell
from collateral.findings.columns import Column, TableRow, build_grid, number_source
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import interval_half_width, mean, t_quantile
from collateral.plots.plot import Axis, Band, Level, Panel, Plot, Series, fit_x, fit_y
from collateral.plots.style import DARK, Look
from collateral.results.table import CellTable

CAPTION = (
    "Retrain's accuracy on a class's test examples minus the unlearned model's, in points, of the "
    "classes that were not deleted, by their similarity to the deleted one (of several, the most "
    "similar): {title}. Mean over n = {n} seeds ± half its 95 % Student-t interval. Chance: where "
    "95 % of differences between retrainings lie. Slope: of a line through the classes of a seed, "
    "mean over seeds with its 95 % Student-t interval, in points per 0.1 of similarity."
)
PLOT_CAPTION = (
    "The classes that were not deleted: Retrain's accuracy on a class's test examples minus the "
    "unlearned model's, over the cosine of its mean features in the base model with the deleted "
    "class's (of several, the most similar). Mean over seeds and its 95 % Student-t interval. "
    "Dashed: linear fit; below the method's name its slope, the mean of the seeds' slopes, with a "
    "95 % Student-t interval, in points per 0.1 of similarity. Grey: where 95 % of differences "
    "between retrainings lie. The panels' scales differ."
)
MOST_COLUMNS = 4  # maximum number of panels in a row
MOST_NAMES = 12  # maximum number of class names that a panel shows
# Largest absolute value, in percentage points, to which the y axis is fitted.
MOST = 105.0
NOISE_WIDTH = 0.02  # half the width of the grey bar behind a class, as a fraction of the x axis
FIT = Look(DARK, dash="dashed", is_control=True)


def find_other_classes(cell: CellTable) -> list[str]:
    """Return the names of the classes that were not deleted; empty if a class is partly deleted."""
    return cell.indices(cell.reference, "class_similarity")


def find_points(cell: CellTable, run: str) -> pd.DataFrame:
    """Return a table with one row per remaining class, the class of lowest similarity first.

    Classes without a similarity or an accuracy drop are left out. Columns in points: `drop` (mean
    over seeds), `half_width` of its 95 % interval (NaN with one seed), and `chance` (95 % of the
    mean differences between retrainings are smaller).
    """
    names, factor = find_other_classes(cell), find_metric("class_drop").factor
    reach, drop_sd = factor * t_quantile(len(cell.seeds)), "class_drop_sd"
    drops = [factor * cell.values(run, "class_drop", at=name) for name in names]
    similarities = [cell.values(cell.reference, "class_similarity", at=name) for name in names]
    columns = {
        "similarity": map(mean, similarities),
        "drop": map(mean, drops),
        "half_width": map(interval_half_width, drops),
        "chance": (reach * cell.number(cell.reference, drop_sd, at=name) for name in names),
    }
    points = pd.DataFrame({key: list(values) for key, values in columns.items()}, index=names)
    return points.dropna(subset=["similarity", "drop"]).sort_values("similarity", kind="stable")


def shorten_names(names: list[str]) -> list[str]:
    """Remove the prefix that all names share: digit_3 and digit_8 become 3 and 8."""
    parts = [name.rpartition("_") for name in names]
    is_shared = len({head for head, _, _ in parts}) == 1
    return [tail for _, _, tail in parts] if is_shared else names


def words(cell: CellTable) -> str:
    """Return a sentence that names, for each method, the class that loses most accuracy.

    The sentence is empty if a class is only partly deleted.
    """
    shown, parts = find_metric("class_drop"), []
    for run in cell.runs("method"):
        if len(points := find_points(cell, run)):
            name = points["drop"].idxmax()
            drop = shown.text(mean(cell.values(run, "class_drop", at=name)), sign=True)
            parts.append(f"{cell.labels[run]}: {name} ({drop} points)")
    start = "The class that loses most against Retrain, by method: "
    return f"{start}{', '.join(parts)}." if parts else ""


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield a table of accuracy drops with one row per remaining class and one column per run.

    The class most similar to a deleted class comes first; the last row contains the slopes. There
    is no table if a class is only partly deleted.
    """
    if not (names := find_other_classes(cell)):
        return
    cell = cell.with_sweeps()
    similarity, *drops, _ = columns = _make_columns(cell)
    rows = [TableRow(cell, cell.reference, name, name) for name in names]
    rows.sort(key=similarity.value, reverse=True)
    labels = shorten_names([row.label for row in rows])
    rows = [replace(row, label=label) for row, label in zip(rows, labels, strict=True)]
    slopes = [Field(""), *(_show_slope(cell, column.run) for column in drops), Field("")]
    yield Table(
        "classes",
        "The other classes",
        [build_grid("Class", columns, [rows, [Line("Slope", slopes)]])],
        fill_caption(CAPTION, cell),
        records=list(_make_records(cell)),
    )


def _make_columns(cell: CellTable) -> list[Column]:
    """Return the table columns: class similarity, accuracy drop of every run, and noise floor."""
    return [
        Column("class_similarity", heading="Similarity", spread=lambda values: math.nan),
        *(
            Column("class_drop", heading=label, run=run, sign=True, spread=interval_half_width)
            for run, label in cell.labels.items()
            if run != cell.reference
        ),
        Column(heading="Chance", show=_show_chance),
    ]


def _show_chance(row: TableRow) -> Field:
    limit = noise_floor_by_sd(row.cell, "class_drop", at=row.at)
    text = find_metric("class_drop").text(limit)
    source = number_source(row.run, "class_drop_sd", at=row.at)
    return Field(text if text == EMPTY else f"±{text}", limit, source=source)


def _show_slope(cell: CellTable, run: str) -> Field:
    """Return the table entry of a run's slope, with the interval of the slope in brackets."""
    field = Column("class_slope", ends="").field(TableRow(cell, run, "Slope"))
    return Field(field.value, source=field.source, also=field.also)


def _make_records(cell: CellTable) -> Iterator[dict[str, Any]]:
    for run, label in cell.labels.items():
        for name, numbers in find_points(cell, run).to_dict("index").items():
            yield {"run": run, "label": label, "kind": cell.kinds[run], "class": name, **numbers}


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield a plot of accuracy drop by class similarity, with one panel per method and control.

    There is no plot if a class is only partly deleted.
    """
    runs = list(find_looks(cell))
    if not runs or not find_other_classes(cell):
        return
    columns = min(len(runs), MOST_COLUMNS)
    titles = ["Retrain − unlearned (points)" if not i % columns else "" for i in range(len(runs))]
    panels = [_panel(cell, run, title) for run, title in zip(runs, titles, strict=True)]
    one = "the" if len(cell.forgotten) < 2 else "a"
    reading = f"Above zero: less accurate than Retrain. Right: more like {one} deleted class."
    yield plot_cell(cell, "classes", panels, PLOT_CAPTION, reading=reading, columns=columns)


def _panel(cell: CellTable, run: str, title: str) -> Panel:
    points, slope = find_points(cell, run), _show_slope(cell, run).value
    panel = Panel(
        [*_fit(cell, run, points), _classes(cell, run, points)],
        cell.labels[run] if slope == EMPTY else f"{cell.labels[run]}\n{slope}",
        Axis("Class similarity"),
        levels=[Level(0.0)],
        value_name="loss",
        x_name="similarity",
        number_format="+.1f",
        unit=" points",
    )
    panel = replace(panel, bands=_noise_bars(panel, points))
    reach = max((noise for noise in points["chance"] if math.isfinite(noise)), default=0.0)
    low, high = fit_y(panel)
    low, high = max(min(low, -reach), -MOST), min(max(high, reach), MOST)
    return replace(panel, y=Axis(title, limits=(low, high)))


def _classes(cell: CellTable, run: str, points: pd.DataFrame) -> Series:
    """Return a series with one point per class; the points with the largest changes have names."""
    drop, half_width, names = points["drop"], points["half_width"], list(points.index)
    named = set(np.argsort(-abs(drop.to_numpy()), kind="stable")[:MOST_NAMES].tolist())
    texts = shorten_names(names)
    return Series(
        cell.labels[run],
        find_looks(cell)[run],
        points["similarity"].tolist(),
        drop.tolist(),
        run=run,
        mark="point",
        low=(drop - half_width).tolist(),
        high=(drop + half_width).tolist(),
        n=[len(cell.seeds)] * len(texts),
        noise=points["chance"].tolist(),
        details={"class": names},
        names=[text if place in named else "" for place, text in enumerate(texts)],
    )


def _fit(cell: CellTable, run: str, points: pd.DataFrame) -> Iterator[Series]:
    """Yield a line with a run's mean slope through the mean of all points, if there is a slope."""
    slope = find_metric("class_drop").factor * cell.number(run, "class_slope")
    if math.isfinite(slope):
        x, y = points["similarity"].to_numpy(), points["drop"].to_numpy()
        line = y.mean() + slope * (x - x.mean())
        yield Series("Linear fit", FIT, x.tolist(), line.tolist(), run=run)


def _noise_bars(panel: Panel, points: pd.DataFrame) -> list[Band]:
    """Return a grey bar per class, in which 95 % of the differences between retrainings lie."""
    left, right = fit_x(panel)
    half = NOISE_WIDTH * (right - left)
    return [
        Band(x - half, x + half, -noise, noise, NOISE_LABEL)
        for x, noise in zip(points["similarity"], points["chance"], strict=True)
        if math.isfinite(noise)
    ]
