"""The index page with the decision table of every benchmark, and the page of the theory."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from collateral.contract.metrics import Metric
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.report.decision import Decision
from collateral.report.page import template
from collateral.report.sections import Illustration, illustration
from collateral.results import layout
from collateral.results.files import read_json
from collateral.results.provenance import check_folder, check_inputs, read_signed

# Titles of the tables on the page of the theory, by file name.
TABLES = {layout.THEORY_FINDINGS: "Findings", layout.THEORY_CHECKS: "Checks"}
NUMBER = Metric("", "", "")  # formats numbers with four significant digits


@dataclass(frozen=True)
class Page:
    """A benchmark's page and its summary."""

    name: str
    decision: Decision
    problems: list[str]

    @property
    def file(self) -> str:
        """Link to the page, quoted, because a folder could be named `javascript:x`."""
        return f"{quote(self.name)}/{layout.REPORT}"


def list_pages(results: Path, first: list[str]) -> list[Page]:
    """Return all pages: first the benchmarks of this config, then all others by name."""
    found = sorted(glance.parent.name for glance in results.glob(f"*/{layout.GLANCE}"))
    others = (name for name in found if name not in first)
    glances = {name: results / name / layout.GLANCE for name in (*first, *others)}
    contents = {name: read_signed(glance, glance.parent) for name, glance in glances.items()}
    for name in first:  # pages of other configs may be outdated
        check_inputs(glances[name], contents[name], results / name)
    return [
        Page(name, Decision.from_json(content["decision"]), content["problems"])
        for name, content in contents.items()
        if "decision" in content  # pages of older versions have no decision
    ]


def render_index(pages: list[Page], theory: str = "") -> str:
    """Return the HTML of the index page; `theory` is the link to the page of the theory."""
    return template("index.html.j2").render(pages=pages, theory=theory)


def render_theory(folder: Path) -> str:
    """Return the HTML of the page of the theory."""
    return template("theory.html.j2").render(theory=read_theory(folder))


@dataclass(frozen=True)
class Theory:
    """Figures and tables of the theory."""

    pictures: list[Illustration]
    tables: list[Table]


def read_theory(folder: Path) -> Theory:
    """Read the figures with their captions, and the tables that exist."""
    check_folder(folder)
    figures = folder / layout.FIGURES
    captions: dict[str, str] = read_json(figures / layout.CAPTIONS)
    return Theory(
        [illustration(figures, name, caption) for name, caption in captions.items()],
        [_table(folder / name) for name in TABLES if (folder / name).exists()],
    )


def _table(file: Path) -> Table:
    """Return a CSV file as a table, with numbers rounded to four digits."""
    with file.open(newline="", encoding="utf-8") as lines:
        (corner, *headings), *rows = csv.reader(lines)
    found = [Line(row[0], [Field(_short(text)) for text in row[1:]]) for row in rows]
    return Table(file.stem, TABLES[file.name], [Grid(corner, headings, [found], is_prose=True)])


def _short(text: str) -> str:
    try:
        return NUMBER.text(float(text))
    except ValueError:
        return text
