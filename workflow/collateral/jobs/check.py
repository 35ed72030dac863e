"""Job that fails if a finding failed; the page is written before and names the finding."""

from collateral.jobs._job import Inputs, Job, PlannedPage
from collateral.plan.fingerprint import stage_code
from collateral.results import layout


class CheckJob(Job):
    """Check that no finding failed."""

    has_cost = False

    @property
    def inputs(self) -> Inputs:
        """The findings that failed."""
        return {"problems": layout.REPORT_PROBLEMS}


class PlannedCheck(PlannedPage):
    """Planned job that fails if a finding of a benchmark failed."""

    describes = CheckJob

    @property
    def code(self) -> str:
        """Fingerprint of the stage, which presents no finding."""
        return stage_code("check")
