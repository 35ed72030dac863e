"""The index page: a summary of every benchmark's page below results/, and the theory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from collateral.report.page import template
from collateral.report.theory import theory_of
from collateral.results import layout
from collateral.results.chain import check_inputs, read_sealed


@dataclass(frozen=True)
class Page:
    """A benchmark's page and its summary."""

    name: str
    cells: list[list[str]]  # anchor, title and headline of each
    problems: list[str]

    @property
    def file(self) -> str:
        """Link from the index; quoted, because a folder may be called `javascript:x`."""
        return f"{quote(self.name)}/{layout.REPORT}"


def pages_in(results: Path, first: list[str]) -> list[Page]:
    """Return all pages: those of this config first, then all others by name."""
    found = sorted(glance.parent.name for glance in results.glob(f"*/{layout.GLANCE}"))
    others = (name for name in found if name not in first)
    glances = {name: results / name / layout.GLANCE for name in (*first, *others)}
    contents = {name: read_sealed(glance, glance.parent) for name, glance in glances.items()}
    for name in first:  # pages of other configs may be stale until their own run
        check_inputs(glances[name], contents[name], results / name)
    return [Page(name, content["cells"], content["problems"]) for name, content in contents.items()]


def render_index(pages: list[Page], theory: Path | None) -> str:
    """Return the index."""
    found = theory_of(theory) if theory else None
    return template("index.html.j2").render(pages=pages, theory=found)
