"""A figure as a finding gives it: what is drawn, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """A figure, the name of its files, and the caption below it."""

    name: str
    figure: Figure
    caption: str
