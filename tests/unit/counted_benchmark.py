"""A benchmark of equal cells with all numbers of all findings, and the figures that decide."""

from collections.abc import Sequence
from pathlib import Path

from counted_cell import Wrong, table_of
from page_reading import draw
from sealing import seal

from collateral.results import layout
from collateral.results.plan import BenchmarkPlan, CellPlan

CHARTS = (("verdict", "verdict"), ("locality", "similarity"), ("accuracy", "affected"))
SEEDS = 5


def write_benchmark(folder: Path, methods: Sequence[str], names: Sequence[str]) -> Path:
    """Write the numbers of some methods once for every cell, sealed; the later, the worse."""
    runs = {
        run: Wrong(_spread(20 + place), _spread(3 * place), _spread(place), _spread(15 + place))
        for place, run in enumerate(("retrain", *methods))
    }
    table_of(folder / "single", runs)
    for file in (layout.METRICS, layout.COSTS):
        head, *rows = (folder / "single" / file).read_text().splitlines()
        named = [f"{name},{row.partition(',')[2]}" for name in names for row in rows]
        (folder / file).write_text("\n".join([head, *named, ""]))
    labels = {run: run.upper() for run in methods}
    plan = BenchmarkPlan(labels, "matched", {name: CellPlan() for name in names})
    plan.save(folder / layout.PLAN)
    for name in names:
        draw(folder, name, *CHARTS)
    (folder / layout.TABLES).mkdir()
    return seal(folder)


def _spread(around: int) -> tuple[int, ...]:
    return tuple(around + seed for seed in range(SEEDS))
