"""The long tables of a benchmark, read as plain CSV: what all that is shown is compared with."""

from __future__ import annotations

import csv
import math
import re
from collections import defaultdict
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from collateral.findings.metric_index import find_metric

FACTORS = {"%": 100, "points": 100, "points per 0.1": 10}  # of what is stored as a rate
NUMBER = re.compile(r"[+−-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


class Row(NamedTuple):
    """Where a number stands: the file, its line, and what is written there."""

    file: str
    line: int
    cell: str
    run: str
    metric: str
    set: str
    at: str
    seed: str
    value: str


class LongTable:
    """All rows of metrics.csv and costs.csv of one benchmark."""

    def __init__(self, root: Path):
        self.rows: list[Row] = []
        self.troubled: set[tuple[str, str]] = set()  # cell and run, where a seed did not end well
        for name in ("metrics.csv", "costs.csv"):
            with (root / name).open(newline="") as file:
                for line, row in enumerate(csv.DictReader(file), 2):
                    keys = ("cell", "run", "metric", "set", "at", "seed", "value")
                    self.rows.append(Row(name, line, *(row[key] for key in keys)))
                    if row.get("status", "ok") != "ok":
                        self.troubled.add((row["cell"], row["run"]))
        self._found: dict[tuple[str, ...], dict[str, Row]] = defaultdict(dict)
        for one in self.rows:
            self._found[one.cell, one.run, one.metric, one.set, one.at][one.seed] = one

    def places(self, cell: str, run: str, metric: str, of: str = "", at: object = "") -> list[Row]:
        """Return the rows of a number, one per seed in the order of the seeds, or one for all."""
        found = self._found.get((cell, run, metric, of, str(at)), {})
        return [found[seed] for seed in sorted(found, key=lambda seed: int(seed or -1))]

    def values(self, cell: str, *place: object) -> np.ndarray:
        """Return a number of every seed; NaN where it is undefined in a seed, or in all."""
        rows = self.places(cell, *map(str, place))
        by_seed = {row.seed: float(row.value) if row.value else math.nan for row in rows}
        if set(by_seed) == {""}:
            return np.array([*by_seed.values()])
        return np.array([by_seed.get(seed, math.nan) for seed in self.seeds])

    @cached_property
    def seeds(self) -> list[str]:
        """All seeds in their order."""
        return sorted({row.seed for row in self.rows if row.seed}, key=int)

    def number(self, cell: str, *place: object) -> float:
        """Return a number over all seeds; NaN where there is none."""
        rows = self.places(cell, *map(str, place))
        assert {row.seed for row in rows} <= {""}, place
        return float(rows[0].value) if rows and rows[0].value else math.nan

    def mean(self, cell: str, *place: object) -> float:
        """Return the mean over the seeds in which a number is defined, or the number over all."""
        return mean(self.values(cell, *place))

    def indices(self, cell: str, run: str, metric: str, of: str = "") -> list[str]:
        """Return where a run has this number, in the order of the file."""
        keys = (key for key in self._found if key[:4] == (cell, run, metric, of))
        return [key[4] for key in keys]

    def chance(self, cell: str, place: tuple[object, ...]) -> float:
        """Return the 95 % bound of a number that has a standard deviation."""
        return t95(len(self.seeds)) * self.number(cell, *place)

    def floor_bound(self, cell: str, metric: str) -> float:
        """Return the same of a metric whose noise floor is a mean absolute deviation."""
        floor = self.number(cell, "retrain", "floor", "", metric)
        return t95(len(self.seeds)) * math.sqrt(math.pi / 2) * floor


def mean(values: np.ndarray) -> float:
    """Return the mean of what is defined."""
    known = values[~np.isnan(values)]
    return float(known.sum() / len(known)) if len(known) else math.nan


def spread(values: np.ndarray) -> float:
    """Return the sample standard deviation of what is defined."""
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return math.nan
    return math.sqrt(sum((known - known.sum() / len(known)) ** 2) / (len(known) - 1))


def half_width(values: np.ndarray) -> float:
    """Return half of the 95 % interval of the mean of what is defined."""
    known = values[~np.isnan(values)]
    return t95(len(known)) * spread(known) / math.sqrt(len(known)) if len(known) > 1 else math.nan


def t95(count: int) -> float:
    """Return Student's quantile of so many seeds."""
    return float(student.ppf(0.975, count - 1))


def factor_of(metric: str) -> float:
    """Return what a stored number is multiplied by where it is shown."""
    return FACTORS.get(find_metric(metric).unit, 1)


def numbers_in(text: str) -> list[str]:
    """Return all numbers of a text, as they are written."""
    return NUMBER.findall(text)


def is_shown(text: str, value: float) -> bool:
    """Tell whether a text is this number, rounded to the digits that it has."""
    plain = text.replace("−", "-").replace(",", "").lower()
    digits, _, power = plain.partition("e")
    decimals = len(digits.partition(".")[2]) - int(power or 0)
    return abs(float(plain) - value) <= 0.5 * 10.0**-decimals * (1 + 1e-6) + 1e-12


def differing(text: str, values: list[float]) -> str:
    """Return what is wrong with the numbers of a text; empty where they are these, in order."""
    known = [value for value in values if not math.isnan(value)]
    shown = numbers_in(text)
    if len(shown) == len(known) and all(map(is_shown, shown, known)):
        return ""
    return f"{text!r} should have {[round(value, 5) for value in known]}"
