"""Tables' numbers, figures and images of all benchmarks in; one self-contained page out."""

import argparse
import json
from pathlib import Path

from collateral.results.files import atomic
from collateral.report.page import Source, render


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the stage's inputs, values and outputs."""
    parser.add_argument(
        "--benchmarks",
        type=json.loads,
        required=True,
        help='JSON: {"digits": {"folder": "results/digits", "runs": {"ft": "FT"}, '
        '"protocol": "matched"}}',
    )
    parser.add_argument("--theory", type=Path, help="folder of the theory's figures")
    parser.add_argument("--out", type=Path, required=True, help="the page")


def run(args: argparse.Namespace) -> None:
    """Render the page and write it."""
    sources = {
        name: Source(
            Path(given["folder"]), given["runs"], given.get("protocol"), given.get("sweeps", {})
        )
        for name, given in args.benchmarks.items()
    }
    with atomic(args.out) as temporary:
        temporary.write_text(render(sources, args.theory), encoding="utf-8")
