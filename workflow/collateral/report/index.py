"""The index: every page below a folder of results, at a glance, and the theory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collateral.report.page import template
from collateral.report.theory import theory_of
from collateral.results import layout
from collateral.results.files import read_json


@dataclass(frozen=True)
class Entry:
    """A page, and what it says at a glance."""

    name: str
    cells: list[list[str]]  # anchor, title and headline of each
    problems: list[str]

    @property
    def page(self) -> str:
        """Where it is, from the index."""
        return f"{self.name}/{layout.REPORT}"


def entries(results: Path, first: list[str]) -> list[Entry]:
    """Return all pages that there are: those of this config, then those of others, by name."""
    found = {path.parent.name: path for path in sorted(results.glob(f"*/{layout.GLANCE}"))}
    order = [*first, *(name for name in found if name not in first)]
    return [Entry(name, **_read(found[name])) for name in order if name in found]


def render_index(pages: list[Entry], theory: Path | None) -> str:
    """Return the index."""
    found = theory_of(theory) if theory else None
    return template("index.html.j2").render(pages=pages, theory=found)


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = read_json(path)
    return content
