"""Gather what the page of a benchmark shows, and render it with the templates beside this file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from collateral.contract.tables import Table
from collateral.findings.compute import Problem, read_problems
from collateral.report.images import Strip, strips
from collateral.report.records import computed_with, what_ran
from collateral.report.sections import Findings, Section
from collateral.results import layout
from collateral.results.chain import check_folder, checked
from collateral.results.plan import BenchmarkPlan
from collateral.results.table import CellTable, read


@dataclass(frozen=True)
class CellPart:
    """What the page says of one cell."""

    anchor: str
    title: str
    sections: list[Section]
    strips: list[Strip]
    what_ran: list[Table]

    @property
    def headline(self) -> str:
        """The words of its main findings."""
        return " ".join(one.words for one in self.of("main") if one.words)

    def of(self, place: str) -> list[Section]:
        """Return the sections of one place: main, ablations or details."""
        return [section for section in self.sections if section.place == place]


@dataclass(frozen=True)
class BenchmarkPart:
    """What the page says of one benchmark."""

    name: str
    over_cells: list[Section]
    cells: list[CellPart]
    versions: str
    problems: list[Problem]

    @property
    def glance(self) -> list[list[str]]:
        """Anchor, title and headline of each cell."""
        return [[cell.anchor, cell.title, cell.headline] for cell in self.cells]

    @property
    def conventions(self) -> list[str]:
        """What holds for all tables of a kind, once."""
        sections = [*self.over_cells, *(one for cell in self.cells for one in cell.sections)]
        tables = [block.table for section in sections for block in section.blocks]
        return list(dict.fromkeys(table.conventions for table in tables if table.conventions))


def benchmark_part(folder: Path) -> BenchmarkPart:
    """Read a benchmark's results and ask all findings what they say of them."""
    plan = BenchmarkPlan.load(folder / layout.PLAN)
    table = read(plan, *(checked(folder / n, folder) for n in (layout.METRICS, layout.COSTS)))
    for made in (folder / layout.TABLES, folder / layout.FIGURES):
        check_folder(made)
    known = [checked(folder / layout.PROBLEMS, folder)]
    known += [folder / place / layout.PROBLEMS for place in (layout.TABLES, layout.FIGURES)]
    findings = Findings(read_problems(path for path in known if path.exists()))
    over_cells = findings.over_cells(table)
    cells = [_cell(folder, cell, findings) for cell in table.cells]
    problems = list(dict.fromkeys(findings.problems))
    return BenchmarkPart(
        folder.name, over_cells, cells, computed_with(folder, table.cells[0]), problems
    )


def _cell(folder: Path, cell: CellTable, findings: Findings) -> CellPart:
    return CellPart(
        cell.name,
        cell.title,
        findings.of_cell(cell, folder / layout.FIGURES / cell.name),
        strips(folder, cell),
        what_ran(folder, cell),
    )


def render(benchmark: BenchmarkPart) -> str:
    """Return the page of a benchmark."""
    return template("page.html.j2").render(benchmark=benchmark)


def glance(benchmark: BenchmarkPart) -> dict[str, Any]:
    """Return what the index says of a benchmark."""
    return {
        "cells": benchmark.glance,
        "problems": [str(problem) for problem in benchmark.problems],
    }


def template(name: str) -> Template:
    """Return a template of this folder."""
    environment = Environment(
        loader=PackageLoader("collateral", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
