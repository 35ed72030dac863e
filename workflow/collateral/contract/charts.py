"""A chart of the page as a finding gives it: what Vega-Lite draws, and of which rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Chart:
    """A chart, the figure whose place it takes on the page, and what is said of it."""

    name: str  # of the figure that shows the same in print
    spec: Mapping[str, Any]  # Vega-Lite; its data is called `rows`
    rows: Sequence[Mapping[str, Any]]  # a row that belongs to a run names it: `run`
    caption: str
