"""The tug of war of every run, by seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from collateral.contract.rows import Row
from collateral.findings.tug_of_war import TERMS
from collateral.results.layout import RETRAIN

if TYPE_CHECKING:
    from collateral.results.cell import CellResults

Floats = NDArray[np.float64]


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield both products of every run, sweeps' too; of Retrain, against the next seed's."""
    for name, terms in TERMS.items():
        retrained = [cell.values(RETRAIN, term) for term in terms]
        for run in (RETRAIN, *cell.runs):
            others = [_next(own) for own in retrained]
            own = others if run == RETRAIN else [cell.values(run, term) for term in terms]
            for seed, value in zip(cell.seeds, tug_of_war(own, retrained), strict=True):
                yield Row(run, name, float(value), seed)


def tug_of_war(own: Sequence[Floats], retrained: Sequence[Floats]) -> Floats:
    """Return the product over terms of 1 - |difference|, by seed; NaN where a term is undefined."""
    kept: Floats = np.prod(1 - np.abs(np.subtract(own, retrained)), axis=0)
    return kept


def _next(values: Floats) -> Floats:
    """Return the values of the next seed, of the last one the first's; a single seed has none."""
    return np.roll(values, -1) if len(values) > 1 else np.full_like(values, np.nan)
