"""The difference from Retrain by similarity, to be looked into."""

from collections.abc import Iterator

import altair as alt
import pandas as pd

from collateral.contract.charts import Chart
from collateral.findings._shared.charts import (
    FAINT,
    ROWS,
    colour_of,
    finished,
    reach,
    rows_of,
)
from collateral.findings._shared.statistics import student_95
from collateral.findings._shared.style import looks
from collateral.findings.locality.figure import CAPTION, LEAST_REACH
from collateral.findings.locality.prepared import MEASURES, PLACE, SETS, prepared
from collateral.results.table import REFERENCE, CellTable

FEW = 5  # examples in a bin: drawn faint
PANEL = {"width": 330, "height": 190}


def charts(cell: CellTable) -> Iterator[Chart]:
    """Yield the chart of similarity, where there are bins and runs."""
    if looks(cell) and cell.indices(REFERENCE, "bin_low", "retain"):
        rows = averaged(cell)
        yield Chart("similarity", draw(cell, rows), rows_of(rows), CAPTION)


def averaged(cell: CellTable) -> pd.DataFrame:
    """Return one row a run and bin, means over seeds; and one a bin without a run, for chance."""
    found = prepared(cell)
    found[["set", "metric"]] = found[["set", "metric"]].replace({**SETS, **MEASURES})
    found["centre"] = (found["low"] + found["high"]) / 2
    of_runs = found.groupby([*PLACE, "centre", "run"], sort=False, dropna=False)["value"]
    means = of_runs.agg(mean="mean", sem="sem", n="count").reset_index()
    means["label"] = means["run"].map(cell.labels)
    half = means.pop("sem") * student_95(len(cell.seeds))
    means["low_end"], means["high_end"] = means["mean"] - half, means["mean"] + half
    return pd.concat([found.drop_duplicates(PLACE)[[*PLACE, "centre"]], means])


def draw(cell: CellTable, rows: pd.DataFrame) -> dict[str, object]:
    """Draw accuracy over confidence, retained beside test."""
    base = alt.Chart(ROWS)
    x = alt.X("centre:Q", title="Similarity to the forget set", scale=alt.Scale(zero=False))
    sound = [run for run in looks(cell) if not cell.trouble(run)]
    ends = reach(rows[rows["run"].isin(sound)]["mean"], (-LEAST_REACH, LEAST_REACH))
    scale = alt.Scale(domain=ends, nice=False)
    y = alt.Y("mean:Q", title="Retrain − unlearned (points)", scale=scale)
    faint = alt.condition(f"datum.count < {FEW}", alt.value(FAINT), alt.value(1.0))
    noise = (
        base.transform_filter("!datum.run")
        .transform_calculate(down="-datum.chance")
        .mark_rect(color="#888", opacity=0.22, clip=True, aria=False)
        .encode(x=alt.X("low:Q"), x2="high:Q", y=alt.Y("down:Q"), y2="chance:Q")
    )
    of_runs = base.transform_filter("datum.run").encode(x=x, color=colour_of(cell, looks(cell)))
    lines = of_runs.mark_line(clip=True, aria=False).encode(y=y)
    bars = of_runs.mark_rule(clip=True, aria=False).encode(
        y=alt.Y("low_end:Q"), y2="high_end:Q", opacity=faint
    )
    points = of_runs.mark_circle(size=40, clip=True).encode(
        y=y,
        opacity=faint,
        tooltip=[
            alt.Tooltip("label:N", title="method"),
            alt.Tooltip("mean:Q", title="mean, points", format="+.1f"),
            alt.Tooltip("low_end:Q", title="95 % from", format="+.1f"),
            alt.Tooltip("high_end:Q", title="to", format="+.1f"),
            alt.Tooltip("chance:Q", title="chance, ±", format=".1f"),
            alt.Tooltip("count:Q", title="examples", format=".0f"),
            alt.Tooltip("n:Q", title="seeds"),
        ],
    )
    zero = base.mark_rule(color="#888", aria=False).encode(y=alt.datum(0))
    panel = alt.layer(noise, zero, lines, bars, points).properties(**PANEL)
    order = {"row": list(MEASURES.values()), "column": list(SETS.values())}
    grid = panel.facet(
        row=alt.Row("metric:N", title=None, sort=order["row"]),
        column=alt.Column("set:N", title=None, sort=order["column"]),
    )
    return finished(grid, f"{cell.title}: difference from Retrain by similarity to the forget set")
