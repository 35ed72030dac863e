"""Run the propositions: the points and findings of the figures, the checks, the figures."""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from collateral.contract.seeds import seed_of
from collateral.plots.print import save
from collateral.results import layout
from collateral.results.chain import seal_folder
from collateral.results.files import atomic, write_json
from paper.theory.checks import identity_checks, limit_checks
from paper.theory.experiments import PANELS
from paper.theory.figure import PLOTS, render


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `collateral theory` takes."""
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--runs", type=int, required=True, help="runs of each experiment and check")
    parser.add_argument("--out", type=Path, required=True, help="directory of tables and figures")


def run(args: argparse.Namespace) -> None:
    """Write theory.csv, findings.csv, checks.csv and figures/ into the output directory."""
    points, findings = run_panels(args.seed, args.runs)
    write_table(args.out / layout.THEORY_POINTS, points)
    write_table(args.out / layout.THEORY_FINDINGS, findings)
    checks = run_checks(args.seed, args.runs)
    write_table(args.out / layout.THEORY_CHECKS, checks)
    print(checks.to_string(index=False))
    # What is drawn is what the file says, so that the file alone gives the same figures.
    drawn = pd.read_csv(args.out / layout.THEORY_POINTS)
    for name, plot in PLOTS.items():
        save(render(plot, drawn), args.out / layout.FIGURES / name)
    captions = {name: plot.caption.format(runs=args.runs) for name, plot in PLOTS.items()}
    write_json(args.out / layout.FIGURES / layout.CAPTIONS, captions)
    seal_folder(args.out)


def generator(seed: int, purpose: str) -> np.random.Generator:
    """Return the random numbers of one panel or of the checks."""
    return np.random.default_rng(seed_of(seed, "theory", purpose))


def run_panels(seed: int, runs: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the points of all panels, and their findings, as long tables."""
    points, findings = [], []
    for name, experiment in PANELS.items():
        panel = experiment(generator(seed, name), runs)
        points.append(pd.DataFrame({"panel": name, **panel.points}))
        for finding, estimate in panel.findings.items():
            findings.append({"panel": name, "finding": finding, **estimate._asdict()})
    table = pd.concat(points).sort_values(["panel", "series", "x", "y"], kind="stable")
    return table, pd.DataFrame(findings)


def run_checks(seed: int, draws: int) -> pd.DataFrame:
    """Return one row per identity, rate and limit."""
    rng = generator(seed, "checks")
    checks = [*identity_checks(rng, draws), *limit_checks(rng, draws)]
    rows = [{**check._asdict(), "holds": check.holds} for check in checks]
    return pd.DataFrame(rows).sort_values("identity", kind="stable")


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a CSV file to ten digits, of which the last few are rounding."""
    with atomic(path) as temporary:
        table.to_csv(temporary, index=False, float_format="%.10g")
