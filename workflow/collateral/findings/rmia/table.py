"""AUC with its intervals, and TPR where there are non-members enough."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Grid, Source, Table
from collateral.findings._shared.captions import described, joined
from collateral.findings._shared.statistics import LEAST_NEGATIVES
from collateral.findings._shared.tables import csv_record, line_of
from collateral.findings.catalogue import metric_of
from collateral.findings.plain import KINDS
from collateral.results.table import REFERENCE, CellTable, mean

HEADINGS = {"": "AUC [over seeds]", "examples_": "AUC [over examples]"}
CAPTION = "RMIA, offline: {title}. {out} {tpr}"
OUT = (
    "OUT models: Retrain of the {count} other seed{s}. In brackets: 95 % intervals of the mean "
    "over n = {n} seeds (Student t), and over examples of these very models (DeLong)."
)
NO_OUT = "One seed: no other Retrain is there to be an OUT model, so there is no score."
NO_TPR = "TPR at 1 % FPR wants 1,000 non-members; here are {count}."
CONVENTIONS = "An AUC of 0.5 is no trace of the forgotten examples; read it against Retrain's."


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table; nothing where there are no numbers."""
    count = cell.number(REFERENCE, "rmia_non_members")
    if math.isnan(count):
        return
    metrics = ["rmia_auc", *(["rmia_tpr"] if count >= LEAST_NEGATIVES else [])]
    headings = [*HEADINGS.values(), *(metric_of(name).heading for name in metrics[1:])]
    groups = [
        [line_of(cell, run, _fields(cell, run, metrics)) for run in cell.runs(kind)]
        for kind in KINDS
    ]
    yield Table(
        "rmia",
        "RMIA",
        [Grid("Method", headings, [group for group in groups if group])],
        CAPTION.format(title=cell.title, out=_out(cell), tpr=_tpr(count)).rstrip(),
        joined(described(metrics), CONVENTIONS),
        [_record(cell, run, name) for run in cell.labels for name in metrics],
    )


def _out(cell: CellTable) -> str:
    n = len(cell.seeds)
    return OUT.format(count=n - 1, s="s" * (n > 2), n=n) if n > 1 else NO_OUT


def _tpr(count: float) -> str:
    return NO_TPR.format(count=f"{count:.0f}") if count < LEAST_NEGATIVES else ""


def _fields(cell: CellTable, run: str, metrics: list[str]) -> list[Field]:
    fields = [_auc(cell, run, kind) for kind in HEADINGS]
    for name in metrics[1:]:
        value = mean(cell.values(run, name))
        fields.append(Field(metric_of(name).text(value), value, source=Source(run, name)))
    return fields


def _auc(cell: CellTable, run: str, kind: str) -> Field:
    metric, value = metric_of("rmia_auc"), mean(cell.values(run, "rmia_auc"))
    ends = [cell.number(run, f"rmia_auc_{kind}{end}") for end in ("low", "high")]
    low, high = map(metric.text, ends)
    field = Field(metric.text(value), value, source=Source(run, "rmia_auc"))
    if low == EMPTY:
        return field
    also = tuple(Source(run, f"rmia_auc_{kind}{end}") for end in ("low", "high"))
    return replace(field, value=f"{field.value} [{low}, {high}]", also=also)


def _record(cell: CellTable, run: str, name: str) -> dict[str, Any]:
    ends = [f"{kind}{end}" for kind in HEADINGS for end in ("low", "high")]
    return {
        **csv_record(cell, run, name),
        **{end: cell.number(run, f"{name}_{end}") for end in ends},
    }
