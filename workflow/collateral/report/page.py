"""Gather what the page of a benchmark shows, and render it with the templates beside this file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from collateral.contract.tables import Table
from collateral.findings._shared.series import find_looks
from collateral.findings.compute import Problem, left_out, read_problems
from collateral.report.charts import packed, with_library
from collateral.report.forgotten import Forgotten, forgotten
from collateral.report.images import Gallery, gallery
from collateral.report.provenance import (
    Lines,
    described,
    lines_of,
    over_cells,
    provenance,
    sources_in,
)
from collateral.report.records import computed_with, what_ran
from collateral.report.sections import Findings, Section
from collateral.results import layout
from collateral.results.chain import check_folder, checked
from collateral.results.gates import Gate, read_gates
from collateral.results.plan import BenchmarkPlan
from collateral.results.table import NAMES, BenchmarkTable, CellTable, read


@dataclass(frozen=True)
class Switch:
    """A run that the charts' switches show or hide, and its colour."""

    run: str
    label: str
    colour: str


@dataclass(frozen=True)
class CellPart:
    """What the page says of one cell."""

    name: str
    title: str
    forgotten: Forgotten | None
    sections: list[Section]
    gallery: Gallery | None
    what_ran: list[Table]
    reference: str  # what its runs are held against, in print
    provenance: dict[str, Any]

    @property
    def anchor(self) -> str:
        """Where it is on the page; a cell may be called `top`, which the page has too."""
        return f"cell-{self.name}"

    @property
    def headline(self) -> str:
        """The words of its main findings."""
        return " ".join(one.words for one in self.of("top") or self.of("main") if one.words)

    def of(self, place: str) -> list[Section]:
        """Return the sections of one place: top, main, ablations or details."""
        return [section for section in self.sections if section.place == place]


@dataclass(frozen=True)
class BenchmarkPart:
    """What the page says of one benchmark."""

    name: str
    over_cells: list[Section]
    cells: list[CellPart]
    switches: list[Switch]
    gates: list[Gate]
    versions: str
    left_out: list[str]  # findings that need Retrain, where there is none
    problems: list[Problem]
    provenance: dict[str, Any]  # of numbers over all cells
    metrics: dict[str, list[str]]  # of all numbers: label and description

    @property
    def glance(self) -> list[list[str]]:
        """Anchor, title and headline of each cell."""
        return [[cell.anchor, cell.title, cell.headline] for cell in self.cells]

    def gates_of(self, colour: str) -> list[Gate]:
        """Return the gates of one colour."""
        return [gate for gate in self.gates if gate.colour == colour]

    @property
    def conventions(self) -> list[str]:
        """What holds for all tables of a kind, once."""
        sections = [*self.over_cells, *(one for cell in self.cells for one in cell.sections)]
        tables = _tables(sections)
        return list(dict.fromkeys(table.conventions for table in tables if table.conventions))


def benchmark_part(folder: Path) -> BenchmarkPart:
    """Read a benchmark's results and ask all findings what they say of them."""
    plan = BenchmarkPlan.load(folder / layout.PLAN)
    table = read(plan, *(checked(folder / n, folder) for n in (layout.METRICS, layout.COSTS)))
    for made in (folder / layout.TABLES, folder / layout.FIGURES):
        check_folder(made)
    known = [checked(folder / layout.PROBLEMS, folder)]
    known += [folder / place / layout.PROBLEMS for place in (layout.TABLES, layout.FIGURES)]
    problems = read_problems(path for path in known if path.exists())
    findings = Findings(folder, plan.reference, problems)
    across, lines = findings.over_cells(table), lines_of(folder)
    cells = [_cell(folder, cell, findings, lines, len(table.cells)) for cell in table.cells]
    shown, inside = (
        sources_in(_tables(sections))
        for sections in (across, [section for cell in cells for section in cell.sections])
    )
    return BenchmarkPart(
        folder.name,
        across,
        cells,
        _switches(table),
        read_gates(checked(folder / layout.GATES, folder)),
        computed_with(folder, table.cells[0]),
        left_out(plan.reference),
        list(dict.fromkeys(findings.problems)),
        over_cells(shown, lines),
        described([*shown, *inside], table),
    )


def _tables(sections: Iterable[Section]) -> list[Table]:
    return [block.table for section in sections for block in section.blocks]


def _cell(
    folder: Path, cell: CellTable, findings: Findings, lines: Lines, num_cells: int
) -> CellPart:
    sections = findings.of_cell(cell)
    return CellPart(
        cell.name,
        cell.title,
        forgotten(folder, cell.name),
        sections,
        gallery(folder, cell, num_cells),
        what_ran(folder, cell),
        NAMES[cell.reference],
        provenance(folder, cell, sources_in(_tables(sections)), lines),
    )


def _switches(table: BenchmarkTable) -> list[Switch]:
    """Return a switch for every run that some cell's charts show."""
    found = {
        run: Switch(run, cell.labels[run], look.colour)
        for cell in table.cells
        for run, look in find_looks(cell).items()
    }
    return list(found.values())


def render(benchmark: BenchmarkPart) -> str:
    """Return the page of a benchmark."""
    return with_library(template("page.html.j2").render(benchmark=benchmark))


def glance(benchmark: BenchmarkPart) -> dict[str, Any]:
    """Return what the index says of a benchmark."""
    return {
        "cells": benchmark.glance,
        "problems": [str(problem) for problem in benchmark.problems],
    }


def as_order(value: float) -> str:
    """Return what a column is sorted by, as the page's script reads it."""
    return f"{value:.6g}".replace("inf", "Infinity")


def template(name: str) -> Template:
    """Return a template of this folder."""
    environment = Environment(
        loader=PackageLoader("collateral", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"packed": packed, "as_order": as_order}
    environment.policies["json.dumps_kwargs"] = {"sort_keys": True, "separators": (",", ":")}
    return environment.get_template(name)
