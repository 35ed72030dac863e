"""Ranks of the methods over the cells of a benchmark."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import rankdata

from collateral.contract.rows import Row
from collateral.findings.gap import TERMS
from collateral.metrics.arrays import Floats
from collateral.metrics.association import critical_difference, friedman_p
from collateral.metrics.statistics import mean
from collateral.results.table import BenchmarkTable, CellTable


def across(table: BenchmarkTable) -> Iterator[Row]:
    """Yield each method's number of wins and its ranks, by each kind of average gap.

    Nothing is yielded if the benchmark has only one cell.
    """
    if len(table.cells) < 2:
        return
    methods = list(dict.fromkeys(run for cell in table.cells for run in cell.runs("method")))
    for gap in TERMS:
        gaps = _collect_gaps(table.cells, methods, gap)
        floors = np.array([cell.number(cell.reference, "floor", at=gap) for cell in table.cells])
        for run, standing in zip(methods, rank_methods(gaps, floors), strict=True):
            for metric, value in standing.items():
                yield Row(run, metric, value, at=gap)
        for metric, value in compare_ranks(gaps).items():
            yield Row(table.reference, metric, value, at=gap)


def _collect_gaps(cells: Sequence[CellTable], methods: Sequence[str], gap: str) -> Floats:
    """Return the average gaps as an array (cells, methods); NaN where a method is not ranked."""
    # Rounding makes gaps equal that differ only by floating-point errors.
    return np.array([[_ranked_gap(cell, run, gap) for run in methods] for cell in cells]).round(12)


def _ranked_gap(cell: CellTable, run: str, gap: str) -> float:
    """Return a run's average gap; NaN if a seed failed, because the run is then not ranked."""
    is_ranked = run in cell.labels and not cell.failure_summary(run)
    return cell.number(run, gap) if is_ranked else math.nan


def rank_methods(gaps: Floats, floors: Floats) -> Iterator[dict[str, float]]:
    """Yield each method's number of wins and its mean ranks over cells.

    `gaps` has the shape (cells, methods), `floors` the noise floor of each cell. Methods with
    equal gaps all get the mean of their ranks.
    """
    above = np.array([row - (np.nanmin(row) if not np.isnan(row).all() else 0) for row in gaps])
    ranks = np.array([rankdata(row, nan_policy="omit") for row in gaps])
    is_complete = ~np.isnan(gaps).any(axis=1)
    is_tied = above <= floors[:, None]
    for i in range(gaps.shape[1]):
        yield {
            "ranked_cells": float(np.count_nonzero(~np.isnan(gaps[:, i]))),
            "lowest_cells": float(np.count_nonzero(above[:, i] == 0)),
            "tied_cells": math.nan if np.isnan(floors).any() else float(is_tied[:, i].sum()),
            "mean_rank": mean(ranks[:, i]),
            "complete_rank": mean(ranks[is_complete, i]),
            "mean_gap": mean(gaps[:, i]),
        }


def compare_ranks(gaps: Floats) -> dict[str, float]:
    """Return Friedman's p-value and Nemenyi's critical difference of the methods' ranks.

    Only cells in which all methods are ranked are used.
    """
    complete = gaps[~np.isnan(gaps).any(axis=1)]
    return {
        "complete_cells": float(len(complete)),
        "friedman_p": friedman_p(complete),
        "critical_difference": critical_difference(gaps.shape[1], len(complete)),
    }
