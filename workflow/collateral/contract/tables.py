"""Tables as data, from which CSV, Markdown, LaTeX and the page are written."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Source:
    """Keys of the row in the long table whose number a table entry shows."""

    run: str
    metric: str
    set: str = ""
    at: str = ""
    # Name of the cell; EVERY for a mean over cells; empty for one number computed from all cells.
    cell: str = ""

    def __str__(self) -> str:
        """Return the key by which the web page finds the number among the numbers of its cell."""
        return "|".join((self.run, self.metric, self.set, self.at))


EVERY = "*"  # value of `Source.cell` for the mean over all cells


@dataclass(frozen=True)
class Field:
    """One table entry as text; the web page sorts a column by `order`, with NaN last."""

    value: str  # text of the number, such as "47.4 ± 3.2"
    order: float = math.nan
    # Difference from Retrain, such as "(+25.8)". Between seeds of Retrain, it is absolute: "(1.2)".
    deviation: str = ""
    is_best: bool = False
    is_chance: bool = False  # whether the difference is not significant
    source: Source | None = None
    also: tuple[Source, ...] = ()  # further numbers that the entry shows or is computed from


@dataclass(frozen=True)
class Line:
    """One row of a table."""

    label: str
    fields: list[Field]
    note: str = ""  # status of a run that did not finish normally
    # Whether the row is never ranked: a control, or the comparison of Retrain's seeds.
    is_aside: bool = False


@dataclass(frozen=True)
class Grid:
    """Rows in groups, under one line of headings; the web page sorts each group separately."""

    corner: str  # heading of the first column
    headings: list[str]
    groups: list[list[Line]]
    is_prose: bool = False  # whether entries are sentences, which are wrapped and aligned left

    @property
    def are_words(self) -> list[bool]:
        """For each column, whether its entries are text, which is aligned left and not sorted."""
        lines = [line for group in self.groups for line in group]
        columns = zip(self.headings, *(line.fields for line in lines), strict=True)
        return [self.is_prose or all(math.isnan(f.order) for f in fields) for _, *fields in columns]


@dataclass(frozen=True)
class Table:
    """A table of one or several grids, one below the other, and its numbers without rounding."""

    name: str  # name of the table's files, without extension
    title: str
    grids: list[Grid]
    caption: str = ""  # what this table shows
    conventions: str = ""  # notes that hold for several tables and are printed once on the web page
    records: Sequence[Mapping[str, Any]] = ()  # rows of the CSV file, by column name
