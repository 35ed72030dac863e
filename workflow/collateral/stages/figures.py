"""Draw the figures of a benchmark, for each cell and over all cells, and write their captions."""

from functools import partial
from pathlib import Path
from typing import Annotated

from collateral.contract.plugins import FINDING
from collateral.findings.registry import (
    Problem,
    in_page_order,
    run_safely,
    with_part,
    write_problems,
)
from collateral.plots.print import draw, save
from collateral.results import layout
from collateral.results.files import write_json
from collateral.results.plan import BenchmarkPlan
from collateral.results.provenance import sign_folder, verify
from collateral.results.table import BenchmarkTable, CellTable, read_tables

Source = BenchmarkTable | CellTable
OLD_PART = "figure.py is not read any more: return `Plot`s from plots.py (docs/add-a-finding.md)"


def figures(
    *,
    plan: Annotated[Path, "plan.json"],
    metrics: Annotated[Path, "the benchmark's metrics.csv"],
    costs: Annotated[Path, "the benchmark's costs.csv"],
    out: Annotated[Path, "folder of the figures"],
) -> None:
    """Draw the figures of every finding, and record which could not be drawn."""
    root = metrics.parent
    metrics, costs = verify(metrics, root), verify(costs, root)
    table = read_tables(BenchmarkPlan.load(plan), metrics, costs)
    problems = draw_all(table, out)
    for cell in table.cells:
        problems += draw_all(cell, out / cell.name)
    write_problems(out / layout.PROBLEMS, problems)
    sign_folder(out, [plan, metrics, costs])


def draw_all(source: Source, folder: Path) -> list[Problem]:
    """Write the figures of a cell, or over all, and their captions in the page's order."""
    captions: list[dict[str, str]] = []
    problems = []
    cell = source.name if isinstance(source, CellTable) else ""
    reference = (source.benchmark if isinstance(source, CellTable) else source.plan).reference
    for finding in in_page_order("plots", reference=reference):
        write = partial(_write, finding, source, folder, captions)
        problems.append(run_safely(write, finding, "plots", cell)[1])
    if cell or captions:
        write_json(folder / layout.CAPTIONS, captions)
    problems += [Problem(name, "plots", cell, OLD_PART) for name in _old_findings(reference)]
    return list(filter(None, problems))


def _old_findings(reference: str) -> list[str]:
    """Return the plug-ins that draw in the way of earlier versions."""
    return [
        name for name in with_part("figure", reference) if name not in with_part("plots", reference)
    ]


def _write(finding: str, source: Source, folder: Path, captions: list[dict[str, str]]) -> None:
    """Write the figures of a finding, and add their captions to `captions`."""
    names = {known["name"]: known["finding"] for known in captions}
    function = "plots" if isinstance(source, CellTable) else "plots_across"
    make = getattr(FINDING.load(finding, "plots"), function, None)
    for plot in make(source) if make else ():
        if other := names.get(plot.name):
            raise ValueError(f"finding {other} has a plot '{plot.name}' too; rename")
        save(draw(plot), folder / plot.name)
        captions.append({"finding": finding, "name": plot.name, "caption": plot.caption})
