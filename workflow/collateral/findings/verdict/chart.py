"""Every run of a cell by what it forgot and whom it hurt, to be looked into."""

from collections.abc import Iterator

import altair as alt
import pandas as pd

from collateral.contract.charts import Chart
from collateral.findings._shared.charts import ROWS, colour_of, finished, rows_of
from collateral.findings._shared.style import looks
from collateral.findings.verdict.figure import CAPTION, MOST_SHARE
from collateral.findings.verdict.picture import limits, points
from collateral.results.table import CellTable

SIZE = {"width": 560, "height": 360}
AREAS = [60, 900]  # of marks, in square pixels
TOOLTIP = (
    ("label:N", "method", ""),
    ("verdict:N", "verdict", ""),
    ("forgetting_error:Q", "forgetting error, points", ".1f"),
    ("damage:Q", "damage, points", "+.1f"),
    ("damage_low:Q", "95 % from", "+.1f"),
    ("damage_high:Q", "to", "+.1f"),
    ("floor_damage:Q", "chance, ±", ".1f"),
    ("price:Q", "time, of Retrain's", ".1%"),
    ("n:Q", "seeds", ""),
)


def charts(cell: CellTable) -> Iterator[Chart]:
    """Yield the picture of a cell, where something can be drawn."""
    frame = points(cell)
    drawn = frame[frame["run"].isin(looks(cell))].dropna(subset=["x", "y"])
    if len(drawn):
        rows = drawn.drop(columns="sentence").assign(name_y=heights_of_names(drawn))
        yield Chart("verdict", draw(cell, rows), rows_of(rows), CAPTION)


def heights_of_names(frame: pd.DataFrame) -> list[float]:
    """Return where each name stands, above others that would be in its way."""
    low, high, right = limits(frame)
    width, height = 0.16 * right, 0.06 * (high - low)
    placed: list[tuple[float, float]] = []
    for x, y in zip(frame["x"], frame["y"], strict=True):
        taken = sorted(other_y for other_x, other_y in placed if abs(other_x - x) < width)
        for other_y in taken:
            y = other_y + height if abs(other_y - y) < height else y
        placed.append((x, y))
    return [y for _, y in placed]


def draw(cell: CellTable, frame: pd.DataFrame) -> dict[str, object]:
    """Draw a point for each run, its name beside it, and the noise floor in the corner."""
    low, high, right = limits(frame)
    x = alt.X(
        "x:Q",
        title="Forgetting error: UA and MIA from Retrain's (points)",
        scale=alt.Scale(domain=[-0.03 * right, 1.03 * right], nice=False),
    )
    damage = alt.Scale(domain=[low, high], nice=False)
    y = alt.Y("y:Q", title="Damage: near minus far loss (points)", scale=damage)
    base = alt.Chart(ROWS)
    floor = (
        base.transform_aggregate(error="max(floor_error)", damage="max(floor_damage)")
        .transform_calculate(zero="0", down="-datum.damage")
        .mark_rect(color="#888", opacity=0.22, clip=True, aria=False)
        .encode(x=alt.X("zero:Q"), x2="error:Q", y=alt.Y("down:Q"), y2="damage:Q")
    )
    zero = base.mark_rule(color="#888", aria=False).encode(y=alt.datum(0))
    of_runs = base.encode(x=x, color=colour_of(cell, looks(cell)))
    bars = (
        of_runs.transform_filter("!datum.is_edge")
        .mark_rule(clip=True, aria=False)
        .encode(y=alt.Y("damage_low:Q"), y2="damage_high:Q")
    )
    areas = alt.Scale(domain=[0, MOST_SHARE], range=AREAS, clamp=True)
    is_solid = "datum.kind == 'method' && !datum.is_edge"
    marks = of_runs.mark_point(filled=True, strokeWidth=1.5, opacity=1).encode(
        y=y,
        size=alt.Size("price:Q", scale=areas, legend=None),
        fillOpacity=alt.condition(is_solid, alt.value(0.9), alt.value(0.0)),
        stroke=colour_of(cell, looks(cell)),
        tooltip=[alt.Tooltip(name, title=title, format=form) for name, title, form in TOOLTIP],
    )
    names = of_runs.mark_text(align="left", dx=12, dy=-9, aria=False).encode(
        y=alt.Y("name_y:Q"), text="label:N"
    )
    chart = alt.layer(floor, zero, bars, marks, names).properties(**SIZE)
    return finished(chart, f"{cell.title}: forgetting error against damage of every run")
