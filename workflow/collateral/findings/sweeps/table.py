"""Ablations: a method with one parameter varied, each value against Retrain."""

from collections.abc import Iterator
from dataclasses import replace

from collateral.contract.tables import Table
from collateral.findings._shared.compare import compare
from collateral.findings._shared.layouts import AFFECTED, MAIN, Layout
from collateral.findings.reported import METRICS as REPORTED
from collateral.results.plan import Sweep
from collateral.results.table import CellTable

OWN = "“own” marks the value that the method has in all other tables and figures."


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of every sweep."""
    for sweep in cell.plan.sweeps:
        swept = cell.with_labels(sweep.rows)
        yield replace(compare(swept, layout_of(swept, sweep)), title=sweep.title)


def layout_of(cell: CellTable, sweep: Sweep) -> Layout:
    """Return both gaps, and what the varied method reports; `cell` has the sweep's runs."""
    reported = {metric for run in sweep.values for metric in cell.metrics(run)}
    others = tuple(name for name in REPORTED if name in reported)
    return Layout(
        f"sweep-{sweep.name}",
        f"{sweep.method} with other values of {sweep.key}",
        (MAIN, replace(AFFECTED, others=others)),
        corner=sweep.title,
        ranked="value",
        note=OWN,
    )
