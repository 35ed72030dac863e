"""Path patterns of all files, with Snakemake's wildcards in braces; and the Snakefile's folder.

Every name of results/layout.py is also a name here, with its path below the benchmark's folder:
`paths.METRICS` is results/{benchmark}/metrics.csv. Names that are assigned below have precedence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import collateral
from collateral.results import layout

if TYPE_CHECKING:
    from collateral.plan.grid import Benchmark


RESULTS = "results"
LOGS = "logs"

BENCHMARK = f"{RESULTS}/{{benchmark}}"


def __getattr__(name: str) -> str:
    """Return the path pattern of a file or folder that is called `name` in results/layout.py."""
    return f"{BENCHMARK}/{getattr(layout, name)}"


def _in(folder: str, name: str) -> str:
    return f"{BENCHMARK}/{folder}/{name}"


EMBEDDINGS = _in(layout.BASE, layout.EMBEDDINGS)
CELL_METRICS = _in(layout.CELL, layout.METRICS)
CELL_COSTS = _in(layout.CELL, layout.COSTS)
CELL_METRICS_RECORD = _in(layout.CELL, layout.METRICS_RECORD)
CELL_COSTS_RECORD = _in(layout.CELL, layout.COSTS_RECORD)
CELL_PROBLEMS = _in(layout.CELL, layout.PROBLEMS)
TRIALS = _in(layout.TUNE, layout.TRIALS)
SELECTED = _in(layout.TUNE, layout.SELECTED)
TEACHER_SAYS = _in(layout.TEACHER, layout.TEACHER_RESULT)
SUPPORT_SIZES = _in(layout.SUPPORT_SIZE, layout.SUPPORT_SIZES)
PROBE_SHOWS = _in(layout.PROBE, layout.PROBE_RESULT)
EXPOSED = _in(layout.EXPOSURE, layout.EXPOSURE_MARGINS)
EPOCHS = _in(layout.RUN, layout.EPOCHS)
RETRAIN = f"{BENCHMARK}/{layout.RUN}".replace("{run}", layout.RETRAIN)

INDEX = f"{RESULTS}/report.html"
THEORY = f"{RESULTS}/theory"
THEORY_PAGE = f"{THEORY}/{layout.REPORT}"

NEVER = "(?!)"  # regular expression that matches nothing


def run_files(folder: str) -> dict[str, str]:
    """Return a dict from name to path of the files of a base, retrained or unlearned model."""
    return {option: f"{folder}/{name}" for option, name in layout.RUN_FILES.items()}


def shadow_files(folder: str) -> dict[str, str]:
    """Return a dict from name to path of the files of a shadow model."""
    names = {**layout.RUN_FILES, "margins": layout.MARGINS}
    return {option: f"{folder}/{name}" for option, name in names.items() if option != "outputs"}


def run_constraint(grid: Mapping[str, Benchmark], rule: str) -> str:
    """Return the regular expression that the wildcard `benchmark` must match in a rule."""
    # A lookahead checks the run's name, because benchmark and run decide which rule makes a file.
    return "|".join(f"{re.escape(name)}{_lookahead(one, rule)}" for name, one in grid.items())


def _lookahead(benchmark: Benchmark, rule: str) -> str:
    """Return a lookahead for the runs of a rule; for `unlearn`, it excludes other rules' runs."""
    tracked = {run for cell in benchmark.cells.values() for run in cell.tracked}
    runs = {"track": tracked, "given": {*benchmark.config.given}}
    if rule in runs:
        return f"(?={_run_pattern(runs[rule])})"
    return f"(?!{_run_pattern(tracked | runs['given'])})"


def _run_pattern(runs: Iterable[str]) -> str:
    """Return a pattern for the part of a run's path that follows the benchmark's name."""
    names = "|".join(map(re.escape, sorted(runs))) or NEVER
    return f"/[^/]+/seed-[0-9]+/(?:{names})/"


def theory_files() -> dict[str, str | list[str]]:
    """Return a dict from name to path of each output file of the rule `theory`."""
    figures = f"{THEORY}/{layout.FIGURES}"
    drawn = [f"{figures}/{name}" for name in layout.THEORY_FIGURES]
    return {
        "points": f"{THEORY}/{layout.THEORY_POINTS}",
        "findings": f"{THEORY}/{layout.THEORY_FINDINGS}",
        "checks": f"{THEORY}/{layout.THEORY_CHECKS}",
        "record": record(THEORY),
        "captions": f"{figures}/{layout.CAPTIONS}",
        "figures": [f"{name}.{kind}" for name in drawn for kind in ("pdf", "png")],
    }


def record(folder: str) -> str:
    """Return the path of a job's record, which lists parameters, seeds, inputs and versions."""
    return f"{folder}/{layout.RECORD}"


def cost(folder: str) -> str:
    """Return the path of a job's cost file, which the job writes last."""
    return f"{folder}/{layout.COST}"


def prepared(folder: str) -> str:
    """Return the path of the folder with the files that `prepare` writes in a job."""
    return f"{folder}/{layout.PREPARED}"


def log(stage: str, *wildcards: str) -> str:
    """Return the pattern of a stage's log file."""
    return "/".join([LOGS, stage, *(f"{{{wildcard}}}" for wildcard in wildcards)]) + ".log"


def checkpoints(folder: str) -> str:
    """Return the folder of a job's checkpoints, outside of `folder`, which Snakemake may clear."""
    return folder.replace(RESULTS, f"{RESULTS}/.checkpoints", 1)


# The Snakefile, rules, profiles and configs are in a checkout, or in the wheel.
PACKAGE = Path(collateral.__file__).parent
CHECKOUT = PACKAGE.parents[1]
SHIPPED = PACKAGE / "_workflow"  # folder of the Snakefile in the wheel; setup.py creates it
# Environment variables that envs/*.post-deploy.sh reads to install Collateral with conda.
CHECKOUT_VARIABLE, VERSION_VARIABLE = "COLLATERAL_CHECKOUT", "COLLATERAL_VERSION"


def home() -> Path:
    """Return the folder of the Snakefile."""
    for folder in (SHIPPED, CHECKOUT):
        if (folder / "Snakefile").is_file():
            return folder
    raise ValueError(
        f"no Snakefile in {SHIPPED} or {CHECKOUT}: install the package again, or work in a checkout"
    )


def default_config() -> str:
    """Return config.yaml in the working folder or, if missing, the one beside the Snakefile."""
    own = Path("config.yaml")
    return str(own if own.exists() else home() / "config.yaml")


def set_install_variables(home: Path) -> None:
    """Set variables with which conda installs Collateral, from the checkout `home` or a release."""
    os.environ[VERSION_VARIABLE] = collateral.__version__
    os.environ[CHECKOUT_VARIABLE] = "" if home == SHIPPED else str(home)
