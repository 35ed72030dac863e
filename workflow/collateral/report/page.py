"""Collect the content of a benchmark's page, and render it with the templates of this folder."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from collateral.contract.tables import Table
from collateral.findings._shared.series import find_looks
from collateral.findings._shared.write import to_csv
from collateral.findings.registry import Problem, excluded_findings, read_problems
from collateral.report.charts import encode_chart, insert_library
from collateral.report.decision import (
    CHIPS,
    Decision,
    build_decision,
    chip_colour,
    decision_sources,
    format_points,
    format_share,
)
from collateral.report.forgotten import Forgotten, describe_forget_set
from collateral.report.glossary import VERDICTS, split_terms
from collateral.report.headline import certainty, describe_setting, explanation, find_best, headline
from collateral.report.images import Gallery, HurtPictures, build_gallery, collect_hurt
from collateral.report.provenance import (
    Lines,
    describe_metrics,
    describe_versions,
    find_code,
    index_rows,
    list_runs,
    list_sources,
    provenance,
    provenance_over_cells,
)
from collateral.report.sections import TABS, Findings, Section
from collateral.results import layout
from collateral.results.gates import Gate, read_gates
from collateral.results.plan import BenchmarkPlan
from collateral.results.provenance import check_folder, verify
from collateral.results.table import NAMES, BenchmarkTable, CellTable, read_tables

KEY_TABLE = (
    "Dot: mean over seeds; line: 95 % interval, corrected for the number of methods; grey: the "
    "margin, within which a difference counts as equal. Gap: mean absolute deviation from Retrain "
    "over UA, RA, TA and MIA, in points. Time: share of Retrain's. A click on a number shows its "
    "source, a click on a heading sorts."
)
KEY_MATRIX = (
    "Each field: the symbol of the verdict, and the gap to Retrain in points (mean absolute "
    "deviation over UA, RA, TA and MIA)."
)
LEFT_OUT = "Findings that need Retrain are left out: {names}."


@dataclass(frozen=True)
class Switch:
    """A switch of the page that shows or hides a run in the charts, with the run's colour."""

    run: str
    label: str
    colour: str


@dataclass(frozen=True)
class CellPart:
    """The page's content for one cell."""

    name: str
    title: str
    forgotten: Forgotten | None
    sections: list[Section]
    gallery: Gallery | None
    what_ran: list[Table]
    reference: str  # display name of the reference
    provenance: dict[str, Any]
    sheet: int  # number of the sheet that contains the pictures of the cell

    @property
    def anchor(self) -> str:
        """Anchor of the cell; its prefix keeps it distinct from the page's other anchors."""
        return f"cell-{self.name}"

    @property
    def tabs(self) -> list[tuple[str, str, list[Section]]]:
        """Name, title and sections of each tab that has any content."""
        found = [
            (name, title, [one for one in self.sections if one.place == name])
            for name, title in TABS.items()
        ]
        extra = {"neighbours": self.gallery, "runs": self.what_ran}
        return [tab for tab in found if tab[2] or extra.get(tab[0])]


@dataclass(frozen=True)
class BenchmarkPart:
    """The page's content for one benchmark."""

    name: str
    over_cells: list[Section]
    cells: list[CellPart]
    switches: list[Switch]
    gates: list[Gate]
    versions: str
    left_out: list[str]  # findings that are omitted, because they need Retrain
    printed: str  # publication whose means of Retrain are the reference; empty if there is none
    problems: list[Problem]
    provenance: dict[str, Any]  # long-table rows behind values over all cells
    metrics: dict[str, list[str]]  # label and description of all metrics
    decision: Decision

    @property
    def key(self) -> str:
        """How to read the decision table."""
        parts = (
            KEY_MATRIX if self.decision.is_matrix else KEY_TABLE,
            LEFT_OUT.format(names=", ".join(self.left_out)) if self.left_out else "",
        )
        return " ".join(part for part in parts if part)

    @property
    def hurt(self) -> HurtPictures | None:
        """The pictures beside the decision table; None if there are none."""
        return collect_hurt(self.cells, self.decision)

    @property
    def conventions(self) -> dict[str, str]:
        """Notes on how to read tables, each by the title of the first table that has the note."""
        sections = [*self.over_cells, *(one for cell in self.cells for one in cell.sections)]
        notes: dict[str, str] = {}
        for table in _tables(sections):
            if table.conventions and table.conventions not in notes.values():
                notes[table.title] = table.conventions
        return notes


