"""Charts of lines: a panel a number, a line a run over what is varied, Retrain's level behind."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt

from collateral.findings._shared.charts import ROWS, band, hover, level
from collateral.findings._shared.prepared import Panel, limits

WIDTH = 720  # of all panels side by side, in pixels
AXIS = 45  # of that, for the numbers beside each
DASHED = (5, 3)


@dataclass(frozen=True)
class Across:
    """What lines go over: its title, its name in hovering, and how the axis is drawn."""

    title: str
    name: str
    scale: dict[str, Any] = field(default_factory=dict)
    axis: dict[str, Any] = field(default_factory=dict)

    def x(self, panels: Sequence[Panel]) -> alt.X:
        """Return the axis, which all panels share."""
        places = [x for panel in panels for line in panel.lines for x in line.x]
        ends = {"domain": [min(places), max(places)]} if places else {}
        scale = alt.Scale(**{**ends, "nice": False, "padding": 8, **self.scale})
        return alt.X("x:Q", title=self.title, scale=scale, axis=alt.Axis(grid=False, **self.axis))


@dataclass(frozen=True)
class Drawing:
    """How the panels of a chart are drawn."""

    across: Across
    colour: alt.Color
    columns: int = 3
    height: int = 170
    behind: tuple[alt.Chart, ...] = ()  # in all of them

    def chart(self, panels: Sequence[Panel]) -> Any:
        """Return the panels side by side, each with a scale of its own."""
        columns = min(self.columns, len(panels))
        width = WIDTH // max(columns, 2) - AXIS if columns > 1 else 420
        drawn = [self._panel(panel, panels).properties(width=width) for panel in panels]
        return alt.concat(*drawn, columns=columns) if len(drawn) > 1 else drawn[0]

    def _panel(self, panel: Panel, panels: Sequence[Panel]) -> Any:
        # Divergences from zero on, and small ones can be told apart.
        kind: dict[str, Any] = {"type": "sqrt"} if panel.unit == "nats" else {}
        scale = alt.Scale(domain=list(limits(panel)), nice=False, **kind)
        low, high = panel.band
        grey = [band(low, high, scale)] if math.isfinite(low + high) else []
        of_panel = alt.Chart(ROWS).transform_filter(alt.datum.panel == panel.title)
        base = of_panel.encode(x=self.across.x(panels), color=self.colour)
        has_ring = any(math.isfinite(line.own) for line in panel.lines)
        runs = _runs(base, scale, has_ring, hover("mean", panel="of", x=self.across.name))
        layers = [*self.behind, *grey, level(DASHED, y=panel.level), *runs]
        return alt.layer(*layers).properties(title=panel.title, height=self.height)


def _runs(
    base: alt.Chart, scale: alt.Scale, has_ring: bool, shown: list[alt.Tooltip]
) -> Iterator[alt.Chart]:
    """Yield the interval of every run, its line, its ring and its points."""
    y = alt.Y("mean:Q", title=None, scale=scale, axis=alt.Axis(tickCount=5))
    interval = base.mark_area(opacity=0.13, aria=False)
    yield interval.encode(y=alt.Y("low:Q", title=None, scale=scale), y2="high:Q")
    dash = alt.condition("datum.is_aside", alt.value(list(DASHED)), alt.value([1, 0]))
    yield base.mark_line(aria=False).encode(y=y, strokeDash=dash)
    if has_ring:
        own = base.transform_filter("datum.is_own")
        yield own.mark_point(size=160, aria=False).encode(y=y)
    yield base.mark_circle(size=36, opacity=1).encode(y=y, tooltip=shown)
