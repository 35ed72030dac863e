"""Results of our own tuning of each method: the default values, and the best values of the grid."""

import csv
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("tuning.csv")  # file written by docs/make_tuning.py
SHOWN = {"ua": "UA", "ra": "RA", "ra_affected": "affected RA"}
ABOUT = ("config", "cell", "retrain_ua", "method", "run")
COLUMNS = (*ABOUT, "which", "values", *SHOWN, "gap")


class TunedRun(NamedTuple):
    """A tuned method in a cell: the trial with default values, and the trial nearest to Retrain."""

    config: str
    cell: str
    retrain_ua: str
    method: str
    run: str
    default: str
    nearest: str


def find_tuned(method: str) -> list[TunedRun]:
    """Return the tuned runs of a method; the list may be empty."""
    return [one for one in _all() if one.method == method]


@cache
def _all() -> tuple[TunedRun, ...]:
    with FILE.open(newline="", encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    return tuple(_paired(rows))


def _paired(rows: list[dict[str, str]]) -> Iterator[TunedRun]:
    for about, found in groupby(rows, lambda row: tuple(row[key] for key in ABOUT)):
        config, cell, retrain_ua, method, run = about
        by_which = {row["which"]: _in_words(row) for row in found}
        default, nearest = by_which.get("default", "not tried"), by_which["nearest"]
        yield TunedRun(config, cell, _points(retrain_ua), method, run, default, nearest)


def _in_words(row: dict[str, str]) -> str:
    numbers = ", ".join(f"{word} {_points(row[name])}" for name, word in SHOWN.items())
    return f"{row['values']}: {numbers}, gap {100 * float(row['gap']):.1f}"


def _points(share: str) -> str:
    return f"{100 * float(share):.0f}" if share not in ("", "nan") else "–"
