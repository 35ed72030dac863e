"""Tables of docs/results.md, from the results in docs/data and the paper's own numbers."""

from collections.abc import Iterator

from collateral.findings._shared.compare import ComparedColumn
from collateral.findings.columns import run_row
from collateral.findings.metric_index import find_metric
from collateral.report.board import read_kept
from collateral.results.layout import RETRAIN
from collateral.results.table import CellTable
from generators.claims import claims_table
from generators.results import DATA
from generators.tables import table
from paper.findings.printed import views as printed

NAME = "cifar-small"
METRICS = ("ua", "ra", "ta", "mia", "avg_gap", "ra_affected", "ta_affected", "avg_gap_affected")
# Rows of the table of the paper's base model, with the value that the config sets.
RUNS = {
    RETRAIN: "Retrain (paper)",
    "original": "*Original*",
    "ltd": "LTD",
    "iu": "IU, alpha 2.5",
    "ga": "GA, 3e-5",
    "rl": "RL, 0.01",
    "ft": "FT, 0.01",
}


def result_tables() -> dict[str, str]:
    """Return the tables of the page by mark: claims, the paper's base model, and the small one."""
    return {
        "claims": claims_table(),
        "printed": _printed(read_kept(DATA / "paper-public-base").cells[0]),
        **{f"{NAME} {cell.name}": _compared(cell) for cell in read_kept(DATA / NAME).cells},
    }


def _compared(cell: CellTable) -> str:
    """Return Retrain's means, and the other runs' deviations from them."""
    rows = [[_label(cell, run), *_row(cell, run)] for run in cell.labels]
    if len(cell.seeds) > 1:
        rows.append(["*Retrain, other seeds*", *(_floor(cell, metric) for metric in METRICS)])
    return table([cell.title, *_heads()], rows)


def _heads() -> list[str]:
    """Return the headings without units."""
    return [find_metric(metric).label for metric in METRICS]


def _label(cell: CellTable, run: str) -> str:
    row = run_row(cell, run)
    return f"*{row.label}*" if row.is_aside else row.label


def _row(cell: CellTable, run: str) -> Iterator[str]:
    """Yield Retrain's mean, or a run's deviation from it (†: chance) or gap (bold: lowest)."""
    row = run_row(cell, run)
    for metric in METRICS:
        column = ComparedColumn(metric, reference_metric=metric)
        if run == cell.reference:
            yield column.field(row).value
        elif column.is_gap:
            methods = [run_row(cell, method) for method in cell.runs("method")]
            is_lowest = column.value(row) == min(map(column.value, methods)) and row in methods
            yield f"**{column.field(row).value}**" if is_lowest else column.field(row).value
        else:
            mark = "†" if column.record(row)["chance"] else ""
            yield find_metric(metric).text(column.deviation(row), sign=True) + mark


def _floor(cell: CellTable, metric: str) -> str:
    return find_metric(metric).text(ComparedColumn(metric, reference_metric=metric).floor(cell))


def _printed(cell: CellTable) -> str:
    """Return our number and the paper's of every run."""
    (found,) = printed.tables(cell)
    records = {(record["run"], record["metric"]): record for record in found.records}
    rows = ([label, *(_both(records[run, m]) for m in METRICS)] for run, label in RUNS.items())
    return table([cell.title, *_heads()], rows)


def _both(record: dict[str, float]) -> str:
    metric = find_metric(str(record["metric"]))
    texts = (
        metric.text(record["mean"]),
        metric.text(record["paper_mean"], record["paper_std"]),
    )
    return " / ".join(text for text in texts if text != "–")
