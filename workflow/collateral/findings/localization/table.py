"""Slope, rank correlation and near-to-far ratio: of a cell, and over all cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import EVERY, Field, Grid, Line, Table
from collateral.findings._shared.against import NEXT_SEED
from collateral.findings._shared.captions import described, joined
from collateral.findings._shared.tables import source_of
from collateral.findings.localization import CONTROLS, HARDNESS, MEASURES, METRICS, SETS
from collateral.findings.localization.numbers import known_lows, sound_cells
from collateral.findings.localization.strength import middle
from collateral.results.table import REFERENCE, BenchmarkTable, CellTable

CORNERS = {None: "All examples", HARDNESS: "Equally hard ones"}
COLUMNS = [(name, of) for of in SETS for name in MEASURES]
CAPTION = "|Difference| from Retrain by similarity to the forget set: {title}. {brackets}"
OVER_SEEDS = "In brackets: 95 % intervals of the mean over n = {n} seeds (Student t)."
OVER_EXAMPLES = (
    "One seed: in brackets are 95 % intervals over examples, of these very models; other seeds may "
    "differ by more."
)
ACROSS = (
    "|Difference| from Retrain by similarity to the forget set: means over {count} cells, those "
    "left out where a method diverged or collapsed."
)
CONVENTIONS = joined(
    "|Difference|: of an example's true-class confidence, seed i against seed i.",
    described(MEASURES),
    "Equally hard ones: the same within tenths of Retrain's margin (true logit minus the largest "
    f"other), so that near is not only hard. “{NEXT_SEED}” is what retraining again gives; "
    "its pairs share retrainings, so it has no interval over seeds.",
)


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of a cell; nothing where there are no numbers."""
    runs = [run for run in (*cell.runs("method"), *cell.runs("control")) if _has(cell, run)]
    if not runs:
        return
    several = len(cell.seeds) > 1
    grids = []
    for control in CONTROLS:
        groups = [
            [_line(cell, run, control) for run in runs if cell.kinds[run] == "method"],
            [_line(cell, run, control) for run in runs if cell.kinds[run] == "control"],
        ]
        groups[1] += [_line(cell, REFERENCE, control)] if several else []
        grids.append(Grid(CORNERS[control], _headings(), [group for group in groups if group]))
    brackets = OVER_SEEDS.format(n=len(cell.seeds)) if several else OVER_EXAMPLES
    yield Table(
        "localization",
        "Localization",
        grids,
        CAPTION.format(title=cell.title, brackets=brackets),
        CONVENTIONS,
        [
            _record(cell, run, name, of, control)
            for control in CONTROLS
            for run in (*runs, *([REFERENCE] if several else []))
            for name, of in COLUMNS
        ],
    )


def tables_across(table: BenchmarkTable) -> Iterator[Table]:
    """Yield a line a method over all cells; nothing for a single cell."""
    runs = dict.fromkeys(
        run for cell in table.cells for run in cell.runs("method") if _has(cell, run)
    )
    if len(table.cells) < 2 or not runs:
        return
    grids = []
    for control in CONTROLS:
        lines = [Line(table.plan.labels[run], list(_across(table, run, control))) for run in runs]
        rising = [f"{METRICS['rising_cells'].label}, {SETS[of]}" for of in SETS]
        floor = Line(NEXT_SEED, list(_across(table, REFERENCE, control)), is_aside=True)
        grids.append(Grid(CORNERS[control], [*_headings(), *rising], [lines, [floor]]))
    yield Table(
        "localization",
        "Localization over all cells",
        grids,
        ACROSS.format(count=len(table.cells)),
        joined(CONVENTIONS, described(["rising_cells"])),
        [
            _record(cell, run, name, of, control) | {"cell": cell.name}
            for control in CONTROLS
            for cell in table.cells
            for run in runs
            if run in cell.labels
            for name, of in COLUMNS
        ],
    )


def over_cells(table: BenchmarkTable, run: str, name: str, of: str, control: str | None) -> float:
    """Return the mean of a run's mean over seeds, over the cells where it ended well."""
    cells = sound_cells(table, run)
    means = [middle(name, cell.values(run, name, of, control)) for cell in cells]
    return middle(name, np.array(means))


def _has(cell: CellTable, run: str) -> bool:
    return not np.isnan(cell.values(run, "locality_slope", "retain")).all()


def _headings() -> list[str]:
    return [f"{MEASURES[name].label}, {SETS[of]}" for name, of in COLUMNS]


def _line(cell: CellTable, run: str, control: str | None) -> Line:
    fields = [_field(cell, run, name, of, control) for name, of in COLUMNS]
    if run == REFERENCE:
        return Line(NEXT_SEED, fields, is_aside=True)
    return Line(cell.labels[run], fields, cell.trouble(run), cell.kinds[run] == "control")


def _field(cell: CellTable, run: str, name: str, of: str, control: str | None) -> Field:
    record, metric = _record(cell, run, name, of, control), MEASURES[name]
    kind = "" if len(cell.seeds) > 1 else "examples_"
    low, high = (metric.text(record[f"{kind}{end}"]) for end in ("low", "high"))
    shown, source = metric.text(record["mean"]), source_of(run, name, of, control)
    if low == EMPTY:
        return Field(shown, record["mean"], source=source)
    ends = tuple(source_of(run, f"{name}_{kind}{end}", of, control) for end in ("low", "high"))
    return Field(f"{shown} [{low}, {high}]", record["mean"], source=source, also=ends)


def _across(table: BenchmarkTable, run: str, control: str | None) -> Iterator[Field]:
    for name, of in COLUMNS:
        value = over_cells(table, run, name, of, control)
        source = replace(source_of(run, name, of, control), cell=EVERY)
        yield Field(MEASURES[name].text(value), value, source=source)
    for of in SETS:
        count = table.number(run, "rising_cells", of, control)
        text, known = METRICS["rising_cells"].text(count), len(known_lows(table, run, of, control))
        source = source_of(run, "rising_cells", of, control)
        yield Field(text if text == EMPTY else f"{text} of {known}", count, source=source)


def _record(cell: CellTable, run: str, name: str, of: str, control: str | None) -> dict[str, Any]:
    values = cell.values(run, name, of, control)
    ends = ("low", "high", "examples_low", "examples_high")
    return {
        "run": run,
        "label": NEXT_SEED if run == REFERENCE else cell.labels[run],
        "metric": name,
        "set": of,
        "control": control or "",
        "mean": middle(name, values),
        **{end: cell.number(run, f"{name}_{end}", of, control) for end in ends},
        "n": int(np.count_nonzero(~np.isnan(values))),
    }
