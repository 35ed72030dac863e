"""Collect the content of the pages, and render them with the templates of this folder.

There is one page per benchmark, the index page with the decision table of every benchmark, and the
page of the theory.
"""

from __future__ import annotations

import base64
import csv
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

import collateral
from collateral.contract.metrics import Metric
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings import verdict
from collateral.findings._shared.series import find_looks
from collateral.findings._shared.write import to_csv
from collateral.findings.registry import Problem, excluded_findings, read_problems
from collateral.findings.verdict.sentences import EXAMPLES, describe_least
from collateral.report.decision import (
    CHIPS,
    Decision,
    build_decision,
    decision_sources,
    describe,
    format_points,
    format_seconds,
    format_share,
    position,
)
from collateral.report.doubts import MEASURED, TESTED, read_doubts
from collateral.report.forgotten import Forgotten, describe_forget_set
from collateral.report.images import (
    Gallery,
    HurtPictures,
    as_uri,
    build_gallery,
    collect_hurt,
    number_hurt,
)
from collateral.report.provenance import (
    Parameters,
    Rows,
    describe_metrics,
    first_record,
    index_rows,
    list_parameters,
    list_runs,
    list_sources,
    name_places,
    provenance,
)
from collateral.report.sections import TABS, TERMS, Findings, Section, split_terms
from collateral.results import layout
from collateral.results.files import read_json
from collateral.results.gates import Gate
from collateral.results.provenance import check_folder, check_inputs, read_signed, verify
from collateral.results.table import BenchmarkTable, CellTable, read_benchmark

# Titles of the tables on the page of the theory, by file name.
THEORY_TABLES = {layout.THEORY_FINDINGS: "Findings", layout.THEORY_CHECKS: "Checks"}
NUMBER = Metric("", "", "")  # formats numbers with four significant digits
LIBRARY = '<script id="library"></script>'  # replaced by the script of the Vega libraries


@dataclass(frozen=True)
class CellPart:
    """The page's content for one cell."""

    name: str
    title: str
    forgotten: Forgotten | None
    sections: list[Section]
    gallery: Gallery | None
    what_ran: list[Table]
    parameters: dict[str, Parameters]  # of each run on the first seed
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
    switches: dict[str, tuple[str, str]]  # label and colour of the runs in charts
    gates: list[Gate]
    versions: dict[str, str]  # package versions in the reference run's record
    left_out: list[str]  # findings that are omitted, because they need Retrain
    printed: str  # publication whose means of Retrain are the reference; empty if there is none
    problems: list[Problem]
    provenance: dict[str, Any]  # long-table rows behind values over all cells
    metrics: dict[str, list[Any]]  # label, description, unit, factor and digits of all metrics
    places: dict[str, dict[str, str]]  # words of the page for runs, sets and measures
    decision: Decision
    config: str = ""  # name of the config file
    devices: tuple[str, ...] = ()  # devices of the reference runs
    processors: tuple[str, ...] = ()  # names of the processors of the reference runs

    @property
    def hurt(self) -> HurtPictures | None:
        """The pictures beside the decision table; None if there are none."""
        return collect_hurt(self.cells, self.decision)

    @property
    def has_ablations(self) -> bool:
        """Whether the page has results of an ablation."""
        sections = [*self.over_cells, *(one for cell in self.cells for one in cell.sections)]
        return any(one.place == "ablations" for one in sections)

    @property
    def conventions(self) -> dict[str, str]:
        """Notes on how to read tables, each with the title of the first table that has the note."""
        sections = [*self.over_cells, *(one for cell in self.cells for one in cell.sections)]
        notes: dict[str, str] = {}
        for table in _tables(sections):
            if table.conventions:
                notes.setdefault(table.conventions, table.title)
        return notes


