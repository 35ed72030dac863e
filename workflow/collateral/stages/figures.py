"""A benchmark's metrics.csv in; the figures of each cell out."""

import argparse
import json
from pathlib import Path

from collateral.figures import affected, classes, similarity
from collateral.figures.style import save
from collateral.tables.classes import kept_names
from collateral.tables.results import cells, read

FIGURES = {"similarity": similarity.draw, "affected": affected.draw}
WHOLE_CLASS_FIGURES = {"classes": classes.draw}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the stage's inputs, values and outputs."""
    parser.add_argument("--metrics", type=Path, required=True, help="the benchmark's metrics.csv")
    parser.add_argument("--runs", type=json.loads, required=True, help="JSON: label of each run")
    parser.add_argument("--out", type=Path, required=True, help="folder of the figures")


def run(args: argparse.Namespace) -> None:
    """Draw every figure of every cell."""
    for cell in cells(read(args.metrics), args.runs):
        whole = WHOLE_CLASS_FIGURES if kept_names(cell) else {}
        for name, draw in (FIGURES | whole).items():
            save(draw(cell, args.runs), args.out / cell.name / name)
