"""Job that makes the tables of a benchmark, for each cell and over all cells."""

from collateral.jobs._job import Inputs, Job, PlannedPage
from collateral.results import layout


class TablesJob(Job):
    """Tables of a benchmark."""

    has_cost = False

    @property
    def inputs(self) -> Inputs:
        """The plan and the numbers."""
        return {"plan": layout.PLAN, "metrics": layout.METRICS, "costs": layout.COSTS}

    @property
    def files(self) -> dict[str, str]:
        """The folder of the tables."""
        return {"tables": layout.TABLES}


class PlannedTables(PlannedPage):
    """The tables of a benchmark in the plan."""

    describes = TablesJob