def benchmark_part(folder: Path) -> BenchmarkPart:
    """Read the results of a benchmark and collect the content of its page."""
    for name in (layout.METRICS, layout.COSTS, layout.GATES):
        verify(folder / name, folder)
    table = read_benchmark(folder)
    plan = table.plan
    for made in (folder / layout.TABLES, folder / layout.FIGURES):
        check_folder(made)
    known = [verify(folder / layout.PROBLEMS, folder)]
    known += [folder / place / layout.PROBLEMS for place in (layout.TABLES, layout.FIGURES)]
    problems = read_problems(path for path in known if path.exists())
    findings = Findings(folder, plan.reference, problems)
    across = findings.sections(table) if len(table.cells) > 1 else []
    rows = index_rows(folder)
    cells = [_cell(folder, place, table, findings, rows) for place in range(len(table.cells))]
    shown, inside = (
        list_sources(_tables(sections))
        for sections in (across, [section for cell in cells for section in cell.sections])
    )
    reference = first_record(folder, table.cells[0], plan.reference)
    return BenchmarkPart(
        name=folder.name,
        over_cells=across,
        cells=cells,
        switches={
            run: (cell.labels[run], look.colour)
            for cell in table.cells
            for run, look in find_looks(cell).items()
        },
        gates=table.gates,
        versions=reference.get("versions", {}),
        left_out=excluded_findings(plan.reference),
        printed=plan.printed,
        problems=list(dict.fromkeys(findings.problems)),
        provenance=provenance(folder, None, shown, rows),
        metrics=describe_metrics([*shown, *inside, *decision_sources(table.cells[0])], table),
        places=name_places(table),
        decision=build_decision(folder.name, table, str(reference.get("code", ""))),
        config=plan.config,
        devices=list_devices(table),
        processors=list_processors(folder, table),
    )


def list_devices(table: BenchmarkTable) -> tuple[str, ...]:
    """Return the devices on which the reference runs of all cells were made."""
    of_cells = (cell.indices(cell.reference, "on_device") for cell in table.cells)
    return tuple(dict.fromkeys(device for devices in of_cells for device in devices))


def list_processors(folder: Path, table: BenchmarkTable) -> tuple[str, ...]:
    """Return the processors on which the reference runs of all cells were made, as in cost.json."""
    places = (
        layout.run_folder(cell.reference).format(cell=cell.name, seed=seed, run=cell.reference)
        for cell in table.cells
        for seed in cell.seeds
    )
    files = (folder / place / layout.COST for place in places)
    costs = (read_json(file) for file in files if file.is_file())
    return tuple(dict.fromkeys(name for cost in costs if (name := str(cost.get("processor", "")))))


def group_by_text(gates: Iterable[Gate]) -> list[tuple[str, list[Gate]]]:
    """Return the texts of checks, each with the checks that have it."""
    found: dict[str, list[Gate]] = {}
    for gate in gates:
        found.setdefault(gate.text, []).append(gate)
    return [*found.items()]


def _tables(sections: Iterable[Section]) -> list[Table]:
    return [block.table for section in sections for block in section.blocks]


def _cell(
    folder: Path, place: int, table: BenchmarkTable, findings: Findings, rows: Rows
) -> CellPart:
    cell: CellTable = table.cells[place]
    sections = findings.sections(cell)
    sources = [*list_sources(_tables(sections)), *decision_sources(cell)]
    parameters = list_parameters(folder, cell)
    return CellPart(
        cell.name,
        cell.title,
        describe_forget_set(folder, cell.name),
        sections,
        build_gallery(folder, cell, len(table.cells)),
        list_runs(cell, parameters),
        parameters,
        provenance(folder, cell, sources, rows),
        place,
    )


def render(benchmark: BenchmarkPart) -> str:
    """Return the HTML of a benchmark's page, with the Vega libraries."""
    page = template("page.html.j2").render(benchmark=benchmark)
    return page.replace(LIBRARY, f"<script>{vega_library()}</script>", 1)


@cache
def vega_library() -> str:
    """Return the script that defines `vegaEmbed`."""
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script.replace("</script", r"<\/script")


