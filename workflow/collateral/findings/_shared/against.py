"""Runs held against Retrain; Retrain's own line is Retrain against Retrain of the next seed."""

from collections.abc import Callable, Sequence

from collateral.contract.tables import Field, Line
from collateral.findings._shared.tables import line_of
from collateral.results.table import REFERENCE, CellTable

NEXT_SEED = "Retrain, next seed"
WHAT_IT_IS = f"“{NEXT_SEED}” is what retraining again gives."


def runs_shown(cell: CellTable) -> list[str]:
    """Return methods and controls, and Retrain where it has another seed to be held against."""
    floor = [REFERENCE] if len(cell.seeds) > 1 else []
    return [*cell.runs("method"), *cell.runs("control"), *floor]


def groups(
    cell: CellTable, fields: Callable[[str], Sequence[Field]], floor: str = NEXT_SEED
) -> list[list[Line]]:
    """Return the lines of methods, and those of controls and of Retrain, called `floor`."""
    methods = [line_of(cell, run, list(fields(run))) for run in cell.runs("method")]
    aside = [line_of(cell, run, list(fields(run))) for run in cell.runs("control")]
    if REFERENCE in runs_shown(cell):
        aside.append(Line(floor, list(fields(REFERENCE)), is_aside=True))
    return [group for group in (methods, aside) if group]
