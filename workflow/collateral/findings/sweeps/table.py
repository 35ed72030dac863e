"""Ablations: a method with one parameter varied, each value against Retrain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from collateral.findings.catalogue import METRICS
from collateral.findings._shared.compare import AFFECTED, MAIN, Layout, Protocol, Table, table
from collateral.results.table import Cell, cells_and_sweeps

# Shown where the method reports them.
REPORTED = tuple(name for name, metric in METRICS.items() if metric.group == "reported")
OWN = "“own” marks the value that the method has in all other tables and figures."


@dataclass(frozen=True)
class Sweep:
    """What the config says of a sweep in a cell."""

    name: str
    method: str  # as tables print it
    key: str  # the parameter
    own: str  # the run with the method's own value
    values: Mapping[str, Any]  # by run, in the config's order
    labels: Mapping[str, str]  # of the values

    @property
    def title(self) -> str:
        """What is varied, in words."""
        return f"{self.method}: {self.key}"

    @property
    def rows(self) -> dict[str, str]:
        """What the rows of the table are called, by run."""
        return {**self.labels, self.own: f"{self.labels[self.own]} (own)"}

    @property
    def numbers(self) -> dict[str, float]:
        """The values by run, to draw a line through; empty where one is not a number."""
        known = {run: value for run, value in self.values.items() if value is not None}
        return known if all(type(value) in (int, float) for value in known.values()) else {}


def sweeps_of(given: Mapping[str, Mapping[str, Any]]) -> list[Sweep]:
    """Return the sweeps of a cell as the command line gives them, by name."""
    return [Sweep(name, **content) for name, content in given.items()]


def sweep_cell(frame: pd.DataFrame, cell: str, sweep: Sweep) -> Cell:
    """Return the cell with Retrain and the runs of a sweep alone."""
    (found,) = cells_and_sweeps(frame[frame["cell"] == cell], sweep.rows)
    return found


def sweep_table(cell: Cell, sweep: Sweep, protocol: Protocol | None = None) -> Table:
    """Return the table of a sweep, `cell` being that of `sweep_cell`."""
    reported = {metric for run, metric in cell.by_seed.index if run in sweep.values}
    others = tuple(name for name in REPORTED if name in reported)
    layout = Layout(
        f"sweep-{sweep.name}",
        f"{sweep.method} with other values of {sweep.key}",
        (MAIN, replace(AFFECTED, others=others)),
        corner=sweep.title,
        ranked="value",
    )
    made = table(cell, layout, protocol)
    return replace(made, caption=f"{made.caption} {OWN}")
