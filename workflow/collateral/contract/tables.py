"""A table in one shape: CSV, Markdown, LaTeX and the page are all made of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Source:
    """The number of the long table that a field shows."""

    run: str
    metric: str
    set: str = ""
    at: str = ""
    cell: str = ""  # in a table over cells: the one it is of, or EVERY; empty: over all of them

    def __str__(self) -> str:
        """Return what the page calls it, within its cell."""
        return "|".join((self.run, self.metric, self.set, self.at))


EVERY = "*"  # cell: what is shown is a mean over them


@dataclass(frozen=True)
class Field:
    """One field as text; `order` is what its column is sorted by, NaN last."""

    value: str  # "47.4 ± 3.2"
    order: float = math.nan
    deviation: str = ""  # "(+25.8)", for the noise floor "(1.2)"
    is_best: bool = False
    is_chance: bool = False  # within what chance explains
    source: Source | None = None
    also: tuple[Source, ...] = ()  # what else it shows, or is made of


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
