"""One look for all figures: a theme, a colour and a marker a run, and files equal byte by byte."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

import matplotlib as mpl
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collateral.results.files import atomic
from collateral.results.table import CellTable

# It tells every glyph that a PDF embeds.
logging.getLogger("fontTools").setLevel(logging.WARNING)

WIDTH = 6.75  # inches: the text width of a two-column paper
CHARACTERS = 20  # of the note below a figure, an inch
THIN = 0.6

RC: dict[Any, Any] = {
    **sns.axes_style("ticks"),
    **sns.plotting_context("paper", font_scale=8 / 9.6),  # letters of 8 points
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "grid.color": "0.9",
    **{f"{part}.linewidth": THIN for part in ("axes", "grid")},
    **{f"{x}tick.{kind}.width": THIN for x in "xy" for kind in ("major", "minor")},
    **{f"{x}tick.{kind}.size": size for x in "xy" for kind, size in (("major", 3.5), ("minor", 2))},
    "lines.linewidth": 1.4,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "pdf.fonttype": 42,
}

_COLOURS = sns.color_palette("colorblind").as_hex()
# The strong ones first; wine for its grey, which means controls and noise.
COLOURS = (*(_COLOURS[i] for i in (0, 1, 2, 3, 4, 9)), "#882255", *(_COLOURS[i] for i in (5, 6, 8)))
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
        look = {"color": self.colour, "marker": self.marker, "linestyle": self.line}
        return {**look, "markersize": 5, "markeredgewidth": 0.3}

    @property
    def of_bar(self) -> dict[str, Any]:
        """Keywords of a bar: a control is empty and hatched."""
        if self.control:
            hatched = {"hatch": "////", "linewidth": THIN}
            return {"facecolor": "none", "edgecolor": self.colour, **hatched}
        return {"facecolor": self.colour, "linewidth": 0}


def looks(cell: CellTable) -> dict[str, Look]:
    """Return the look of each run to draw: methods, then controls, those with a good seed."""
    of_methods = {run: look_of(cell, run) for run in cell.runs("method")}
    of_controls = {run: _of_control(place) for place, run in enumerate(cell.runs("control"))}
    every = {**of_methods, **of_controls}
    return {run: look for run, look in every.items() if not cell.failed(run)}


def look_of(cell: CellTable, method: str) -> Look:
    """Return the look of a method by its place in the config, the same in every cell."""
    place = [run for run in cell.benchmark.labels if "@" not in run].index(method)
    turn, index = divmod(place, len(COLOURS))
    marker = MARKERS[(index + 3 * turn) % len(MARKERS)]  # where a colour comes again, another one
    return Look(COLOURS[index], marker, ("-", "-.", ":")[turn % 3], control=False)


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
    cell: CellTable,
    reading: str,
    spread: str = "Error bars: standard error",
    title: str = "",
) -> None:
    """Put the title and the legend of `axes` above the figure, and below it how to read it."""
    put_legend(fig, axes, f"{cell.title}: {title}" if title else cell.title)
    several = len(cell.seeds) > 1
    seeds = f"{spread} over {len(cell.seeds)} seeds." if several else "One seed."
    put_notes(fig, f"{reading} {seeds}", *_troubles(cell))


def put_legend(fig: Figure, axes: Axes, title: str) -> None:
    """Put a title and the legend of `axes` above the figure."""
    fig.legend(
        *axes.get_legend_handles_labels(),
        loc="outside upper left",
        ncols=5 if fig.get_figwidth() >= WIDTH else 3,
        title=as_text(title),
        alignment="left",
        title_fontproperties={"weight": "bold", "size": 9},
    )


def put_notes(fig: Figure, *notes: str) -> None:
    """Put notes below the figure, each wrapped to its width."""
    width = round(CHARACTERS * fig.get_figwidth())
    lines = [line for note in notes for line in wrap(note, width)]
    fig.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=7, color="0.3")


def as_text(name: str) -> str:
    """Return what draws `name` as it is: between two $, matplotlib would set mathematics."""
    return name.replace("$", r"\$")


def _troubles(cell: CellTable) -> Iterator[str]:
    for run, label in cell.labels.items():
        if cell.trouble(run):
            yield f"{label} {cell.trouble(run)}{': not drawn' if cell.failed(run) else ''}."