def benchmark_part(folder: Path) -> BenchmarkPart:
    """Read the results of a benchmark and collect the content of its page."""
    plan = BenchmarkPlan.load(folder / layout.PLAN)
    table = read_tables(plan, *(verify(folder / n, folder) for n in (layout.METRICS, layout.COSTS)))
    for made in (folder / layout.TABLES, folder / layout.FIGURES):
        check_folder(made)
    known = [verify(folder / layout.PROBLEMS, folder)]
    known += [folder / place / layout.PROBLEMS for place in (layout.TABLES, layout.FIGURES)]
    problems = read_problems(path for path in known if path.exists())
    findings = Findings(folder, plan.reference, problems)
    across, lines = findings.over_cells(table), index_rows(folder)
    num_cells = len(table.cells)
    cells = [
        _cell(folder, cell, findings, lines, num_cells, sheet)
        for sheet, cell in enumerate(table.cells)
    ]
    shown, inside = (
        list_sources(_tables(sections))
        for sections in (across, [section for cell in cells for section in cell.sections])
    )
    return BenchmarkPart(
        folder.name,
        across,
        cells,
        _switches(table),
        read_gates(verify(folder / layout.GATES, folder)),
        describe_versions(folder, table.cells[0]),
        excluded_findings(plan.reference),
        plan.printed,
        list(dict.fromkeys(findings.problems)),
        provenance_over_cells(shown, lines),
        describe_metrics([*shown, *inside, *decision_sources(table.cells[0])], table),
        build_decision(folder.name, table, find_code(folder, table.cells[0])),
    )


def _tables(sections: Iterable[Section]) -> list[Table]:
    return [block.table for section in sections for block in section.blocks]


def _cell(
    folder: Path, cell: CellTable, findings: Findings, lines: Lines, num_cells: int, sheet: int
) -> CellPart:
    sections = findings.of_cell(cell)
    return CellPart(
        cell.name,
        cell.title,
        describe_forget_set(folder, cell.name),
        sections,
        build_gallery(folder, cell, num_cells),
        list_runs(folder, cell),
        NAMES[cell.reference],
        provenance(
            folder, cell, [*list_sources(_tables(sections)), *decision_sources(cell)], lines
        ),
        sheet,
    )


def _switches(table: BenchmarkTable) -> list[Switch]:
    """Return a switch for every run in the charts of any cell."""
    found = {
        run: Switch(run, cell.labels[run], look.colour)
        for cell in table.cells
        for run, look in find_looks(cell).items()
    }
    return list(found.values())


def render(benchmark: BenchmarkPart) -> str:
    """Return the HTML of a benchmark's page."""
    return insert_library(template("page.html.j2").render(benchmark=benchmark))


def glance(benchmark: BenchmarkPart) -> dict[str, Any]:
    """Return the summary of a benchmark for the index page."""
    return {
        "headline": headline(benchmark.decision),
        "decision": benchmark.decision.as_json(),
        "problems": [str(problem) for problem in benchmark.problems],
    }


def pack(html: str) -> str:
    """Compress a folded cell's content; the page's script unpacks it when the cell is opened."""
    return base64.b64encode(zlib.compress(html.encode(), 9)).decode()


def as_order(value: float) -> str:
    """Return the sort key of a table's entry, for the page's script."""
    return f"{value:.6g}".replace("inf", "Infinity")


# Functions that the templates call as filters, by their own names.
FILTERS = (
    *(encode_chart, as_order, format_points, format_share, chip_colour, split_terms, to_csv, pack),
    *(headline, explanation, certainty, describe_setting, find_best),
)


def template(name: str) -> Template:
    """Return a Jinja template of this folder."""
    environment = Environment(
        loader=PackageLoader("collateral", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {function.__name__: function for function in FILTERS}
    environment.globals |= {"chips": CHIPS, "verdict_meanings": VERDICTS}
    environment.policies["json.dumps_kwargs"] = {"sort_keys": True, "separators": (",", ":")}
    return environment.get_template(name)
