"""Who leads within a share of Retrain's cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.contract.tracking import TRACKED
from collateral.findings._shared.captions import joined
from collateral.findings._shared.devices import devices_of, different_devices
from collateral.findings._shared.tables import line_of, source_of
from collateral.findings.catalogue import metric_of
from collateral.findings.trajectory import SHARES
from collateral.findings.trajectory.course import Leg, idle_gap, leaders, legs
from collateral.results.layout import ORIGINAL
from collateral.results.table import REFERENCE, CellTable, mean

CAPTION = (
    "Average gap to Retrain, in points, of the latest model that a method has within a share of "
    "Retrain's cost ({cost} s), with the epoch it comes from: {title}. {seeds}"
)
CONVENTIONS = (
    "Costs are RTE, preparing among them, without tuning. –: no model yet. Do nothing: the gap of "
    "the base model. Bold: the method that leads. It is nearer to Retrain than doing nothing, and "
    "no method is nearer within a smaller share; a column without one brings nothing nearer. "
    "Controls, and runs that diverged or collapsed, are not ranked. At its end: the gap of the "
    "whole run, and its share of Retrain's cost."
)
IDLE = "Do nothing"
PACED = "*: its epochs depend on how many there are, so none is a shorter run; it is not ranked."


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of budgets, where runs are tracked."""
    found = legs(cell)
    if not found:
        return
    best = leaders(cell)
    groups = [
        [_line(cell, leg, best) for leg in found.values() if cell.kinds[leg.run] == kind]
        for kind in ("method", "control")
    ]
    groups[-1].append(_idle_line(cell))
    several = f"Means over n = {len(cell.seeds)} seeds." if len(cell.seeds) > 1 else "One seed."
    cost = metric_of("rte").text(mean(cell.values(REFERENCE, "rte")))
    headings = [*(f"{share} %" for share in SHARES), "At its end"]
    yield Table(
        "trajectory",
        "Within a budget",
        [Grid("Method", headings, [group for group in groups if group])],
        joined(CAPTION.format(cost=cost, title=cell.title, seeds=several), different_devices(cell)),
        joined(CONVENTIONS, PACED if any(leg.is_paced for leg in found.values()) else ""),
        [
            *(record for leg in found.values() for record in _records(cell, leg, best)),
            *_idle_records(cell),
        ],
    )


def _line(cell: CellTable, leg: Leg, best: dict[int, list[str]]) -> Line:
    fields = [_field(leg, share, leg.run in best[share]) for share in SHARES]
    line = line_of(cell, leg.run, [*fields, _end(cell, leg)])
    return replace(line, label=f"{line.label}*") if leg.is_paced else line


def _idle_line(cell: CellTable) -> Line:
    """Return the row of the base model, which is there before any method has done anything."""
    gap, first = idle_gap(cell), next(iter(legs(cell)))
    text, free = metric_of("avg_gap").text(gap), metric_of("rte_share").text(0.0)
    field = Field(text, gap, source=source_of(first, f"{TRACKED}avg_gap", at=0))
    end = replace(field, value=f"{text} at {free} %")
    return Line(IDLE, [*(field for _ in SHARES), end], is_aside=True)


def _idle_records(cell: CellTable) -> Iterator[dict[str, Any]]:
    for share in SHARES:
        yield {
            "run": ORIGINAL,
            "label": IDLE,
            "kind": "control",
            "percent": share,
            "avg_gap": idle_gap(cell),
            "epoch": 0,
            "seconds": 0.0,
            "n": len(cell.seeds),
            "is_paced": False,
            "status": "ok",
            "best": False,
        }


def _field(leg: Leg, share: int, is_best: bool) -> Field:
    gap, epoch = leg.within(share)
    if not epoch:
        return Field(EMPTY)
    return Field(
        f"{metric_of('budget_gap').text(gap)} ({epoch})",
        gap,
        is_best=is_best,
        source=source_of(leg.run, "budget_gap", at=share),
        also=(source_of(leg.run, "budget_epoch", at=share),),
    )


def _end(cell: CellTable, leg: Leg) -> Field:
    gap, devices = metric_of("avg_gap").text(leg.gap[-1]), devices_of(cell)
    source = source_of(leg.run, f"{TRACKED}avg_gap", at=len(leg.gap) - 1)
    if devices.get(leg.run) != devices.get(REFERENCE):
        return Field(gap, leg.gap[-1], source=source)
    share = leg.seconds[-1] / mean(cell.values(REFERENCE, "rte"))
    text = f"{gap} at {metric_of('rte_share').text(share)} %"
    return Field(text, leg.gap[-1], source=source)


def _records(cell: CellTable, leg: Leg, best: dict[int, list[str]]) -> Iterator[dict[str, Any]]:
    for share in SHARES:
        gap, epoch = leg.within(share)
        yield {
            "run": leg.run,
            "label": cell.labels[leg.run],
            "kind": cell.kinds[leg.run],
            "percent": share,
            "avg_gap": gap,
            "epoch": epoch or math.nan,
            "seconds": leg.seconds[epoch] if epoch else np.nan,
            "n": len(cell.seeds),
            "is_paced": leg.is_paced,
            "status": cell.trouble(leg.run) or "ok",
            "best": leg.run in best[share],
        }
