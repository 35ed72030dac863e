"""Numbers in the paper's tables, and the distance of our numbers from them."""

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
    """A number of one of the paper's tables: a rate in [0, 1], or seconds."""

    table: int
    run: str
    metric: str
    mean: float
    std: float
    runs: int | None  # number of runs behind the mean; None if the paper does not state it

    @property
    def standard_error(self) -> float:
        """Standard error of the mean: std / sqrt(runs - 1), because the paper's std has ddof=0."""
        return self.std / math.sqrt(self.runs - 1) if self.runs else math.nan


@dataclass(frozen=True)
class Setting:
    """A setting of the paper: data set, model, forgotten class and its forgotten fraction."""

    data: str
    model: str
    class_name: str
    fraction: float


def printed(setting: Setting) -> list[Printed]:
    """Return the paper's numbers in a setting; an empty list if the paper has none in this setting.

    If several tables have the same number, the first table is used.
    """
    found: dict[tuple[str, str], Printed] = {}
    for one in _by_setting().get(setting, []):
        found.setdefault((one.run, one.metric), one)
    return list(found.values())


def settings() -> list[Setting]:
    """Return all settings in the paper's tables."""
    return list(_by_setting())


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


def cell_setting(
    data: Mapping[str, Any], model: str, forgotten: Mapping[str, Any]
) -> Setting | None:
    """Return the setting of a cell, if one class of a complete data set is affected; else None.

    `forgotten` has, for each affected class, its number of forgotten examples and its size.
    """
    # Other options of the data set, such as a number of images, may make it incomplete.
    if data.keys() != {"name"} or len(forgotten) != 1:
        return None
    ((name, (count, size)),) = forgotten.items()
    return Setting(data["name"], model, name, round(count / size, 2))


def in_standard_errors(ours: float, error: float, theirs: Printed) -> float:
    """Return our mean minus the paper's, divided by the standard error of this difference.

    `error` is the standard error of our mean. The result is NaN if an error is undefined.
    """
    total = math.hypot(error, theirs.standard_error)
    return (ours - theirs.mean) / total if total > 0 else math.nan
