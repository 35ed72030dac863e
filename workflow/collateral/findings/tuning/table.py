"""What tuning chose without looking at Retrain, and how much nearer it could have come."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from collateral.results.files import atomic
from collateral.findings._shared.display import EMPTY
from collateral.results.table import concatenate
from collateral.findings._shared.write import latex_table, line

COLUMNS = {
    "cell": "Cell",
    "label": "Method",
    "chosen": "Chosen",
    "gap_chosen": "Gap",
    "gap_default": "Gap of the defaults",
    "nearest": "Nearest to Retrain",
    "gap_nearest": "Its gap",
    "regret": "Regret",
}
NUMBERS = ("gap_chosen", "gap_default", "gap_nearest", "regret")
CAPTION = (
    "Tuning on the first seed. Chosen without Retrain: among trials with affected RA > 70 % and "
    "RA > 90 % the lowest UA, else the highest RA. Gap: mean absolute deviation from Retrain of "
    "that seed over UA, RA, TA and MIA, in points, computed afterwards. Regret: the gap that the "
    "choice has more than the trial nearest to Retrain."
)


def write_tuning(cells: Sequence[Path], labels: Mapping[str, str], folder: Path) -> None:
    """Write the benchmark's tuning table as CSV, Markdown and LaTeX."""
    concatenate(cells, folder / "tuning.csv")
    rows = tuning_rows(folder / "tuning.csv", labels)
    heads = list(COLUMNS.values())
    marks = ["---:" if name in NUMBERS else "---" for name in COLUMNS]
    text = "\n".join([line(heads), line(marks), *map(line, rows), "", CAPTION, ""])
    for suffix, content in (("md", text), ("tex", latex_table("tuning", CAPTION, heads, rows))):
        with atomic(folder / f"tuning.{suffix}") as temporary:
            temporary.write_text(content)


def tuning_rows(path: Path, labels: Mapping[str, str]) -> list[list[str]]:
    """Return a tuning.csv as texts, a column for each of `COLUMNS`."""
    frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
    return [_texts(row, labels) for _, row in frame.iterrows()]


def _texts(row: pd.Series, labels: Mapping[str, str]) -> list[str]:
    shown = {**row, "label": labels[row["run"]]}
    for name in NUMBERS:
        shown[name] = EMPTY if pd.isna(row[name]) else f"{100 * row[name]:.1f}"
    return [str(shown[name]) for name in COLUMNS]