def glance(benchmark: BenchmarkPart) -> dict[str, Any]:
    """Return the summary of a benchmark for the index page."""
    decision = benchmark.decision
    return {
        "headline": write(decision, "headline"),
        "details": write(decision, "details"),
        "decision": asdict(benchmark.decision),
        "problems": [str(problem) for problem in benchmark.problems],
    }


class Page(NamedTuple):
    """What the index page shows of a benchmark: its decision table and its problems."""

    name: str
    decision: Decision
    problems: list[str]


def list_pages(results: Path, first: list[str]) -> list[Page]:
    """Return all pages: first the benchmarks of this config, then all others by name."""
    found = sorted(glance.parent.name for glance in results.glob(f"*/{layout.GLANCE}"))
    pages = []
    for name in dict.fromkeys((*first, *found)):
        file = results / name / layout.GLANCE
        content = read_signed(file, file.parent)
        if name in first:  # only pages of this config must be up to date
            check_inputs(file, content, file.parent)
        if "decision" in content:  # omit pages of older versions
            pages.append(Page(name, Decision.from_json(content["decision"]), content["problems"]))
    return pages


def render_index(pages: list[Page], theory: str = "") -> str:
    """Return the HTML of the index page; `theory` is the link to the page of the theory."""
    return template("index.html.j2").render(pages=pages, theory=theory)


def render_theory(folder: Path) -> str:
    """Return the HTML of the page of the theory: its figures with captions, and its tables."""
    check_folder(folder)
    figures = folder / layout.FIGURES
    captions: dict[str, str] = read_json(figures / layout.CAPTIONS)
    images = {name: as_uri((figures / f"{name}.png").read_bytes()) for name in captions}
    tables = [_read_table(folder / name) for name in THEORY_TABLES if (folder / name).exists()]
    stated = folder / layout.THEORY_STATEMENTS  # results of older versions do not have it
    statements: list[str] = read_json(stated)["statements"] if stated.exists() else []
    return template("theory.html.j2").render(
        captions=captions, images=images, tables=tables, statements=statements
    )


def _read_table(file: Path) -> Table:
    """Return a CSV file as a table, with numbers rounded to four digits."""
    with file.open(newline="", encoding="utf-8") as lines:
        (corner, *headings), *rows = csv.reader(lines)
    found = [Line(row[0], [Field(_short(text)) for text in row[1:]]) for row in rows]
    grid = Grid(corner, headings, [found], is_prose=True)
    return Table(file.stem, THEORY_TABLES[file.name], [grid])


def _short(text: str) -> str:
    try:
        return NUMBER.text(float(text))
    except ValueError:
        return text


def write(decision: Decision, name: str) -> str:
    """Return sentences about a decision table as text; the template macro `name` writes them."""
    escaped = getattr(template("sentences.html.j2").module, name)(decision)
    return " ".join(escaped.unescape().split())


def pack(text: str) -> str:
    """Compress a part of the page; the page's script unpacks it when it is needed."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def as_order(value: float) -> str:
    """Return the sort key of a table's entry, for the page's script."""
    return f"{value:.6g}".replace("inf", "Infinity")


# Functions that the templates call as filters, by their own names.
FILTERS = (
    as_order,
    describe,
    describe_least,
    format_points,
    format_seconds,
    format_share,
    group_by_text,
    number_hurt,
    pack,
    position,
    split_terms,
    to_csv,
    write,
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
    environment.globals |= {"chips": CHIPS, "examples": EXAMPLES, "verdict": verdict}
    environment.globals |= {"terms": TERMS, "doubts": read_doubts()}
    environment.globals |= {"measured": MEASURED, "tested": TESTED}
    environment.globals |= {"collateral_version": collateral.__version__}
    environment.policies["json.dumps_kwargs"] = {"sort_keys": True, "separators": (",", ":")}
    return environment.get_template(name)
