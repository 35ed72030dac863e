"""What the methods say of themselves: a teacher's accuracy, the size of a support, and the like."""

import math
from pathlib import Path
from typing import Any

from collateral.results.files import atomic, write_rows
from collateral.findings.catalogue import METRICS
from collateral.findings._shared.display import EMPTY
from collateral.results.table import REFERENCE, Cell, mean, std
from collateral.findings._shared.write import latex_table, line

HEADS = ["Method", "Number", "Mean", "Std"]
CAPTION = (
    "Numbers that the methods report, mean and sample standard deviation (ddof=1) over {n} seeds, "
    "of {title}. Shares are in [0, 1]. teacher_ua: the teacher's accuracy on the forget set, to be "
    "held against Retrain's UA of {ua:.3f}; top_mass: the share of the soft labels that is kept."
)


def reported(cell: Cell) -> list[dict[str, Any]]:
    """Return a record for every number that is not one of ours."""
    return [
        {
            "run": run,
            "label": label,
            "metric": metric,
            "mean": mean(cell.values(run, metric)),
            "std": std(cell.values(run, metric)),
        }
        for run, label in cell.labels.items()
        for metric in sorted(m for r, m in cell.by_seed.index if r == run)
        if _is_reported(metric.split(":")[0])
    ]


def _is_reported(family: str) -> bool:
    return family not in METRICS or METRICS[family].group == "reported"


def write_reported(cell: Cell, folder: Path) -> None:
    """Write the table as CSV, Markdown and LaTeX."""
    records = reported(cell)
    write_rows(folder / "reported.csv", ["run", "label", "metric", "mean", "std"], records)
    rows = [
        [str(r["label"]), str(r["metric"]), *map(_short, (r["mean"], r["std"]))] for r in records
    ]
    caption = CAPTION.format(
        n=len(cell.seeds), title=cell.title, ua=mean(cell.values(REFERENCE, "ua"))
    )
    text = "\n".join([line(HEADS), line(["---", "---", "---:", "---:"]), *map(line, rows)])
    contents = {
        "md": f"{text}\n\n{caption}\n",
        "tex": latex_table(f"reported-{cell.name}", caption, HEADS, rows),
    }
    for suffix, content in contents.items():
        with atomic(folder / f"reported.{suffix}") as temporary:
            temporary.write_text(content)


def _short(number: float) -> str:
    return EMPTY if math.isnan(number) else f"{number:.4g}"
