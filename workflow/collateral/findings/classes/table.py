"""Whole classes deleted: what that does to each that remains, by its similarity to them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from collateral.results.files import write_rows
from collateral.findings.classes.numbers import half_width
from collateral.findings.gap.numbers import student_95
from collateral.findings._shared.display import EMPTY, signed
from collateral.results.table import REFERENCE, Cell, mean
from collateral.findings._shared.write import write_texts

SIMILARITY = "class_similarity:"
COLUMNS = ("run", "label", "kind", "class", "similarity", "drop", "half_width", "chance")
CAPTION = (
    "Retrain's accuracy on a class's test examples minus the unlearned model's, in points, of the "
    "classes that were not deleted, by their similarity to the deleted one (of several, the "
    "most similar): {title}. Mean over n = {n} seeds ± half its 95 % Student-t interval. Chance: "
    "where 95 % of differences between retrainings lie. Slope: of a line through the classes of a "
    "seed, mean over seeds with its 95 % Student-t interval, in points per 0.1 of similarity."
)


@dataclass(frozen=True)
class Points:
    """The classes that remain, by similarity; means over seeds, in points but for similarity."""

    names: list[str]
    similarity: NDArray[np.float64]
    drop: NDArray[np.float64]
    error: NDArray[np.float64]  # half an interval; NaN with one seed
    noise: NDArray[np.float64]  # half the range of chance; NaN with one seed


def kept_names(cell: Cell) -> list[str]:
    """Return the classes that remain where whole classes are deleted; else none."""
    metrics = [metric for run, metric in cell.by_seed.index if run == REFERENCE]
    return [m.removeprefix(SIMILARITY) for m in metrics if m.startswith(SIMILARITY)]


def points_of(cell: Cell, run: str) -> Points:
    """Return the classes of which both similarity and drop are known."""
    names = kept_names(cell)
    drops = [100 * cell.values(run, f"class_drop:{name}") for name in names]
    floors = [cell.number(REFERENCE, f"floor_class:{name}") for name in names]
    columns = np.array(
        [
            [mean(cell.values(REFERENCE, f"{SIMILARITY}{name}")) for name in names],
            [mean(values) for values in drops],
            [half_width(values) for values in drops],
            [100 * student_95(len(cell.seeds)) * floor for floor in floors],
        ]
    )
    known = ~np.isnan(columns[:2]).any(axis=0)
    order = [i for i in np.argsort(columns[0], kind="stable") if known[i]]
    return Points([names[i] for i in order], *columns[:, order])


def slope_text(cell: Cell, run: str) -> str:
    """Return the slope and its interval in points per 0.1: from a rate per unit of cosine."""
    names = ("class_slope", "class_slope_low", "class_slope_high")
    center, low, high = (f"{10 * cell.number(run, n):.2g}".replace("-", "−") for n in names)
    if center == "nan":
        return EMPTY
    return center if low == "nan" else f"{center} [{low}, {high}]"


def short_names(names: list[str]) -> list[str]:
    """Leave away what all names begin with: digit_3, digit_8 are 3, 8."""
    parts = [name.rpartition("_") for name in names]
    is_shared = len({head for head, _, _ in parts}) == 1
    return [tail for _, _, tail in parts] if is_shared else names


def write_classes(cell: Cell, folder: Path) -> None:
    """Write the table of a cell's classes as CSV, Markdown and LaTeX."""
    write_rows(folder / "classes.csv", COLUMNS, _records(cell))
    heads, rows = class_rows(cell)
    caption = CAPTION.format(title=cell.title, n=len(cell.seeds))
    write_texts(folder / "classes", f"classes-{cell.name}", caption, heads, rows)


def class_rows(cell: Cell) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows as texts: a row a class, the most similar first; then the slopes."""
    runs = [run for run in cell.labels if run != REFERENCE]
    by_run = {run: _by_name(points_of(cell, run)) for run in runs}
    similarity = {n: mean(cell.values(REFERENCE, f"{SIMILARITY}{n}")) for n in kept_names(cell)}
    names = sorted(similarity, key=similarity.__getitem__, reverse=True)
    rows = []
    for name, short in zip(names, short_names(names), strict=True):
        drops = [_drop(*by_run[run].get(name, (math.nan, math.nan))) for run in runs]
        floor = student_95(len(cell.seeds)) * cell.number(REFERENCE, f"floor_class:{name}")
        chance = EMPTY if math.isnan(floor) else f"±{100 * floor:.1f}"
        rows.append([short, f"{similarity[name]:.3f}", *drops, chance])
    rows.append(["Slope", "", *(slope_text(cell, run) for run in runs), ""])
    return ["Class", "Similarity", *(cell.labels[run] for run in runs), "Chance"], rows


def _by_name(points: Points) -> dict[str, tuple[float, float]]:
    return dict(zip(points.names, zip(points.drop, points.error, strict=True), strict=True))


def _drop(drop: float, error: float) -> str:
    if math.isnan(drop):
        return EMPTY
    return signed(drop / 100) + ("" if math.isnan(error) else f" ± {error:.1f}")


def _records(cell: Cell) -> Iterator[dict[str, object]]:
    for run, label in cell.labels.items():
        points = points_of(cell, run)
        columns = (points.similarity, points.drop, points.error, points.noise)
        for name, *numbers in zip(points.names, *columns, strict=True):
            texts = ["" if math.isnan(number) else repr(float(number)) for number in numbers]
            values = (run, label, cell.kinds[run], name, *texts)
            yield dict(zip(COLUMNS, values, strict=True))
