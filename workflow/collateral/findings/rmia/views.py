"""Table of RMIA: the AUC with two intervals, and the TPR if there are enough non-members."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Table
from collateral.findings._shared.captions import describe_metrics, fill_caption, join_sentences
from collateral.findings.columns import Column, TableRow, all_rows, build_grid, rows_by_kind
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import LEAST_NEGATIVES
from collateral.results.table import CellTable

BY_SEEDS = Column("rmia_auc", heading="AUC [over seeds]", ends="")
BY_EXAMPLES = Column("rmia_auc", heading="[over examples]", ends="examples_")
TPR = Column("rmia_tpr", spread=lambda values: math.nan)
CAPTION = "RMIA, offline: {title}. {out} Non-members: {count}; the TPR at 1 % FPR needs 1,000."
OUT = (
    "OUT models: Retrain of the other seeds. In brackets: 95 % intervals of the mean over n = {n} "
    "seeds (Student t), and over the examples with these models fixed (DeLong)."
)
NO_OUT = "One seed: there is no other Retrain to be the OUT model, so there is no score."
CONVENTIONS = "An AUC of 0.5 means no trace of the forgotten examples; compare it with Retrain's."


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of RMIA, if RMIA was computed."""
    count = cell.number(cell.reference, "rmia_non_members")
    if math.isnan(count):
        return
    rates = [TPR] if count >= LEAST_NEGATIVES else []
    measures = [BY_SEEDS, *rates]
    columns = [BY_SEEDS, replace(BY_EXAMPLES, show=_show_interval), *rates]
    out = OUT.format(n=len(cell.seeds)) if len(cell.seeds) > 1 else NO_OUT
    non_members = find_metric("rmia_non_members").text(count)
    yield Table(
        "rmia",
        "RMIA",
        [build_grid("Method", columns, rows_by_kind(cell))],
        fill_caption(CAPTION, cell, out=out, count=non_members),
        join_sentences(describe_metrics(cell, [column.metric for column in measures]), CONVENTIONS),
        [_make_record(column, row) for row in all_rows(cell) for column in measures],
    )


def _show_interval(row: TableRow) -> Field:
    """Return the table entry of the AUC's interval over examples; the AUC has its own column."""
    ends = BY_EXAMPLES.interval(row)
    if any(map(math.isnan, ends)):
        return Field(EMPTY)
    text = ", ".join(find_metric("rmia_auc").text(end) for end in ends)
    return replace(BY_EXAMPLES.field(row), value=f"[{text}]", order=ends[0])


def _make_record(column: Column, row: TableRow) -> dict[str, Any]:
    ends = [f"{auc.ends}{end}" for auc in (BY_SEEDS, BY_EXAMPLES) for end in ("low", "high")]
    numbers = {end: row.cell.number(row.run, f"{column.metric}_{end}") for end in ends}
    return {**column.record(row), **numbers}
