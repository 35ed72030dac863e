"""Every table of the page in one shape, so that one template draws them all."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from collateral.results.files import read_json
from collateral.findings.catalogue import METRICS
from collateral.findings.locality.words import distance, near_and_far
from collateral.findings._shared.compare import LAYOUTS, Part, Row, Table, subject_of
from collateral.findings._shared.display import EMPTY, Shown, heading, show, signed
from collateral.findings.reported.table import reported
from collateral.results.table import REFERENCE, Cell, mean, std
from collateral.findings.summary.table import HEADS as SUMMARY_HEADS
from collateral.findings.summary.table import Standing, standings
from collateral.findings.summary.table import caption as summary_caption
from collateral.findings.tuning.table import CAPTION as TUNING
from collateral.findings.tuning.table import COLUMNS as TUNING_COLUMNS
from collateral.findings.tuning.table import tuning_rows
from collateral.findings._shared.write import GROUPS


@dataclass(frozen=True)
class Field:
    """One field of a grid; `order` is what its column is sorted by, NaN last."""

    shown: Shown
    order: float = math.nan


@dataclass(frozen=True)
class Line:
    """One row of a grid."""

    label: str
    note: str
    fields: list[Field]


@dataclass(frozen=True)
class Grid:
    """A table for the page: groups of rows, each sorted by itself."""

    title: str
    headings: list[str]
    groups: list[list[Line]]
    caption: str = ""
    corner: str = ""  # heading of the first column, where it is not the title
    is_prose: bool = False  # words rather than numbers: set to the left, and wrapped


def of_table(table: Table) -> list[Grid]:
    """Return a grid for each part of a table, with the caption under the last."""
    grids = [_of_part(table, part) for part in table.layout.parts]
    return [*grids[:-1], replace(grids[-1], caption=table.caption)]


def _of_part(table: Table, part: Part) -> Grid:
    columns, layout = part.columns, table.layout
    groups = [
        [Line(row.label, row.status, [_field(row, c) for c in columns]) for row in rows]
        for kinds in GROUPS
        if (rows := table.rows_of(*kinds))
    ]
    corner = layout.corner if len(layout.parts) > 1 else ""
    return Grid(table.subject, [heading(c) for c in columns], groups, corner=corner)


def _field(row: Row, metric: str) -> Field:
    entry = row.entries[metric]
    order = entry.mean if math.isnan(entry.deviation) else abs(entry.deviation)
    return Field(show(row, metric), math.nan if row.kind == "floor" else order)


def of_summary(cells: Sequence[Cell]) -> list[Grid]:
    """Return the methods' standings over all cells by each gap; nothing for a single cell."""
    if len(cells) < 2:
        return []
    grids = []
    for layout in LAYOUTS:
        lines = [_standing(standing, len(cells)) for standing in standings(cells, *layout.gaps)]
        grids.append(Grid(subject_of(layout, *cells), list(SUMMARY_HEADS[1:]), [lines]))
    grids[-1] = replace(grids[-1], caption=summary_caption(cells))
    return grids


def _standing(standing: Standing, count: int) -> Line:
    label, *texts = standing.texts(count)
    orders = (
        standing.cells,
        standing.lowest,
        standing.within_noise,
        standing.mean_rank,
        standing.mean_gap,
    )
    fields = [Field(Shown(text), order) for text, order in zip(texts, orders, strict=True)]
    return Line(label, "", fields)


def of_locality(cell: Cell) -> Grid:
    """Return each run's loss of accuracy near the forget set and elsewhere."""
    pools = [pool for name in ("retain", "test") for pool in near_and_far(cell, name)]
    names = ("retained, most similar", "retained, others", "test, most similar", "test, others")
    groups = []
    for runs in (cell.runs("method"), cell.runs("control")):
        lines = []
        for run in runs:
            distances = [distance(cell, run, pool) for pool in pools]
            fields = [Field(_difference(d.mean, d.std, d.is_chance), d.mean) for d in distances]
            lines.append(Line(cell.labels[run], cell.trouble(run), fields))
        groups.append(lines)
    limits = [pool.chance(cell) for pool in pools]
    if not all(math.isnan(limit) for limit in limits):
        fields = [Field(Shown(f"±{100 * limit:.1f}")) for limit in limits]
        groups[-1].append(Line("Retrain vs. Retrain (95 %)", "", fields))
    headings = [f"{n} ({pool.size:.0f})" for n, pool in zip(names, pools, strict=True)]
    return Grid("Near and far", headings, [group for group in groups if group], LOCALITY)


