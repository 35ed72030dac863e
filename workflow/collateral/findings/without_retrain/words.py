"""A cell in a sentence, where there is no Retrain."""

from collateral.findings.catalogue import metric_of
from collateral.results.table import CellTable, mean

SAID = "No verdict, as there is no Retrain. UA: {runs}; the base's is {base} %."


def words(cell: CellTable) -> str:
    """Say what the methods know of the forget set, and what the base did."""
    found = {run: metric_of("ua").text(mean(cell.values(run, "ua"))) for run in cell.labels}
    runs = ", ".join(f"{cell.labels[run]} {found[run]} %" for run in cell.runs("method"))
    return SAID.format(runs=runs or "none", base=found[cell.reference])
