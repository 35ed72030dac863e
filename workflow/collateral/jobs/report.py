"""Job that writes the page of a benchmark."""

from collateral.jobs._job import Inputs, PageJob, PlannedPage
from collateral.plan.report_plan import templates_hash
from collateral.results import layout


class ReportJob(PageJob):
    """Page of a benchmark."""

    cells: tuple[str, ...]

    @property
    def inputs(self) -> Inputs:
        """The plan, the numbers, tables, figures and pictures."""
        return {
            **super().inputs,
            **{"problems": layout.PROBLEMS, "tables": layout.TABLES, "figures": layout.FIGURES},
            "pictures": [layout.PICTURES.format(cell=cell) for cell in self.cells],
        }

    @property
    def files(self) -> dict[str, str]:
        """The page, and the findings that could not be shown; their record is glance.json."""
        return {"page": layout.REPORT, "problems": layout.REPORT_PROBLEMS}


class PlannedReport(PlannedPage):
    """Planned job that makes the page of a benchmark."""

    describes = ReportJob

    @property
    def code(self) -> str:
        """Fingerprint of the stage and of all findings, and a hash of the page's templates."""
        return f"{super().code} {templates_hash()}"
