"""Render the self-contained page of a benchmark from its numbers, figures and images."""

from pathlib import Path
from typing import Annotated

from collateral.findings.registry import write_problems
from collateral.report import page
from collateral.results import layout
from collateral.results.files import atomic
from collateral.results.provenance import INPUTS, hash_files, write_record

MADE_FROM = (
    *(layout.PLAN, layout.METRICS, layout.COSTS, layout.PROBLEMS, layout.GATES),
    *(f"{folder}/{layout.RECORD}" for folder in (layout.TABLES, layout.FIGURES)),
)


def report(
    *,
    folder: Annotated[Path, "folder of the benchmark"],
    out: Annotated[Path, "page to write"],
    glance: Annotated[Path, "summary for the index"],
    problems: Annotated[Path, "problems.json"],
) -> None:
    """Write the page, its summary for the index page, and the list of findings that failed."""
    benchmark = page.benchmark_part(folder)
    with atomic(out) as temporary:
        temporary.write_text(page.render(benchmark), encoding="utf-8")
    write_problems(problems, benchmark.problems)
    pictures = (layout.PICTURES.format(cell=cell.name) for cell in benchmark.cells)
    made_from = [*MADE_FROM, *(name for name in pictures if (folder / name).exists())]
    inputs = hash_files([folder / name for name in made_from], folder)
    about = {**page.glance(benchmark), INPUTS: inputs}
    write_record(glance, about, root=folder, files=[out, problems])
