"""Table of docs/which-number.md: do numbers rank methods alike? From results kept in docs/data."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from collateral.findings.metric_index import find_metric
from collateral.metrics.agreement import floor_of_means, mean_tau, order_pairs
from generators.tables import table

DATA = Path(__file__).parents[1] / "data"
# Kept results with at least three seeds: with fewer there is no noise floor.
FILES = (DATA / "default/metrics.csv", DATA / "cifar-small/metrics.csv")
LEAST_SEEDS = 3
# Metric and set of each number.
NUMBERS = {
    **{"ua": "", "mia": "", "rmia_auc": "", "js_divergence": "forget", "disagreement": "forget"},
    **{"ta": "", "avg_gap": "", "tow": "", "near_loss": "test", "damage": "retain"},
}
SETS = {"forget": "forget set", "test": "test", "retain": "retained"}
GAP_TERMS = ("ua", "ra", "ta", "mia")
# Pairs of which one number is computed from the other, or both from a third.
BY_CONSTRUCTION = {
    frozenset(pair)
    for pair in (
        *(("avg_gap", one) for one in ("ua", "ta", "mia")),
        *(("tow", one) for one in ("ua", "ta", "avg_gap")),
    )
}
DRAWS = 500


@dataclass(frozen=True)
class KeptCell:
    """Numbers of the methods of a cell, and of Retrain, one per seed."""

    values: Mapping[tuple[str, str], NDArray[np.float64]]  # by run and metric
    methods: tuple[str, ...]
    spread: Mapping[str, float]  # sd between Retrains of the numbers that are differences

    def orders(self, seeds: Iterable[int]) -> dict[str, NDArray[np.float64]]:
        """Return by number the order of all pairs of methods, for the seeds at these places."""
        chosen, found = [*seeds], {}
        for metric, floor in self.floors.items():
            apart = [self._distance(run, metric, chosen) for run in self.methods]
            if not np.isnan(apart).any():
                found[metric] = order_pairs(np.array(apart), floor)
        return found

    def _distance(self, run: str, metric: str, seeds: Sequence[int]) -> float:
        if metric == "avg_gap":
            return float(np.mean([self._distance(run, term, seeds) for term in GAP_TERMS]))
        own = self._mean(run, metric, seeds)
        ideal = find_metric(metric).ideal
        if ideal == "low":
            return own
        if ideal == "high":
            return -own
        # Differences from Retrain have no values of Retrain itself.
        return abs(own - (0.0 if metric in self.spread else self._mean("retrain", metric, seeds)))

    def _mean(self, run: str, metric: str, seeds: Sequence[int]) -> float:
        known = self.values.get((run, metric))
        return math.nan if known is None else float(known[[*seeds]].mean())

    @cached_property
    def floors(self) -> dict[str, float]:
        """Noise floors of the numbers that were measured."""
        found = {}
        for metric in (*NUMBERS, "ra"):
            if metric in self.spread:
                # Mean absolute value of a normal distribution with this standard deviation.
                size = math.sqrt(2 / math.pi / self.num_seeds)
                found[metric] = self.spread[metric] * size
            elif ("retrain", metric) in self.values:
                found[metric] = floor_of_means(self.values["retrain", metric])
        if found.keys() >= {*GAP_TERMS}:
            found["avg_gap"] = float(np.mean([found[term] for term in GAP_TERMS]))
        return found

    @property
    def num_seeds(self) -> int:
        """Number of seeds of every run."""
        return len(next(iter(self.values.values())))


def read_cells(file: Path) -> list[KeptCell]:
    """Return the cells of a long table; methods that collapsed or diverged are left out."""
    frame = pd.read_csv(file, dtype={"seed": str, "at": str}, keep_default_na=False)
    frame["value"] = pd.to_numeric(frame["value"], errors="coerce")
    frame = frame[frame["at"] == ""]
    return [_read_cell(rows) for name, rows in frame.groupby("cell", sort=False) if name]


def _read_cell(rows: pd.DataFrame) -> KeptCell:
    troubled = {*rows.loc[rows["status"] != "ok", "run"]}
    own = rows[(rows["kind"] == "method") & ~rows["run"].isin(troubled)]
    methods = [run for run in dict.fromkeys(own["run"]) if "@" not in run]
    by_seed = rows[rows["seed"] != ""]
    values, spread = {}, {}
    for metric, subset in {**NUMBERS, "ra": ""}.items():
        part = by_seed[(by_seed["metric"] == metric) & (by_seed["set"] == subset)]
        for run, found in part.groupby("run"):
            values[run, metric] = found.sort_values("seed")["value"].to_numpy()
        sd = rows[(rows["metric"] == f"{metric}_sd") & (rows["set"] == subset)]
        if len(sd):
            spread[metric] = float(sd["value"].iloc[0])
    return KeptCell(values, tuple(methods), spread)


def agreement_table(files: Sequence[Path] = FILES) -> str:
    """Return the table of Kendall's tau-b between rankings by each pair of numbers."""
    cells = [cell for file in files for cell in read_cells(file)]
    cells = [cell for cell in cells if cell.num_seeds >= LEAST_SEEDS]
    orders = [cell.orders(range(cell.num_seeds)) for cell in cells]
    names = [name for name in NUMBERS if any(name in one for one in orders)]
    drawn = [*_draw(cells)]
    rows = []
    for place, name in enumerate(names[1:], start=1):
        fields = [_field(orders, drawn, name, other) for other in names[:place]]
        rows.append([_label(name), *fields, *[""] * (len(names) - 1 - place)])
    return table(["number", *map(_label, names[:-1])], rows)


def _draw(cells: Sequence[KeptCell]) -> Iterable[list[dict[str, NDArray[np.float64]]]]:
    """Yield the orders of cells that are drawn with replacement, and so are their seeds."""
    rng = np.random.default_rng(0)
    for _ in range(DRAWS):
        chosen = [cells[i] for i in rng.integers(0, len(cells), len(cells))]
        yield [cell.orders(rng.integers(0, cell.num_seeds, cell.num_seeds)) for cell in chosen]


def _field(orders, drawn, one: str, other: str) -> str:
    found = mean_tau(orders, one, other)
    if math.isnan(found):
        return "–"
    mark = "*" if frozenset((one, other)) in BY_CONSTRUCTION else ""
    low, high = np.nanquantile([mean_tau(each, one, other) for each in drawn], [0.025, 0.975])
    return f"{found:.2f}{mark} [{low:.2f}, {high:.2f}]"


def _label(name: str) -> str:
    label = find_metric(name).label
    return f"{label}, {SETS[NUMBERS[name]]}" if NUMBERS[name] else label
