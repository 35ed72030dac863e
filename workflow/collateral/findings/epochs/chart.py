"""The course of unlearning, to be looked into."""

from collections.abc import Iterator

from collateral.contract.charts import Chart
from collateral.findings._shared.charts import colour_of, finished, rows_of
from collateral.findings._shared.line_charts import Across, Drawing
from collateral.findings._shared.prepared import averaged
from collateral.findings._shared.style import looks
from collateral.findings.epochs.prepared import caption, panels, tracked
from collateral.results.table import CellTable

EPOCH = Across("Epoch", "epoch", axis={"tickMinStep": 1, "format": "d"})
SPREAD = "Bands: 95 % intervals over seeds."


def charts(cell: CellTable) -> Iterator[Chart]:
    """Yield the course of unlearning, where a run is tracked."""
    if runs := tracked(cell, list(looks(cell))):
        found = panels(cell, runs)
        drawing = Drawing(EPOCH, colour_of(cell))
        spec = finished(drawing.chart(found), f"{cell.title}: accuracies by epoch")
        yield Chart("epochs", spec, rows_of(averaged(found)), caption(cell, SPREAD))
