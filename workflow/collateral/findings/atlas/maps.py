"""Maps of who hurts whom: a panel of coloured cells per matrix, and the scale of the colours."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from collateral.findings.metric_index import find_metric
from collateral.metrics.arrays import Floats, Mask
from collateral.plots.plot import Axis, Band, Panel, Series, format_number
from collateral.plots.style import GREY, Look

# Colours of a loss and of a gain, at the end of the scale.
LOSS, GAIN, UNDEFINED = (178, 24, 43), (33, 102, 172), "#d9d9d9"
# Maximum number of classes of a map, by the number of maps side by side.
MOST_CLASSES = {4: 12, 2: 40}
ROW_HEIGHTS = {4: 2.0, 2: 3.8, 1: 7.0}  # in inches, by the number of maps side by side
STEPS = 30  # number of colours on each side of the scale
SHOWN, HIDDEN, UNTESTED = "shown to differ", "not shown to differ", "not tested"
DOT, SPECK = Look("#1a1a1a", "o"), Look(GREY, "o")


@dataclass(frozen=True)
class Map:
    """Changes of all pairs in points, and which of them are shown to differ."""

    title: str
    values: Floats
    found: Mask
    is_tested: bool = True


@dataclass(frozen=True)
class Scale:
    """Colours of a map: white up to the noise floor of a receiver, full colour at `top`."""

    floor: Floats  # by receiver, in points
    top: float

    @staticmethod
    def fit(maps: Sequence[Map], used: Mask, floor: Floats) -> "Scale":
        """Return a scale that ends at an even number of points, beyond all changes of pairs."""
        changes = np.abs([one.values[used] for one in maps])
        half = math.ceil(float(np.nanmax(changes, initial=0.0)) / 2)
        return Scale(floor, 2.0 * max(half, 1))

    def colour(self, value: float, floor: float) -> str:
        """Return the colour of a change; the square root makes small changes visible."""
        beyond = max(abs(value) - floor, 0.0) / self.top
        end = LOSS if value > 0 else GAIN
        red, green, blue = (round(255 + math.sqrt(beyond) * (one - 255)) for one in end)
        return f"#{red:02x}{green:02x}{blue:02x}"


def count_columns(num_classes: int) -> int:
    """Return how many maps of so many classes stand side by side."""
    return next((n for n, most in MOST_CLASSES.items() if num_classes <= most), 1)


def row_height(columns: int) -> float:
    """Return the height of a row of maps in inches."""
    return ROW_HEIGHTS[columns]


def draw_panels(
    maps: Sequence[Map], scale: Scale, emitters: Sequence[str], receivers: Sequence[str]
) -> list[Panel]:
    """Return a panel per map, and one with the colours of the scale."""
    columns = count_columns(len(receivers))
    panels = [
        _draw_map(one, scale, emitters, receivers, is_first=place % columns == 0)
        for place, one in enumerate(maps)
    ]
    # In a row of its own, the scale needs less height than a map.
    return [*panels, replace(_draw_scale(scale), height=1.0 if columns > 1 else 0.2)]


def _draw_map(
    one: Map, scale: Scale, emitters: Sequence[str], receivers: Sequence[str], *, is_first: bool
) -> Panel:
    """Return a map: a coloured rectangle per pair, a dot where the pair is shown to differ."""
    used = np.array([[e != r for r in receivers] for e in emitters])
    is_known = used & ~np.isnan(one.values)
    bands = [
        Band(
            *(c - 0.5, c + 0.5, r - 0.5, r + 0.5),
            colour=scale.colour(float(value), float(scale.floor[c]))
            if is_known[r, c]
            else UNDEFINED,
        )
        for (r, c), value in np.ndenumerate(one.values)
    ]
    return Panel(
        [
            _draw_dots(
                one,
                emitters,
                receivers,
                is_known & ~one.found,
                HIDDEN if one.is_tested else UNTESTED,
            ),
            _draw_dots(one, emitters, receivers, is_known & one.found, SHOWN),
        ],
        one.title,
        _make_axis(receivers, "measured"),
        replace(_make_axis(emitters, "forgotten" if is_first else ""), is_reversed=True),
        bands=bands,
        value_name="row",
        number_format=".0f",
        is_map=True,
    )


def _draw_scale(scale: Scale) -> Panel:
    """Return a column of all colours, for a receiver with the median noise floor."""
    floor, edges = float(np.median(scale.floor)), np.linspace(-1, 1, 2 * STEPS + 1) * scale.top
    # Each band covers the upper part of the one before, so that there is no gap between them.
    bands = [
        Band(0.0, 1.0, low, scale.top, colour=scale.colour((low + high) / 2, floor))
        for low, high in pairwise(edges.tolist())
    ]
    ends = (-scale.top, -scale.top / 2, 0.0, scale.top / 2, scale.top)
    ticks = {end: format_number(end, "+.0f" if end else ".0f") for end in ends}
    x = Axis("", limits=(0.0, 4.0), ticks={0.0: ""})
    y = Axis("", limits=(-scale.top, scale.top), ticks=ticks)
    return Panel([], "Points lost", x, y, bands=bands, is_map=True)


def _make_axis(names: Sequence[str], title: str) -> Axis:
    """Return an axis with one place and one tick label per class."""
    ticks = {float(place): name for place, name in enumerate(_shorten(names))}
    return Axis(title, limits=(-0.5, len(names) - 0.5), ticks=ticks)


def _shorten(names: Sequence[str]) -> list[str]:
    """Remove the prefix that all names share: digit_3 and digit_8 become 3 and 8."""
    parts = [name.rpartition("_") for name in names]
    is_shared = len({head for head, _, _ in parts}) == 1
    return [tail for _, _, tail in parts] if is_shared else [*names]


def _draw_dots(
    one: Map, emitters: Sequence[str], receivers: Sequence[str], mask: Mask, label: str
) -> Series:
    """Return a mark for each pair in the mask; its tooltip has both classes and the change."""
    pairs = [(int(r), int(c)) for r, c in np.argwhere(mask)]
    shown = find_metric("atlas_loss")
    details = {
        "forgotten": [emitters[r] for r, _ in pairs],
        "measured": [receivers[c] for _, c in pairs],
        "loss, points": [shown.text(one.values[r, c] / 100, sign=True) for r, c in pairs],
    }
    return Series(
        label,
        DOT if label == SHOWN else SPECK,
        [float(c) for _, c in pairs],
        [float(r) for r, _ in pairs],
        mark="point",
        areas=[5.0 if label == SHOWN else 0.4] * len(pairs),
        details=details,
    )
