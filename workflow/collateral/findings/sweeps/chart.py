"""Ablations, to be looked into."""

import math
from collections.abc import Iterator, Sequence

import altair as alt
import pandas as pd

from collateral.contract.charts import Chart
from collateral.findings._shared.charts import (
    NEUTRAL,
    ROWS,
    band,
    colour,
    colours,
    finished,
    hover,
    level,
    rows_of,
)
from collateral.findings._shared.line_charts import DASHED, Across, Drawing
from collateral.findings._shared.prepared import averaged, level_of
from collateral.findings._shared.scale import reach
from collateral.findings._shared.spoken import spoken
from collateral.findings.catalogue import metric_of
from collateral.findings.sweeps.noise import NAME, Noise, noises
from collateral.findings.sweeps.prepared import NOISE, Swept, swept_in
from collateral.results.table import CellTable

SQUARE = {"width": 360, "height": 320}
SPREAD = "Bands: 95 % intervals over seeds."


def charts(cell: CellTable) -> Iterator[Chart]:
    """Yield a chart for every sweep of numbers, and one of teachers of other seeds."""
    for swept in swept_in(cell):
        rows = rows_of(averaged(swept.panels))
        yield Chart(swept.name, draw(swept), rows, swept.caption(SPREAD))
    if found := noises(cell):
        rows = points(cell, found)
        yield Chart(NAME, draw_noise(cell, found, rows), rows_of(rows), NOISE)


def draw(swept: Swept) -> dict[str, object]:
    """Draw a panel a number."""
    sweep = swept.sweep
    across = Across(sweep.key, sweep.key, {"type": "log"} if swept.is_log else {}, {"tickCount": 5})
    own = colours({sweep.method: colour(swept.cell, sweep.own)})
    drawing = Drawing(across, own, 3 if len(swept.metrics) == 3 else 2)
    return finished(
        drawing.chart(swept.panels), f"{swept.cell.title}: {sweep.method}, {sweep.key} varied"
    )


def points(cell: CellTable, found: Sequence[Noise]) -> pd.DataFrame:
    """Return a row a method, teacher and seed, in percent."""
    factor, (_, chance) = metric_of("ua").factor, level_of(cell, "ua")
    rows = [
        {
            "run": noise.sweep.own,
            "label": noise.sweep.method,
            "teacher": factor * noise.teacher[teacher, place],
            "mean": (student := factor * noise.student[teacher, place]),
            "seed": seed,
            **spoken(student, (math.nan, math.nan), chance, ".1f", " %"),
            "n": len(cell.seeds),
        }
        for noise in found
        for teacher in range(len(noise.teacher))
        for place, seed in enumerate(cell.seeds)
    ]
    return pd.DataFrame(rows)


def draw_noise(cell: CellTable, found: Sequence[Noise], rows: pd.DataFrame) -> dict[str, object]:
    """Draw each method's students over their teachers."""
    held, chance = level_of(cell, "ua")
    low, high = reach([*rows["teacher"], *rows["mean"]], (held,))
    axis = alt.Scale(domain=[low, high], nice=False)
    x = alt.X("teacher:Q", title=metric_of("teacher_ua").heading, scale=axis)
    y = alt.Y("mean:Q", title=metric_of("ua").heading, scale=axis)
    look = colours({noise.sweep.method: colour(cell, noise.sweep.own) for noise in found})
    marks = alt.Chart(ROWS).mark_circle(size=50, opacity=1).encode(x=x, y=y, color=look)
    grey = [band(held - chance, held + chance, axis)] if math.isfinite(held + chance) else []
    behind = [*grey, level(DASHED, y=held), _same(low, high)]
    chart = alt.layer(*behind, marks.encode(tooltip=hover("UA", seed="seed")))
    return finished(chart.properties(**SQUARE), f"{cell.title}: students over their teachers")


def _same(low: float, high: float) -> alt.Chart:
    """Return the line on which a student has its teacher's UA."""
    ends = alt.Chart(alt.InlineData(values=[{"at": low}, {"at": high}]))
    line = ends.mark_line(color=NEUTRAL, strokeWidth=1, aria=False)
    same: alt.Chart = line.encode(x="at:Q", y="at:Q")
    return same
