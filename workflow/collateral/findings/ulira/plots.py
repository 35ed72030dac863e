"""U-LiRA: how exposed examples are by similarity to the forget set, and the forgotten ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from collateral.findings._shared.series import count_examples, find_look
from collateral.findings.ulira.views import COVERAGE, count_models, find_attacked
from collateral.plots.plot import Axis, Level, Panel, Plot, Series
from collateral.results.table import CellTable

CAPTION = (
    "U-LiRA on shadow models. Left: how much better, in AUC, retained examples can be told to have "
    "been seen after unlearning than before, by similarity to the forget set, in ten bins of equal "
    "width; below, examples per bin. Right: the AUC of the forgotten examples after unlearning."
)
READING = (
    "Left, above zero: more exposed than before. Right, 0.5: nobody can tell who was forgotten; "
    "dashed: before unlearning. Bars: intervals over {models} shadow models, right by Holm. "
    f"{COVERAGE}"
)
LEAST_REACH = 0.05  # of AUC on either side of zero, so that noise alone does not fill the panel


def plots(cell: CellTable) -> Iterator[Plot]:
    """Yield the plot, if there is a shadow pool."""
    runs = find_attacked(cell)
    if not runs or not cell.indices(cell.reference, "bin_low", "retain"):
        return
    panels = [_change_panel(cell, runs), _forgotten_panel(cell, runs), _count_panel(cell)]
    title = f"{cell.title}: exposure to membership attacks"
    height = max(2.6, 1.2 + 0.13 * len(runs))
    notes = [READING.format(models=count_models(cell))]
    yield Plot("exposure", title, CAPTION, panels, 2, notes=notes, row_height=height)


def _change_panel(cell: CellTable, runs: list[str]) -> Panel:
    """Return one line per method over the bins of similarity."""
    edges = _edges(cell)
    centres = (edges[1:] + edges[:-1]) / 2
    series = []
    for run in runs:
        bins = range(len(centres))
        y, low, high = (
            [cell.number(run, f"exposure_change{end}", "retain", b) for b in bins]
            for end in ("", "_low", "_high")
        )
        look = find_look(cell, run)
        series.append(Series(cell.labels[run], look, centres.tolist(), y, run, low=low, high=high))
    largest = max((abs(v) for one in series for v in one.y if math.isfinite(v)), default=0.0)
    reach = 1.1 * max(LEAST_REACH, 2 * largest)
    return Panel(
        series,
        "Retained examples",
        Axis("Similarity to the forget set", limits=(edges[0], edges[-1])),
        Axis("AUC after − before", limits=(-reach, reach)),
        levels=[Level(0.0)],
        dodge=float(np.diff(edges).min()) / 3,
        value_name="AUC after − before",
        x_name="similarity",
        number_format="+.3f",
    )


def _forgotten_panel(cell: CellTable, runs: list[str]) -> Panel:
    """Return one row per method, the first on top."""
    places = {run: float(len(runs) - 1 - place) for place, run in enumerate(runs)}
    series = []
    for run, place in places.items():
        x, low, high = (
            [cell.number(run, f"ulira_auc{end}", "forget")] for end in ("", "_low", "_high")
        )
        one = Series(cell.labels[run], find_look(cell, run), x, [place], run, "point", low, high)
        series.append(replace(one, is_across=True))
    before = cell.number(cell.reference, "lira_auc", "forget")
    ticks = {place: cell.labels[run] for run, place in places.items()}
    return Panel(
        series,
        "Forgotten examples",
        Axis("AUC"),
        Axis(ticks=ticks, limits=(-0.6, len(runs) - 0.4)),
        levels=[Level(0.5, "x"), Level(before, "x", "dashed")],
        x_name="AUC",
        value_name="row",
        number_format=".0f",
    )


def _count_panel(cell: CellTable) -> Panel:
    """Return the number of examples in each bin."""
    edges = _edges(cell)
    bins = cell.indices(cell.reference, "bin_low", "retain")
    counts = [cell.number(cell.reference, "exposure_count", "retain", b) for b in bins]
    centres = ((edges[1:] + edges[:-1]) / 2).tolist()
    return count_examples(centres, counts, (edges[0], edges[-1]), 0.5, "Examples")


def _edges(cell: CellTable) -> np.ndarray:
    bins = cell.indices(cell.reference, "bin_low", "retain")
    lows = [cell.number(cell.reference, "bin_low", "retain", b) for b in bins]
    return np.array([*lows, cell.number(cell.reference, "bin_high", "retain", bins[-1])])
