"""The cells of the paper's tables, and how far numbers of ours are from them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from collateral.results.files import read_rows

FILE = Path(__file__).parent / "printed.csv"
PERCENT = 100.0


@dataclass(frozen=True)
class Printed:
    """A cell of the paper's tables: rates in [0, 1], seconds as they are."""

    table: int
    run: str
    metric: str
    mean: float
    std: float
    runs: int | None  # None: the paper does not say how many

    @property
    def standard_error(self) -> float:
        """Of the mean; the paper's deviations are of the population (ddof=0)."""
        return self.std / math.sqrt(self.runs - 1) if self.runs else math.nan


@dataclass(frozen=True)
class Setting:
    """What a table of the paper is of."""

    data: str
    model: str
    class_name: str
    fraction: float


def printed(setting: Setting) -> list[Printed]:
    """Return what the paper's tables say of a setting; of a number that is in several, the first.

    Nothing for a setting that the paper does not have.
    """
    found: dict[tuple[str, str], Printed] = {}
    for one in _by_setting().get(setting, []):
        found.setdefault((one.run, one.metric), one)
    return list(found.values())


def settings() -> list[Setting]:
    """Return all settings of the paper's tables."""
    return list(_by_setting())


def num_cells() -> int:
    """Return how many cells the paper's tables have."""
    return sum(map(len, _by_setting().values()))


@cache
def _by_setting() -> Mapping[Setting, list[Printed]]:
    found: dict[Setting, list[Printed]] = {}
    for row in read_rows(FILE):
        setting = Setting(row["data"], row["model"], row["class"], float(row["fraction"]))
        found.setdefault(setting, []).append(_printed(row))
    return found


def _printed(row: Mapping[str, str]) -> Printed:
    factor = 1.0 if row["metric"] == "rte" else PERCENT
    mean, std = (float(row[key] or "nan") / factor for key in ("mean", "std"))
    runs = int(row["runs"]) if row["runs"] else None
    return Printed(int(row["table"]), row["run"], row["metric"], mean, std, runs)


def setting_of(data: Mapping[str, Any], model: str, forgotten: Mapping[str, Any]) -> Setting | None:
    """Return the setting of a cell in which a part of one class of a whole data set is forgotten.

    `forgotten` has by class how many examples are, and of how many.
    """
    if data.keys() != {"name"} or len(forgotten) != 1:  # other options cut the data set
        return None
    ((name, (count, size)),) = forgotten.items()
    return Setting(data["name"], model, name, round(count / size, 2))


def in_standard_errors(ours: float, error: float, theirs: Printed) -> float:
    """Return the difference of two means over its standard error; NaN where one is unknown."""
    total = math.hypot(error, theirs.standard_error)
    return (ours - theirs.mean) / total if total > 0 else math.nan
