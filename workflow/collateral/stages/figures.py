"""Draw the figures of a benchmark, for each cell and over all cells, and write their captions."""

from functools import partial
from itertools import chain
from pathlib import Path

from collateral.contract.conventions import FIGURE_WIDTH
from collateral.findings import registry
from collateral.findings.registry import AnyTable, Problem
from collateral.jobs.figures import FiguresJob
from collateral.plots.print import draw, save
from collateral.results import layout
from collateral.results.files import write_json
from collateral.results.record import Made
from collateral.results.table import CellTable, read_benchmark
from collateral.stages._workspace import Workspace


def run(_: FiguresJob, place: Workspace) -> Made:
    """Draw the figures of every finding, and record the findings that could not be drawn."""
    out, table = place.output("figures"), read_benchmark(place.root)
    draw = partial(draw_all, folder=out, width=table.plan.figure_width)
    problems = registry.map_sources(draw, table, place.threads)
    registry.write_problems(out / layout.PROBLEMS, chain(*problems))
    return Made({})


def draw_all(source: AnyTable, folder: Path, width: float = FIGURE_WIDTH) -> list[Problem]:
    """Write the figures and captions of one cell, or over all cells; return the failed findings.

    Captions are in the order in which the web page shows the figures.
    """
    captions: list[dict[str, str]] = []
    problems = []
    cell = registry.cell_name(source)
    folder = folder / cell
    for finding in registry.in_page_order(registry.VIEWS, reference=source.reference):
        write = partial(_write, finding, source, folder, captions, width)
        problems.append(registry.run_safely(write, finding, "plots", cell)[1])
    if cell or captions:
        write_json(folder / layout.CAPTIONS, captions)
    return list(filter(None, problems))


def _write(
    finding: str, source: AnyTable, folder: Path, captions: list[dict[str, str]], width: float
) -> None:
    """Write the figures of a finding, and add their captions to `captions`."""
    names = {known["name"]: known["finding"] for known in captions}
    make = registry.view_function(
        finding, "plots" if isinstance(source, CellTable) else "plots_across"
    )
    for plot in make(source) if make else ():
        if other := names.get(plot.name):
            raise ValueError(f"finding {other} has a plot '{plot.name}' too; rename")
        save(draw(plot, width), folder / plot.name)
        about = {"title": plot.title, "caption": plot.caption, "notes": " ".join(plot.notes)}
        captions.append({"finding": finding, "name": plot.name, **about})
