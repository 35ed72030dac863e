"""Job that makes the figures of a benchmark, for each cell and over all cells."""

from collateral.jobs._job import PageJob, PlannedPage
from collateral.results import layout


class FiguresJob(PageJob):
    """Figures of a benchmark."""

    @property
    def files(self) -> dict[str, str]:
        """The folder of the figures."""
        return {"figures": layout.FIGURES}


class PlannedFigures(PlannedPage):
    """Planned job that draws the figures of a benchmark."""

    describes = FiguresJob
