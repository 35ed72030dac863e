"""Write the index page of the benchmarks of all configs, and the page on the paper's theory."""

from pathlib import Path
from urllib.parse import quote

from collateral.jobs.index import IndexJob
from collateral.report.page import list_pages, render_index, render_theory
from collateral.results import layout
from collateral.results.files import atomic
from collateral.results.provenance import sign_page
from collateral.results.record import Made
from collateral.stages._workspace import Workspace


def run(job: IndexJob, place: Workspace) -> Made:
    """Write the index page and, if its folder is given, the page on the theory."""
    results, link = place.results, ""
    pages = list_pages(results, [*job.first])
    if job.theory:
        theory, theory_page = results / job.theory, results / job.theory / layout.REPORT
        link = quote(theory_page.relative_to(results).as_posix())
        _write(theory_page, render_theory(theory), [theory / layout.RECORD])
    inputs = [results / page.name / layout.GLANCE for page in pages]
    _write(results / layout.REPORT, render_index(pages, link), inputs)
    return Made({})


def _write(path: Path, text: str, inputs: list[Path]) -> None:
    with atomic(path) as temporary:
        temporary.write_text(sign_page(text, inputs, path.parent), encoding="utf-8")
