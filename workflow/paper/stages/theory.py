"""Run the experiments and checks on the paper's propositions, and draw their figures."""

from pathlib import Path

import numpy as np
import pandas as pd

from collateral.contract.conventions import derive_seed
from collateral.jobs.theory import TheoryJob
from collateral.plots.print import draw, save
from collateral.results import layout
from collateral.results.files import atomic, write_json
from collateral.results.record import Made
from collateral.stages._workspace import Workspace
from paper.theory.checks import Check, identity_checks, limit_checks, state
from paper.theory.experiments import PANELS
from paper.theory.figure import make_plots

COLUMNS = ["panel", "series", "x", "y", "low", "high", "predicted"]  # columns of theory.csv


def run(job: TheoryJob, place: Workspace) -> Made:
    """Write theory.csv, findings.csv, checks.csv and figures/ into the output folder."""
    out, seed, runs = place.output("theory"), job.seed, job.runs
    points, findings = run_panels(seed, runs)
    write_table(out / layout.THEORY_POINTS, points)
    write_table(out / layout.THEORY_FINDINGS, findings)
    checks = check_theory(seed, runs)
    write_table(out / layout.THEORY_CHECKS, tabulate(checks))
    write_json(out / layout.THEORY_STATEMENTS, {"statements": state(checks)})
    print(tabulate(checks).to_string(index=False))
    # Figures are drawn from the CSV file, so that this file is enough to draw them again.
    plots = list(make_plots(pd.read_csv(out / layout.THEORY_POINTS), runs))
    for plot in plots:
        save(draw(plot, job.width), out / layout.FIGURES / plot.name)
    write_json(out / layout.FIGURES / layout.CAPTIONS, {one.name: one.caption for one in plots})
    # Delete an old page: the record lists all files, and the stage `index` writes a new page later.
    (out / layout.REPORT).unlink(missing_ok=True)
    return Made({})


def generator(seed: int, purpose: str) -> np.random.Generator:
    """Return the random generator of one panel or of the checks."""
    return np.random.default_rng(derive_seed(seed, "theory", purpose))


def run_panels(seed: int, runs: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Run all experiments; return two long tables, of their points and of their findings."""
    points, findings = [], []
    for name, experiment in PANELS.items():
        panel = experiment(generator(seed, name), runs)
        points.append(panel.points.assign(panel=name)[COLUMNS])
        for finding, estimate in panel.findings.items():
            findings.append({"panel": name, "finding": finding, **estimate._asdict()})
    table = pd.concat(points).sort_values(["panel", "series", "x", "y"], kind="stable")
    return table, pd.DataFrame(findings)


def check_theory(seed: int, draws: int) -> list[Check]:
    """Run all checks: one per identity, convergence rate and limit."""
    rng = generator(seed, "checks")
    return [*identity_checks(rng, draws), *limit_checks(rng, draws)]


def tabulate(checks: list[Check]) -> pd.DataFrame:
    """Return the checks as a table."""
    rows = [{**check._asdict(), "holds": check.holds} for check in checks]
    return pd.DataFrame(rows).sort_values("identity", kind="stable")


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a CSV file with ten significant digits."""
    with atomic(path) as temporary:
        table.to_csv(temporary, index=False, float_format="%.10g")
