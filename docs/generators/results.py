"""Table of docs/results.md: every method of every benchmark whose numbers docs/data keeps.

A benchmark is a folder with plan.json, metrics.csv and costs.csv as a run writes them. A population
of the calibration (docs/data/calibration, and folders in it) has rates by seed instead; its folder
has the name of its benchmark in configs/calibration.yaml.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from collateral.config.load import read
from collateral.contract.verdicts import MARGIN_KEYS, MEASURES
from collateral.findings.gap import TERMS
from collateral.findings.verdict.rule import Samples, decide, run_tests
from collateral.metrics.statistics import mean
from collateral.plugins.find import METHOD, params_class
from collateral.results import layout
from collateral.results.plan import BenchmarkPlan
from collateral.results.table import BenchmarkTable, CellTable, read_tables
from generators.tables import table
from paper.reference import printed_number

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs" / "data"
CALIBRATION = DATA / "calibration"
# Results of before the present rule, whose verdicts calibrate_verdicts.py recomputed.
REJUDGED = {"cifar-small": CALIBRATION / "cifar.csv"}
GAP_TERMS = TERMS["avg_gap"]
HEAD = ["data, model", "forget set", "seeds", "method", "verdict"]
HEAD += ["near, kept", "near, new", "gap", "time"]
OWN_FILES = ("arrays", "folder", "parquet")
ONE_SEED, NO_RETRAIN, EMPTY = "one seed", "no Retrain", "–"


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Result:
    """One method in one cell; rates are fractions, and NaN where they are not known."""

    setting: str  # data set and model
    forget_set: str
    seeds: int
    method: str
    verdict: str
    near: float  # accuracy lost on the nearest retained examples
    near_test: float  # ... on the nearest test examples
    gap: float
    time: float  # seconds with tuning, as a fraction of Retrain's

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key: data, forget set, then the larger near loss, smallest first."""
        worst = max(self.near, self.near_test)
        return *self.cell, math.isnan(worst), worst, self.method

    @property
    def cell(self) -> tuple[str, str, int]:
        """Setting, forget set, and the negative number of seeds: most seeds come first."""
        return self.setting, self.forget_set, -self.seeds

    def row(self) -> list[str]:
        """Return the fields of the table's row."""
        points = (_text(value, 1) for value in (self.near, self.near_test, self.gap))
        names = [self.setting, self.forget_set, str(self.seeds), self.method, self.verdict]
        return [*names, *points, _text(self.time, 0)]


def results_table() -> str:
    """Return one row per method and cell, sorted; what a row shares with the one above is empty."""
    rows, above = [], ("", "", 0)
    for result in sorted(find_results(), key=lambda one: one.order):
        row = result.row()
        rows.append(["", "", "", *row[3:]] if result.cell == above else row)
        above = result.cell
    return table(HEAD, rows)


def find_results() -> list[Result]:
    """Return the methods of all kept results and of the calibration."""
    return [*(result for folder in kept_results() for result in _read(folder)), *_population()]


def kept_results() -> list[Path]:
    """Return the folders of docs/data with results, those of the theory included."""
    names = (layout.METRICS, layout.THEORY_FINDINGS)
    return sorted({path.parent for name in names for path in DATA.rglob(name)})


def read_results(folder: Path) -> BenchmarkTable:
    """Return the long tables of kept results."""
    plan = BenchmarkPlan.load(folder / layout.PLAN)
    return read_tables(plan, folder / layout.METRICS, folder / layout.COSTS)


def _read(folder: Path) -> Iterator[Result]:
    """Yield the methods of one benchmark, without controls and sweeps."""
    if not (folder / layout.METRICS).is_file():
        return
    benchmark = read_results(folder)
    for cell in benchmark.cells:
        for run in cell.runs("method"):
            yield Result(
                setting=f"{_data_text(folder.name, benchmark.plan.data)}, {benchmark.plan.model}",
                forget_set=cell.name,
                seeds=len(cell.seeds),
                method=cell.labels[run],
                verdict=_verdict(folder.name, cell, run),
                near=mean(cell.values(run, "near_loss", "retain")),
                near_test=mean(cell.values(run, "near_loss", "test")),
                gap=_gap(cell, run),
                time=_time(cell, run),
            )


