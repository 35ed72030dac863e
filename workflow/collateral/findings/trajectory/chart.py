"""The ways of tracked runs towards Retrain, to be looked into."""

from collections.abc import Iterator

import altair as alt
import numpy as np
import pandas as pd

from collateral.contract.charts import Chart
from collateral.findings._shared.charts import (
    ONCE,
    ROWS,
    colour_of,
    finished,
    hover,
    level,
    rows_of,
    said,
)
from collateral.findings._shared.compare import chance
from collateral.findings._shared.spoken import number
from collateral.findings._shared.style import looks
from collateral.findings.trajectory import SHARES
from collateral.findings.trajectory.course import POINTS, legs
from collateral.findings.trajectory.figure import LEAST, Ways, span
from collateral.results.table import REFERENCE, CellTable, mean

PANEL = {"width": 330, "height": 300}
PARTS = {"error": (0.0, LEAST), "damage": (-LEAST / 2, LEAST / 2), "gap": (0.0, LEAST)}
OTHERS = ("error", "damage")  # than the gap
CAPTION = (
    "The way of each method from the base model towards Retrain (cross), a dot an epoch. Left: the "
    "mean deviation of UA and MIA from Retrain's against the damage. Right: the average gap over "
    "the method's own seconds, preparing among them; lines: {shares} % of Retrain's time, and "
    "all of it, dashed. What ends far off, or collapsed, is drawn at the edge."
)


def charts(cell: CellTable) -> Iterator[Chart]:
    """Yield the ways of the tracked runs."""
    known = looks(cell)
    if found := {run: leg.in_points() for run, leg in legs(cell).items() if run in known}:
        ways = Ways(cell, found, known)
        caption = CAPTION.format(shares=", ".join(map(str, SHARES)))
        yield Chart("trajectory", draw(ways), rows_of(rows(ways)), caption)


def rows(ways: Ways) -> pd.DataFrame:
    """Return a row a run and epoch: where it is drawn, no further than the axes, and its words."""
    frames, n = [], len(ways.cell.seeds)
    floor = number(POINTS * chance(ways.cell, "avg_gap"), ".1f", " points")
    for run, leg in ways.legs.items():
        label, is_paced = ways.cell.labels[run], leg.is_paced
        of_run = {"run": run, "label": label, "is_paced": is_paced, "seconds": leg.seconds}
        frames.append(pd.DataFrame({
            **of_run,
            "epoch": np.arange(len(leg.gap)),
            **{part: np.clip(getattr(leg, part), *_ends(ways, part)) for part in PARTS},
            "said": said(leg.gap, ".1f", " points"),
            "floor": floor,
            "n": n,
            **{f"{one}_said": said(getattr(leg, one), ".1f", " points") for one in OTHERS},
            "time": said(leg.seconds, ".3g", " s"),
        }))  # fmt: skip
    return pd.concat(frames)


def draw(ways: Ways) -> dict[str, object]:
    """Draw the plane of forgetting and damage, and beside it the gap over the seconds."""
    base = alt.Chart(ROWS).encode(color=colour_of(ways.cell), order="epoch:O")
    moved = base.transform_filter("datum.epoch > 0 && datum.seconds > 0")
    error = alt.X("error:Q", title="Forgetting error (points)", scale=_scale(ways, "error"))
    damage = alt.Y("damage:Q", title="Damage (points)", scale=_scale(ways, "damage"))
    scale, axis = alt.Scale(type="log", nice=False), alt.Axis(tickCount=5)
    seconds = alt.X("seconds:Q", title="Seconds (RTE)", scale=scale, axis=axis)
    gap = alt.Y("gap:Q", title="Avg. Gap (points)", scale=_scale(ways, "gap"))
    cross = alt.Chart(ONCE).mark_point(shape="cross", size=120, filled=True, color="#888")
    retrain = cross.encode(x=alt.datum(0), y=alt.datum(0), tooltip=alt.value("Retrain"))
    plane = alt.layer(level(y=0), *_way(base, error, damage), retrain)
    course = alt.layer(*_budgets(ways.cell), *_way(moved, seconds, gap))
    chart = alt.hconcat(plane.properties(**PANEL), course.properties(**PANEL))
    return finished(chart, f"{ways.cell.title}: the way of each method towards Retrain")


def _way(base: alt.Chart, x: alt.X, y: alt.Y) -> Iterator[alt.Chart]:
    """Yield the line of every run, dashed where no epoch is a shorter run, and a dot an epoch."""
    dash = alt.condition("datum.is_paced", alt.value([4, 3]), alt.value([1, 0]))
    yield base.mark_line(aria=False).encode(x=x, y=y, strokeDash=dash)
    more = {"epoch": "epoch", "time": "time", "error_said": "forgetting error"}
    shown = hover("average gap", **more, damage_said="damage")
    yield base.mark_circle(size=40, opacity=1).encode(x=x, y=y, tooltip=shown)


def _budgets(cell: CellTable) -> Iterator[alt.Chart]:
    """Yield a line at each share of Retrain's time, and at all of it."""
    cost = mean(cell.values(REFERENCE, "rte"))
    for share in SHARES if np.isfinite(cost) else ():
        yield level(x=share / 100 * cost).encode(opacity=alt.value(0.4))
    if np.isfinite(cost):
        yield level((4, 4), x=cost)


def _ends(ways: Ways, part: str) -> tuple[float, float]:
    return span([*ways.shown(part), *PARTS[part]])


def _scale(ways: Ways, part: str) -> alt.Scale:
    return alt.Scale(domain=list(_ends(ways, part)), nice=False)
