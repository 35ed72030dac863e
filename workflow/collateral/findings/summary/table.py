"""All cells of a benchmark at once: how often each method is nearest to Retrain, and its rank."""

import math
from collections.abc import Iterator
from typing import Any

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import described, joined
from collateral.findings._shared.tables import source_of
from collateral.findings.catalogue import metric_of
from collateral.findings.gap import TERMS
from collateral.findings.summary import RANKS, STANDINGS
from collateral.results.table import REFERENCE, BenchmarkTable

CAPTION = "Methods over the {count} cells; controls and sweeps are left out."
NOISE = (
    "The noise floor is each cell's “Retrain, other seeds”: within it, methods are ties as far as "
    "these seeds can tell, the lowest itself among them."
)
NO_NOISE = "With one seed there is no noise floor: which of these are ties cannot be told."


def tables_across(table: BenchmarkTable) -> Iterator[Table]:
    """Yield the standings by each average gap; nothing for a single cell."""
    standings = {gap: _methods(table, gap) for gap in TERMS}
    if any(standings.values()):
        yield Table(
            "summary",
            "All cells",
            [_grid(table, gap, methods) for gap, methods in standings.items()],
            _caption(table),
            records=[_record(table, run, gap) for gap in TERMS for run in standings[gap]],
        )


def _methods(table: BenchmarkTable, gap: str) -> list[str]:
    runs = table.plan.labels
    return [run for run in runs if not math.isnan(table.number(run, "ranked_cells", at=gap))]


def _grid(table: BenchmarkTable, gap: str, methods: list[str]) -> Grid:
    lines = [Line(table.plan.labels[run], list(_fields(table, run, gap))) for run in methods]
    return Grid(f"By {metric_of(gap).label}", [m.heading for m in STANDINGS.values()], [lines])


def _fields(table: BenchmarkTable, run: str, gap: str) -> Iterator[Field]:
    ranked = table.number(run, "ranked_cells", at=gap)
    text = f"{STANDINGS['ranked_cells'].text(ranked)} of {len(table.cells)}"
    yield Field(text, ranked, source=source_of(run, "ranked_cells", at=gap))
    for name, metric in list(STANDINGS.items())[1:]:
        value = table.number(run, name, at=gap)
        source = source_of(run, name, at=gap)
        yield Field(metric.text(value), value, source=source) if ranked else Field(EMPTY)


def _caption(table: BenchmarkTable) -> str:
    has_noise = all(len(cell.seeds) > 1 for cell in table.cells)
    return joined(
        CAPTION.format(count=len(table.cells)),
        described(STANDINGS),
        NOISE if has_noise else NO_NOISE,
        *(_ranks(table, gap) for gap in TERMS),
    )


def _ranks(table: BenchmarkTable, gap: str) -> str:
    """Say whether the ranks differ, and by how much they must."""
    found = {name: table.number(REFERENCE, name, at=gap) for name in RANKS}
    if math.isnan(found["critical_difference"]):
        return ""
    p, least = (RANKS[n].text(found[n]) for n in ("friedman_p", "critical_difference"))
    friedman = "" if p == EMPTY else f"; Friedman p = {p}"
    return (
        f"By {metric_of(gap).label}, ranks over complete cells less than {least} apart cannot be "
        f"told apart (Nemenyi, 95 %, {found['complete_cells']:.0f} cells{friedman})."
    )


def _record(table: BenchmarkTable, run: str, gap: str) -> dict[str, Any]:
    numbers = {name: table.number(run, name, at=gap) for name in STANDINGS}
    numbers |= {name: table.number(REFERENCE, name, at=gap) for name in RANKS}
    return {"gap": gap, "run": run, "label": table.plan.labels[run], **numbers}
