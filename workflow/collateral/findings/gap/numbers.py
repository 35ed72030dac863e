"""The average gaps of every run, and the noise floor of each metric and gap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from collateral.contract.rows import Row
from collateral.findings._shared.gaps import BySeed, average_gaps
from collateral.findings._shared.statistics import floor_of, mean_of_defined
from collateral.findings.gap import TERMS
from collateral.results.layout import RETRAIN

if TYPE_CHECKING:
    from collateral.results.cell import CellResults


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the gaps of every run, and Retrain's floors."""
    retrained = _by_seed(cell, RETRAIN)
    for run in cell.runs:
        for gap, value in average_gaps(_by_seed(cell, run), retrained).items():
            yield Row(run, gap, value)
    for name, value in noise_floors(retrained).items():
        yield Row(RETRAIN, "floor", value, at=name)


def _by_seed(cell: CellResults, run: str) -> BySeed:
    return {name: cell.values(run, name) for terms in TERMS.values() for name in terms}


def noise_floors(retrained: BySeed) -> dict[str, float]:
    """Return the floor of each term, and each average gap's own, which is their mean."""
    floors = {name: floor_of(retrained[name]) for terms in TERMS.values() for name in terms}
    gaps = {gap: mean_of_defined(floors[name] for name in terms) for gap, terms in TERMS.items()}
    return floors | gaps
