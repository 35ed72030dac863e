"""The difference from Retrain from far to near examples, over all cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from collateral.findings._shared.series import (
    average_seeds,
    describe_intervals,
    describe_seeds,
    find_look,
)
from collateral.findings.columns import NEXT_SEED
from collateral.findings.localization import NEAREST, SETS
from collateral.findings.localization.numbers import sound_cells
from collateral.findings.metric_index import find_metric
from collateral.plots.plot import Axis, Panel, Plot, Series, fit_y
from collateral.plots.style import RETRAIN
from collateral.results.table import REFERENCE, BenchmarkTable, CellTable, mean

METRIC = "nearest_difference"
TITLES = {"retain": "Retained examples", "test": "Test examples"}
CAPTION = (
    "Mean |difference| of the true-class confidence from Retrain's, by rank of similarity to the "
    "forget set: left all but the nearer half, right the nearest 1 %. One line per method, the "
    "mean over cells; bars: 95 % intervals over cells (over seeds, where there is one cell; "
    "Retrain's pairs share retrainings, and then have none). Dashed: Retrain against Retrain of "
    "the next seed."
)
READING = "A line that rises to the right: what is near the forget set changes more."


def plots_across(table: BenchmarkTable) -> Iterator[Plot]:
    """Yield the plot over all cells, if there are numbers."""
    if not any(cell.indices(REFERENCE, METRIC, "retain") for cell in table.cells):
        return
    panels = [_panel(table, name) for name in SETS]
    top = max(fit_y(panel)[1] for panel in panels)
    titles = ("|Difference| of confidence (points)", "")
    axes = [Axis(title, limits=(0.0, top)) for title in titles]
    panels = [replace(panel, y=axis) for panel, axis in zip(panels, axes, strict=True)]
    several = len(table.cells) > 1
    title = f"All {len(table.cells)} cells" if several else table.cells[0].title
    over = (
        describe_intervals(len(table.cells), "cells") if several else describe_seeds(table.cells[0])
    )
    notes = [f"{READING} {over}"]
    yield Plot("localization", title, CAPTION, panels, 2, notes=notes, row_height=2.4)


def _panel(table: BenchmarkTable, name: str) -> Panel:
    runs = dict.fromkeys(run for cell in table.cells for run in cell.runs("method"))
    series = [
        _series(cells, run, name, table.plan.labels[run])
        for run in runs
        if (cells := sound_cells(table, run))
    ]
    series.append(_series(table.cells, REFERENCE, name, NEXT_SEED))
    ticks = {float(share): f"{share} %" for share in NEAREST}
    return Panel(
        [one for one in series if not np.isnan(one.y).all()],
        TITLES[name],
        Axis("Nearest share of the set", "log", ticks=ticks, is_reversed=True),
        value_name="mean",
        x_name="nearest, %",
        unit=" points",
    )


def _series(cells: Sequence[CellTable], run: str, name: str, label: str) -> Series:
    """Return a run's means of every cell; of a single cell, its values of every seed."""
    factor, shares = find_metric(METRIC).factor, list(reversed(NEAREST))
    values = []
    for share in shares:
        by_cell = [cell.values(run, METRIC, name, share) for cell in cells]
        means = np.array([mean(found) for found in by_cell])
        values.append(factor * (by_cell[0] if len(cells) == 1 else means))
    is_floor = run == REFERENCE
    look = RETRAIN if is_floor else find_look(cells[0], run)
    series = average_seeds(cells[0], run, shares, values, label=label, look=look, sets_scale=True)
    return replace(series, low=(), high=()) if is_floor and len(cells) == 1 else series
