"""Exposure to U-LiRA of forgotten examples, and of retained ones near them and far from them."""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from collateral.contract.rows import At
from collateral.contract.tables import Field, Line, Table
from collateral.findings._shared.captions import join_sentences
from collateral.findings.columns import Column, TableRow, build_grid, run_row
from collateral.findings.metric_index import find_metric
from collateral.findings.near import FAR, NEAR
from collateral.findings.ulira.numbers import NOBODY
from collateral.results.table import CellTable

PARTS: dict[tuple[str, At], str] = {
    ("forget", None): "Forgotten",
    ("retain", NEAR): "Near",
    ("retain", FAR): "Far",
}
BEFORE = "Before unlearning"
BEFORE_METRICS = {"ulira_auc": "lira_auc", "ulira_tpr": "lira_tpr"}
RATE = "TPR: of seen examples, told as such where 1 % of those not seen are, over all models."
COVERAGE = (
    "Models share their laws: made for 95 %, intervals over 16 cover 83 to 91 % in a simulation."
)
CAPTION = (
    "U-LiRA on shadow models: {title}. AUC by which examples of a model are told into seen and not "
    "seen, before unlearning in the last row; and of retained examples how it changed. In "
    "brackets: intervals over {models} shadow models, those of methods by Holm. {coverage}"
)
CONVENTIONS = (
    "0.5: nobody can tell. Forgotten examples should come down to it. Above zero, a change "
    "means that retained examples are more exposed than before; below, less. †: zero is in the "
    "interval. Near and far are by similarity in the mean over seeds."
)
CHANGE_NEAR = Column("exposure_change", "retain", NEAR, ends="", sign=True)
AUC_FORGET = Column("ulira_auc", "forget", ends="")


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table, if there are shadow models."""
    rows = [run_row(cell, run) for run in find_exposed(cell)]
    if not rows:
        return
    columns = list(_make_columns(cell))
    reference = TableRow(cell, cell.reference, BEFORE, is_aside=True)
    before = Line(BEFORE, [_show_before(column, reference) for column in columns], is_aside=True)
    yield Table(
        "exposure",
        "Exposure to membership attacks",
        [build_grid("Method", columns, [rows, [before]])],
        CAPTION.format(title=cell.title, models=count_models(cell), coverage=COVERAGE),
        join_sentences(CONVENTIONS, RATE if _has_rate(cell) else ""),
        [
            *_make_records(reference, [*BEFORE_METRICS.values()]),
            *(
                record
                for row in rows
                for record in _make_records(row, [*BEFORE_METRICS, "exposure_change"])
            ),
        ],
    )


def find_exposed(cell: CellTable) -> list[str]:
    """Return the methods that unlearned from shadow models."""
    return [r for r in cell.runs("method") if not math.isnan(cell.number(r, "exposure_models"))]


def find_attacked(cell: CellTable) -> list[str]:
    """Return the methods with an AUC: with shadow models, and examples of either kind."""
    return [
        run
        for run in find_exposed(cell)
        if cell.number(run, "exposure_models")
        and any(math.isfinite(cell.number(run, "ulira_auc", *part)) for part in PARTS)
    ]


def count_models(cell: CellTable) -> str:
    """Return the largest number of shadow models of any method, as text."""
    most = max(cell.number(run, "exposure_models") for run in find_exposed(cell))
    return find_metric("exposure_models").text(most)


def _make_columns(cell: CellTable) -> Iterator[Column]:
    """Yield the AUC of each part, and its change or its TPR."""
    for (name, at), part in PARTS.items():
        count = cell.number(cell.reference, "exposure_count", name, at)
        size = find_metric("exposure_count").text(count)
        yield Column("ulira_auc", name, at, f"{part} ({size})", ends="")
        if name == "retain":
            change = Column("exposure_change", name, at, f"{part}, change", ends="", sign=True)
            yield replace(change, show=partial(_show_change, change))
        elif _has_rate(cell):
            yield Column("ulira_tpr", name, at, f"{part}, TPR (%)", ends="")


def _show_change(column: Column, row: TableRow) -> Field:
    """Return the field, marked if zero is in the interval."""
    low, high = column.interval(row)
    return replace(column.field(row), is_chance=low <= 0 <= high)


def _show_before(column: Column, reference: TableRow) -> Field:
    """Return the number before unlearning; of a change there is none."""
    if column.metric not in BEFORE_METRICS:
        return Field("")
    return replace(column, metric=BEFORE_METRICS[column.metric]).field(reference)


def _has_rate(cell: CellTable) -> bool:
    """Tell whether there are enough forgotten examples for a TPR at an FPR of 1 %."""
    return math.isfinite(cell.number(cell.reference, "lira_tpr", "forget"))


def _make_records(row: TableRow, metrics: list[str]) -> Iterator[dict[str, Any]]:
    """Yield all numbers, those of bins included."""
    for metric in metrics:
        for name in ("forget", "retain"):
            for at in row.cell.indices(row.run, metric, name):
                column = Column(metric, name, at, ends="")
                low, high = column.interval(row)
                numbers = {"mean": column.value(row), "low": low, "high": high}
                place = {"metric": metric, "set": name, "at": at}
                yield {"run": row.run, "label": row.label, **place, **numbers}


def words(cell: CellTable) -> str:
    """Return sentences on the exposure of near retained examples and of forgotten ones."""
    rows = [run_row(cell, run) for run in find_attacked(cell)]
    return join_sentences(_describe_neighbours(cell, rows), _describe_forgotten(cell, rows))


def _describe_neighbours(cell: CellTable, rows: list[TableRow]) -> str:
    """Name the methods that expose near retained examples more, and those that do so less."""
    known = _with_interval(CHANGE_NEAR, rows)
    if not known:
        return ""
    groups = {
        "more exposed": [row for row in known if CHANGE_NEAR.interval(row)[0] > 0],
        "less exposed": [row for row in known if CHANGE_NEAR.interval(row)[1] < 0],
    }
    found = [
        f"{text} after {_list_methods(CHANGE_NEAR, group)}"
        for text, group in groups.items()
        if group
    ]
    count = cell.number(cell.reference, "exposure_count", "retain", NEAR)
    size = find_metric("exposure_count").text(count)
    before = _auc_before(cell, "retain", NEAR)
    who = f"The {size} retained examples nearest to the forgotten ones"
    if not found:
        return f"{who} are neither more nor less exposed after any method, as far as " + (
            f"{count_models(cell)} shadow models can tell (AUC before: {before})."
        )
    others = len(known) - sum(map(len, groups.values()))
    rest = f" Of {others} more, {count_models(cell)} shadow models cannot tell." if others else ""
    return f"{who} (AUC before: {before}) are {'; '.join(found)}.{rest}"


def _describe_forgotten(cell: CellTable, rows: list[TableRow]) -> str:
    """Name the methods that leave a trace of the forgotten examples."""
    before, known = _auc_before(cell, "forget"), _with_interval(AUC_FORGET, rows)
    if not known:
        return ""
    left = [row for row in known if AUC_FORGET.interval(row)[0] > NOBODY]
    if not left:
        return (
            f"{count_models(cell)} shadow models can show no trace of the forgotten ones "
            f"(AUC before: {before})."
        )
    return (
        f"A trace of the forgotten ones (AUC before: {before}) is left by "
        f"{_list_methods(AUC_FORGET, left)}."
    )


def _with_interval(column: Column, rows: list[TableRow]) -> list[TableRow]:
    """Return the methods that have an interval: about others nothing can be said."""
    return [row for row in rows if math.isfinite(column.interval(row)[0])]


def _list_methods(column: Column, rows: list[TableRow]) -> str:
    """List methods with their numbers, the largest first."""
    order = sorted(rows, key=lambda row: -abs(column.value(row)))
    texts = [find_metric(column.metric).text(column.value(row), sign=column.sign) for row in order]
    return ", ".join(f"{row.label} ({text})" for row, text in zip(order, texts, strict=True))


def _auc_before(cell: CellTable, name: str, at: At = None) -> str:
    return find_metric("lira_auc").text(cell.number(cell.reference, "lira_auc", name, at))
