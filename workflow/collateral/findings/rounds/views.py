"""Tables, plot and sentences on all rounds of a sequence of deletion requests."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from collateral.contract.metrics import EMPTY
from collateral.contract.rows import At
from collateral.contract.tables import Field, Table
from collateral.findings._shared.captions import describe_metrics, fill_caption, join_sentences
from collateral.findings._shared.series import average_seeds, find_looks, plot_cell
from collateral.findings.columns import (
    NEXT_SEED_NOTE,
    Column,
    TableRow,
    build_table,
    number_source,
    rows_by_kind,
    rows_with_next_seed,
)
from collateral.findings.metric_index import find_metric
from collateral.findings.verdict import VERDICTS
from collateral.metrics.statistics import interval_half_width, mean, t_quantile
from collateral.plots.plot import Axis, Level, Panel, Plot, Series, fit_rates
from collateral.plots.style import DARK, RETRAIN, Look
from collateral.results.table import CellTable

# Metrics with one value per seed that compare a run with Retrain.
BY_SEED = ("reversal", "first_near_loss", "erosion")
MEASURES = (*BY_SEED, "rounds_gap")
# Metrics with one value for all seeds; `find_instead` needs both.
BY_RUN = ("rounds_gap", "rounds_share")
FIRST = "request-1"
# Titles of the panels that show Retrain beside the other runs, by metric.
WITH_RETRAIN = {"request_accuracy": "Request 1 (%)", "rounds_rte": "RTE so far (s)"}
CAPTION = "{count} requests one after another; the last is {title}. {spread}"
CONVENTIONS = (
    "In every round a method starts from its own model of the round before, and Retrain is trained "
    "from scratch without all requests so far."
)
LAST_CONVENTIONS = (
    "Retrain instead: the first round in which the sum of RTE exceeds the RTE of one Retrain "
    "(cost), the distance from Retrain is above its noise floor (distance), or a seed has no "
    "usable model (diverged). Unknown: a floor, a distance or a cost is undefined. The 5 % of the "
    "noise floor are per round and method: over many rounds, chance exceeds it more often. Tuning "
    "is not counted. Verdict: on the last round's request, as in the table of verdicts."
)
PLOT_CAPTION = (
    "By round: accuracy on request 1, and the columns of the table. Dashed, dark: Retrain. Dotted: "
    "noise floor of the distance. Bars: 95 % intervals over seeds. The panels' scales differ."
)
KNOWN_AGAIN = (
    "Methods that clearly knew earlier requests again, in {count} rounds (95 % intervals over "
    "seeds by Bonferroni over methods and rounds): {runs}."
)
ONE_SEED = "{count} rounds with one seed: no claim."
NOTHING = (
    "Retrain knows these images too: there is nothing to forget. After the last round, its "
    "accuracy on all requests differs from the base's by {lost} points, at most the noise floor of "
    "{floor} points."
)
INSTEAD = "Retrain instead? {parts}."
REASONS = {
    "retrain_by_cost": "cost",
    "retrain_by_gap": "distance",
    "retrain_by_failure": "diverged",
}
NOT_YET, UNKNOWN = "not yet", "unknown"


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield tables of the last round and of all rounds, if the cell is the last of a sequence."""
    if not (count := count_rounds(cell)):
        return
    caption = fill_caption(CAPTION, cell, count=str(count))
    last = [
        *_columns(*MEASURES, "rounds_share", at=count),
        Column(heading="Retrain instead", show=_show_instead),
        Column(heading="Verdict, last round", show=_show_verdict),
    ]
    conventions = join_sentences(describe_metrics(cell, MEASURES), LAST_CONVENTIONS, NEXT_SEED_NOTE)
    groups = rows_with_next_seed(cell)
    yield build_table("rounds-last", "After the last round", last, groups, caption, conventions)
    columns = _columns(*MEASURES, "rounds_rte", "rounds_share")
    conventions = join_sentences(CONVENTIONS, describe_metrics(cell, [c.metric for c in columns]))
    columns.insert(0, Column("request_accuracy", FIRST, heading="Request 1 (%)"))
    groups = [
        [replace(row, label=f"{row.label}, round {r}", at=r) for r in range(1, count + 1)]
        for row in chain(*rows_by_kind(cell))
    ]
    yield build_table("rounds", "By round", columns, groups, caption, conventions)


def _columns(*metrics: str, at: At = None) -> list[Column]:
    return [Column(metric, at=at, sign=metric in BY_SEED) for metric in metrics]


def count_rounds(cell: CellTable) -> int:
    """Return the number of rounds; 0 if the cell is not the last round of a sequence."""
    return len(cell.indices(cell.reference, "rounds_floor"))


def _show_instead(row: TableRow) -> Field:
    """Return the table entry that names the first round in which to retrain, and the reason."""
    if row.is_aside:
        return Field(EMPTY)
    first, *others = (number_source(row.run, metric) for metric in REASONS)
    return Field(find_instead(row.cell, row.run), source=first, also=tuple(others))


def _show_verdict(row: TableRow) -> Field:
    """Return the table entry of a method's verdict.

    It is a dash if the run is a control, or if a sanity check failed (is red).
    """
    words = [word for word in row.cell.indices(row.run, "verdict") if word in VERDICTS]
    if not words or row.cell.red_gates:
        return Field(EMPTY)
    return Field(words[0], source=number_source(row.run, "verdict", at=words[0]))


