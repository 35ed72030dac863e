"""Tables and plot: how a run's difference from Retrain depends on similarity to the forget set."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import EVERY, Field, Grid, Table
from collateral.findings._shared.captions import describe_metrics, fill_caption, join_sentences
from collateral.findings._shared.series import average_seeds, describe_intervals, find_look
from collateral.findings.columns import (
    NEXT_SEED,
    Column,
    TableRow,
    build_grid,
    build_table,
    number_source,
    rows_with_next_seed,
)
from collateral.findings.localization import CONTROLS, HARDNESS, MEASURES, METRICS, NEAREST, SETS
from collateral.findings.localization.numbers import known_lows, sound_cells
from collateral.findings.metric_index import find_metric
from collateral.metrics.association import pooled_mean
from collateral.metrics.statistics import mean
from collateral.plots.plot import Axis, Panel, Plot, Series, fit_y
from collateral.plots.style import RETRAIN
from collateral.results.table import BenchmarkTable, CellTable

CORNERS = {None: "All examples", HARDNESS: "Equally hard ones"}
CAPTION = (
    "|Difference| from Retrain by similarity to the forget set: {title}. Slopes: points per 0.1 of "
    "similarity. {brackets}"
)
OVER_SEEDS = "In brackets: 95 % intervals of the mean over n = {n} seeds (Student t)."
OVER_EXAMPLES = (
    "One seed: in brackets are 95 % intervals over examples, of these very models; other seeds may "
    "differ by more."
)
ACROSS = (
    "|Difference| from Retrain by similarity to the forget set: means over {count} cells, those "
    "left out where a method diverged or collapsed."
)
CONVENTIONS = (
    "|Difference|: of an example's true-class confidence, seed i against seed i. {measures} "
    "Equally hard ones: the same within tenths of Retrain's margin (true logit minus the largest "
    f"other), so that near is not only hard. “{NEXT_SEED}” is what retraining again gives; "
    "its pairs share retrainings, so it has no interval over seeds."
)
DIFFERENCE = "nearest_difference"
TITLES = {"retain": "Retained examples", "test": "Test examples"}
PLOT_CAPTION = (
    "Mean |difference| of the true-class confidence from Retrain's, by rank of similarity to the "
    "forget set: left all but the nearer half, right the nearest 1 %. One line per method, the "
    "mean over cells; bars: 95 % intervals over cells (over seeds, where there is one cell; "
    "Retrain's pairs share retrainings, and then have none). Dashed: Retrain against Retrain of "
    "the next seed."
)
READING = "A line that rises to the right: what is near the forget set changes more."


class MeasureColumn(Column):
    """A column of a measure; the CSV file has its intervals over seeds and over examples."""

    def record(self, row: TableRow) -> dict[str, Any]:
        """Return the CSV record: the unrounded number and its intervals over seeds and examples."""
        found, ends = super().record(row), ("low", "high", "examples_low", "examples_high")
        found |= {"label": row.label, "control": found["at"]}
        for end in ends:
            found[end] = row.cell.number(row.run, f"{self.metric}_{end}", self.set, self.at)
        keys = ("run", "label", "metric", "set", "control", "mean", *ends, "n")
        return {key: found[key] for key in keys}


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the localization table of a cell, if a run other than Retrain has a slope."""
    groups = [
        [row for row in rows if row.run == cell.reference or _has_slope(cell, row.run)]
        for rows in rows_with_next_seed(cell)
    ]
    if all(row.run == cell.reference for row in chain(*groups)):
        return
    several = len(cell.seeds) > 1
    columns = {CORNERS[control]: _make_columns(control, several) for control in CONTROLS}
    brackets = OVER_SEEDS.format(n=len(cell.seeds)) if several else OVER_EXAMPLES
    caption = fill_caption(CAPTION, cell, brackets=brackets)
    conventions = CONVENTIONS.format(measures=describe_metrics(cell, MEASURES))
    yield build_table("localization", "Localization", columns, groups, caption, conventions)


def tables_across(table: BenchmarkTable) -> Iterator[Table]:
    """Yield a table with each method's measures averaged over cells, if there are several cells."""
    runs = dict.fromkeys(
        run for cell in table.cells for run in cell.runs("method") if _has_slope(cell, run)
    )
    if len(table.cells) < 2 or not runs:
        return
    measures, count = (describe_metrics(table, names) for names in (MEASURES, ["rising_cells"]))
    yield Table(
        "localization",
        "Localization over all cells",
        [_grid_across(table, runs, control) for control in CONTROLS],
        ACROSS.format(count=len(table.cells)),
        join_sentences(CONVENTIONS.format(measures=measures), count),
        [
            column.record(TableRow(cell, run, cell.labels[run])) | {"cell": cell.name}
            for control in CONTROLS
            for cell in table.cells
            for run in runs
            if run in cell.labels
            for column in _make_columns(control)
        ],
    )


