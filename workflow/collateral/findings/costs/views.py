"""Table of every run's time and memory, and the number of deletions after which it saves time."""

import math
from collections.abc import Iterator

import numpy as np

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared import captions
from collateral.findings.columns import (
    Column,
    TableRow,
    all_rows,
    build_grid,
    build_records,
    number_field,
    number_source,
)
from collateral.findings.costs import PREPARATION
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import mean, std
from collateral.results.record import STATED
from collateral.results.table import CellTable

TOTALS = ("rte", "tuning_seconds", "support_size_seconds", "peak_rss_mb", "peak_device_mb")
LEDGER = [Column("rte_share"), Column("rte_share_with_tuning"), Column("paying_deletions")]
OWN_PHASES = ("unlearn", "train", STATED)  # names of phases that do not count as preparation
CAPTION = "Costs: {title}. {spread} RTE counts all phases but evaluation. {devices}"


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of time and memory, if any cost was measured."""
    rows = all_rows(cell)
    totals = [
        column
        for column in map(Column, TOTALS)
        if not all(np.isnan(column.values(row)).all() for row in rows)
    ]
    if not totals:
        return
    phases = [
        (row, [Column("seconds", at=phase) for phase in cell.indices(row.run, "seconds")])
        for row in rows
    ]
    ledger = LEDGER if any(not math.isnan(LEDGER[0].value(row)) for row in rows) else []
    compared = LEDGER[1:] if cell.has_retrain else []
    metrics = [column.metric for column in (*totals, *compared)]
    yield Table(
        "costs",
        "Costs",
        [build_grid("Run", [*totals, *_own_columns(cell)], [rows]), *_phase_grid(phases)],
        captions.fill_caption(CAPTION, cell, devices=captions.different_devices(cell)),
        captions.join_sentences(
            captions.describe_metrics(cell, metrics),
            f"{PREPARATION.label}: {PREPARATION.description}.",
        ),
        records=[
            *build_records(rows, totals),
            *(column.record(row) for row, columns in phases for column in columns),
            *build_records(rows, ledger),
        ],
    )


def _own_columns(cell: CellTable) -> Iterator[Column]:
    """Yield the columns with a format of their own, such as preparation time and device.

    A column is left out if its numbers are not available.
    """
    if any(_preparing_phases(cell, run) for run in cell.labels):
        yield Column(heading=PREPARATION.heading, show=_show_preparation)
    if cell.has_retrain:
        yield Column("rte_share", show=_show_share)
        if any("rte_share_with_tuning" in cell.metrics(run) for run in cell.labels):
            yield LEDGER[1]
        yield Column(heading=find_metric("paying_deletions").label, show=_show_paying)
    devices = captions.list_devices(cell)
    if len(set(devices.values())) > 1:
        yield Column(heading="Device", show=lambda row: Field(devices.get(row.run, EMPTY)))


def _preparing_phases(cell: CellTable, run: str) -> list[str]:
    return [phase for phase in cell.indices(run, "seconds") if phase not in OWN_PHASES]


def _show_preparation(row: TableRow) -> Field:
    """Return the total seconds of a run's preparation phases; a dash if the run has none."""
    phases = _preparing_phases(row.cell, row.run)
    if not phases:
        return Field(EMPTY)
    seconds = np.sum([row.cell.values(row.run, "seconds", at=at) for at in phases], axis=0)
    first, *others = (number_source(row.run, "seconds", at=phase) for phase in phases)
    text = PREPARATION.text(mean(seconds), std(seconds))
    return Field(text, mean(seconds), source=first, also=tuple(others))


def _show_share(row: TableRow) -> Field:
    if row.run == row.cell.reference:
        return Field(find_metric("rte_share").text(1.0), 1.0, source=number_source(row.run, "rte"))
    return number_field(row.run, "rte_share", row.cell.number(row.run, "rte_share"))


def _show_paying(row: TableRow) -> Field:
    """Return the number of deletions from which a method takes less total time than Retrain."""
    share = row.cell.number(row.run, "rte_share")
    deletions = row.cell.number(row.run, "paying_deletions")
    if row.cell.kinds[row.run] == "method" and share >= 1:
        return Field("never", math.inf, source=number_source(row.run, "rte_share"))
    if math.isnan(deletions):
        return Field(EMPTY)
    # At `paying_deletions`, method and Retrain took the same total time, so one deletion is added.
    source = number_source(row.run, "paying_deletions")
    return Field(f"{math.floor(deletions) + 1:,}", deletions, source=source)


def _phase_grid(phases: list[tuple[TableRow, list[Column]]]) -> list[Grid]:
    """Return a grid that lists the seconds of each phase of a run; empty if no run has phases."""
    lines = [Line(row.label, [_show_phases(row, columns)]) for row, columns in phases if columns]
    return [Grid("Run", ["Phases (s)"], [lines], is_prose=True)] if lines else []


def _show_phases(row: TableRow, columns: list[Column]) -> Field:
    texts = [f"{c.at} {find_metric('seconds').text(c.value(row))}" for c in columns]
    first, *others = (column.source(row) for column in columns)
    return Field(", ".join(texts), source=first, also=tuple(others))
