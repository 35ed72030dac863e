"""Ablations: a method with one parameter varied, each value against Retrain."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.compare import compare
from collateral.findings._shared.layouts import AFFECTED, MAIN, Layout
from collateral.findings._shared.tables import source_of
from collateral.findings.catalogue import metric_of
from collateral.findings.reported import METRICS as REPORTED
from collateral.findings.sweeps.noise import NAME, Noise, noises, spread
from collateral.results.plan import Sweep
from collateral.results.table import REFERENCE, CellTable, mean, std

OWN = "“own” marks the value that the method has in all other tables and figures."
NOISE = (
    "Teachers that differ in `teacher_seed` alone, and their students: accuracy on the forget set "
    "(%), of which Retrain has {ua}. By teacher: standard deviation over the teachers of one base, "
    "root mean square over {n} seeds. By seed: that of the method's own runs over seeds, in which "
    "everything is drawn anew. r: correlation of student and teacher within a seed."
)
OF_TEACHERS = ("teacher_ua", "teacher_epochs", "ua")
NOISE_HEADINGS = (
    *("Teachers", "Teacher UA", "by teacher", "UA", "by teacher", "by seed", "r"),
    "Teacher's epochs",
)


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of every sweep, and one of how much teachers of another seed differ."""
    for sweep in cell.plan.sweeps:
        swept = cell.with_labels(sweep.rows)
        yield replace(compare(swept, layout_of(swept, sweep)), title=sweep.title)
    if found := noises(cell):
        yield noise_table(cell, found)


def noise_table(cell: CellTable, found: Sequence[Noise]) -> Table:
    """Return the spread of teachers and students, a row a method."""
    records = [_noise_record(cell, noise) for noise in found]
    methods = [noise.sweep.method for noise in found]
    fields = [_noise_fields(*pair) for pair in zip(records, found, strict=True)]
    lines = [Line(*line) for line in zip(methods, fields, strict=True)]
    ua = metric_of("ua").text(mean(cell.values(REFERENCE, "ua")))
    caption = NOISE.format(ua=ua, n=len(cell.seeds))
    grid = Grid("Method", [*NOISE_HEADINGS], [lines])
    return Table(NAME, "The teacher's luck", [grid], caption, records=records)


def _noise_record(cell: CellTable, noise: Noise) -> dict[str, Any]:
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


def _noise_fields(record: dict[str, Any], noise: Noise) -> list[Field]:
    rate, epochs = metric_of("ua"), metric_of("teacher_epochs")
    texts = {name: rate.text(value) for name, value in record.items() if "ua" in name}
    texts["teachers"] = str(record["teachers"])
    texts["r"] = EMPTY if math.isnan(record["r"]) else f"{record['r']:.2f}".replace("-", "−")
    texts["teacher_epochs"] = epochs.text(record["teacher_epochs"])
    shown = [name for name in record if name != "run"]
    return [Field(texts[name], record[name], **_sources(name, noise)) for name in shown]


def _sources(name: str, noise: Noise) -> dict[str, Any]:
    """Return the numbers that a field is made of: of all teachers, or of the method's own runs."""
    metric = next((known for known in OF_TEACHERS if name.startswith(known)), "")
    runs = [noise.sweep.own] if name.endswith("by_seed") else list(noise.sweep.values)
    if not metric:
        return {}
    first, *others = (source_of(run, metric) for run in runs)
    return {"source": first, "also": tuple(others)}


def layout_of(cell: CellTable, sweep: Sweep) -> Layout:
    """Return both gaps, and what the varied method reports; `cell` has the sweep's runs."""
    reported = {metric for run in sweep.values for metric in cell.metrics(run)}
    others = tuple(name for name in REPORTED if name in reported)
    return Layout(
        f"sweep-{sweep.name}",
        f"{sweep.method} with other values of {sweep.key}",
        (MAIN, replace(AFFECTED, others=others)),
        corner=sweep.title,
        ranked="value",
        note=OWN,
    )
