"""Job that merges the numbers of all cells of a benchmark, and computes numbers over all cells."""

from pathlib import Path

from collateral.jobs._job import Inputs, Job, PlannedPage
from collateral.results import layout

OF_CELL = {"metrics": layout.METRICS, "costs": layout.COSTS, "problems": layout.PROBLEMS}


class GatherJob(Job):
    """Numbers of a benchmark."""

    has_cost = False

    cells: tuple[str, ...]

    @property
    def inputs(self) -> Inputs:
        """The plan, and the numbers of every cell."""
        of_cells = {key: [f"{cell}/{name}" for cell in self.cells] for key, name in OF_CELL.items()}
        return {"plan": layout.PLAN, **of_cells}

    @property
    def files(self) -> dict[str, str]:
        """Long tables of metrics and costs, findings that failed, and outcomes of checks."""
        return {**OF_CELL, "gates": layout.GATES}

    def is_input_of(self, file: str, record: str) -> bool:
        """Tell whether a record lists the hash of an input file: costs are only in that of costs.

        Costs contain times; the record of the metrics is the same in every run.
        """
        return record == layout.COSTS_RECORD or Path(file).name != layout.COSTS


class PlannedGather(PlannedPage):
    """Planned job that joins the numbers of all cells of a benchmark."""

    describes = GatherJob
