"""A benchmark's plan, metrics and costs in; the figures of each cell and their captions out."""

from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path

from collateral.contract.plugins import FINDING
from collateral.findings._shared.style import save
from collateral.findings.compute import Problem, attempt, presented, write_problems
from collateral.results import layout
from collateral.results.chain import checked, seal_folder
from collateral.results.files import write_json
from collateral.results.plan import BenchmarkPlan
from collateral.results.table import CellTable, read


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the files that go in and come out."""
    parser.add_argument("--plan", type=Path, required=True, help="plan.json")
    parser.add_argument("--metrics", type=Path, required=True, help="the benchmark's metrics.csv")
    parser.add_argument("--costs", type=Path, required=True, help="the benchmark's costs.csv")
    parser.add_argument("--out", type=Path, required=True, help="folder of the figures")


def run(args: Namespace) -> None:
    """Draw every finding's figures, and say which could not be drawn."""
    problems: list[Problem] = []
    root = args.metrics.parent
    metrics, costs = checked(args.metrics, root), checked(args.costs, root)
    for cell in read(BenchmarkPlan.load(args.plan), metrics, costs).cells:
        problems += draw_all(cell, args.out / cell.name)
    write_problems(args.out / layout.PROBLEMS, problems)
    seal_folder(args.out, [args.plan, metrics, costs])


def draw_all(cell: CellTable, folder: Path) -> list[Problem]:
    """Write the figures of a cell, and their captions in the page's order."""
    captions: list[dict[str, str]] = []
    problems = []
    for finding in presented("figure"):
        draw = partial(_draw, finding, cell, folder, captions)
        problems.append(attempt(draw, finding, "figure", cell.name)[1])
    write_json(folder / layout.CAPTIONS, captions)
    return list(filter(None, problems))


def _draw(finding: str, cell: CellTable, folder: Path, captions: list[dict[str, str]]) -> None:
    """Write the figures of a finding, and add what is said of them to `captions`."""
    taken = {known["name"]: known["finding"] for known in captions}
    for picture in FINDING.load(finding, "figure").figures(cell):
        if other := taken.get(picture.name):
            raise ValueError(f"finding {other} has a figure '{picture.name}' too; rename")
        save(picture.figure, folder / picture.name)
        captions.append({"finding": finding, "name": picture.name, "caption": picture.caption})
