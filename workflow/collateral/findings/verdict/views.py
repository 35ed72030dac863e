"""The verdict on every method with its numbers: a table, a sentence and a plot.

The plot shows damage against forgetting error of every run, and the margins in grey.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from collateral.contract.metrics import format_exact_percent
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import join_sentences
from collateral.findings._shared.series import describe_seeds, find_look
from collateral.findings.columns import number_source
from collateral.findings.gap import FORGETTING
from collateral.findings.metric_index import find_metric
from collateral.findings.verdict import COLLAPSED, DAMAGED, LIKE, OPEN, VERDICTS
from collateral.findings.verdict.sentences import (
    DIFFERENCE,
    EQUIVALENCE,
    MethodVerdict,
    find_measures,
    find_test,
    find_verdicts,
)
from collateral.metrics.statistics import mean, mean_of_defined
from collateral.plots.plot import Axis, Band, Level, Limits, Panel, Plot, Series, format_number
from collateral.plots.style import GREY, Look
from collateral.results.table import BenchmarkTable, CellTable

CAPTION = "Verdicts: {title}; n = {n} seeds."
CONVENTIONS = (
    "Verdicts, of which the first that holds is given. "
    + " ".join(f"{name[0].upper()}{name[1:]}: {meaning}" for name, meaning in VERDICTS.items())
    + " Near: the examples most similar to the forget set, retained or test; far: all others. "
    "Loss: accuracy lost against Retrain. Damage: near minus far loss, retained examples. Each "
    "measure of a method is within the margin (shown by a test of equivalence), shown to differ, "
    "or open. Intervals are at the levels of the tests: Holm over the measures of a method, "
    "Benjamini and Hochberg over methods (like Retrain: 90 % intervals). Tests, margins and error "
    "rates: docs/statistics.md."
)
FORBIDDEN = (
    "No verdict and no picture: {title}. A red check says that the comparison with Retrain means "
    "nothing here. Mend what it names, and run again."
)
TOO_FEW = "Verdicts of one seed: only a collapse can be told."
MORE_SEEDS = (
    "Probably {count} seeds would decide {labels}: `seeds: [{seeds}]` in the config; finished runs "
    "stay. Deciding again raises the error above 5 %. `looks: [{now}, {count}]` beside it decides "
    "at stricter levels, and keeps 5 % if the numbers of seeds were chosen before the first look."
)
NEXT_LOOK = (
    "The next look, with {count} seeds, decides again about {labels}: `seeds: [{seeds}]` in the "
    "config; finished runs stay."
)
NO_LOOKS = (
    "Deciding again after adding seeds raises the error above 5 %, unless the config declares "
    "`looks` beforehand."
)
# Measures of the table for a paper, with their headings.
SUMMARY_MEASURES = {"near": "Near loss, kept", "near_test": "Near loss, new"}
SUMMARY_CAPTION = (
    "Verdict, loss of accuracy near the forget set, and average gap to Retrain, in points: "
    "{title}; n = {n} seeds. Near loss: accuracy lost against Retrain on the retained (kept) or "
    "test (new) examples nearest to the forget set, with its interval at the level of the "
    "verdict's test."
)
MOST_LISTED = 20  # maximum number of proposed seeds that are listed in full
LOOKS = "Looks declared in the config: {looks}."
PLOT_CAPTION = (
    "Across: forgetting error, the mean absolute deviation of UA and MIA from Retrain's. Up: "
    "damage, what the nearest retained examples lose against Retrain beyond what the others lose, "
    "with its interval over seeds (at the level of its test). Area: RTE as a share of Retrain's, "
    "without tuning (the table of costs has both). "
    "Grey: the margins of the verdicts (across, the mean of those of UA and MIA). What is like "
    "Retrain lies inside; what lies inside may still be open or differ, in UA or MIA alone or on "
    "test examples. Arrows: an interval goes on beyond the axis. Collapsed runs do not set the "
    "scale: they are drawn at its edge, hollow."
)
# Only the table of costs states times, so that captions do not change if a run is repeated.
READING = (
    "Area: time as a share of Retrain's, without tuning (table of costs). "
    "Hollow and grey: controls."
)
MARGIN_LABEL = "Margins"
CONTROL_MARKERS = "XP*h"
EDGE = 0.03  # fraction of the range added below and above the plot, and at its left
LEAST_REACH = 5.0  # the axes reach at least this far from zero, in percentage points
ROOM = 1.15  # factor by which the axes extend beyond the outermost values
AREA = 110.0  # area in square points of the mark of a run that takes as long as Retrain
LEAST_AREA = 9.0
MOST_SHARE = 1.5  # marks do not grow above this fraction of Retrain's time
# Entries of the legend for the areas of marks.
SIZES = {
    f"{LEAST_AREA / AREA:.0%} of Retrain's time or less".replace("%", " %"): LEAST_AREA,
    "100 %": AREA,
}


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of verdicts, or a table of the sanity checks that failed (are red)."""
    if red := [Line(gate.name, [Field(gate.text)]) for gate in cell.red_gates]:
        grid = Grid("Check", ["Red, as"], [red], is_prose=True)
        caption = FORBIDDEN.format(title=cell.title)
        yield Table("verdict", "Verdicts", [grid], caption, records=list_runs(cell))
    elif verdicts := list(find_verdicts(cell)):
        lines = [Line(verdict.label, _make_fields(cell, verdict)) for verdict in verdicts]
        grid = Grid("Method", ["Verdict", "In numbers"], [lines], is_prose=True)
        caption = _make_caption(cell, verdicts)
        yield Table("verdict", "Verdicts", [grid], caption, CONVENTIONS, list_runs(cell))
        if len(cell.benchmark.cells) < 2:  # else one table has all cells
            yield make_summary([cell])


