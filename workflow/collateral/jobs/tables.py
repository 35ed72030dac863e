"""Job that makes the tables of a benchmark, for each cell and over all cells."""

from collateral.jobs._job import PageJob, PlannedPage


class TablesJob(PageJob):
    """Tables of a benchmark."""


class PlannedTables(PlannedPage):
    """Planned job that makes the tables of a benchmark."""

    describes = TablesJob
