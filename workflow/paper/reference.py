"""The paper's numbers as reference, for benchmarks with `retrain: {printed: paper}`.

"Printed" are the numbers in the paper's tables.
"""

import math

from collateral.findings.gap import TERMS
from collateral.metrics.statistics import mean, mean_of_defined
from collateral.results.layout import RETRAIN
from collateral.results.table import CellTable
from paper.printed import Printed, cell_setting, printed

NAME = "paper"  # value of the key `printed` in the config


def printed_cell(cell: CellTable) -> dict[tuple[str, str], Printed]:
    """Return the paper's numbers in the setting of a cell, by run and metric.

    The dict is empty if the config does not name the paper as the reference.

    Times are left out, because they were measured on different machines.
    """
    if cell.benchmark.printed != NAME:
        return {}
    setting = cell_setting(cell.benchmark.data, cell.benchmark.model, cell.forgotten)
    found = printed(setting) if setting else []
    return {(one.run, one.metric): one for one in found if one.metric != "rte"}


def printed_number(cell: CellTable, run: str, metric: str) -> float:
    """Return the paper's mean for Retrain; for another run, its average gap to these means."""
    theirs = printed_cell(cell)
    if run == RETRAIN:
        return theirs[run, metric].mean if (run, metric) in theirs else math.nan
    return mean_of_defined(abs(deviation(cell, run, term)) for term in TERMS.get(metric, ()))


def deviation(cell: CellTable, run: str, metric: str) -> float:
    """Return a run's mean minus the paper's mean for Retrain; NaN if one of them is undefined."""
    return mean(cell.values(run, metric)) - printed_number(cell, RETRAIN, metric)
