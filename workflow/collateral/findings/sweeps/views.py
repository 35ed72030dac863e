"""Ablations: a method with one parameter varied, each value compared with Retrain."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.compare import AFFECTED, MAIN, Comparison, compare
from collateral.findings.columns import number_source
from collateral.findings.metric_index import find_metric
from collateral.findings.reported import METRICS as REPORTED
from collateral.findings.sweeps.noise import NAME, Noise, noises, spread
from collateral.results.plan import Sweep
from collateral.results.table import CellTable, mean, std

OWN = "“own” marks the value that the method has in all other tables and figures."
NOISE = (
    "Teachers that differ in `teacher_seed` alone, and their students: accuracy on the forget set "
    "(%), of which Retrain has {ua}. By teacher: standard deviation over the teachers of one base, "
    "root mean square over {n} seeds. By seed: that of the method's own runs over seeds, in which "
    "everything is drawn anew. r: correlation of student and teacher within a seed."
)
NOISE_HEADINGS = (
    *("Teachers", "Teacher UA", "by teacher", "UA", "by teacher", "by seed", "r"),
    "Teacher's epochs",
)
NOISE_METRICS = ("teacher_ua", "teacher_epochs", "ua")  # that the columns are computed from


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of every sweep, and one of the differences between teachers' seeds."""
    for sweep in cell.plan.sweeps:
        swept = cell.with_labels(sweep.rows)
        yield replace(compare(swept, make_comparison(swept, sweep)), title=sweep.title)
    if found := noises(cell):
        yield make_noise_table(cell, found)


def make_comparison(cell: CellTable, sweep: Sweep) -> Comparison:
    """Return both gaps, and the numbers that the varied method reports.

    `cell` has the runs of the sweep.
    """
    reported = {metric for run in sweep.values for metric in cell.metrics(run)}
    return Comparison(
        f"sweep-{sweep.name}",
        f"{sweep.method} with other values of {sweep.key}",
        (MAIN, (*AFFECTED, *(name for name in REPORTED if name in reported))),
        corner=sweep.title,
        ranked="value",
        note=OWN,
    )


def make_noise_table(cell: CellTable, found: Sequence[Noise]) -> Table:
    """Return the spread of teachers and students, one row per method."""
    records = [_make_noise_record(cell, noise) for noise in found]
    lines = [
        Line(noise.sweep.method, _make_noise_fields(record, noise))
        for record, noise in zip(records, found, strict=True)
    ]
    ua = find_metric("ua").text(mean(cell.values(cell.reference, "ua")))
    caption = NOISE.format(ua=ua, n=len(cell.seeds))
    grid = Grid("Method", [*NOISE_HEADINGS], [lines])
    return Table(NAME, "The teacher's luck", [grid], caption, records=records)


def _make_noise_record(cell: CellTable, noise: Noise) -> dict[str, Any]:
    return {
        "run": noise.sweep.own,
        "teachers": len(noise.teacher),
        "teacher_ua": mean(noise.teacher),
        "teacher_ua_by_teacher": spread(noise.teacher),
        "ua": mean(noise.student),
        "ua_by_teacher": spread(noise.student),
        "ua_by_seed": std(cell.values(noise.sweep.own, "ua")),
        "r": noise.agreement,
        "teacher_epochs": mean(noise.epochs),
    }


def _make_noise_fields(record: dict[str, Any], noise: Noise) -> list[Field]:
    texts = {name: find_metric("ua").text(value) for name, value in record.items() if "ua" in name}
    texts["teachers"] = str(record["teachers"])
    texts["r"] = EMPTY if math.isnan(record["r"]) else f"{record['r']:.2f}".replace("-", "−")
    texts["teacher_epochs"] = find_metric("teacher_epochs").text(record["teacher_epochs"])
    names = [name for name in record if name != "run"]
    return [Field(texts[name], record[name], **_find_sources(name, noise)) for name in names]


def _find_sources(name: str, noise: Noise) -> dict[str, Any]:
    """Return the numbers of a field: those of all teachers, or of the method's own runs."""
    metric = next((known for known in NOISE_METRICS if name.startswith(known)), "")
    runs = [noise.sweep.own] if name.endswith("by_seed") else list(noise.sweep.values)
    if not metric:
        return {}
    first, *others = (number_source(run, metric) for run in runs)
    return {"source": first, "also": tuple(others)}
