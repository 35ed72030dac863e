"""Ranks of the methods over the cells of a benchmark."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from collateral.contract.rows import Row
from collateral.findings._shared.inference.ranks import critical_difference, friedman_p
from collateral.findings.gap import TERMS
from collateral.results.table import REFERENCE, BenchmarkTable, CellTable, mean


def across(table: BenchmarkTable) -> Iterator[Row]:
    """Yield every method's standing by each gap; nothing for a single cell."""
    if len(table.cells) < 2:
        return
    methods = list(dict.fromkeys(run for cell in table.cells for run in cell.runs("method")))
    for gap in TERMS:
        for run, standing in standings(table.cells, methods, gap).items():
            for metric, value in standing.items():
                yield Row(run, metric, value, at=gap)
        for metric, value in rank_tests(gaps_of(table.cells, methods, gap)).items():
            yield Row(REFERENCE, metric, value, at=gap)


def standings(
    cells: Sequence[CellTable], methods: Sequence[str], gap: str
) -> dict[str, dict[str, float]]:
    """Return the numbers of every method by one gap; ties share the mean of their ranks."""
    gaps = gaps_of(cells, methods, gap)
    floors = np.array([cell.number(REFERENCE, "floor", at=gap) for cell in cells])
    above = np.array([row - (np.nanmin(row) if not np.isnan(row).all() else 0) for row in gaps])
    ranks = np.array([rankdata(row, nan_policy="omit") for row in gaps])
    is_complete = ~np.isnan(gaps).any(axis=1)
    is_tied = above <= floors[:, None]
    return {
        run: {
            "ranked_cells": float(np.count_nonzero(~np.isnan(gaps[:, i]))),
            "lowest_cells": float(np.count_nonzero(above[:, i] == 0)),
            "tied_cells": math.nan if np.isnan(floors).any() else float(is_tied[:, i].sum()),
            "mean_rank": mean(ranks[:, i]),
            "complete_rank": mean(ranks[is_complete, i]),
            "mean_gap": mean(gaps[:, i]),
        }
        for i, run in enumerate(methods)
    }


def gaps_of(cells: Sequence[CellTable], methods: Sequence[str], gap: str) -> NDArray[np.float64]:
    """Return the gap of every method (columns) in every cell (rows); NaN where it is not ranked."""
    # Rounded: equal but for the last bits of the subtraction.
    return np.array([[_gap(cell, run, gap) for run in methods] for cell in cells]).round(12)


def rank_tests(gaps: NDArray[np.float64]) -> dict[str, float]:
    """Return whether the methods rank alike, over the cells where all of them are ranked."""
    complete = gaps[~np.isnan(gaps).any(axis=1)]
    return {
        "complete_cells": float(len(complete)),
        "friedman_p": friedman_p(complete),
        "critical_difference": critical_difference(gaps.shape[1], len(complete)),
    }


def _gap(cell: CellTable, run: str, gap: str) -> float:
    """Return a run's gap; NaN where it is not ranked."""
    is_ranked = run in cell.labels and not cell.failure_summary(run)
    return cell.number(run, gap) if is_ranked else math.nan
