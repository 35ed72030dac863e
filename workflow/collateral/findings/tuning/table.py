"""What tuning chose without looking at Retrain, and how much nearer it could have come."""

from collections.abc import Iterator
from typing import Any

from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings.catalogue import metric_of
from collateral.results.table import BenchmarkTable, CellTable, mean

TRIALS = {"trial_chosen": "chosen", "trial_nearest": "nearest"}
COLUMNS = ("trial_chosen", "gap_chosen", "gap_default", "trial_nearest", "gap_nearest", "regret")
CAPTION = (
    "Tuning on the first seed. Chosen without Retrain: among trials with affected RA > 70 % and "
    "RA > 90 % the lowest UA, else the highest RA. Gap: mean absolute deviation from that seed's "
    "Retrain over UA, RA, TA and MIA, in points, computed afterwards. Nearest: the candidate with "
    "the lowest gap. Regret: the gap of the choice minus the nearest's."
)


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield what was chosen in a cell; nothing where nothing is tuned."""
    lines = [Line(cell.labels[run], _fields(cell, run)) for run in _tuned(cell)]
    if lines:
        yield _table("Method", _headings(), lines, [cell])


def tables_across(table: BenchmarkTable) -> Iterator[Table]:
    """Yield what was chosen in every cell; nothing where nothing is tuned."""
    lines = [
        Line(cell.name, [Field(cell.labels[run]), *_fields(cell, run)])
        for cell in table.cells
        for run in _tuned(cell)
    ]
    if lines:
        yield _table("Cell", ["Method", *_headings()], lines, list(table.cells))


def _tuned(cell: CellTable) -> list[str]:
    return [run for run in cell.labels if "trial_chosen" in cell.metrics(run)]


def _headings() -> list[str]:
    return [metric_of(name).heading for name in COLUMNS]


def _fields(cell: CellTable, run: str) -> list[Field]:
    numbers = {name: _number(cell, run, name) for name in COLUMNS}
    return [
        Field(_values(cell, run, name))
        if name in TRIALS
        else Field(metric_of(name).text(number), number)
        for name, number in numbers.items()
    ]


def _number(cell: CellTable, run: str, metric: str) -> float:
    """Return what the first seed, which alone is tuned on, has."""
    return mean(cell.values(run, metric))


def _values(cell: CellTable, run: str, trial: str) -> str:
    """Return the values of a trial: "lr 0.001"."""
    values = cell.plan.trials[run][int(_number(cell, run, trial))]
    return ", ".join(f"{key} {value}" for key, value in values.items())


def _table(corner: str, headings: list[str], lines: list[Line], cells: list[CellTable]) -> Table:
    records = [_record(cell, run) for cell in cells for run in _tuned(cell)]
    return Table("tuning", "Tuning", [Grid(corner, headings, [lines])], CAPTION, records=records)


def _record(cell: CellTable, run: str) -> dict[str, Any]:
    texts = {name: _values(cell, run, trial) for trial, name in TRIALS.items()}
    numbers = {name: _number(cell, run, name) for name in COLUMNS if name not in TRIALS}
    return {"cell": cell.name, "run": run, **texts, **numbers}
