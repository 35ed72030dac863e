"""One look for all figures: sizes, a colour and a marker a run, and files equal byte by byte."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collateral.results.files import atomic
from collateral.results.table import Cell, Runs

# It tells every glyph that a PDF embeds.
logging.getLogger("fontTools").setLevel(logging.WARNING)

RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "pdf.fonttype": 42,
}
WIDTH = 6.75  # inches: the text width of a two-column paper
CHARACTERS = 18  # of the note below a figure, an inch

# Safe for the colour-blind: those of seaborn's `colorblind`, strong ones first, black for its grey.
COLOURS = (
    "#0173b2",
    "#de8f05",
    "#029e73",
    "#d55e00",
    "#cc78bc",
    "#56b4e9",
    "#222222",
    "#ca9161",
    "#fbafe4",
    "#ece133",
)
MARKERS = "osD^vPX<>*"
GREY = "0.55"
NOISE: dict[str, Any] = {"color": "0.88", "linewidth": 0, "zorder": 0.5}
NOISE_LABEL = "Retrain vs. Retrain (95 %)"


@dataclass(frozen=True)
class Look:
    """How a run is drawn, everywhere."""

    colour: str
    marker: str
    line: str
    control: bool

    @property
    def of_line(self) -> dict[str, Any]:
        """Keywords of a line."""
        return {"color": self.colour, "marker": self.marker, "linestyle": self.line}

    @property
    def of_bar(self) -> dict[str, Any]:
        """Keywords of a bar: a control is empty and hatched."""
        if self.control:
            return {
                "facecolor": "none",
                "edgecolor": self.colour,
                "hatch": "////",
                "linewidth": 0.6,
            }
        return {"facecolor": self.colour}


def looks(cell: Cell, runs: Runs) -> dict[str, Look]:
    """Return the look of each run to draw: those with a good seed, by their place in `runs`."""
    of_methods = {run: look_of(run, runs) for run in cell.runs("method")}
    of_controls = {run: _of_control(place) for place, run in enumerate(cell.runs("control"))}
    every = {**of_methods, **of_controls}
    return {run: look for run, look in every.items() if not cell.failed(run)}


def look_of(method: str, runs: Runs) -> Look:
    """Return the look of a method by its place in `runs`."""
    place = [run for run in runs if "@" not in run].index(method)
    turn, index = divmod(place, len(COLOURS))
    return Look(COLOURS[index], MARKERS[index], ("-", "-.", ":")[turn % 3], control=False)


def _of_control(place: int) -> Look:
    return Look(GREY, "", ("--", ":", "-.")[place % 3], control=True)


@contextmanager
def style() -> Iterator[None]:
    """Draw and save inside this block."""
    with mpl.rc_context(RC):
        yield


def save(fig: Figure, path: Path) -> None:
    """Write `path`.pdf and `path`.png, without dates: equal figures are equal files."""
    unsaid: dict[str, dict[str, None]] = {
        ".pdf": {"CreationDate": None},
        ".png": {"Software": None},
    }
    with style():
        fig.draw_without_rendering()
        fig.set_layout_engine("none")  # the layout is solved once, which halves the time
        for suffix, metadata in unsaid.items():
            with atomic(path.with_name(path.name + suffix)) as temporary:
                fig.savefig(temporary, dpi=200, metadata=metadata)


def annotate(
    fig: Figure,
    axes: Axes,
    cell: Cell,
    reading: str,
    spread: str = "Error bars: standard error",
    title: str = "",
) -> None:
    """Put the title and the legend of `axes` above the figure, and below it how to read it."""
    handles, labels = axes.get_legend_handles_labels()
    noise_last = sorted(range(len(labels)), key=lambda place: labels[place] == NOISE_LABEL)
    fig.legend(
        [handles[place] for place in noise_last],
        [labels[place] for place in noise_last],
        loc="outside upper left",
        ncols=5 if fig.get_figwidth() >= WIDTH else 3,
        title=f"{cell.title}: {title}" if title else cell.title,
        alignment="left",
        title_fontproperties={"weight": "bold", "size": 9},
    )
    several = len(cell.seeds) > 1
    seeds = f"{spread} over {len(cell.seeds)} seeds." if several else "One seed."
    width = round(CHARACTERS * fig.get_figwidth())
    notes = (f"{reading} {seeds}", *_troubles(cell))
    lines = [line for note in notes for line in wrap(note, width)]
    fig.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=7, color="0.3")


def _troubles(cell: Cell) -> Iterator[str]:
    for run, label in cell.labels.items():
        if cell.trouble(run):
            yield f"{label} {cell.trouble(run)}{': not drawn' if cell.failed(run) else ''}."
