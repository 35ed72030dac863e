"""Table of RMIA: the AUC with two intervals, and the TPR if there are enough non-members."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Table
from collateral.findings._shared.captions import describe_metrics, join_sentences
from collateral.findings.columns import Column, TableRow, all_rows, build_grid, rows_by_kind
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import LEAST_NEGATIVES
from collateral.results.table import CellTable

BY_SEEDS = Column("rmia_auc", heading="AUC [over seeds]", ends="")
BY_EXAMPLES = Column("rmia_auc", heading="[over examples]", ends="examples_")
TPR = Column("rmia_tpr", spread=lambda values: math.nan)
CAPTION = "RMIA, offline: {title}. {out} {tpr}"
OUT = (
    "OUT models: Retrain of the {count} other seed{s}. In brackets: 95 % intervals of the mean "
    "over n = {n} seeds (Student t), and over the examples with these models fixed (DeLong)."
)
NO_OUT = "One seed: there is no other Retrain to be the OUT model, so there is no score."
NO_TPR = "The TPR at 1 % FPR needs 1,000 non-members; there are {count}."
CONVENTIONS = "An AUC of 0.5 means no trace of the forgotten examples; compare it with Retrain's."


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table, if RMIA was computed."""
    count = cell.number(cell.reference, "rmia_non_members")
    if math.isnan(count):
        return
    rates = [TPR] if count >= LEAST_NEGATIVES else []
    no_rates = "" if rates else NO_TPR.format(count=f"{count:.0f}")
    measures = [BY_SEEDS, *rates]
    columns = [BY_SEEDS, replace(BY_EXAMPLES, show=_show_interval), *rates]
    yield Table(
        "rmia",
        "RMIA",
        [build_grid("Method", columns, rows_by_kind(cell))],
        CAPTION.format(title=cell.title, out=_describe_out_models(cell), tpr=no_rates).rstrip(),
        join_sentences(describe_metrics(column.metric for column in measures), CONVENTIONS),
        [_make_record(column, row) for row in all_rows(cell) for column in measures],
    )


def _show_interval(row: TableRow) -> Field:
    """Return the table entry of the interval over examples; the AUC is in the column before it."""
    ends = BY_EXAMPLES.interval(row)
    if any(map(math.isnan, ends)):
        return Field(EMPTY)
    text = ", ".join(find_metric("rmia_auc").text(end) for end in ends)
    return replace(BY_EXAMPLES.field(row), value=f"[{text}]", order=ends[0])


def _describe_out_models(cell: CellTable) -> str:
    n = len(cell.seeds)
    return OUT.format(count=n - 1, s="s" * (n > 2), n=n) if n > 1 else NO_OUT


def _make_record(column: Column, row: TableRow) -> dict[str, Any]:
    ends = [f"{auc.ends}{end}" for auc in (BY_SEEDS, BY_EXAMPLES) for end in ("low", "high")]
    numbers = {end: row.cell.number(row.run, f"{column.metric}_{end}") for end in ends}
    return {**column.record(row), **numbers}
