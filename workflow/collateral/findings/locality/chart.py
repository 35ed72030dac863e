"""The difference from Retrain by similarity, to be looked into."""

from collections.abc import Iterator

import altair as alt
import numpy as np
import pandas as pd

from collateral.contract.charts import Chart
from collateral.findings._shared.captions import joined
from collateral.findings._shared.charts import (
    FAINT,
    NEUTRAL,
    ROWS,
    colour_of,
    finished,
    hover,
    level,
    rows_of,
    said,
    with_words,
)
from collateral.findings._shared.statistics import half_width
from collateral.findings._shared.style import looks
from collateral.findings.locality.prepared import (
    MEASURES,
    NOISE_CAPTION,
    PLACE,
    SETS,
    beyond_the_edge,
    ends,
    prepared,
)
from collateral.results.table import CellTable

WHAT = "difference from Retrain by similarity to the forget set"
FEW = 5  # examples in a bin: drawn faint
PANEL = {"width": 330, "height": 190}
CAPTION = (
    "Difference from Retrain by similarity to the forget set, seed i against seed i, in ten bins. "
    "Bars: 95 % intervals over seeds."
)
FAINT_ONES = "Faint: fewer than five examples."


def charts(cell: CellTable) -> Iterator[Chart]:
    """Yield the chart of similarity, where there are bins and runs."""
    if looks(cell) and cell.indices(cell.reference, "bin_low", "retain"):
        caption = joined(cell.said(CAPTION), NOISE_CAPTION if cell.has_retrain else "", FAINT_ONES)
        rows = rows_of(averaged(cell))
        moved = beyond_the_edge(cell, "at the edge")
        yield Chart("similarity", draw(cell), rows, caption + moved)


def averaged(cell: CellTable) -> pd.DataFrame:
    """Return one row a run and bin, means over seeds; and one a bin without a run, for chance."""
    found = prepared(cell)
    found["centre"] = (found["low"] + found["high"]) / 2
    limits = ends(cell, found)
    of_runs = found.groupby([*PLACE, "centre", "run"], sort=False, dropna=False)["value"]
    means = of_runs.agg(mean="mean", half=lambda v: half_width(v.to_numpy()), n="count")
    means = means.reset_index()  # an empty bin stays: there the line has a gap
    means["low_end"], means["high_end"] = (means["mean"] + s * means["half"] for s in (-1, 1))
    means = with_words(means, "mean", "low_end", "high_end", "chance")
    means["examples"] = said(means["count"], ".0f")
    means["label"] = means["run"].map(cell.labels)
    for column in ("mean", "low_end", "high_end"):
        reaches = (limits[metric] for metric in means["metric"])
        clipped = (np.clip(v, a, b) for v, (a, b) in zip(means[column], reaches, strict=True))
        means[column] = list(clipped)
    bins = found.drop_duplicates(PLACE)[["set", "metric", "low", "high", "chance"]]
    dropped = ["bin", "low", "high", "chance", "half"]
    return pd.concat([bins, means.drop(columns=dropped)]).replace({"set": SETS, "metric": MEASURES})


def draw(cell: CellTable) -> dict[str, object]:
    """Draw accuracy over confidence, retained beside test."""
    panel = alt.layer(_noise(), level(y=0), *_runs(cell)).properties(**PANEL)
    grid = panel.facet(  # the data of the facet: what has its own is drawn in each panel
        data=ROWS,
        row=alt.Row("metric:N", title=None, sort=list(MEASURES.values())),
        column=alt.Column("set:N", title=None, sort=list(SETS.values())),
    ).resolve_scale(x="independent")
    return finished(grid, f"{cell.title}: {cell.said(WHAT)}")


def _noise() -> alt.Chart:
    bins = alt.Chart().transform_filter("!datum.run").transform_calculate(down="-datum.chance")
    mark = bins.mark_rect(color=NEUTRAL, opacity=0.22, clip=True, aria=False)
    sides = {"x": alt.X("low:Q"), "x2": "high:Q", "y": alt.Y("down:Q"), "y2": "chance:Q"}
    noise: alt.Chart = mark.encode(**sides)
    return noise


def _runs(cell: CellTable) -> Iterator[alt.Chart]:
    """Yield lines, intervals and points."""
    x = alt.X("centre:Q", title="Similarity to the forget set", scale=alt.Scale(zero=False))
    reached = [end for pair in ends(cell, prepared(cell)).values() for end in pair]
    scale = alt.Scale(domain=[min(reached), max(reached)], nice=False)
    y = alt.Y("mean:Q", title=cell.said("Retrain − unlearned (points)"), scale=scale)
    faint = alt.condition(f"datum.count < {FEW}", alt.value(FAINT), alt.value(1.0))
    base = alt.Chart().transform_filter("datum.run").encode(x=x, color=colour_of(cell))
    yield base.mark_line(aria=False).encode(y=y)
    interval = {"y": alt.Y("low_end:Q"), "y2": "high_end:Q"}
    yield base.mark_rule(aria=False).encode(opacity=faint, **interval)
    shown = hover("difference", examples="examples")
    yield base.mark_circle(size=40).encode(y=y, opacity=faint, tooltip=shown)
