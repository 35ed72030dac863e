"""The ways of tracked runs towards Retrain, to be looked into."""

from collections.abc import Iterator

import altair as alt
import numpy as np
import pandas as pd

from collateral.contract.charts import Chart
from collateral.findings._shared.charts import ROWS, colour_of, finished, rows_of
from collateral.findings._shared.style import looks
from collateral.findings.trajectory.course import legs
from collateral.findings.trajectory.figure import CAPTION, LEAST, Ways, span
from collateral.results.table import REFERENCE, CellTable, mean

PANEL = {"width": 330, "height": 300}
PARTS = {"error": (0, LEAST), "damage": (-LEAST / 2, LEAST / 2), "gap": (0, LEAST)}
TOOLTIP = (
    ("label:N", "method", ""),
    ("epoch:Q", "epoch", ""),
    ("seconds:Q", "seconds", ".3s"),
    ("error:Q", "forgetting error, points", ".1f"),
    ("damage:Q", "damage, points", "+.1f"),
    ("gap:Q", "average gap, points", ".1f"),
)


def charts(cell: CellTable) -> Iterator[Chart]:
    """Yield the ways of the tracked runs."""
    known = looks(cell)
    if found := {run: leg.in_points() for run, leg in legs(cell).items() if run in known}:
        ways = Ways(cell, found, known)
        yield Chart("trajectory", draw(ways), rows_of(rows(ways)), CAPTION)


def rows(ways: Ways) -> pd.DataFrame:
    """Return a row a run and epoch; `at_...` is where it is drawn, no further than the axes."""
    frames = [
        pd.DataFrame({
            "run": run,
            "label": ways.cell.labels[run],
            "epoch": np.arange(len(leg.gap)),
            "seconds": leg.seconds,
            **{part: getattr(leg, part) for part in PARTS},
        })
        for run, leg in ways.legs.items()
    ]  # fmt: skip
    found = pd.concat(frames)
    for part in PARTS:
        found[f"at_{part}"] = found[part].clip(*_ends(ways, part))
    return found


def draw(ways: Ways) -> dict[str, object]:
    """Draw the plane of forgetting and damage, and beside it the gap over the seconds."""
    base = alt.Chart(ROWS).encode(color=colour_of(ways.cell, dict(ways.known)), order="epoch:O")
    error = alt.X("at_error:Q", title="Forgetting error (points)", scale=_scale(ways, "error"))
    damage = alt.Y("at_damage:Q", title="Damage (points)", scale=_scale(ways, "damage"))
    seconds = alt.X("seconds:Q", title="Seconds (RTE)", scale=alt.Scale(type="log", nice=False))
    gap = alt.Y("at_gap:Q", title="Avg. Gap (points)", scale=_scale(ways, "gap"))
    moved = base.transform_filter("datum.epoch > 0 && datum.seconds > 0")
    panels = (_way(base, error, damage), _way(moved, seconds, gap))
    zero = alt.Chart(ROWS).mark_rule(color="#888", aria=False).encode(y=alt.datum(0))
    cost = alt.Chart(ROWS).mark_rule(color="#888", strokeDash=[4, 4], aria=False)
    retrain = cost.encode(x=alt.datum(mean(ways.cell.values(REFERENCE, "rte"))))
    plane, course = alt.layer(zero, *panels[0]), alt.layer(retrain, *panels[1])
    chart = alt.hconcat(plane.properties(**PANEL), course.properties(**PANEL))
    return finished(chart, f"{ways.cell.title}: the way of each method towards Retrain")


def _way(base: alt.Chart, x: alt.X, y: alt.Y) -> tuple[alt.Chart, alt.Chart]:
    """Return the line of every run, and a dot an epoch."""
    tooltip = [alt.Tooltip(name, title=title, format=form) for name, title, form in TOOLTIP]
    dots = base.mark_circle(size=40, opacity=1).encode(x=x, y=y, tooltip=tooltip)
    return base.mark_line(aria=False).encode(x=x, y=y), dots


def _ends(ways: Ways, part: str) -> tuple[float, float]:
    return span([*ways.shown(part), *PARTS[part]])


def _scale(ways: Ways, part: str) -> alt.Scale:
    return alt.Scale(domain=list(_ends(ways, part)), nice=False)
