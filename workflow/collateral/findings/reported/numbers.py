"""Numbers that methods report about themselves by a call of `run.report`."""

from collections.abc import Iterator

from collateral.contract.rows import Row
from collateral.findings.inputs import CellResults
from collateral.findings.metric_index import is_known
from collateral.findings.reported import METRICS
from collateral.results.layout import ORIGINAL


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the numbers that every run reports.

    Raise ValueError if a reported number has the name of a metric that a finding computes.
    """
    for result in cell.all_results():
        if result.run == ORIGINAL:  # the record of `original` is the base model's
            continue
        reported: dict[str, float] = result.record["extra"]
        if clash := sorted(name for name in reported if is_known(name) and name not in METRICS):
            raise ValueError(f"{result.run}: what it reports as {clash} is a metric; rename it")
        for name, value in reported.items():
            yield Row(result.run, name, float(value), result.seed)