def _data_text(benchmark: str, data: Mapping[str, Any]) -> str:
    """Return the data set's name, and the number of classes if the config selects some.

    A user's own files have the name of the benchmark.
    """
    name = str(data.get("dataset", data["name"]))
    name = benchmark if name in OWN_FILES else name
    classes = data.get("classes")
    return f"{name} ({len(classes)} classes)" if classes else name


def _verdict(name: str, cell: CellTable, run: str) -> str:
    """Return the verdict by the present rule, or why there is none."""
    if not cell.has_retrain:
        return NO_RETRAIN
    if len(cell.seeds) == 1:
        return ONE_SEED
    if name in REJUDGED:
        return f"{_rejudged(REJUDGED[name])[cell.name, run]} *"
    [verdict] = cell.indices(run, "verdict")
    return verdict


@cache
def _rejudged(file: Path) -> dict[tuple[str, str], str]:
    return pd.read_csv(file).groupby(["cell", "method"])["verdict"].first().to_dict()


def _gap(cell: CellTable, run: str) -> float:
    """Return Avg. Gap; without Retrain, that to the printed Retrain."""
    if cell.has_retrain:
        return cell.number(run, "avg_gap")
    return printed_number(cell, run, "avg_gap")


def _time(cell: CellTable, run: str) -> float:
    """Return the seconds of a run and of its tuning over Retrain's seconds."""
    share = cell.number(run, "rte_share_with_tuning")
    if not math.isnan(share):
        return share
    tuning = np.nansum(cell.values(run, "tuning_seconds"))
    retrain = mean(cell.values(layout.RETRAIN, "rte"))
    return (mean(cell.values(run, "rte")) + tuning) / retrain


def _population() -> Iterator[Result]:
    """Yield the methods of every calibration, judged with all seeds; times were not kept."""
    benchmarks = read(ROOT / "configs" / "calibration.yaml").benchmarks
    for file in sorted(CALIBRATION.rglob("rates.csv")):
        benchmark = benchmarks[file.parent.name]
        margins = {MARGIN_KEYS[key]: value / 100 for key, value in benchmark.margin.items()}
        stated = np.array([margins.get(at, np.nan) for at in MEASURES])
        for cell, rates in pd.read_csv(file).groupby("cell"):
            setting = f"{_data_text(file.parent.name, benchmark.data)}, {benchmark.model}"
            yield from _judge(setting, str(cell), rates, stated)


def _judge(setting: str, cell: str, rates: pd.DataFrame, stated: Floats) -> Iterator[Result]:
    """Yield the methods of one cell of rates.csv, with the verdict of all its seeds."""
    by_run = {str(run): part.sort_values("seed") for run, part in rates.groupby("run", sort=False)}
    num_examples = by_run.pop("count").iloc[0]
    names = [run for run in by_run if run not in (layout.RETRAIN, layout.ORIGINAL)]
    measures = {run: _measures(part) for run, part in by_run.items()}
    steps = [1 / num_examples["near" if at == "damage" else at] for at in MEASURES]
    runs, retrained = np.array([measures[run] for run in names]), measures[layout.RETRAIN]
    samples = Samples(runs, retrained, np.array(steps), stated)
    verdicts = decide(run_tests(samples), np.zeros(len(names), bool))
    means = {run: part[[*GAP_TERMS]].mean() for run, part in by_run.items()}
    lost = (runs - retrained).mean(axis=-1)
    for place, name in enumerate(names):
        yield Result(
            setting=setting,
            forget_set=cell,
            seeds=retrained.shape[-1],
            method=params_class(name).label if name in METHOD.names() else name,
            verdict=str(verdicts[place]),
            near=lost[place, MEASURES.index("near")],
            near_test=lost[place, MEASURES.index("near_test")],
            gap=float((means[name] - means[layout.RETRAIN]).abs().mean()),
            time=math.nan,
        )


def _measures(rates: pd.DataFrame) -> Floats:
    """Return the rates that verdicts test, (measures, seeds); accuracies become errors."""
    errors = {at: 1 - rates[at].to_numpy() for at in ("near", "near_test", "far", "far_test")}
    damage = errors["near"] - errors["far"]
    known = {"ua": rates["ua"], "mia": rates["mia"], **errors, "damage": damage}
    return np.array([known[at] for at in MEASURES])


def _text(value: float, digits: int) -> str:
    """Return a fraction in percent or points."""
    return EMPTY if math.isnan(value) else f"{100 * value:.{digits}f}".replace("-", "−")
