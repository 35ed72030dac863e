"""Table over all cells: how often each method is nearest to Retrain, and its mean rank."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import describe_metrics, join_sentences
from collateral.findings.columns import number_source
from collateral.findings.gap import TERMS
from collateral.findings.metric_index import find_metric
from collateral.findings.summary import RANKS, STANDINGS
from collateral.results.table import BenchmarkTable

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
NO_NOISE = "With one seed there is no noise floor: which of these are ties cannot be told."


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
