"""The index: every page below a folder of results, at a glance, and the theory."""

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
    """A page, and what it says at a glance."""

    name: str
    cells: list[list[str]]  # anchor, title and headline of each
    problems: list[str]

    @property
    def file(self) -> str:
        """Where it is, from the index: a folder may be called anything, as `javascript:x`."""
        return f"{quote(self.name)}/{layout.REPORT}"


def pages_in(results: Path, first: list[str]) -> list[Page]:
    """Return all pages that there are: those of this config, then those of others, by name."""
    found = sorted(glance.parent.name for glance in results.glob(f"*/{layout.GLANCE}"))
    others = (name for name in found if name not in first)
    glances = {name: results / name / layout.GLANCE for name in (*first, *others)}
    said = {name: read_sealed(glance, glance.parent) for name, glance in glances.items()}
    for name in first:  # a page of another config may wait for its own run
        check_inputs(glances[name], said[name], results / name)
    return [Page(name, content["cells"], content["problems"]) for name, content in said.items()]


def render_index(pages: list[Page], theory: Path | None) -> str:
    """Return the index."""
    found = theory_of(theory) if theory else None
    return template("index.html.j2").render(pages=pages, theory=found)