def find_instead(cell: CellTable, run: str) -> str:
    """Return the first round in which one should retrain instead, with the reason, as text.

    Without such a round, the text is "not yet", or "unknown" if a number is undefined. If a number
    of an earlier round is undefined, "at the latest" is added to the round.
    """
    rounds = {reason: cell.number(run, metric) for metric, reason in REASONS.items()}
    first = min((r for r in rounds.values() if not math.isnan(r)), default=math.inf)
    reasons = [reason for reason, r in rounds.items() if r == first]
    is_unknown = any(
        math.isnan(cell.number(name, metric, at=r))
        for name, metric in ((cell.reference, "rounds_floor"), *((run, m) for m in BY_RUN))
        for r in range(1, count_rounds(cell) + 1)
        if r < first
    )
    if not reasons:
        return UNKNOWN if is_unknown else NOT_YET
    return f"round {first:.0f}{' at the latest' * is_unknown} ({' and '.join(reasons)})"


def words(cell: CellTable) -> str:
    """Return sentences on methods that know earlier requests again, and on when to retrain."""
    if not (count := count_rounds(cell)):
        return ""
    known = filter(None, (_find_reversal(cell, run, count) for run in cell.runs("method")))
    runs = ", ".join(known) or "none"
    found = [f"{cell.labels[run]}: {find_instead(cell, run)}" for run in cell.runs("method")]
    instead = INSTEAD.format(parts="; ".join(found))
    first = (KNOWN_AGAIN if len(cell.seeds) > 1 else ONE_SEED).format(count=count, runs=runs)
    return join_sentences(first, _describe_nothing(cell, count), instead)


def _describe_nothing(cell: CellTable, count: int) -> str:
    """Return a sentence that there was nothing to forget; else an empty text.

    There was nothing if Retrain is as accurate on the requests as the base model, up to noise.
    """
    names = ("requests_lost", "requests_floor")
    lost, floor = (cell.number(cell.reference, name, at=count) for name in names)
    if not abs(lost) <= floor:
        return ""
    lost_text, floor_text = (find_metric("requests_lost").text(x) for x in (abs(lost), floor))
    return NOTHING.format(lost=lost_text, floor=floor_text)


def _find_reversal(cell: CellTable, run: str, count: int) -> str:
    """Return a text with a method's largest reversal whose interval is above zero; else empty.

    The reversal is the rise of the accuracy on earlier requests, compared with Retrain.
    """
    metric, tests = find_metric("reversal"), (count - 1) * len(cell.runs("method"))
    by_round = {r: cell.values(run, "reversal", at=r) for r in range(2, count + 1)}
    found = [(mean(v), _half_width(cell, v, r, tests), r) for r, v in by_round.items()]
    if not (clear := [one for one in found if one[0] - one[1] > 0]):
        return ""
    average, half, r = max(clear)
    low, high = (metric.text(average + sign * half, sign=True) for sign in (-1, 1))
    text = f"{metric.text(average, sign=True)} points [{low}, {high}]"
    return f"{cell.labels[run]} {text} after round {r}"


def _half_width(cell: CellTable, values: NDArray[np.float64], r: int, tests: int) -> float:
    """Return half the width of the 95 % interval of a reversal.

    The minimum is the half width if seeds differ only by one example in one seed.
    """
    sizes = [cell.number(cell.reference, "request_examples", f"request-{q}") for q in range(1, r)]
    n = int(np.count_nonzero(~np.isnan(values)))
    least = t_quantile(n, tests) / float(min(sizes)) / len(sizes) / max(n, 1)
    return max(interval_half_width(values, tests), least)


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield the plot over rounds, if the cell is the last round of a sequence."""
    if not count_rounds(cell):
        return
    first, gap = _panel(cell, "request_accuracy", FIRST), _panel(cell, "rounds_gap")
    panels = [
        replace(first, y=Axis(limits=fit_rates(first)), unit=" %"),
        *(replace(_panel(cell, m), levels=[Level(0.0)], number_format="+.1f") for m in BY_SEED),
        replace(gap, series=[*gap.series, *_noise_floor(cell)]),
        replace(_panel(cell, "rounds_rte"), unit=" s"),
    ]
    caption = join_sentences(PLOT_CAPTION, describe_metrics(cell, MEASURES))
    yield plot_cell(cell, "rounds", panels, caption, "over rounds", columns=2, row_height=2.0)


def _panel(cell: CellTable, metric: str, subset: str = "") -> Panel:
    """Return a panel with one line per run over the rounds in which the metric is defined."""
    looks, shown, count = find_looks(cell), find_metric(metric), count_rounds(cell)
    if metric in WITH_RETRAIN:
        looks[cell.reference] = RETRAIN
    series = []
    for run, look in looks.items():
        rounds = [int(r) for r in cell.indices(run, metric, subset)]
        if metric == "rounds_gap":
            values = [shown.factor * cell.number(run, metric, at=r) for r in rounds]
            series.append(Series(cell.labels[run], look, rounds, values, run))
        else:
            by_seed = [shown.factor * cell.values(run, metric, subset, r) for r in rounds]
            series.append(average_seeds(cell, run, rounds, by_seed, look=look))
    title = WITH_RETRAIN.get(metric, f"{shown.label} (points)")
    x = Axis("Round", is_whole=True, limits=(0.8, count + 0.2))
    return Panel(series, title, x, dodge=0.15, value_name="mean", x_name="round")


def _noise_floor(cell: CellTable) -> Iterator[Series]:
    """Yield the line of the distance's noise floor, if the floor is defined in every round."""
    rounds, factor = list(range(1, count_rounds(cell) + 1)), find_metric("rounds_floor").factor
    floor = [factor * cell.number(cell.reference, "rounds_floor", at=r) for r in rounds]
    if not math.isnan(sum(floor)):
        yield Series("Noise floor", Look(DARK, dash="dotted"), rounds, floor)
