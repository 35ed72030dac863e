"""KLOM of every run: on the forget set, and near it and far from it."""

from collections.abc import Iterator
from typing import Any

from collateral.contract.rows import At
from collateral.contract.tables import Field, Grid, Table
from collateral.findings._shared.against import groups, runs_shown
from collateral.findings._shared.captions import described, joined
from collateral.findings._shared.tables import source_of
from collateral.findings.catalogue import metric_of
from collateral.findings.near import PART_HEADINGS, PARTS
from collateral.results.table import REFERENCE, CellTable

FLOOR = "Retrain vs. Retrain, subtracted"
CAPTION = "Laws of margins over seeds, against Retrain's: {title}. {seeds}"
SEEDS = "Over n = {n} seeds, of which {half} for each law."
ONE_SEED = "One seed has no law, so there is nothing to compare."
CONVENTIONS = (
    "Both laws are Gaussian, their variances drawn towards the set's mean; what is near zero "
    "cannot be told from Retrain by these seeds."
)


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table; nothing where there are no numbers."""
    lines = groups(cell, lambda run: [_field(cell, run, *part) for part in PART_HEADINGS], FLOOR)
    if not lines or "klom_retrain" not in cell.metrics(REFERENCE):
        return
    n = len(cell.seeds)
    seeds = SEEDS.format(n=n, half=n // 2) if n > 1 else ONE_SEED
    yield Table(
        "margins",
        "Laws of margins",
        [Grid(metric_of("klom").heading, list(PART_HEADINGS.values()), lines)],
        CAPTION.format(title=cell.title, seeds=seeds),
        joined(described(["klom"]), CONVENTIONS),
        [
            _record(cell, run, name, at)
            for run in runs_shown(cell)
            for name, parts in PARTS.items()
            for at in parts
        ],
    )


def _metric(run: str) -> str:
    return "klom_retrain" if run == REFERENCE else "klom"


def _field(cell: CellTable, run: str, name: str, at: At) -> Field:
    value = cell.number(run, _metric(run), name, at)
    source = source_of(run, _metric(run), name, at)
    return Field(metric_of(_metric(run)).text(value), value, source=source)


def _record(cell: CellTable, run: str, name: str, at: At) -> dict[str, Any]:
    return {
        "run": run,
        "label": FLOOR if run == REFERENCE else cell.labels[run],
        "metric": _metric(run),
        "set": name,
        "at": at or "",
        "value": cell.number(run, _metric(run), name, at),
    }