def tables_across(table: BenchmarkTable) -> Iterator[Table]:
    """Yield the table for a paper, with all cells that have verdicts."""
    if cells := [cell for cell in table.cells if any(find_verdicts(cell))]:
        yield make_summary(cells)


def make_summary(cells: Sequence[CellTable]) -> Table:
    """Return the table for a paper: verdict, losses near the forget set, and gap of every method.

    There is one group of lines per cell.
    """
    is_one = len(cells) == 1
    groups = [
        [_make_line(cell, one, "" if is_one else cell.title) for one in find_verdicts(cell)]
        for cell in cells
    ]
    headings = ["Verdict", *SUMMARY_MEASURES.values(), find_metric("avg_gap").label]
    grid = Grid("Method", headings if is_one else ["Forget set", *headings], groups)
    seeds = sorted({len(cell.seeds) for cell in cells})
    caption = SUMMARY_CAPTION.format(
        title=cells[0].title if is_one else f"{len(cells)} forget sets",
        n=" or ".join(map(str, seeds)),
    )
    records = [one for cell in cells for one in _summary_records(cell)]
    return Table("paper-summary", "Table for a paper", [grid], caption, records=records)


def _make_line(cell: CellTable, one: MethodVerdict, title: str) -> Line:
    metric = find_metric(DIFFERENCE)
    fields = []
    for at in SUMMARY_MEASURES:
        names = (DIFFERENCE, f"{DIFFERENCE}_low", f"{DIFFERENCE}_high")
        value, low, high = (cell.number(one.run, name, at=at) for name in names)
        text, *ends = (metric.text(number, sign=True) for number in (value, low, high))
        is_known = not math.isnan(low + high)
        first, *others = (number_source(one.run, name, at=at) for name in names)
        field = Field(f"{text} [{', '.join(ends)}]" if is_known else text, value, source=first)
        fields.append(replace(field, also=tuple(others)))
    gap = cell.number(one.run, "avg_gap")
    fields.append(
        Field(find_metric("avg_gap").text(gap), gap, source=number_source(one.run, "avg_gap"))
    )
    verdict = number_source(one.run, "verdict", at=one.verdict)
    fields.insert(0, Field(next(iter(one.words), one.verdict), source=verdict))
    if title:
        fields = [Field(title), *(_name_cell(one, cell.name) for one in fields)]
    return Line(one.label, fields)


def _name_cell(field: Field, cell: str) -> Field:
    return replace(field, source=field.source and replace(field.source, cell=cell))


def _summary_records(cell: CellTable) -> Iterator[dict[str, Any]]:
    factor = find_metric(DIFFERENCE).factor
    for one in find_verdicts(cell):
        yield {
            **{"cell": cell.name, "run": one.run, "label": one.label, "verdict": one.verdict},
            **{
                f"{at}{end}": factor * cell.number(one.run, f"{DIFFERENCE}{end}", at=at)
                for at in SUMMARY_MEASURES
                for end in ("", "_low", "_high")
            },
            "avg_gap": factor * cell.number(one.run, "avg_gap"),
        }


def _make_fields(cell: CellTable, method: MethodVerdict) -> list[Field]:
    test = EQUIVALENCE if method.verdict == LIKE else DIFFERENCE
    names = (DIFFERENCE, f"{test}_low", f"{test}_high", f"{test}_p")
    measures = find_measures(cell, method.run, method.verdict)
    first, *others = (number_source(method.run, name, at=at) for at in measures for name in names)
    return [
        Field(method.title, source=number_source(method.run, "verdict", at=method.verdict)),
        Field(method.sentence, source=first, also=tuple(others)),
    ]


