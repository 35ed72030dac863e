"""Colours, markers and line styles, the same in printed figures and on the web page."""

from dataclasses import dataclass
from typing import Literal

Dash = Literal["solid", "dashed", "dotted", "dash-dot"]

# seaborn's "colorblind" palette, strong colours first, with a wine red in place of its grey.
COLOURS = (
    *("#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc"),
    *("#56b4e9", "#882255", "#ca9161", "#fbafe4", "#ece133"),
)
MARKERS = "osD^vPX<>*"
METHOD_DASHES: tuple[Dash, ...] = ("solid", "dash-dot", "dotted")
CONTROL_DASHES: tuple[Dash, ...] = ("dashed", "dotted", "dash-dot")
GREY = "#8c8c8c"  # colour of controls
DARK = "#4d4d4d"  # colour of Retrain and of zero lines
PALE = "#e0e0e0"  # colour of the noise floor


@dataclass(frozen=True)
class Look:
    """Colour, marker and line style of a run."""

    colour: str
    marker: str = ""  # a marker of matplotlib; if empty, no marker
    dash: Dash = "solid"
    is_control: bool = False


RETRAIN = Look(DARK, dash="dashed", is_control=True)
PLAIN = Look(DARK)


def method_look(place: int) -> Look:
    """Return colour, marker and line style of a method by its index in the config."""
    turn, index = divmod(place, len(COLOURS))
    marker = MARKERS[(index + 3 * turn) % len(MARKERS)]  # A repeated colour gets another marker.
    return Look(COLOURS[index], marker, METHOD_DASHES[turn % len(METHOD_DASHES)])


def control_look(place: int) -> Look:
    """Return colour, marker and line style of a control by its index among the controls."""
    return Look(GREY, "", CONTROL_DASHES[place % len(CONTROL_DASHES)], is_control=True)
