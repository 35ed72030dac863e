"""All cells of a benchmark at once: how often each method is nearest to Retrain, and its rank."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import pandas as pd

from collateral.results.files import write_rows
from collateral.findings._shared.compare import LAYOUTS, subject_of
from collateral.findings._shared.display import EMPTY
from collateral.results.table import REFERENCE, Cell
from collateral.findings._shared.write import write_texts

HEADS = ("Method", "Ranked in", "Lowest in", "Within noise in", "Mean rank", "Mean gap")
CAPTION = (
    "Methods over the {count} cells, by the average gap over all examples and over those of the "
    "affected class. Ranked in: the cells where no seed diverged or collapsed; all that follows is "
    "of these. Lowest in: the cells where no other method's gap is lower. {noise} Mean rank: 1 is "
    "nearest to Retrain, equal gaps share the mean of their ranks. Mean gap: in points. Controls "
    "and sweeps are left out."
)
NOISE = (
    "Within noise in: the cells where the gap exceeds the lowest by no more than the cell's noise "
    "floor (“Retrain, other seeds”): ties, as far as these seeds can tell, and the lowest itself."
)
NO_NOISE = "With one seed there is no noise floor: which of these are ties cannot be told."


@dataclass(frozen=True)
class Standing:
    """How a method does over cells by one average gap."""

    gap: str
    run: str
    label: str
    cells: int  # in which it is ranked; the others say nothing here
    lowest: int  # cells in which its gap is the lowest, ties all
    within_noise: float  # cells in which it exceeds the lowest by at most the floor; NaN without
    mean_rank: float
    mean_gap: float  # a rate

    def texts(self, count: int) -> list[str]:
        """Return what stands under `HEADS`."""
        ties = EMPTY if math.isnan(self.within_noise) else f"{self.within_noise:.0f}"
        if not self.cells:
            return [self.label, f"0 of {count}", *[EMPTY] * 4]
        places = [f"{self.cells} of {count}", str(self.lowest), ties]
        return [self.label, *places, f"{self.mean_rank:.1f}", f"{100 * self.mean_gap:.1f}"]


def standings(cells: Sequence[Cell], gap: str) -> list[Standing]:
    """Return every method's standing by one gap, in the order of the config."""
    labels = {run: cell.labels[run] for cell in cells for run in _methods(cell)}
    gaps = pd.DataFrame(
        [[_gap(cell, run, gap) for run in labels] for cell in cells], columns=list(labels)
    ).round(12)  # equal but for the last bits of the subtraction
    floors = pd.Series([cell.number(REFERENCE, gap) for cell in cells])
    above = gaps.sub(gaps.min(axis=1), axis=0)
    ranks = gaps.rank(axis=1)
    near = above.le(floors, axis=0).sum() if floors.notna().all() else floors.reindex(labels)
    return [
        Standing(
            gap,
            run,
            label,
            cells=int(gaps[run].notna().sum()),
            lowest=int((above[run] == 0).sum()),
            within_noise=float(near[run]),
            mean_rank=float(ranks[run].mean()),
            mean_gap=float(gaps[run].mean()),
        )
        for run, label in labels.items()
    ]


def write_summary(cells: Sequence[Cell], folder: Path) -> None:
    """Write the summary as CSV, Markdown and LaTeX where there is more than one cell."""
    if len(cells) < 2:
        return
    rows, records = [], []
    for layout in LAYOUTS:
        found = standings(cells, *layout.gaps)
        subject = subject_of(layout, *cells)
        rows += [[subject, *standing.texts(len(cells))] for standing in found]
        records += [_exact(standing) for standing in found]
    write_rows(folder / "summary.csv", [field.name for field in fields(Standing)], records)
    write_texts(folder / "summary", "summary", caption(cells), ["Gap over", *HEADS], rows, words=2)


def caption(cells: Sequence[Cell]) -> str:
    """Say what the columns are, and whether ties can be told."""
    several = all(len(cell.seeds) > 1 for cell in cells)
    return CAPTION.format(count=len(cells), noise=NOISE if several else NO_NOISE)


def _methods(cell: Cell) -> list[str]:
    return [run for run in cell.runs("method") if "@" not in run]


def _gap(cell: Cell, run: str, gap: str) -> float:
    """Return a run's gap; NaN where it is not ranked."""
    is_ranked = run in cell.labels and not cell.trouble(run)
    return cell.number(run, gap) if is_ranked else math.nan


def _exact(standing: Standing) -> dict[str, object]:
    return {
        key: "" if isinstance(value, float) and math.isnan(value) else value
        for key, value in asdict(standing).items()
    }
