"""Average gaps of every run from Retrain, and the noise floors of all metrics and gaps."""

from collections.abc import Iterator

from collateral.contract.rows import Row
from collateral.findings.gap import TERMS
from collateral.findings.inputs import CellResults
from collateral.metrics.statistics import BySeed, average_gap, expected_deviation, mean_of_defined


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield each run's average gaps from Retrain, and the noise floor of each metric and gap."""
    reference = _values_by_seed(cell, cell.reference)
    for run in cell.runs:
        values = _values_by_seed(cell, run)
        for gap, terms in TERMS.items():
            yield Row(run, gap, average_gap(values, reference, terms))
    for name, value in noise_floors(reference).items():
        yield Row(cell.reference, "floor", value, at=name)


def _values_by_seed(cell: CellResults, run: str) -> BySeed:
    return {name: cell.values(run, name) for terms in TERMS.values() for name in terms}


def noise_floors(reference: BySeed) -> dict[str, float]:
    """Return the noise floor of each metric and average gap; a gap has the mean of its metrics."""
    floors = {
        name: expected_deviation(reference[name]) for terms in TERMS.values() for name in terms
    }
    gaps = {gap: mean_of_defined(floors[name] for name in terms) for gap, terms in TERMS.items()}
    return floors | gaps