def _make_caption(cell: CellTable, verdicts: list[MethodVerdict]) -> str:
    if len(cell.seeds) == 1:
        return TOO_FEW
    caption = CAPTION.format(title=cell.title, n=len(cell.seeds))
    looks, proposal = _name_looks(cell), propose_seeds(cell, verdicts)
    return join_sentences(caption, looks, proposal or ("" if looks else NO_LOOKS))


def propose_seeds(cell: CellTable, verdicts: list[MethodVerdict]) -> str:
    """Return a sentence that proposes more seeds, if the verdict on a method is open.

    The number of seeds is that of the next look (interim analysis) in the config. Without looks,
    it is the number that will probably decide.
    """
    undecided = {v.label: v.run for v in verdicts if v.verdict == OPEN}
    needed = {label: cell.number(run, "seeds_needed") for label, run in undecided.items()}
    known = {label: int(count) for label, count in needed.items() if not np.isnan(count)}
    looks = _levels_by_look(cell)
    if looks:
        text, labels = NEXT_LOOK, [*undecided]
        count = next((look for look in looks if look > len(cell.seeds)), 0)
    else:
        text, labels, count = MORE_SEEDS, [*known], max(known.values(), default=0)
    if not labels or not count:
        return ""
    new = (seed for seed in range(count + len(cell.seeds)) if seed not in cell.seeds)
    seeds = [*cell.seeds, *islice(new, count - len(cell.seeds))]
    listed = ", ".join(map(str, seeds if count <= MOST_LISTED else [*seeds[:3], "...", seeds[-1]]))
    return text.format(count=count, labels=", ".join(labels), seeds=listed, now=len(cell.seeds))


def _levels_by_look(cell: CellTable) -> dict[int, float]:
    """Return the test level of each look (interim analysis), by its number of seeds.

    The dict is empty if the config declares no looks.
    """
    counts = cell.indices(cell.reference, "look_level")
    levels = {int(at): cell.number(cell.reference, "look_level", at=at) for at in counts}
    return levels if len(levels) > 1 else {}


def _name_looks(cell: CellTable) -> str:
    """Return a sentence on the looks (interim analyses) of the config and their test levels.

    It is empty if the config declares no looks.
    """
    levels = _levels_by_look(cell).items()
    parts = [f"{count} seeds at {format_exact_percent(level)}" for count, level in levels]
    return LOOKS.format(looks=", ".join(parts)) if parts else ""


def list_runs(cell: CellTable) -> list[dict[str, Any]]:
    """Return the numbers of every method and control for the CSV file and the plot."""
    verdicts = {one.run: one for one in find_verdicts(cell)}
    runs = [run for run in cell.labels if cell.kinds[run] != "reference"]
    return [_make_record(cell, run, verdicts.get(run)) for run in runs]


def _make_record(cell: CellTable, run: str, verdict: MethodVerdict | None) -> dict[str, Any]:
    factor = find_metric(DIFFERENCE).factor

    def points(metric: str, at: str | None = None) -> float:
        return factor * cell.number(run, metric, at=at)

    damages = cell.values(run, "damage", DAMAGED)
    test = {at: find_test(cell, run, at) for at in ("damage", "ua")}
    return {
        "run": run,
        "label": cell.labels[run],
        "kind": cell.kinds[run],
        "verdict": verdict.verdict if verdict else "",
        "sentence": verdict.sentence if verdict else "",
        "n": int(np.count_nonzero(~np.isnan(damages))),
        "forgetting_error": points("forgetting_error"),
        "damage": factor * mean(damages),
        "damage_low": points(f"{test['damage']}_low", "damage"),
        "damage_high": points(f"{test['damage']}_high", "damage"),
        "ua_difference": points(DIFFERENCE, "ua"),
        "ua_low": points(f"{test['ua']}_low", "ua"),
        "ua_high": points(f"{test['ua']}_high", "ua"),
        "price": cell.number(run, "rte_share"),
        "margin_error": mean_of_defined(points("margin", at) for at in FORGETTING),
        "margin_damage": points("margin", "damage"),
    }


