"""Every run of a cell by what it forgot and whom it hurt, to be looked into."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

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
    said,
    with_words,
)
from collateral.findings._shared.labels import Box
from collateral.findings.verdict.figure import CAPTION
from collateral.findings.verdict.picture import AREA, limits, points
from collateral.results.table import CellTable

SIZE = {"width": 560, "height": 360}
AREAS = [60, 900]  # of marks, in square pixels
EDGE = 0.03  # of what the picture covers, left and right of it
GAP, LETTER, LINE = 4, 7, 14  # pixels: from a mark to its name, width and height of letters


def charts(cell: CellTable) -> Iterator[Chart]:
    """Yield the picture of a cell, where something can be drawn."""
    frame = points(cell)
    drawn = frame.dropna(subset=["x", "y"])
    if len(drawn):
        lost = [row.label for row in frame.itertuples() if row.label not in {*drawn["label"]}]
        left = f" Without a place: {', '.join(lost)}." if lost else ""
        yield Chart("verdict", draw(cell, drawn), rows_of(in_words(drawn)), CAPTION + left)


def in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what is drawn and what hovering says, a row a run."""
    spoken = with_words(with_names(frame), "damage", "damage_low", "damage_high", "floor_damage")
    return spoken.assign(
        error=said(frame["forgetting_error"], ".1f", " points"),
        time=said(frame["price"], ".1%", " of Retrain's"),
    ).drop(columns=["sentence", "ua_difference", "ua_low", "ua_high", "margin_ua", "margin_damage"])


def with_names(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with where names begin: right of their marks, off what is in the way."""
    low, high, right = limits(frame)
    pixel = np.array([(1 + 2 * EDGE) * right / SIZE["width"], (high - low) / SIZE["height"]])
    places = frame[["x", "y"]].to_numpy() / pixel
    radii = np.sqrt((AREAS[0] + frame["area"] / AREA * (AREAS[1] - AREAS[0])) / np.pi)
    marks = [Box(x - r, y, 2 * r, 2 * r) for (x, y), r in zip(places, radii, strict=True)]
    names: list[Box] = []
    for mark, label in zip(marks, frame["label"], strict=True):
        names.append(_name(mark, len(label), [*marks, *names], high / pixel[1]))
    return frame.assign(
        name_x=[name.left * pixel[0] for name in names],
        name_y=[name.middle * pixel[1] for name in names],
        is_moved=[name.middle != mark.middle for name, mark in zip(names, marks, strict=True)],
    )


def _name(mark: Box, num_letters: int, taken: Sequence[Box], top: float) -> Box:
    """Return the place of a mark's name, in pixels: above, or below, what is in the way."""
    name = Box(mark.left + mark.width + GAP, mark.middle, LETTER * num_letters, LINE)
    above = _moved(name, taken, 1)
    return above if above.middle + LINE / 2 <= top else _moved(name, taken, -1)


def _moved(name: Box, taken: Sequence[Box], up: int) -> Box:
    """Return the name above (1) or below (-1) what is in the way."""
    while other := next((box for box in taken if name.meets(box)), None):
        name = replace(name, middle=other.middle + up * ((other.height + LINE) / 2 + 1))
    return name


def draw(cell: CellTable, frame: pd.DataFrame) -> dict[str, object]:
    """Draw a point for each run, its name beside it, and the noise floor in the corner."""
    chart = alt.layer(_floor(), level(y=0), *_runs(cell, frame)).properties(**SIZE)
    return finished(chart, f"{cell.title}: forgetting error against damage of every run")


def _floor() -> alt.Chart:
    sides = alt.Chart(ROWS).transform_aggregate(e="max(box_error)", d="max(box_damage)")
    box = sides.transform_calculate(zero="0", down="-datum.d")
    mark = box.mark_rect(color=NEUTRAL, opacity=0.22, clip=True, aria=False)
    floor: alt.Chart = mark.encode(x=alt.X("zero:Q"), x2="e:Q", y=alt.Y("down:Q"), y2="d:Q")
    return floor


def _runs(cell: CellTable, frame: pd.DataFrame) -> Iterator[alt.Chart]:
    """Yield intervals, marks and names, tied to their marks where they stand elsewhere."""
    low, high, right = limits(frame)
    across = alt.Scale(domain=[-EDGE * right, (1 + EDGE) * right], nice=False)
    up = alt.Scale(domain=[low, high], nice=False)
    x = alt.X("x:Q", title="Forgetting error: UA and MIA from Retrain's (points)", scale=across)
    y = alt.Y("y:Q", title="Damage: near minus far loss (points)", scale=up)
    base = alt.Chart(ROWS).encode(x=x, color=colour_of(cell))
    bars = base.transform_filter("!datum.is_edge").mark_rule(clip=True, aria=False)
    yield bars.encode(y=alt.Y("damage_low:Q"), y2="damage_high:Q")
    areas = alt.Scale(domain=[0, AREA], range=AREAS)
    is_solid = "datum.kind == 'method' && !datum.is_edge"
    shown = hover("damage", verdict="verdict", error="forgetting error", time="time")
    yield base.mark_point(filled=True, strokeWidth=1.5, opacity=1).encode(
        y=y,
        size=alt.Size("area:Q", scale=areas, legend=None),
        fillOpacity=alt.condition(is_solid, alt.value(0.9), alt.value(0.0)),
        stroke=colour_of(cell),
        tooltip=shown,
    )
    moved = base.transform_filter("datum.is_moved")
    yield moved.mark_rule(strokeWidth=0.8, aria=False).encode(y=y, x2="name_x:Q", y2="name_y:Q")
    names = base.mark_text(align="left", dx=2, aria=False)
    yield names.encode(x=alt.X("name_x:Q"), y=alt.Y("name_y:Q"), text="label:N")
