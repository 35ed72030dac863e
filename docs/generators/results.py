"""Table of docs/results.md: every method of every benchmark whose numbers docs/data keeps.

A benchmark is a folder with plan.json, metrics.csv and costs.csv as a run writes them. A population
of the calibration (docs/data/calibration, and folders in it) has rates by seed instead; its folder
has the name of its benchmark in configs/calibration.yaml.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from collateral.config.load import read
from collateral.contract.verdicts import MARGIN_KEYS, MEASURES
from collateral.findings.gap import TERMS
from collateral.findings.verdict.rule import Samples, decide, run_tests
from collateral.plugins.find import METHOD, params_class
from collateral.report.board import (
    NO_RETRAIN,
    ONE_SEED,
    Entry,
    as_percent,
    name_data,
    read_entries,
    read_kept,
)
from collateral.results import layout
from collateral.results.submission import JUDGED
from generators.tables import table
from paper.reference import printed_number

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs" / "data"
CALIBRATION = DATA / "calibration"
GAP_TERMS = TERMS["avg_gap"]
HEAD = ["data, model", "forget set", "seeds", "method", "verdict"]
HEAD += ["near, kept", "near, new", "gap", "time"]

Floats = NDArray[np.float64]


def _row(entry: Entry) -> list[str]:
    """Return the fields of the table's row."""
    verdict = "–" if entry.verdict in (ONE_SEED, NO_RETRAIN) else entry.verdict
    verdict += " *" if entry.is_recomputed else ""
    points = (as_percent(value, 1) for value in (entry.near, entry.near_test, entry.gap))
    names = [entry.setting, entry.forget_set, str(entry.seeds), entry.method, verdict]
    return [*names, *points, as_percent(entry.time, 0)]


def results_table() -> str:
    """Return one row per method and cell, sorted; what a row shares with the one above is empty."""
    rows, above = [], ("", "", 0)
    for result in sorted(find_results(), key=lambda one: one.order):
        row = _row(result)
        rows.append(["", "", "", *row[3:]] if result.cell == above else row)
        above = result.cell
    sortable = "The same rows can be sorted on [the board](board.md), with judged submissions.\n"
    return f"{table(HEAD, rows)}\n{sortable}"


def list_of_settings() -> str:
    """Return data set and model of all kept results, each with its largest number of seeds."""
    most: dict[str, int] = {}
    for result in find_results():
        most[result.setting] = max(result.seeds, most.get(result.setting, 0))
    seeds = {name: f"{count} seed{'s' if count > 1 else ''}" for name, count in most.items()}
    ordered = sorted(most, key=lambda name: (-most[name], name))
    return f"{'; '.join(f'{name}: {seeds[name]}' for name in ordered)}.\n"


def find_results() -> list[Entry]:
    """Return the methods of all kept results and of the calibration."""
    return [*(result for folder in kept_results() for result in _read(folder)), *_population()]


def kept_results() -> list[Path]:
    """Return the folders of docs/data with results, those of the theory included."""
    names = (layout.METRICS, layout.THEORY_FINDINGS)
    folders = {path.parent for name in names for path in DATA.rglob(name)}
    return sorted(folder for folder in folders if not (folder / JUDGED).is_file())


def _read(folder: Path) -> Iterator[Entry]:
    """Yield the methods of one benchmark; without Retrain, with the gap to the printed Retrain."""
    if not (folder / layout.METRICS).is_file():
        return
    cells = {cell.name: cell for cell in read_kept(folder).cells}
    for entry in read_entries(folder):
        cell = cells[entry.forget_set]
        is_printed = entry.verdict == NO_RETRAIN
        gap = printed_number(cell, entry.run, "avg_gap") if is_printed else entry.gap
        yield replace(entry, gap=gap)


def _population() -> Iterator[Entry]:
    """Yield the methods of every calibration, judged with all seeds; times were not kept."""
    benchmarks = read(ROOT / "configs" / "calibration.yaml").benchmarks
    for file in sorted(CALIBRATION.rglob("rates.csv")):
        benchmark = benchmarks[file.parent.name]
        margins = {MARGIN_KEYS[key]: value / 100 for key, value in benchmark.margin.items()}
        stated = np.array([margins.get(at, np.nan) for at in MEASURES])
        for cell, rates in pd.read_csv(file).groupby("cell"):
            name = file.parent.name
            setting = f"{name_data(name, benchmark.data)}, {benchmark.model}"
            for entry in _judge(setting, str(cell), rates, stated):
                yield replace(entry, benchmark=name)


def _judge(setting: str, cell: str, rates: pd.DataFrame, stated: Floats) -> Iterator[Entry]:
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
        yield Entry(
            benchmark="",
            setting=setting,
            forget_set=cell,
            seeds=retrained.shape[-1],
            run=name,
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
