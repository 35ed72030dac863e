"""The other classes by their similarity to the deleted ones, to be looked into."""

import math
from collections.abc import Iterator

import altair as alt
import pandas as pd

from collateral.contract.charts import Chart
from collateral.findings._shared.charts import (
    NEUTRAL,
    ROWS,
    colour_of,
    finished,
    hover,
    level,
    rows_of,
    with_words,
)
from collateral.findings._shared.style import looks
from collateral.findings.catalogue import metric_of
from collateral.findings.classes.figure import CAPTION, MOST_NAMES
from collateral.findings.classes.reading import kept_names, points_of, short_names, slope_text
from collateral.results.table import CellTable

SIZE = {"width": 210, "height": 180}
COLUMNS = 3
MOST = 105.0  # points: no difference is beyond, though an interval may be


def charts(cell: CellTable) -> Iterator[Chart]:
    """Yield the chart of the other classes, where whole classes are deleted."""
    if looks(cell) and kept_names(cell):
        yield Chart("classes", draw(cell), rows_of(rows(cell)), CAPTION)


def rows(cell: CellTable) -> pd.DataFrame:
    """Return a row a run and class: its drop, the fit there, and what chance explains."""
    found = pd.concat([_of_run(cell, run) for run in looks(cell)])
    found["low"], found["high"] = found["drop"] - found["error"], found["drop"] + found["error"]
    found = with_words(found, "drop", "low", "high", "noise")
    for end in ("low", "high"):
        found[end] = found[end].clip(-MOST, MOST)
    return found.drop(columns="error")


def _of_run(cell: CellTable, run: str) -> pd.DataFrame:
    points, label = points_of(cell, run), cell.labels[run]
    x, y = points.similarity, points.drop
    slope = metric_of("class_drop").factor * cell.number(run, "class_slope")
    numbers = {"x": x, "drop": y, "error": points.error, "noise": points.noise}
    # Through the mean of the classes, as each seed's line goes through its own.
    fit = {"fit": y.mean() + slope * (x - x.mean())} if len(y) else {}
    names = {"class": points.names, "short": short_names(points.names)}
    of_run = {"run": run, "label": label, "panel": _title(cell, run), "n": len(cell.seeds)}
    return pd.DataFrame({**names, **numbers, **fit}).assign(**of_run)


def _title(cell: CellTable, run: str) -> str:
    is_known = not math.isnan(cell.number(run, "class_slope"))
    return cell.labels[run] + (f", slope {slope_text(cell, run)}" if is_known else "")


def draw(cell: CellTable) -> dict[str, object]:
    """Draw a panel for each method and control, headed by its slope."""
    panel = alt.layer(level(y=0), *_layers(cell)).properties(**SIZE)
    titles = alt.Facet("panel:N", title=None, sort=[_title(cell, run) for run in looks(cell)])
    grid = panel.facet(data=ROWS, facet=titles, columns=COLUMNS)
    chart = grid.resolve_scale(y="independent").resolve_axis(x="independent")
    return finished(chart, f"{cell.title}: loss of the other classes by similarity")


def _layers(cell: CellTable) -> Iterator[alt.Chart]:
    """Yield chance, fit, intervals, marks and names."""
    x = alt.X("x:Q", title="Class similarity", scale=alt.Scale(zero=False, padding=14))
    y = alt.Y("drop:Q", title="Retrain − unlearned (points)")
    base = alt.Chart().encode(x=x, color=colour_of(cell))
    chance = base.transform_filter("isValid(datum.noise)").transform_calculate(down="-datum.noise")
    grey = chance.mark_rule(strokeWidth=8, opacity=0.22, aria=False)
    yield grey.encode(y=alt.Y("down:Q"), y2="noise:Q", color=alt.value(NEUTRAL))
    fit = base.mark_line(strokeDash=[5, 3], strokeWidth=1, aria=False)
    yield fit.encode(y=alt.Y("fit:Q"), color=alt.value(NEUTRAL))
    yield base.mark_rule(aria=False).encode(y=alt.Y("low:Q"), y2="high:Q")
    shown = {"class": "class", "x": "similarity"}
    yield base.mark_circle(size=40, opacity=1).encode(y=y, tooltip=hover("loss", **shown))
    if len(kept_names(cell)) <= MOST_NAMES:
        names = base.mark_text(align="left", dx=5, dy=-5, fontSize=9, aria=False)
        yield names.encode(y=y, text="short:N")