def words(cell: CellTable) -> str:
    """Return a sentence that lists the methods by verdict, the worst verdict first.

    If sanity checks failed (are red), the sentence names these checks instead.
    """
    if red := cell.red_gates:
        return f"No verdict: {'; '.join(f'{gate.name}: {gate.text}' for gate in red)}."
    found = list(find_verdicts(cell))
    groups = {v: [one for one in found if one.verdict == v] for v in VERDICTS}
    parts = [
        f"{verdict}: {', '.join(one.label + _in_brackets(one.words) for one in methods)}"
        for verdict, methods in groups.items()
        if methods
    ]
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _in_brackets(words: Sequence[str]) -> str:
    return f" ({', '.join(words)})" if words else ""


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield the plot of a cell, unless there is no data or a sanity check failed (is red)."""
    records = [] if cell.red_gates else list_runs(cell)
    drawn = [one for one in records if math.isfinite(one["forgetting_error"] + one["damage"])]
    if not drawn:
        return
    error, damage = (_find_margin(cell, names) for names in (FORGETTING, ("damage",)))
    x_limits, y_limits = find_limits(drawn, error, damage)
    is_known = math.isfinite(error + damage)
    panel = Panel(
        [_series(cell, one, damage) for one in drawn],
        x=Axis("Forgetting error: UA and MIA from Retrain's (points)", limits=x_limits),
        y=Axis("Damage: near minus far loss (points)", limits=y_limits),
        levels=[Level(0.0)],
        bands=[Band(0.0, error, -damage, damage, MARGIN_LABEL)] if is_known else [],
        value_name="damage",
        number_format="+.1f",
        unit=" points",
    )
    notes = [
        join_sentences(words(cell), _describe_marks(drawn), describe_seeds(cell)),
        *_list_missing(cell, drawn),
    ]
    plot = Plot("verdict", cell.title, PLOT_CAPTION, [panel], notes=notes, width=5.2)
    yield replace(plot, row_height=3.6, sizes=SIZES)


def _find_margin(cell: CellTable, measures: Sequence[str]) -> float:
    """Return the mean margin of these measures, in percentage points."""
    margins = [cell.number(cell.reference, "margin", at=at) for at in measures]
    return find_metric(DIFFERENCE).factor * mean_of_defined(margins)


def find_limits(
    drawn: Sequence[Mapping[str, Any]], error: float, damage: float
) -> tuple[Limits, Limits]:
    """Return the limits of both axes.

    The axes cover the margins and all runs that did not collapse.
    """
    shown = [one for one in drawn if one["verdict"] != COLLAPSED] or drawn
    damages = [*(one["damage"] for one in shown), damage, -damage, LEAST_REACH, -LEAST_REACH]
    errors = [*(one["forgetting_error"] for one in shown), error, LEAST_REACH]
    low, high = np.nanmin(damages), np.nanmax(damages)
    edge, right = EDGE * (high - low), float(np.nanmax(errors))
    return (-EDGE * right, ROOM * right), (float(ROOM * low - edge), float(ROOM * high + edge))


def _series(cell: CellTable, record: Mapping[str, Any], margin: float) -> Series:
    """Return the marker of one run; for a collapsed run it is hollow and has no interval."""
    is_collapsed = record["verdict"] == COLLAPSED
    low, high = (math.nan if is_collapsed else record[f"damage_{end}"] for end in ("low", "high"))
    share = 0.0 if math.isnan(record["price"]) else min(record["price"], MOST_SHARE)
    error = record["forgetting_error"]
    return Series(
        record["label"],
        _look(cell, record["run"], record["kind"]),
        [error],
        [record["damage"]],
        run=record["run"],
        mark="point",
        low=[low],
        high=[high],
        n=[record["n"]],
        details={
            "verdict": [record["verdict"]],
            "forgetting error": [format_number(error, ".1f", " points")],
            "margin, ±": [format_number(margin, ".1f", " points")],
            "time": [format_number(record["price"], ".1%", " of Retrain's")],
        },
        areas=[max(AREA * share, LEAST_AREA)],
        names=[record["label"]],
        is_hollow=is_collapsed or record["kind"] == "control",
        sets_scale=not is_collapsed,
    )


def _look(cell: CellTable, run: str, kind: str) -> Look:
    if kind == "method":
        return find_look(cell, run)
    place = cell.runs("control").index(run) % len(CONTROL_MARKERS)
    return Look(GREY, CONTROL_MARKERS[place], is_control=True)


def _describe_marks(drawn: Sequence[Mapping[str, Any]]) -> str:
    edge = [
        f"{one['label']} (error {one['forgetting_error']:.0f}, damage {one['damage']:.0f})"
        for one in drawn
        if one["verdict"] == COLLAPSED
    ]
    return READING + (f" Collapsed, at the edge: {', '.join(edge)}." if edge else "")


def _list_missing(cell: CellTable, drawn: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a note on each run that is missing in the plot.

    Also yield one on each run that failed in a seed, unless its verdict is "collapsed".
    """
    verdicts = {one["run"]: one["verdict"] for one in drawn}
    for run, label in cell.labels.items():
        failure = cell.failure_summary(run)
        if run not in (*verdicts, cell.reference):
            yield f"{label} {failure or 'has no number here'}: not drawn."
        elif failure and verdicts.get(run) != COLLAPSED:
            yield f"{label} {failure}."
