"""The classes that remain and what they lost, as table and figure read them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collateral.contract.metrics import EMPTY
from collateral.findings._shared.statistics import interval_half_width, t_quantile
from collateral.findings.metric_index import find_metric
from collateral.results.table import REFERENCE, CellTable, mean

SLOPE = ("class_slope", "class_slope_low", "class_slope_high")


@dataclass(frozen=True)
class Points:
    """The classes that remain, by similarity; means over seeds, in points but for similarity."""

    names: list[str]
    similarity: NDArray[np.float64]
    drop: NDArray[np.float64]
    error: NDArray[np.float64]  # half an interval; NaN with one seed
    noise: NDArray[np.float64]  # half the range of chance; NaN with one seed


def kept_names(cell: CellTable) -> list[str]:
    """Return the classes that remain where whole classes are deleted; else none."""
    return cell.indices(REFERENCE, "class_similarity")


def points_of(cell: CellTable, run: str) -> Points:
    """Return the classes of which both similarity and drop are known."""
    names, factor = kept_names(cell), find_metric("class_drop").factor
    reach = factor * t_quantile(len(cell.seeds))
    drops = [factor * cell.values(run, "class_drop", at=name) for name in names]
    columns = np.array(
        [
            [mean(cell.values(REFERENCE, "class_similarity", at=name)) for name in names],
            [mean(values) for values in drops],
            [interval_half_width(values) for values in drops],
            [reach * cell.number(REFERENCE, "class_drop_sd", at=name) for name in names],
        ]
    )
    known = ~np.isnan(columns[:2]).any(axis=0)
    order = [i for i in np.argsort(columns[0], kind="stable") if known[i]]
    return Points([names[i] for i in order], *columns[:, order])


def slope_text(cell: CellTable, run: str) -> str:
    """Return the slope and its interval."""
    center, low, high = (find_metric(name).text(cell.number(run, name)) for name in SLOPE)
    return center if low == EMPTY else f"{center} [{low}, {high}]"


def short_names(names: list[str]) -> list[str]:
    """Leave away what all names begin with: digit_3, digit_8 are 3, 8."""
    parts = [name.rpartition("_") for name in names]
    is_shared = len({head for head, _, _ in parts}) == 1
    return [tail for _, _, tail in parts] if is_shared else names
