"""Table, plot and sentence of the forecast beside the outcome."""

import math
from collections.abc import Iterator

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.series import find_looks, plot_cell
from collateral.findings.columns import number_field, number_source
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import mean
from collateral.plots.plot import Axis, Panel, Plot, Series
from collateral.plots.style import GREY, Look
from collateral.results.table import CellTable

STRATA = {"own": "forgotten classes", "others": "other classes"}
COUNTS = ("forecast_expected", "forecast_hurt", "forecast_placebo")
REFUSED = "refused"
CAPTION = (
    "Retained examples that `collateral forecast` expected to be hurt before anything was "
    "unlearned, and those that are: {title}. Hurt: the true class loses at least 10 points of "
    "probability against Retrain of the same seed, and more than 95 % of equally hard examples "
    "lose between two Retrains. Mean over n = {n} seeds. By retraining: as many would be hurt by "
    "Retrain of the next seed. AUC: the probability that a hurt example had a larger forecast than "
    "one that is not. “refused”: no forecast would have been reliable; the command says why."
)
PLOT_CAPTION = (
    "Retained examples per class that `collateral forecast` expected to be hurt before anything "
    "was unlearned (grey), and those that are hurt (colour; mean over seeds). The scales differ."
)
COLUMNS = 4
PREFIX = "class "


def _strata(cell: CellTable, run: str) -> list[str]:
    known = cell.indices(run, "forecast_refused", "retain")
    return [stratum for stratum in STRATA if stratum in known]


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield a table with one row per method and stratum; none without a forecast."""
    runs = [run for run in cell.runs("method") if _strata(cell, run)]
    if not runs:
        return
    groups = [
        [
            Line(f"{cell.labels[run]}, {STRATA[stratum]}", [*_fields(cell, run, stratum)])
            for stratum in _strata(cell, run)
        ]
        for run in runs
    ]
    headings = [find_metric(name).label for name in (*COUNTS, "forecast_auc")]
    caption = CAPTION.format(title=cell.title, n=len(cell.seeds))
    yield Table(
        "forecast",
        "Forecast and outcome",
        [Grid("Method", headings, groups)],
        caption,
        records=[
            {
                **{"run": run, "label": cell.labels[run], "at": at},
                **{name: cell.number(run, name, "retain", at) for name in COUNTS},
                "forecast_auc": mean(cell.values(run, "forecast_auc", "retain", at)),
            }
            for run in runs
            for at in cell.indices(run, "forecast_hurt", "retain")
        ],
    )


def _fields(cell: CellTable, run: str, stratum: str) -> Iterator[Field]:
    is_refused = cell.number(run, "forecast_refused", "retain", stratum) == 1
    source = number_source(run, "forecast_refused", "retain", stratum)
    for name in COUNTS:
        value = cell.number(run, name, "retain", stratum)
        if name == "forecast_expected" and is_refused:
            yield Field(REFUSED, source=source)
        else:
            yield number_field(run, name, value, "retain", stratum)
    value = mean(cell.values(run, "forecast_auc", "retain", stratum))
    text = EMPTY if is_refused else find_metric("forecast_auc").text(value)
    source = number_source(run, "forecast_auc", "retain", stratum)
    yield Field(text, math.nan if is_refused else value, source=source)


def words(cell: CellTable) -> str:
    """Return a sentence per method on its forecast and its outcome; empty without a forecast."""
    parts = []
    for run in cell.runs("method"):
        for stratum in _strata(cell, run):
            if cell.number(run, "forecast_refused", "retain", stratum) == 1:
                continue
            expected, hurt = (
                find_metric(name).text(cell.number(run, name, "retain", stratum))
                for name in COUNTS[:2]
            )
            parts.append(f"{cell.labels[run]}, {STRATA[stratum]}: {expected} forecast, {hurt} hurt")
    if parts:
        return f"Retained examples, before and after: {'; '.join(parts)}."
    if any(_strata(cell, run) for run in cell.runs("method")):
        return "Nothing was forecast: no forecast would have been reliable."
    return ""


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield a plot of forecast and outcome by class; one panel per method with a forecast."""
    panels = []
    for run, look in find_looks(cell).items():
        found = cell.indices(run, "forecast_expected", "retain")
        classes = [at for at in found if at.startswith(PREFIX)]
        expected = [cell.number(run, "forecast_expected", "retain", at) for at in classes]
        if classes and not all(map(math.isnan, expected)):
            hurt = [cell.number(run, "forecast_hurt", "retain", at) for at in classes]
            panels.append(_panel(cell.labels[run], look, run, classes, (expected, hurt)))
    if panels:
        reading = "Equal bars: one could have known."
        columns = min(len(panels), COLUMNS)
        yield plot_cell(cell, "forecast", panels, PLOT_CAPTION, reading=reading, columns=columns)


def _panel(
    title: str,
    look: Look,
    run: str,
    classes: list[str],
    values: tuple[list[float], list[float]],
) -> Panel:
    places = [float(place) for place in range(len(classes))]
    names = [at.removeprefix(PREFIX).rpartition("_")[2] for at in classes]
    series = [
        Series(label, one, places, counts, run=run, mark="bar", details={"class": classes})
        for label, one, counts in zip(("forecast", title), (Look(GREY), look), values, strict=True)
    ]
    return Panel(
        series,
        title,
        Axis("class", ticks=dict(zip(places, names, strict=True))),
        Axis("examples", limits=(0.0, 1.15 * _largest(values))),
        value_name="examples",
        number_format=".0f",
    )


def _largest(values: tuple[list[float], list[float]]) -> float:
    """Return the largest defined count, at least 1."""
    return max(1.0, *(value for counts in values for value in counts if not math.isnan(value)))
