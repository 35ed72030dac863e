"""Table over all cells: how often each method is nearest to Retrain, and its mean rank."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import describe_metrics, join_sentences
from collateral.findings._shared.compare import gap_by_seed
from collateral.findings.columns import number_source
from collateral.findings.gap import TERMS
from collateral.findings.metric_index import find_metric
from collateral.findings.summary import RANKS, STANDINGS
from collateral.metrics.differences import compare
from collateral.results.table import BenchmarkTable, CellTable

CAPTION = "Methods over the {count} cells; controls and sweeps are left out."
NOISE = (
    "The noise floor is each cell's “Retrain, other seeds”: within it, methods are ties as far as "
    "these seeds can tell, the lowest itself among them."
)
NO_RANKS = (
    "No ranks by {label}: even opposite ranks of {count} methods in {cells} cells would not be "
    "shown to differ (Nemenyi, 95 %)."
)
RANK_COLUMNS = ("mean_rank", "complete_rank")
GAP = "avg_gap"  # the kind of gap that the sentences are about
MOST_CELLS = 4  # largest number of cells of which the sentence names the nearest method
SAME = "The same method is nearest to Retrain, by the average gap, in all {count} cells: {label}."
OTHERS = "The nearest to Retrain, by the average gap, is not the same in all cells: {listed}."
PAIRS = (
    "Of {pairs} pairs of methods, {changed} have another order in another cell, and {shown} of "
    "these beyond chance (paired tests over seeds in both cells, Holm over the pairs)."
)
ONE_SEED = "One seed cannot tell which orders are chance."
NO_NOISE = "With one seed there is no noise floor: which of these are ties cannot be told."


def words_across(table: BenchmarkTable) -> str:
    """Return a sentence on whether the ranking of the methods changes between cells.

    It is empty if there are fewer than two cells or methods. Methods are compared in pairs: a pair
    changes places if its order differs between two cells.
    """
    nearest = {cell.name: _find_nearest(cell) for cell in table.cells}
    named = {name: run for name, run in nearest.items() if run}
    if len(named) < 2:
        return ""
    labels, counts = table.plan.labels, Counter(named.values())
    if len(counts) == 1:
        first = SAME.format(label=labels[next(iter(counts))], count=len(named))
    elif len(named) <= MOST_CELLS:
        titles = {cell.name: cell.title for cell in table.cells}
        listed = "; ".join(f"{labels[run]} in {titles[name]}" for name, run in named.items())
        first = OTHERS.format(listed=listed)
    else:
        listed = ", ".join(f"{labels[run]} in {count}" for run, count in counts.most_common())
        first = OTHERS.format(listed=f"{listed} of {len(named)} cells")
    return join_sentences(first, _describe_pairs(table))


def _find_nearest(cell: CellTable) -> str:
    """Return the method with the smallest average gap in a cell; failed ones are left out."""
    gaps = {run: cell.number(run, GAP) for run in cell.runs("method")}
    known = {r: g for r, g in gaps.items() if not math.isnan(g) and not cell.failure_summary(r)}
    return min(known, key=lambda run: known[run], default="")


def count_changes(table: BenchmarkTable) -> tuple[int, int, int]:
    """Return the number of pairs of methods, of those that change places, and of those shown.

    A change is shown if the order is tested in two cells, in opposite directions (paired tests over
    seeds; Holm's method adjusts them for all pairs of a cell).
    """
    orders: dict[tuple[str, str], list[float]] = {}
    shown: dict[tuple[str, str], set[bool]] = {}
    for cell in table.cells:
        runs = [run for run in cell.runs("method") if not cell.failure_summary(run)]
        gaps = {run: gap_by_seed(cell, run) for run in runs}
        pairs = [*combinations([run for run in runs if not np.isnan(gaps[run]).any()], 2)]
        tested = compare({pair: gaps[pair[0]] - gaps[pair[1]] for pair in pairs})
        for pair, one in tested.items():
            more = cell.number(pair[0], GAP) - cell.number(pair[1], GAP)
            orders.setdefault(pair, []).append(more)
            if one.is_found:
                shown.setdefault(pair, set()).add(one.mean > 0)
    changed = [pair for pair, found in orders.items() if min(found) < 0 < max(found)]
    return len(orders), len(changed), sum(len(shown.get(pair, ())) == 2 for pair in changed)


def _describe_pairs(table: BenchmarkTable) -> str:
    if min(len(cell.seeds) for cell in table.cells) < 2:
        return ONE_SEED
    pairs, changed, shown = count_changes(table)
    return PAIRS.format(pairs=pairs, changed=changed, shown=shown) if pairs else ""


def tables_across(table: BenchmarkTable) -> Iterator[Table]:
    """Yield the table of wins and ranks by each kind of average gap, if there are several cells."""
    standings = {gap: _find_methods(table, gap) for gap in TERMS}
    if any(standings.values()):
        yield Table(
            "summary",
            "All cells",
            [_build_grid(table, gap, methods) for gap, methods in standings.items()],
            _make_caption(table, standings),
            records=[_make_record(table, run, gap) for gap in TERMS for run in standings[gap]],
        )


def _find_methods(table: BenchmarkTable, gap: str) -> list[str]:
    runs = table.plan.labels
    return [run for run in runs if not math.isnan(table.number(run, "ranked_cells", at=gap))]


def _build_grid(table: BenchmarkTable, gap: str, methods: list[str]) -> Grid:
    shown = _find_columns(table, gap, methods)
    lines = [
        Line(table.plan.labels[run], list(_make_fields(table, run, gap, shown))) for run in methods
    ]
    return Grid(f"By {find_metric(gap).label}", [STANDINGS[m].heading for m in shown], [lines])


def _find_columns(table: BenchmarkTable, gap: str, methods: list[str]) -> list[str]:
    """Return the metrics that the table shows.

    Ranks are shown only if they can differ significantly, and the rank over complete cells only
    if it is not the same as the mean rank.
    """
    ranks = {run: [table.number(run, name, at=gap) for name in RANK_COLUMNS] for run in methods}
    if not _can_differ(table, gap, methods):
        left_out = set(RANK_COLUMNS)
    else:
        left_out = {"complete_rank"} if all(a == b for a, b in ranks.values()) else set()
    return [name for name in STANDINGS if name not in left_out]


def _can_differ(table: BenchmarkTable, gap: str, methods: list[str]) -> bool:
    """Tell whether two methods' mean ranks can differ significantly.

    They can if the largest possible difference of ranks reaches the critical difference.
    """
    least = table.number(table.plan.reference, "critical_difference", at=gap)
    return least <= len(methods) - 1


def _make_fields(table: BenchmarkTable, run: str, gap: str, shown: list[str]) -> Iterator[Field]:
    """Yield a method's table entries, one per metric in `shown`."""
    ranked = table.number(run, "ranked_cells", at=gap)
    for name in shown:
        metric = STANDINGS[name]
        value, source = table.number(run, name, at=gap), number_source(run, name, at=gap)
        if name == "ranked_cells":
            yield Field(f"{metric.text(value)} of {len(table.cells)}", value, source=source)
        else:
            yield Field(metric.text(value), value, source=source) if ranked else Field(EMPTY)


def _make_caption(table: BenchmarkTable, standings: Mapping[str, list[str]]) -> str:
    has_noise = all(len(cell.seeds) > 1 for cell in table.cells)
    shown = [_find_columns(table, gap, methods) for gap, methods in standings.items()]
    return join_sentences(
        CAPTION.format(count=len(table.cells)),
        describe_metrics(table, [n for n in STANDINGS if any(n in columns for columns in shown)]),
        NOISE if has_noise else NO_NOISE,
        *(_describe_ranks(table, gap, methods) for gap, methods in standings.items()),
    )


def _describe_ranks(table: BenchmarkTable, gap: str, methods: list[str]) -> str:
    """Return the sentence about the critical difference of ranks and Friedman's p-value."""
    found = {name: table.number(table.plan.reference, name, at=gap) for name in RANKS}
    if math.isnan(found["critical_difference"]):
        return ""
    if not _can_differ(table, gap, methods):
        label, cells = find_metric(gap).label, found["complete_cells"]
        return NO_RANKS.format(label=label, count=len(methods), cells=f"{cells:.0f}")
    p, least = (RANKS[n].text(found[n]) for n in ("friedman_p", "critical_difference"))
    friedman = "" if p == EMPTY else f"; Friedman p = {p}"
    return (
        f"By {find_metric(gap).label}, ranks over complete cells less than {least} apart cannot be "
        f"told apart (Nemenyi, 95 %, {found['complete_cells']:.0f} cells{friedman})."
    )


def _make_record(table: BenchmarkTable, run: str, gap: str) -> dict[str, Any]:
    numbers = {name: table.number(run, name, at=gap) for name in STANDINGS}
    numbers |= {name: table.number(table.plan.reference, name, at=gap) for name in RANKS}
    return {"gap": gap, "run": run, "label": table.plan.labels[run], **numbers}
