"""A table in one shape: CSV, Markdown, LaTeX and the page are all made of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.contract.metrics import Metric
from collateral.contract.rows import At
from collateral.results.table import CellTable, mean, std


@dataclass(frozen=True)
class Field:
    """One field as text; `order` is what its column is sorted by, NaN last."""

    value: str  # "47.4 ± 3.2"
    order: float = math.nan
    deviation: str = ""  # "(+25.8)", for the noise floor "(1.2)"
    is_best: bool = False
    is_chance: bool = False  # within what chance explains


@dataclass(frozen=True)
class Line:
    """One row."""

    label: str
    fields: list[Field]
    note: str = ""  # how it ended, where not well
    is_aside: bool = False  # a control or the noise floor: never ranked


@dataclass(frozen=True)
class Grid:
    """Groups of rows under one head; the page sorts each group by itself."""

    corner: str  # heading of the first column
    headings: list[str]
    groups: list[list[Line]]
    is_prose: bool = False  # words rather than numbers: set to the left, and wrapped

    @property
    def are_words(self) -> list[bool]:
        """Of each column, whether it is of words, which are set to the left and not sorted."""
        lines = [line for group in self.groups for line in group]
        columns = zip(self.headings, *(line.fields for line in lines), strict=True)
        return [self.is_prose or all(math.isnan(f.order) for f in fields) for _, *fields in columns]


@dataclass(frozen=True)
class Table:
    """One or several grids below each other, and the same numbers unrounded."""

    name: str  # of its files
    title: str
    grids: list[Grid]
    caption: str = ""  # what this table shows
    conventions: str = ""  # what holds for every table of its kind; the page says it once
    records: Sequence[Mapping[str, Any]] = ()  # of the CSV file


def field_of(metric: Metric, values: NDArray[np.float64], *, sign: bool = False) -> Field:
    """Return the mean over seeds, and their spread."""
    return Field(metric.text(mean(values), std(values), sign=sign), mean(values))


def line_of(cell: CellTable, run: str, fields: list[Field]) -> Line:
    """Return the row of a run."""
    return Line(cell.labels[run], fields, cell.trouble(run), cell.kinds[run] == "control")


def csv_record(
    cell: CellTable, run: str, metric: str, set: str = "", at: At = None
) -> dict[str, Any]:
    """Return a number of a run unrounded: the seeds' mean and spread, or what is over seeds."""
    values = cell.values(run, metric, set, at)
    n = int(np.count_nonzero(~np.isnan(values)))
    return {
        "run": run,
        "label": cell.labels[run],
        "kind": cell.kinds[run],
        "metric": metric,
        "set": set,
        "at": "" if at is None else at,
        "mean": mean(values) if n else cell.number(run, metric, set, at),
        "std": std(values),
        "n": n,
    }
