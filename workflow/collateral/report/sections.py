"""Sections of the page: sentences, tables and figures of each finding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from PIL import Image

from collateral.contract.tables import Table
from collateral.findings._shared.compare import name_extremes
from collateral.findings.registry import (
    VIEWS,
    Problem,
    in_page_order,
    make_tables,
    run_safely,
    view_function,
)
from collateral.plots import page
from collateral.plots.plot import Plot
from collateral.plugins.find import FINDING
from collateral.report.images import as_png
from collateral.results import layout
from collateral.results.files import read_json
from collateral.results.table import BenchmarkTable, CellTable

FULL_WIDTH = 1350  # width in pixels of a figure as wide as the text of a paper
SCREEN_WIDTH = 832  # width in pixels of the same figure on the page
# Titles of a cell's tabs by name; a finding's constant PLACE is the name of its tab.
TABS = {
    "summary": "Summary",
    "neighbours": "Neighbours",
    "attacks": "Attacks",
    "cost": "Cost",
    "ablations": "Ablations",
    "runs": "Runs",
}
NUM_COLOURS = 64  # number of colours to which the page reduces a figure shown as an image
T = TypeVar("T")


@dataclass(frozen=True)
class Illustration:
    """A figure of the page: an interactive chart, or an image."""

    name: str
    caption: str
    place: str = ""  # path of the figure's files relative to the page, without suffix
    image: str = ""  # data URI of the image
    width: int = 0  # width on the page in pixels; all figures have the same font size
    chart: page.Chart | None = None


@dataclass(frozen=True)
class Block:
    """A table, and the figures whose names begin with its name."""

    table: Table
    pictures: list[Illustration]


@dataclass(frozen=True)
class Section:
    """The results of one finding, which answers one question."""

    finding: str
    question: str
    title: str  # title of at most eight words
    place: str  # name of the tab of the page
    words: str = ""  # sentence that answers the question
    pictures: list[Illustration] = field(default_factory=list)  # figures that belong to no table
    blocks: list[Block] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Return whether the section has any content."""
        return bool(self.words or self.pictures or self.blocks)


@dataclass
class Findings:
    """Collects the sections of all findings; `problems` lists findings that raised an error."""

    root: Path  # folder of the benchmark
    reference: str = layout.RETRAIN  # name of the run that others are compared with
    problems: list[Problem] = field(default_factory=list)

    def of_cell(self, cell: CellTable) -> list[Section]:
        """Return the sections of a cell."""
        return self._sections(cell, "plots", "tables", cell.name)

    def _pictures(self, given: Any, function: str, cell: str = "") -> dict[str, list[Illustration]]:
        """Return the printed figures of a cell, or over all cells, as charts by finding."""
        folder = self.root / layout.FIGURES / cell
        drawn = _drawn(folder)
        found: dict[str, list[Illustration]] = {}
        for finding in dict.fromkeys(drawn.values()):
            plots = self._ask(finding, "plots", function, cell, lambda ask: [*ask(given)])
            own = [plot for plot in plots if drawn.get(plot.name) == finding]
            found[finding] = [self._illustrate(plot, folder) for plot in own]
        return found

    def _illustrate(self, plot: Plot, folder: Path) -> Illustration:
        """Return a plot as an interactive chart, with the path of the printed figure."""
        place = quote((folder / plot.name).relative_to(self.root).as_posix())
        return Illustration(plot.name, plot.caption, place, chart=page.draw(plot))

    def over_cells(self, table: BenchmarkTable) -> list[Section]:
        """Return the sections over all cells; empty if there is only one cell."""
        is_alone = len(table.cells) < 2
        return [] if is_alone else self._sections(table, "plots_across", "tables_across")

    def _sections(self, given: Any, plots: str, tables: str, cell: str = "") -> list[Section]:
        """Return all sections with content; `plots` and `tables` name functions of the findings."""
        pictures = self._pictures(given, plots, cell)
        names = in_page_order(VIEWS, reference=self.reference)
        sections = (self._section(n, given, tables, cell, pictures.get(n, [])) for n in names)
        return [section for section in sections if section]

    def _section(
        self, name: str, given: Any, function: str, cell: str, pictures: list[Illustration]
    ) -> Section:
        finding = FINDING.load(name)
        tables = self._ask(name, "table", function, cell, lambda _: [*make_tables(name, given)])
        words = self._ask(name, "words", "words", cell, lambda ask: [ask(given)]) if cell else []
        if cell and tables + pictures and not any(words) and hasattr(finding, "ANSWER"):
            words = [name_extremes(given, *finding.ANSWER)]
        return Section(
            name,
            str(finding.__doc__).partition("\n")[0],
            getattr(finding, "TITLE", name.replace("_", " ").capitalize()),
            getattr(finding, "PLACE", "summary"),
            "".join(words),
            [one for one in pictures if _owner(one, tables) is None],
            [Block(table, [p for p in pictures if _owner(p, tables) is table]) for table in tables],
        )

    def _ask(
        self, name: str, part: str, function: str, cell: str, ask: Callable[[Any], list[T]]
    ) -> list[T]:
        """Call a function of a finding's views; empty if it does not exist or raises an error."""

        def answer() -> list[T]:
            found = view_function(name, function)
            return ask(found) if found else []

        found, problem = run_safely(answer, name, part, cell)
        known = {(one.finding, one.cell, one.error) for one in self.problems}
        # An import error occurs again for each part of the same finding, but is listed only once.
        if problem and (name, cell, problem.error) not in known:
            self.problems.append(problem)
        return found or []


def _owner(picture: Illustration, tables: Sequence[Table]) -> Table | None:
    """Return the table that a figure belongs to: `sweep-k-affected` belongs to `sweep-k`."""
    owners = [table for table in tables if f"{picture.name}-".startswith(f"{table.name}-")]
    return max(owners, key=lambda table: len(table.name), default=None)


def _drawn(folder: Path) -> dict[str, str]:
    """Return a dict from the name of each figure in captions.json to the finding that made it."""
    captions = folder / layout.CAPTIONS
    return {one["name"]: one["finding"] for one in read_json(captions)} if captions.exists() else {}


def illustration(folder: Path, name: str, caption: str) -> Illustration:
    """Read a printed figure; a palette of few colours makes its file three times smaller."""
    with Image.open(folder / f"{name}.png") as image:
        width = round(image.width * SCREEN_WIDTH / FULL_WIDTH)
        drawn = image.convert("RGB").quantize(NUM_COLOURS, dither=Image.Dither.NONE)
    return Illustration(name, caption, image=as_png(drawn), width=width)
