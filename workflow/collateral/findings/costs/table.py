"""Time and memory of every run, and from how many deletions on it pays."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from collateral.contract.metrics import EMPTY, Metric
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import described, joined, over_seeds
from collateral.findings._shared.devices import devices_of, different_devices
from collateral.findings._shared.tables import (
    csv_record,
    field_by_seed,
    field_of,
    line_of,
    source_of,
)
from collateral.findings.catalogue import metric_of
from collateral.findings.costs import PREPARATION
from collateral.results.record import STATED
from collateral.results.table import REFERENCE, CellTable, mean

TOTALS = ("rte", "tuning_seconds", "support_size_seconds", "peak_rss_mb", "peak_device_mb")
LEDGER = ("rte_share", "paying_deletions")
OWN_PHASES = ("unlearn", "train", STATED)  # what is not preparation
CAPTION = "Costs: {title}. {spread} RTE counts all phases but evaluation. {devices}"


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of costs; nothing where none were measured."""
    values = {name: [cell.values(run, name) for run in cell.labels] for name in TOTALS}
    if totals := [name for name in TOTALS if not np.isnan(values[name]).all()]:
        yield Table(
            "costs",
            "Costs",
            [_totals(cell, totals, devices_of(cell)), *_phases(cell)],
            CAPTION.format(
                title=cell.title, spread=over_seeds(cell), devices=different_devices(cell)
            ).strip(),
            joined(described([*totals, *_ledger(cell)]), _told(PREPARATION)),
            records=[
                *(csv_record(cell, run, name) for run in cell.labels for name in totals),
                *(csv_record(cell, run, "seconds", at=at) for run, at in _run_phases(cell)),
                *(csv_record(cell, r, name) for r in cell.labels for name in LEDGER if _has(cell)),
            ],
        )


def preparation(cell: CellTable, run: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return by seed the seconds of all phases but the run's own; NaN where it has but these."""
    found = [cell.values(run, "seconds", at=phase) for phase in _preparing(cell, run)]
    return np.sum(found, axis=0) if found else np.full(len(cell.seeds), np.nan)


def _preparing(cell: CellTable, run: str) -> list[str]:
    return [phase for phase in cell.indices(run, "seconds") if phase not in OWN_PHASES]


def _totals(cell: CellTable, totals: list[str], devices: dict[str, str]) -> Grid:
    prepares = any(not np.isnan(preparation(cell, run)).all() for run in cell.labels)
    headings = [metric_of(name).heading for name in totals]
    headings += [PREPARATION.heading] if prepares else []
    if cell.has_retrain:
        headings += [metric_of("rte_share").heading, metric_of("paying_deletions").label]
    several = len(set(devices.values())) > 1
    lines = []
    for run in cell.labels:
        fields = [field_by_seed(cell, run, name) for name in totals]
        fields += [_preparation(cell, run)] if prepares else []
        fields += [_share(cell, run), _paying(cell, run)] if cell.has_retrain else []
        fields += [Field(devices.get(run, EMPTY))] if several else []
        lines.append(line_of(cell, run, fields))
    return Grid("Run", [*headings, *(["Device"] if several else [])], [lines])


def _preparation(cell: CellTable, run: str) -> Field:
    shown = field_of(PREPARATION, preparation(cell, run))
    phases = [source_of(run, "seconds", at=phase) for phase in _preparing(cell, run)]
    return replace(shown, source=phases[0], also=tuple(phases[1:])) if phases else shown


def _share(cell: CellTable, run: str) -> Field:
    share = 1.0 if run == REFERENCE else cell.number(run, "rte_share")
    source = source_of(run, "rte" if run == REFERENCE else "rte_share")
    return Field(metric_of("rte_share").text(share), share, source=source)


def _paying(cell: CellTable, run: str) -> Field:
    """Return the first deletion at which a method has taken less time than retraining."""
    if cell.kinds[run] != "method" or math.isnan(share := cell.number(run, "rte_share")):
        return Field(EMPTY)
    if share >= 1:
        return Field("never", math.inf, source=source_of(run, "rte_share"))
    if math.isnan(deletions := cell.number(run, "paying_deletions")):
        return Field(EMPTY)
    # At exactly so many both have taken as long.
    source = source_of(run, "paying_deletions")
    return Field(f"{math.floor(deletions) + 1:,}", deletions, source=source)


def _ledger(cell: CellTable) -> list[str]:
    """Return what is told of columns that need Retrain; nothing where there is none."""
    return ["paying_deletions"] if cell.has_retrain else []


def _has(cell: CellTable) -> bool:
    return any(not math.isnan(cell.number(run, "rte_share")) for run in cell.labels)


def _told(metric: Metric) -> str:
    return f"{metric.label}: {metric.description}."


def _phases(cell: CellTable) -> list[Grid]:
    found: dict[str, list[str]] = {}
    for run, phase in _run_phases(cell):
        found.setdefault(run, []).append(phase)
    lines = [Line(cell.labels[run], [_of_phases(cell, run, ps)]) for run, ps in found.items()]
    return [Grid("Run", ["Phases (s)"], [lines], is_prose=True)] if lines else []


def _of_phases(cell: CellTable, run: str, phases: list[str]) -> Field:
    seconds = [mean(cell.values(run, "seconds", at=phase)) for phase in phases]
    texts = map(metric_of("seconds").text, seconds)
    said = ", ".join(f"{phase} {text}" for phase, text in zip(phases, texts, strict=True))
    first, *others = (source_of(run, "seconds", at=phase) for phase in phases)
    return Field(said, source=first, also=tuple(others))


def _run_phases(cell: CellTable) -> list[tuple[str, str]]:
    return [(run, phase) for run in cell.labels for phase in cell.indices(run, "seconds")]
