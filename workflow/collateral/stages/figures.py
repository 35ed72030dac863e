"""Draw the figures of a benchmark, for each cell and over all cells, and write their captions."""

from functools import partial
from pathlib import Path
from typing import Annotated

from collateral.contract.plugins import FINDING
from collateral.findings._shared.style import save
from collateral.findings.compute import Problem, attempt, presented, write_problems
from collateral.results import layout
from collateral.results.chain import checked, seal_folder
from collateral.results.files import write_json
from collateral.results.plan import BenchmarkPlan
from collateral.results.table import BenchmarkTable, CellTable, read

Source = BenchmarkTable | CellTable


def figures(
    *,
    plan: Annotated[Path, "plan.json"],
    metrics: Annotated[Path, "the benchmark's metrics.csv"],
    costs: Annotated[Path, "the benchmark's costs.csv"],
    out: Annotated[Path, "folder of the figures"],
) -> None:
    """Draw the figures of every finding, and record which could not be drawn."""
    root = metrics.parent
    metrics, costs = checked(metrics, root), checked(costs, root)
    table = read(BenchmarkPlan.load(plan), metrics, costs)
    problems = draw_all(table, out)
    for cell in table.cells:
        problems += draw_all(cell, out / cell.name)
    write_problems(out / layout.PROBLEMS, problems)
    seal_folder(out, [plan, metrics, costs])


def draw_all(source: Source, folder: Path) -> list[Problem]:
    """Write the figures of a cell, or over all, and their captions in the page's order."""
    captions: list[dict[str, str]] = []
    problems = []
    cell = source.name if isinstance(source, CellTable) else ""
    reference = (source.benchmark if isinstance(source, CellTable) else source.plan).reference
    for finding in presented("figure", reference=reference):
        draw = partial(_draw, finding, source, folder, captions)
        problems.append(attempt(draw, finding, "figure", cell)[1])
    if cell or captions:
        write_json(folder / layout.CAPTIONS, captions)
    return list(filter(None, problems))


def _draw(finding: str, source: Source, folder: Path, captions: list[dict[str, str]]) -> None:
    """Write the figures of a finding, and append their captions to `captions`."""
    taken = {known["name"]: known["finding"] for known in captions}
    function = "figures" if isinstance(source, CellTable) else "figures_across"
    make = getattr(FINDING.load(finding, "figure"), function, None)
    for picture in make(source) if make else ():
        if other := taken.get(picture.name):
            raise ValueError(f"finding {other} has a figure '{picture.name}' too; rename")
        save(picture.figure, folder / picture.name)
        captions.append({"finding": finding, "name": picture.name, "caption": picture.caption})
