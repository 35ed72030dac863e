"""How large LTD's support should be, to be looked into."""

import math
from collections.abc import Iterator

import altair as alt
import numpy as np
import pandas as pd

from collateral.contract.charts import Chart
from collateral.findings._shared.charts import (
    NEUTRAL,
    ONCE,
    ROWS,
    colour,
    colours,
    finished,
    hover,
    level,
    rows_of,
    said,
)
from collateral.findings._shared.line_charts import Across, Drawing
from collateral.findings._shared.prepared import Line, Panel, averaged, level_of
from collateral.findings._shared.spoken import spoken
from collateral.findings._shared.statistics import Floats, half_width
from collateral.findings.catalogue import metric_of
from collateral.findings.support_size.figure import SIZE, TINT, WHAT
from collateral.findings.support_size.reading import Supports, span, supports_of
from collateral.results.table import CellTable, mean

SUPPORT = Across(SIZE, "k", {"zero": True})
TWO_SEEDS = "two seeds' teachers of one k"
SPREAD = "Bands: 95 % intervals over seeds."
MARKS = " Vertical lines: the k of the runs{own}, and, dotted, what k: auto takes ({auto})."
DOTTED = (2, 3)
CLOSE = alt.Scale(zero=False, nice=False)


def charts(cell: CellTable) -> Iterator[Chart]:
    """Yield the charts of the teachers, where supports of several sizes were tried."""
    if supports := supports_of(cell):
        for name, found in panels(supports).items():
            caption = f"{WHAT[name]}{_marks(supports)} {SPREAD}"
            yield Chart(name, draw(supports, found), rows_of(averaged(found)), caption)
        rows = rows_of(of_bins(supports))
        yield Chart("support-drop", draw_drop(supports), rows, WHAT["support-drop"])


def panels(supports: Supports) -> dict[str, list[Panel]]:
    """Return the panels of every chart of lines."""
    accuracy = metric_of("support_teacher_ua")
    rates = [_line(supports, accuracy.factor * supports.values("teacher_ua"))]
    changes = _line(supports, supports.values("kl_previous"), supports.floors)
    floors = [np.array([floor]) for floor in supports.floors]
    between = Line(supports.run, TWO_SEEDS, supports.sizes, floors, is_aside=True)
    classes = [_line(supports, supports.values("num_classes"))]
    divergences = [_line(supports, supports.values("kl_retrain"))]
    two = supports.cell.number(supports.run, "support_kl_retrains")
    held = level_of(supports.cell, "ua")
    return {
        "support-kl": [Panel("KL to the next smaller support's", "nats", [changes, between])],
        "support-accuracy": [
            Panel("Teacher on the forget set (%)", "%", rates),
            Panel("Classes in the support", "classes", classes),
        ],
        "support-retrain": [
            Panel("KL of the teacher to Retrain (nats)", "nats", divergences, 0.0, two),
            Panel("Accuracy on the forget set (%)", "%", rates, *held),
        ],
    }


def _line(supports: Supports, values: Floats, floors: Floats | None = None) -> Line:
    bounds = [] if floors is None else floors.tolist()
    label = f"{supports.label}'s teacher"
    return Line(supports.run, label, supports.sizes, list(values), chance=bounds)


def draw(supports: Supports, found: list[Panel]) -> dict[str, object]:
    """Draw each panel with the sizes that the runs have, and that `k: auto` takes."""
    drawing = Drawing(SUPPORT, _look(supports), 2, 220, tuple(_sizes(supports)))
    title = f"{supports.cell.title}: {found[0].title} by support size"
    return finished(drawing.chart(found), title)


def of_bins(supports: Supports) -> pd.DataFrame:
    """Return a row a bin, its mean over seeds; one a bin and seed; and what each seed takes."""
    low, high = supports.bins("bin_low"), supports.bins("bin_high")  # (bins, seeds)
    drop = metric_of("support_drop").factor * supports.bins("drop")
    counts = supports.bins("bin_count").mean(axis=1)
    rows: list[dict[str, object]] = [
        {"low": a.mean(), "high": b.mean(), **_of_bin(values), "examples": said([count], ".0f")[0]}
        for a, b, values, count in zip(low, high, drop, counts, strict=True)
    ]
    points = zip(((low + high) / 2).T, drop.T, supports.cell.seeds, strict=True)
    rows += [
        {"centre": x, "of_seed": y, "seed": seed}
        for centres, drops, seed in points
        for x, y in zip(centres, drops, strict=True)
    ]
    rows += [
        {"taken": step.least_similarity, "top": top}
        for step, top in zip(supports.steps, high[-1], strict=True)
    ]
    return pd.DataFrame(rows).assign(run=supports.run, label=supports.label)


def _of_bin(values: Floats) -> dict[str, object]:
    middle, half = mean(values), half_width(values)
    n = int(np.count_nonzero(~np.isnan(values)))
    return {"mean": middle, **spoken(middle, (middle - half, middle + half), math.nan), "n": n}


def draw_drop(supports: Supports) -> dict[str, object]:
    """Draw whom one step of gradient ascent hurts, and what `k: auto` takes of them."""
    own, axis = colour(supports.cell, supports.run), alt.Axis(tickCount=8)
    x = alt.X("low:Q", title="Similarity to the forget set", scale=CLOSE, axis=axis)
    y = alt.Y("mean:Q", title="Accuracy lost by one step (points)")
    tint = _of("taken").mark_rect(opacity=TINT, color=own, aria=False)
    bars = _of("mean").mark_rect(color=NEUTRAL, opacity=0.5, stroke="white")
    single = _of("of_seed").mark_circle(color=own, aria=False)
    layers = [
        tint.encode(x=alt.X("taken:Q", scale=CLOSE), x2="top:Q"),
        bars.encode(
            x=x, x2="high:Q", y=y, y2=alt.datum(0), tooltip=hover("loss", examples="examples")
        ),
        level(y=0),
        single.encode(x=alt.X("centre:Q", scale=CLOSE), y=alt.Y("of_seed:Q")),
    ]
    chart = alt.layer(*layers).properties(width=560, height=240)
    return finished(chart, f"{supports.cell.title}: accuracy lost by one step, by similarity")


def _of(column: str) -> alt.Chart:
    """Return the rows that have this column."""
    rows: alt.Chart = alt.Chart(ROWS).transform_filter(f"isValid(datum.{column})")
    return rows


def _look(supports: Supports) -> alt.Color:
    own = colour(supports.cell, supports.run)
    return colours({f"{supports.label}'s teacher": own, TWO_SEEDS: NEUTRAL})


def _sizes(supports: Supports) -> Iterator[alt.Chart]:
    """Yield a line at the k of the runs, and at what `k: auto` takes, with its range."""
    auto = supports.auto
    span_of = alt.Chart(ONCE).mark_rect(color=NEUTRAL, opacity=0.22, aria=False)
    yield span_of.encode(x=alt.datum(float(auto.min())), x2=alt.datum(float(auto.max())))
    yield level(DOTTED, x=mean(auto))
    if not np.isnan(supports.own).all():
        yield level(x=mean(supports.own))


def _marks(supports: Supports) -> str:
    known = not np.isnan(supports.own).all()
    own = f" ({span(supports.own, 'support_auto')})" if known else ""
    return MARKS.format(own=own, auto=span(supports.auto, "support_auto"))
