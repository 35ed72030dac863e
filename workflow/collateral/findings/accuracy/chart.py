"""The affected classes, to be looked into."""

from collections.abc import Iterator

import altair as alt
import numpy as np
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
from collateral.findings.accuracy.prepared import (
    RATES,
    bounds,
    caption,
    differences,
    ends,
    titles,
)
from collateral.results.table import CellTable

SIZE = {"width": 620, "height": 220}
SPREAD = " Bars: 95 % intervals over seeds. A collapsed run does not set the scale."


def charts(cell: CellTable) -> Iterator[Chart]:
    """Yield the bars of the affected classes, where there are runs."""
    if looks(cell) and not set(RATES).isdisjoint(cell.metrics(cell.reference)):
        yield Chart("affected", draw(cell), rows_of(rows(cell)), caption(cell) + SPREAD)


def rows(cell: CellTable) -> pd.DataFrame:
    """Return a row a run and rate, no further than the axis; and one a rate, for chance."""
    found = differences(cell, list(looks(cell)))
    names = dict(zip(RATES, titles(cell), strict=True))
    of_rates = pd.DataFrame(
        {"metric": names, "chance": dict(zip(RATES, bounds(cell), strict=True))}
    )
    low, high = ends(cell, found)
    found["low"], found["high"] = found["mean"] - found["half"], found["mean"] + found["half"]
    found["chance"] = found["metric"].map(of_rates["chance"])
    found = with_words(found, "mean", "low", "high", "chance")
    for column in ("mean", "low", "high"):
        found[column] = np.clip(found[column], low, high)
    found["metric"] = found["metric"].map(of_rates["metric"])
    limits = of_rates.assign(chance=np.clip(of_rates["chance"], 0, max(-low, high)))
    return pd.concat([limits, found.drop(columns=["error", "half", "chance"])])


def draw(cell: CellTable) -> dict[str, object]:
    """Draw a group of bars for each rate."""
    low, high = ends(cell, differences(cell, list(looks(cell))))
    scale = alt.Scale(domain=[low, high], nice=False)
    lines = alt.Axis(labelExpr="split(datum.label, '\\n')", labelAngle=0)
    x = alt.X("metric:N", title=None, sort=titles(cell), axis=lines)
    order = [cell.labels[run] for run in looks(cell)]
    base = alt.Chart(ROWS).transform_filter("datum.run")
    bars = base.encode(x=x, xOffset=alt.XOffset("label:N", sort=order), color=colour_of(cell))
    y = alt.Y("mean:Q", title="Unlearned − Retrain (points)", scale=scale)
    solid = bars.mark_bar().encode(y=y, tooltip=hover("difference", metric="of"))
    spread = bars.mark_rule(aria=False).encode(
        y=alt.Y("low:Q"), y2="high:Q", color=alt.value(NEUTRAL)
    )
    chart = alt.layer(_noise(x), solid, spread, level(y=0)).properties(**SIZE)
    return finished(chart, f"{cell.title}: accuracy on the affected classes minus Retrain's")


def _noise(x: alt.X) -> alt.Chart:
    limits = alt.Chart(ROWS).transform_filter("!datum.run && isValid(datum.chance)")
    both = limits.transform_calculate(down="-datum.chance")
    mark = both.mark_bar(color=NEUTRAL, opacity=0.22, width={"band": 1}, aria=False, clip=True)
    noise: alt.Chart = mark.encode(x=x, y=alt.Y("down:Q"), y2="chance:Q")
    return noise
