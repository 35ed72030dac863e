"""Tug of war (a product of similarities to Retrain) of every run, one value per seed."""

from collections.abc import Iterator

from collateral.contract.rows import Row
from collateral.findings.inputs import CellResults
from collateral.findings.tug_of_war import TERMS
from collateral.metrics.statistics import shift_seeds, tug_of_war


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield ToW and ToW-MIA of every run by seed.

    Retrain itself is compared with Retrain of the next seed.
    """
    for name, terms in TERMS.items():
        retrained = [cell.values(cell.reference, term) for term in terms]
        for run in (cell.reference, *cell.runs):
            others = [shift_seeds(values) for values in retrained]
            own = others if run == cell.reference else [cell.values(run, term) for term in terms]
            for seed, value in zip(cell.seeds, tug_of_war(own, retrained), strict=True):
                yield Row(run, name, float(value), seed)
