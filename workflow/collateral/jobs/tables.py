"""Job that makes the tables of a benchmark, for each cell and over all cells."""

from collateral.jobs._job import PageJob, PlannedPage
from collateral.results import layout


class TablesJob(PageJob):
    """Tables of a benchmark."""

    @property
    def files(self) -> dict[str, str]:
        """The folder of the tables."""
        return {"tables": layout.TABLES}


class PlannedTables(PlannedPage):
    """Planned job that makes the tables of a benchmark."""

    describes = TablesJob
