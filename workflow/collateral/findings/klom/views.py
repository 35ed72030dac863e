"""Table of the KLOM of every run: on the forget set, near the forget set, and far from it."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from collateral.contract.tables import Table
from collateral.findings._shared.captions import describe_metrics, fill_caption, join_sentences
from collateral.findings.columns import Column, TableRow, build_grid, rows_with_next_seed
from collateral.findings.metric_index import find_metric
from collateral.findings.near import PART_HEADINGS, PARTS
from collateral.results.table import CellTable

FLOOR = "Retrain vs. Retrain, subtracted"
CAPTION = "Distribution of margins over seeds, compared with Retrain's: {title}. {seeds}"
SEEDS = "Over n = {n} seeds, of which {half} for each distribution."
ONE_SEED = "One seed has no distribution, so there is nothing to compare."
CONVENTIONS = (
    "Both distributions are taken as Gaussian, with variances shrunk towards the mean over the "
    "set. A value near zero: these seeds cannot tell the method from Retrain."
)
COLUMNS = {
    (name, at): Column("klom", name, at, PART_HEADINGS.get((name, at), ""), "", "klom_retrain")
    for name, parts in PARTS.items()
    for at in parts
}


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of KLOM, if KLOM was computed."""
    groups, n = rows_with_next_seed(cell, FLOOR), len(cell.seeds)
    if not any(groups) or "klom_retrain" not in cell.metrics(cell.reference):
        return
    columns = [COLUMNS[part] for part in PART_HEADINGS]
    seeds = SEEDS.format(n=n, half=n // 2) if n > 1 else ONE_SEED
    yield Table(
        "margins",
        "Distribution of margins",
        [build_grid(find_metric("klom").heading, columns, groups)],
        fill_caption(CAPTION, cell, seeds=seeds),
        join_sentences(describe_metrics(cell, ["klom"]), CONVENTIONS),
        [_make_record(column, row) for row in chain(*groups) for column in COLUMNS.values()],
    )


def _make_record(column: Column, row: TableRow) -> dict[str, Any]:
    record = column.record(row)
    place = {key: record[key] for key in ("metric", "set", "at")}
    return {"run": row.run, "label": row.label, **place, "value": record["mean"]}
