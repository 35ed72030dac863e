"""Job that makes the figures of a benchmark, for each cell and over all cells."""

from collateral.jobs._job import Inputs, Job, PlannedPage
from collateral.results import layout


class FiguresJob(Job):
    """Figures of a benchmark."""

    has_cost = False

    @property
    def inputs(self) -> Inputs:
        """The plan and the numbers."""
        return {"plan": layout.PLAN, "metrics": layout.METRICS, "costs": layout.COSTS}

    @property
    def files(self) -> dict[str, str]:
        """The folder of the figures."""
        return {"figures": layout.FIGURES}


class PlannedFigures(PlannedPage):
    """The figures of a benchmark in the plan."""

    describes = FiguresJob
