"""The difference from Retrain, from far to near, over all cells, to be looked into."""

from collections.abc import Iterator

from collateral.contract.charts import Chart
from collateral.findings._shared.charts import NEUTRAL, colour, colours, finished, rows_of
from collateral.findings._shared.line_charts import Across, Drawing
from collateral.findings._shared.prepared import averaged
from collateral.findings.columns import NEXT_SEED
from collateral.findings.localization import NEAREST
from collateral.findings.localization.prepared import CAPTION, is_known, panels
from collateral.results.table import BenchmarkTable

DESCRIPTION = "All cells: |difference| of confidence from Retrain's by nearness"
SPREAD = "bands: 95 % interval"
NEARNESS = Across(
    "Nearest share of the set (%)",
    "nearest, %",
    {"type": "log", "reverse": True},
    {"values": list(NEAREST), "format": "d"},
)


def charts_across(table: BenchmarkTable) -> Iterator[Chart]:
    """Yield the chart over all cells, where there are numbers."""
    if is_known(table):
        rows = rows_of(averaged(panels(table)))
        yield Chart("localization", draw(table), rows, CAPTION.format(spread=SPREAD))


def draw(table: BenchmarkTable) -> dict[str, object]:
    """Draw retained beside test examples."""
    runs = {run: cell for cell in table.cells for run in cell.runs("method")}
    looks = {cell.labels[run]: colour(cell, run) for run, cell in runs.items()}
    drawing = Drawing(NEARNESS, colours({**looks, NEXT_SEED: NEUTRAL}), 2, 240)
    return finished(drawing.chart(panels(table)), DESCRIPTION)
