"""What figure and chart over all cells are drawn from."""

import numpy as np

from collateral.findings._shared.prepared import Line, Panel
from collateral.findings.catalogue import metric_of
from collateral.findings.columns import NEXT_SEED
from collateral.findings.localization import NEAREST, SETS
from collateral.findings.localization.numbers import sound_cells
from collateral.results.table import REFERENCE, BenchmarkTable, CellTable, mean

METRIC = "nearest_difference"
TITLES = {"retain": "Retained examples", "test": "Test examples"}
CAPTION = (
    "Mean |difference| of the true-class confidence from Retrain's, by rank of similarity to the "
    "forget set: left all but the nearer half, right the nearest 1 %. A line a method, the mean "
    "over cells; {spread} over cells (over seeds, where there is one cell; Retrain's "
    "pairs share retrainings, and then have none). Dashed: Retrain against Retrain of the next "
    "seed."
)


def is_known(table: BenchmarkTable) -> bool:
    """Tell whether there is anything to draw."""
    return any(cell.indices(REFERENCE, METRIC, "retain") for cell in table.cells)


def panels(table: BenchmarkTable) -> list[Panel]:
    """Return retained and test examples: a line a method, and Retrain's, from far to near."""
    return [Panel(TITLES[name], "points", _lines(table, name)) for name in SETS]


def _lines(table: BenchmarkTable, name: str) -> list[Line]:
    runs = dict.fromkeys(run for cell in table.cells for run in cell.runs("method"))
    found = [
        _line(cells, run, name, table.plan.labels[run])
        for run in runs
        if (cells := sound_cells(table, run))
    ]
    found.append(_line(list(table.cells), REFERENCE, name, NEXT_SEED))
    return [line for line in found if not all(np.isnan(values).all() for values in line.values)]


def _line(cells: list[CellTable], run: str, name: str, label: str) -> Line:
    """Return a run's means, cell by cell; of a single cell, seed by seed."""
    factor, shares = metric_of(METRIC).factor, list(reversed(NEAREST))
    values = []
    for share in shares:
        of_cells = [cell.values(run, METRIC, name, share) for cell in cells]
        several = np.array([mean(found) for found in of_cells])
        values.append(factor * (of_cells[0] if len(cells) == 1 else several))
    is_floor = run == REFERENCE
    is_sample = len(cells) > 1 or not is_floor
    return Line(run, label, shares, values, is_aside=is_floor, is_sample=is_sample)
