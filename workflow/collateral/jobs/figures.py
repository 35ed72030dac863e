"""Job that makes the figures of a benchmark, for each cell and over all cells."""

from collateral.jobs._job import PageJob, PlannedPage


class FiguresJob(PageJob):
    """Figures of a benchmark."""


class PlannedFigures(PlannedPage):
    """Planned job that draws the figures of a benchmark."""

    describes = FiguresJob
