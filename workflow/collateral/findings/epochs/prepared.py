"""What figure and chart of the course of unlearning are drawn from."""

from collateral.contract.tracking import TRACKED
from collateral.findings._shared.captions import joined
from collateral.findings._shared.prepared import Line, Panel, level_of
from collateral.findings._shared.scale import sets_scale
from collateral.findings.catalogue import metric_of
from collateral.findings.gap import TERMS
from collateral.results.table import CellTable

ROWS = (("ra", "ua", "ta"), TERMS["avg_gap_affected"])
CAPTION = (
    "Accuracy after every epoch of a method's own training: on all examples above, on the affected "
    "classes below. Epoch 0: the base model. Dashed: Retrain. {spread} The panels' scales differ."
)
NOISE_CAPTION = "Grey: where 95 % of other retrainings' means lie."


def caption(cell: CellTable, spread: str) -> str:
    """Return what is shown, with the name of the reference; of noise where there is Retrain."""
    said = cell.said(CAPTION.format(spread=spread))
    return joined(said, NOISE_CAPTION if cell.has_retrain else "")


def panels(cell: CellTable, runs: list[str]) -> list[Panel]:
    """Return RA, UA and TA of all examples, then of the affected classes, by epoch."""
    return [_panel(cell, runs, metric) for metric in sum(ROWS, ())]


def tracked(cell: CellTable, runs: list[str]) -> list[str]:
    """Return those runs that were looked at after every epoch."""
    return [run for run in runs if _epochs(cell, run, "ua")]


def _panel(cell: CellTable, runs: list[str], metric: str) -> Panel:
    shown = metric_of(metric)
    lines = [_line(cell, run, metric) for run in runs]
    return Panel(shown.heading, shown.unit, lines, *level_of(cell, metric))


def _line(cell: CellTable, run: str, metric: str) -> Line:
    epochs, factor = _epochs(cell, run, metric), metric_of(metric).factor
    values = [factor * cell.values(run, f"{TRACKED}{metric}", at=epoch) for epoch in epochs]
    return Line(
        run,
        cell.labels[run],
        [int(epoch) for epoch in epochs],
        values,
        is_aside=cell.kinds[run] == "control",
        sets_scale=sets_scale(cell, run),
    )


def _epochs(cell: CellTable, run: str, metric: str) -> list[str]:
    return cell.indices(run, f"{TRACKED}{metric}")
