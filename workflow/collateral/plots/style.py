"""Colours, markers and line styles, the same in print and on the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Dash = Literal["solid", "dashed", "dotted", "dash-dot"]

# seaborn's "colorblind" palette, strong colours first; wine in place of its grey, which is kept
# for controls and noise.
COLOURS = (
    "#0173b2",
    "#de8f05",
    "#029e73",
    "#d55e00",
    "#cc78bc",
    "#56b4e9",
    "#882255",
    "#ca9161",
    "#fbafe4",
    "#ece133",
)
MARKERS = "osD^vPX<>*"
METHOD_DASHES: tuple[Dash, ...] = ("solid", "dash-dot", "dotted")
CONTROL_DASHES: tuple[Dash, ...] = ("dashed", "dotted", "dash-dot")
GREY = "#8c8c8c"  # controls
DARK = "#4d4d4d"  # Retrain, zero lines
PALE = "#e0e0e0"  # noise


@dataclass(frozen=True)
class Look:
    """Colour, marker and line style of a run."""

    colour: str
    marker: str = ""  # a marker of matplotlib; empty: none
    dash: Dash = "solid"
    is_control: bool = False


RETRAIN = Look(DARK, dash="dashed", is_control=True)
PLAIN = Look(DARK)


def method_look(place: int) -> Look:
    """Return the look of a method by its place in the config."""
    turn, index = divmod(place, len(COLOURS))
    marker = MARKERS[(index + 3 * turn) % len(MARKERS)]  # a repeated colour has another marker
    return Look(COLOURS[index], marker, METHOD_DASHES[turn % len(METHOD_DASHES)])


def control_look(place: int) -> Look:
    """Return the look of a control by its place among the controls."""
    return Look(GREY, "", CONTROL_DASHES[place % len(CONTROL_DASHES)], is_control=True)
