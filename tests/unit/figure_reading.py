"""What a figure shows, read back from its drawn parts."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

STUDENT_95 = 4.302653  # t of two degrees of freedom: three seeds


def legend_of(figure: Figure) -> list[str]:
    """Return the legend's entries, in order."""
    [legend] = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def title_of(figure: Figure) -> str:
    """Return the title above the legend."""
    return figure.legends[0].get_title().get_text()


def note_of(figure: Figure) -> str:
    """Return what stands below a figure, as one line."""
    return figure.get_supxlabel().replace("\n", " ")


def line_of(axes: Axes, label: str) -> Line2D:
    """Return the line, or its first piece, of a legend's entry."""
    [line] = [line for line in axes.get_lines() if line.get_label() == label]
    return line


def labels_of(axes: Axes) -> list[str]:
    """Return the entries of the legend that a panel has something of."""
    return axes.get_legend_handles_labels()[1]


def pieces_of(axes: Axes, label: str) -> list[Line2D]:
    """Return the pieces of a line that has gaps, from left to right."""
    look = line_of(axes, label).get_color()
    found = [line for line in axes.get_lines() if line.get_color() == look]
    return [line for line in found if len(line.get_xdata()) and line.get_linestyle() != "None"]


def points_of(axes: Axes, label: str) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of all pieces of a line."""
    pieces = pieces_of(axes, label)
    return tuple(np.concatenate([line.get_data()[i] for line in pieces]) for i in (0, 1))


def error_bars_of(axes: Axes, label: str) -> np.ndarray:
    """Return (x, low, high) of every error bar of a line."""
    look = to_rgba(line_of(axes, label).get_color())
    bars = [c.lines[2][0] for c in axes.containers if isinstance(c, ErrorbarContainer)]
    own = [b for b in bars if tuple(b.get_color()[0]) == look]
    return ends_of([segment for collection in own for segment in collection.get_segments()])


def ends_of(segments: list[np.ndarray]) -> np.ndarray:
    """Return (x, low, high) of vertical segments; an undefined one is empty."""
    found = [(seg[0][0], seg[0][1], seg[1][1]) for seg in segments if len(seg)]
    return np.array(found).reshape(-1, 3)


def bars_of(axes: Axes, label: str) -> BarContainer:
    """Return the bars of a legend's entry."""
    [bars] = [c for c in axes.containers if c.get_label() == label and isinstance(c, BarContainer)]
    return bars


def heights_of(bars: BarContainer) -> list[float]:
    """Return how high bars are."""
    return [bar.get_height() for bar in bars.patches]


def span_of(axes: Axes, label: str) -> tuple[float, float]:
    """Return the least and largest y of a grey span."""
    [span] = [patch for patch in axes.patches if patch.get_label() == label]
    assert isinstance(span, Rectangle)
    return span.get_y(), span.get_y() + span.get_height()


def band_at(axes: Axes, x: float, place: int = 0) -> tuple[float, float]:
    """Return the ends of a panel's band, the first or another one, at a place of its line."""
    vertices = axes.collections[place].get_paths()[0].vertices
    heights = vertices[np.isclose(vertices[:, 0], x), 1]
    return heights.min(), heights.max()
