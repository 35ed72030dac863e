"""Numbers, figures and images of a benchmark in; its self-contained page out."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from collateral.findings.compute import write_problems
from collateral.report.page import benchmark_part, glance, render
from collateral.results import layout
from collateral.results.chain import INPUTS, hashes, write_record
from collateral.results.files import atomic

MADE_FROM = (
    *(layout.PLAN, layout.METRICS, layout.COSTS, layout.PROBLEMS, layout.GATES),
    *(f"{folder}/{layout.RECORD}" for folder in (layout.TABLES, layout.FIGURES)),
)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what goes in and comes out."""
    parser.add_argument("--folder", type=Path, required=True, help="the benchmark's")
    parser.add_argument("--out", type=Path, required=True, help="the page")
    parser.add_argument("--glance", type=Path, required=True, help="what the index says of it")
    parser.add_argument("--problems", type=Path, required=True, help="problems.json")


def run(args: Namespace) -> None:
    """Render the page; write it, its glance, and what could not be shown on it."""
    benchmark = benchmark_part(args.folder)
    with atomic(args.out) as temporary:
        temporary.write_text(render(benchmark), encoding="utf-8")
    write_problems(args.problems, benchmark.problems)
    pictures = (layout.PICTURES.format(cell=cell.name) for cell in benchmark.cells)
    made_from = [*MADE_FROM, *(name for name in pictures if (args.folder / name).exists())]
    inputs = hashes([args.folder / name for name in made_from], args.folder)
    about = {**glance(benchmark), INPUTS: inputs}
    write_record(args.glance, about, root=args.folder, files=[args.out, args.problems])