def _has_slope(cell: CellTable, run: str) -> bool:
    return not np.isnan(cell.values(run, "locality_slope", "retain")).all()


def _make_columns(control: str | None, several: bool = True) -> list[Column]:
    """Return the columns of all measures.

    The intervals are over seeds if there are `several` seeds, and otherwise over examples.
    """
    return [
        MeasureColumn(
            name,
            subset,
            control,
            f"{metric.label}, {SETS[subset]}",
            ends="" if several else "examples_",
            mean=partial(pooled_mean, name),
        )
        for subset in SETS
        for name, metric in MEASURES.items()
    ]


def _grid_across(table: BenchmarkTable, runs: Iterable[str], control: str | None) -> Grid:
    """Return a grid with the mean measures of each method and of Retrain over cells.

    It also has the number of cells in which a method's slope is above Retrain's.
    """
    columns = [
        Column(heading=column.heading, show=partial(_show_mean, table, column))
        for column in _make_columns(control)
    ]
    rising = METRICS["rising_cells"].label
    columns += [
        Column(heading=f"{rising}, {text}", show=partial(_show_rising, table, name, control))
        for name, text in SETS.items()
    ]
    first = table.cells[0]  # any cell will do: the entries of a row are computed from all cells
    rows = [TableRow(first, run, table.plan.labels[run]) for run in runs]
    floor = TableRow(first, table.reference, NEXT_SEED, is_aside=True)
    return build_grid(CORNERS[control], columns, [rows, [floor]])


def _show_mean(table: BenchmarkTable, column: Column, row: TableRow) -> Field:
    """Return the mean of a measure over the cells in which no seed of the run failed."""
    rows = [TableRow(cell, row.run, "") for cell in sound_cells(table, row.run)]
    value = column.mean(np.array([column.mean(column.values(one)) for one in rows]))
    source = replace(number_source(row.run, column.metric, column.set, column.at), cell=EVERY)
    return Field(MEASURES[column.metric].text(value), value, source=source)


def _show_rising(table: BenchmarkTable, name: str, control: str | None, row: TableRow) -> Field:
    """Return the table entry: in how many cells a run's slope is significantly above Retrain's."""
    count = table.number(row.run, "rising_cells", name, control)
    known = len(known_lows(table, row.run, name, control))
    text = METRICS["rising_cells"].text(count)
    source = number_source(row.run, "rising_cells", name, control)
    return Field(text if text == EMPTY else f"{text} of {known}", count, source=source)


def plots_across(table: BenchmarkTable) -> Iterator[Plot]:
    """Yield a plot of each run's mean |difference| from Retrain by rank of similarity.

    The means are over all cells. There is no plot if no cell has these differences.
    """
    if not any(cell.indices(cell.reference, DIFFERENCE, "retain") for cell in table.cells):
        return
    panels = [_panel(table, name) for name in SETS]
    top = max(fit_y(panel)[1] for panel in panels)
    titles = ("|Difference| of confidence (points)", "")
    panels = [
        replace(panel, y=Axis(title, limits=(0.0, top)))
        for panel, title in zip(panels, titles, strict=True)
    ]
    title, over = table.cells[0].title, describe_intervals(len(table.cells[0].seeds), "seed")
    if (count := len(table.cells)) > 1:
        title, over = f"All {count} cells", describe_intervals(count, "cell")
    notes = [f"{READING} {over}"]
    yield Plot("localization", title, PLOT_CAPTION, panels, 2, notes=notes, row_height=2.4)


def _panel(table: BenchmarkTable, name: str) -> Panel:
    runs = dict.fromkeys(run for cell in table.cells for run in cell.runs("method"))
    series = [
        _series(cells, run, name, table.plan.labels[run])
        for run in runs
        if (cells := sound_cells(table, run))
    ]
    series.append(_series(table.cells, table.reference, name, NEXT_SEED))
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
    """Return the line of a run: its mean |difference| from Retrain by rank of similarity.

    The mean is over cells; if there is only one cell, it is over seeds.
    """
    factor, shares = find_metric(DIFFERENCE).factor, list(reversed(NEAREST))
    values = []
    for share in shares:
        by_cell = [cell.values(run, DIFFERENCE, name, share) for cell in cells]
        means = np.array([mean(found) for found in by_cell])
        values.append(factor * (by_cell[0] if len(cells) == 1 else means))
    is_floor = run == cells[0].reference
    look = RETRAIN if is_floor else find_look(cells[0], run)
    series = average_seeds(cells[0], run, shares, values, label=label, look=look, sets_scale=True)
    return replace(series, low=(), high=()) if is_floor and len(cells) == 1 else series
