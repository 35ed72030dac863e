"""A benchmark's metrics.csv in; the figures of each cell out."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from collateral.figures import affected, classes, epochs, similarity, support, sweeps
from collateral.findings._shared.style import save
from collateral.findings.classes.table import kept_names
from collateral.results.table import Cell, Runs, cells, read
from collateral.findings.support_size.words import supports_of
from collateral.findings.sweeps.table import sweep_cell, sweeps_of

Draw = Callable[[Cell, Runs], Figure]
FIGURES: dict[str, Draw] = {"similarity": similarity.draw, "affected": affected.draw}
WHOLE_CLASS_FIGURES: dict[str, Draw] = {"classes": classes.draw}
TRACKED_FIGURES: dict[str, Draw] = {"epochs": epochs.draw}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the stage's inputs, values and outputs."""
    parser.add_argument("--metrics", type=Path, required=True, help="the benchmark's metrics.csv")
    parser.add_argument("--runs", type=json.loads, required=True, help="JSON: label of each run")
    parser.add_argument(
        "--sweeps", type=json.loads, default={}, help="JSON: the sweeps of each cell, by name"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the figures")


def run(args: argparse.Namespace) -> None:
    """Draw every figure of every cell."""
    frame = read(args.metrics)
    for cell in cells(frame, args.runs):
        for name, draw in _figures_of(cell).items():
            save(draw(cell, args.runs), args.out / cell.name / name)
        for sweep in sweeps_of(args.sweeps.get(cell.name, {})):
            swept = sweep_cell(frame, cell.name, sweep)
            for name, figure in sweeps.draw_all(swept, sweep, args.runs).items():
                save(figure, args.out / cell.name / name)


def _figures_of(cell: Cell) -> dict[str, Draw]:
    """Return how to draw each figure that makes sense for a cell."""
    whole = WHOLE_CLASS_FIGURES if kept_names(cell) else {}
    tracked = TRACKED_FIGURES if epochs.tracked_runs(cell) else {}
    diagnosed = support.FIGURES if supports_of(cell) else {}
    return FIGURES | whole | tracked | diagnosed
