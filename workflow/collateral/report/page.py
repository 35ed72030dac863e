"""Collect the content of a benchmark's page, and render it with the templates of this folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from collateral.contract.tables import Table
from collateral.findings._shared.series import find_looks
from collateral.findings.registry import Problem, excluded_findings, read_problems
from collateral.report.charts import encode_chart, insert_library
from collateral.report.forgotten import Forgotten, describe_forget_set
from collateral.report.images import Gallery, build_gallery
from collateral.report.provenance import (
    Lines,
    describe_metrics,
    describe_versions,
    index_rows,
    list_runs,
    list_sources,
    provenance,
    provenance_over_cells,
)
from collateral.report.sections import Findings, Section
from collateral.results import layout
from collateral.results.gates import Gate, read_gates
from collateral.results.plan import BenchmarkPlan
from collateral.results.provenance import check_folder, verify
from collateral.results.table import NAMES, BenchmarkTable, CellTable, read_tables


@dataclass(frozen=True)
class Switch:
    """A run that the charts' switches show or hide, and its colour."""

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
    reference: str  # name of the reference
    provenance: dict[str, Any]

    @property
    def anchor(self) -> str:
        """Anchor on the page, with a prefix: a cell may have the name of another anchor."""
        return f"cell-{self.name}"

    @property
    def headline(self) -> str:
        """The sentences of the main findings."""
        return " ".join(one.words for one in self.of("top") or self.of("main") if one.words)

    def of(self, place: str) -> list[Section]:
        """Return the sections of one part of the page: top, main, ablations or details."""
        return [section for section in self.sections if section.place == place]


@dataclass(frozen=True)
class BenchmarkPart:
    """The page's content for one benchmark."""

    name: str
    over_cells: list[Section]
    cells: list[CellPart]
    switches: list[Switch]
    gates: list[Gate]
    versions: str
    left_out: list[str]  # findings that need Retrain, in a benchmark without it
    problems: list[Problem]
    provenance: dict[str, Any]  # of values over all cells
    metrics: dict[str, list[str]]  # label and description of all metrics

    @property
    def glance(self) -> list[list[str]]:
        """Anchor, title and headline of each cell."""
        return [[cell.anchor, cell.title, cell.headline] for cell in self.cells]

    def gates_of(self, colour: str) -> list[Gate]:
        """Return the gates of one colour."""
        return [gate for gate in self.gates if gate.colour == colour]

    @property
    def conventions(self) -> list[str]:
        """Distinct notes on how to read the tables."""
        sections = [*self.over_cells, *(one for cell in self.cells for one in cell.sections)]
        tables = _tables(sections)
        return list(dict.fromkeys(table.conventions for table in tables if table.conventions))


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
    cells = [_cell(folder, cell, findings, lines, len(table.cells)) for cell in table.cells]
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
        list(dict.fromkeys(findings.problems)),
        provenance_over_cells(shown, lines),
        describe_metrics([*shown, *inside], table),
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
        describe_forget_set(folder, cell.name),
        sections,
        build_gallery(folder, cell, num_cells),
        list_runs(folder, cell),
        NAMES[cell.reference],
        provenance(folder, cell, list_sources(_tables(sections)), lines),
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
    """Return the page of a benchmark."""
    return insert_library(template("page.html.j2").render(benchmark=benchmark))


def glance(benchmark: BenchmarkPart) -> dict[str, Any]:
    """Return the summary of a benchmark for the index."""
    return {
        "cells": benchmark.glance,
        "problems": [str(problem) for problem in benchmark.problems],
    }


def as_order(value: float) -> str:
    """Return the sort key of a cell of a table, for the page's script."""
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
    environment.filters |= {"encode_chart": encode_chart, "as_order": as_order}
    environment.policies["json.dumps_kwargs"] = {"sort_keys": True, "separators": (",", ":")}
    return environment.get_template(name)