LOCALITY = (
    "Retrain's accuracy minus the unlearned model's, in points, mean ± sample standard deviation "
    "over seeds; positive: less accurate than Retrain. Most similar: the fewest of the ten bins of "
    "similarity, from the top, with at least 20 examples and 1 % of the set; the number of "
    "examples is in parentheses. †: within what 95 % of differences between retrainings stay "
    "below (an upper bound, from the bins' noise floors)."
)


def _difference(center: float, spread: float, chance: bool) -> Shown:
    if math.isnan(center):
        return Shown(EMPTY)
    suffix = "" if math.isnan(spread) else f" ± {100 * spread:.1f}"
    return Shown(signed(center) + suffix, chance=chance)


def of_costs(cell: Cell) -> Grid:
    """Return time and memory of every run."""
    retrain = mean(cell.values(REFERENCE, "rte"))
    names = ("rte", "tuning_seconds", "peak_rss_mb", "peak_device_mb")
    known = [
        name for name in names if any(not math.isnan(_mean(cell, run, name)) for run in cell.labels)
    ]
    lines = []
    for run, label in cell.labels.items():
        fields = [_cost(cell, run, name) for name in known]
        share = _mean(cell, run, "rte") / retrain
        text = EMPTY if math.isnan(share) else f"{100 * share:.1f} %"
        fields += [Field(Shown(text), share), Field(Shown(_phases(cell, run)))]
        lines.append(Line(label, "", fields))
    headings = [f"{METRICS[name].label} ({METRICS[name].unit})" for name in known]
    headings += ["of Retrain's RTE", "Phases (s)"]
    return Grid("Costs", headings, [lines], COSTS, corner="Run")


COSTS = "Mean ± sample standard deviation over seeds. RTE counts all phases but evaluation."


def _mean(cell: Cell, run: str, metric: str) -> float:
    return mean(cell.values(run, metric))


def _cost(cell: Cell, run: str, metric: str) -> Field:
    center, spread = _mean(cell, run, metric), std(cell.values(run, metric))
    if math.isnan(center):
        return Field(Shown(EMPTY))
    digits = 0 if METRICS[metric].unit == "MB" else 1 if center >= 10 else 2
    suffix = "" if math.isnan(spread) else f" ± {spread:.{digits}f}"
    return Field(Shown(f"{center:.{digits}f}{suffix}"), center)


def _phases(cell: Cell, run: str) -> str:
    metrics = [m for r, m in cell.by_seed.index if r == run and m.startswith("seconds:")]
    return ", ".join(f"{m.removeprefix('seconds:')} {_mean(cell, run, m):.2f}" for m in metrics)


def of_tuning(path: Path, cell: Cell) -> Grid:
    """Return what tuning chose in this cell, and what another choice would have given."""
    rows = tuning_rows(path, cell.labels) if path.exists() else []
    # The first two columns are the cell, which the page says already, and the label.
    lines = [Line(row[1], "", [Field(Shown(text)) for text in row[2:]]) for row in rows]
    headings = list(TUNING_COLUMNS.values())[2:]
    return Grid("Tuning", headings, [lines] if lines else [], TUNING, corner="Run")


def of_reported(cell: Cell) -> Grid:
    """Return the numbers that methods report of themselves."""
    lines = [
        Line(
            str(record["label"]),
            "",
            [Field(Shown(str(record["metric"]))), *(_number(record[n]) for n in ("mean", "std"))],
        )
        for record in reported(cell)
    ]
    headings = ["Number", "Mean", "Std"]
    return Grid("What methods report", headings, [lines] if lines else [], corner="Run")


def _number(value: object) -> Field:
    assert isinstance(value, float)
    return Field(Shown(EMPTY if math.isnan(value) else f"{value:.4g}"), value)


def of_records(folder: Path, cell: Cell) -> Grid:
    """Return what each run was: its method and exact parameters, on the first seed."""
    lines = []
    for run, label in cell.labels.items():
        path = folder / f"seed-{cell.seeds[0]}" / run / "record.json"
        if path.exists():
            record = read_json(path)
            params = ", ".join(f"{key}={value}" for key, value in record.get("params", {}).items())
            method = str(record.get("method", run))
            lines.append(Line(label, "", [Field(Shown(method)), Field(Shown(params or EMPTY))]))
    groups = [lines] if lines else []
    return Grid("What ran", ["Method", "Parameters"], groups, corner="Run", is_prose=True)


def of_csv(title: str, path: Path) -> Grid:
    """Return a small CSV file as it is, numbers to four digits."""
    with path.open(newline="") as file:
        headings, *rows = list(csv.reader(file))
    lines = [Line(row[0], "", [Field(Shown(_short(text))) for text in row[1:]]) for row in rows]
    return Grid(title, headings[1:], [lines], corner=headings[0], is_prose=True)


def _short(text: str) -> str:
    try:
        return f"{float(text):.4g}"
    except ValueError:
        return text
