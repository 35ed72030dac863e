"""Render the self-contained page of a benchmark from its numbers, figures and images."""

from collateral.findings.registry import write_problems
from collateral.jobs.report import ReportJob
from collateral.report import page
from collateral.results.files import atomic
from collateral.results.record import Made
from collateral.stages._workspace import Workspace


def run(_: ReportJob, place: Workspace) -> Made:
    """Write the page and the list of findings that failed; its summary goes to the index page."""
    benchmark = page.benchmark_part(place.root)
    with atomic(place.output("page")) as temporary:
        temporary.write_text(page.render(benchmark), encoding="utf-8")
    write_problems(place.output("problems"), benchmark.problems)
    return Made(page.glance(benchmark))
