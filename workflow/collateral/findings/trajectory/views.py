"""The method nearest to Retrain within a share of Retrain's cost: a table and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from collateral.contract.metrics import EMPTY
from collateral.contract.rows import TRACKED
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import join_sentences
from collateral.findings._shared.devices import different_devices, list_devices
from collateral.findings.columns import TableRow, number_source, rows_by_kind
from collateral.findings.metric_index import find_metric
from collateral.findings.trajectory import SHARES
from collateral.findings.trajectory.course import Leg, idle_gap, is_ranked, leaders, legs
from collateral.results.layout import ORIGINAL
from collateral.results.table import CellTable, mean

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
GAP = f"{TRACKED}avg_gap"


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of budgets, if runs are tracked."""
    if not (found := legs(cell)):
        return
    best = leaders(cell)
    methods, controls = (
        [_make_line(row, found[row.run], best) for row in rows if row.run in found]
        for rows in rows_by_kind(cell, ("method", "control"))
    )
    groups = [group for group in (methods, [*controls, _idle_line(cell)]) if group]
    headings = [*(f"{share} %" for share in SHARES), "At its end"]
    seeds = f"Means over n = {len(cell.seeds)} seeds." if len(cell.seeds) > 1 else "One seed."
    cost = find_metric("rte").text(mean(cell.values(cell.reference, "rte")))
    caption = CAPTION.format(cost=cost, title=cell.title, seeds=seeds)
    yield Table(
        "trajectory",
        "Within a budget",
        [Grid("Method", headings, groups)],
        join_sentences(caption, different_devices(cell)),
        join_sentences(CONVENTIONS, PACED if any(leg.is_paced for leg in found.values()) else ""),
        [
            *(
                _make_record(cell, leg, share, is_best=leg.run in best[share])
                for leg in found.values()
                for share in SHARES
            ),
            *(_make_idle_record(cell, share) for share in SHARES),
        ],
    )


def _make_line(row: TableRow, leg: Leg, best: dict[int, list[str]]) -> Line:
    """Return the row of a tracked run: its gap within each share, and at its end."""
    fields = [_show_gap(leg, share, leg.run in best[share]) for share in SHARES]
    label = f"{row.label}*" if leg.is_paced else row.label
    return Line(label, [*fields, _show_end(row.cell, leg)], row.note, row.is_aside)


def _show_gap(leg: Leg, share: int, is_best: bool) -> Field:
    gap, epoch = leg.within(share)
    if not epoch:
        return Field(EMPTY)
    return Field(
        f"{find_metric('budget_gap').text(gap)} ({epoch})",
        gap,
        is_best=is_best,
        source=number_source(leg.run, "budget_gap", at=share),
        also=(number_source(leg.run, "budget_epoch", at=share),),
    )


def _show_end(cell: CellTable, leg: Leg) -> Field:
    """Return the gap of the whole run, with its share of Retrain's cost on the same device."""
    gap, devices = find_metric("avg_gap").text(leg.gap[-1]), list_devices(cell)
    source = number_source(leg.run, GAP, at=len(leg.gap) - 1)
    if devices.get(leg.run) != devices.get(cell.reference):
        return Field(gap, leg.gap[-1], source=source)
    share = leg.seconds[-1] / mean(cell.values(cell.reference, "rte"))
    text = f"{gap} at {find_metric('rte_share').text(share)} %"
    return Field(text, leg.gap[-1], source=source)


def _idle_line(cell: CellTable) -> Line:
    """Return the row of the base model, which costs nothing."""
    gap, first = idle_gap(cell), next(iter(legs(cell)))
    text, free = find_metric("avg_gap").text(gap), find_metric("rte_share").text(0.0)
    field = Field(text, gap, source=number_source(first, GAP, at=0))
    end = replace(field, value=f"{text} at {free} %")
    return Line(IDLE, [*(field for _ in SHARES), end], is_aside=True)


def _make_record(cell: CellTable, leg: Leg, share: int, *, is_best: bool) -> dict[str, Any]:
    gap, epoch = leg.within(share)
    return {
        "run": leg.run,
        "label": cell.labels[leg.run],
        "kind": cell.kinds[leg.run],
        "percent": share,
        "avg_gap": gap,
        "epoch": epoch or math.nan,
        "seconds": leg.seconds[epoch] if epoch else np.nan,
        "n": len(cell.seeds),
        "is_paced": leg.is_paced,
        "status": cell.failure_summary(leg.run) or "ok",
        "best": is_best,
    }


def _make_idle_record(cell: CellTable, share: int) -> dict[str, Any]:
    return {
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


def words(cell: CellTable) -> str:
    """Name the leading method within each share of Retrain's cost; nothing without tracked runs."""
    found, best = legs(cell), leaders(cell)
    if not found:
        return ""
    shares = [share for share in SHARES if best[share]]
    if not shares:
        return _explain_no_leader(cell)
    parts: list[str] = []
    last: list[str] = []
    for share in shares:
        names = " and ".join(cell.labels[run] for run in best[share])
        gap = find_metric("budget_gap").text(found[best[share][0]].within(share)[0])
        again = "still " if best[share] == last else ""
        parts.append(f"within {share} % {again}{names} ({gap} points)")
        last = best[share]
    claim = "One seed, so no claim: nearest" if len(cell.seeds) == 1 else "Nearest"
    text = f"{claim} to Retrain, by the average gap and for a share of its cost, is "
    return f"{text}{', '.join(parts)}.{_describe_rest(cell, len(shares) < len(SHARES))}"


def _explain_no_leader(cell: CellTable) -> str:
    """Return why no method leads: none has a model yet, or none is nearer than the base model."""
    within = f"within {SHARES[-1]} % of Retrain's cost"
    ranked = [leg for leg in legs(cell).values() if is_ranked(cell, leg)]
    if not any(leg.within(share)[1] for leg in ranked for share in SHARES):
        return f"No ranked method has a model {within}."
    gap = find_metric("avg_gap").text(idle_gap(cell))
    return f"No ranked method is nearer to Retrain {within} than doing nothing ({gap} points)."


def _describe_rest(cell: CellTable, is_share_unnamed: bool) -> str:
    """Return the gap of doing nothing, and what the shares without a name give."""
    unnamed = " A share that is not named brings nothing nearer." if is_share_unnamed else ""
    return f"{unnamed} Doing nothing has {find_metric('avg_gap').text(idle_gap(cell))} points."
