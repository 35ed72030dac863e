"""Rows of the long table, and the names of tracked metrics and of attacks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

At = int | str | None


@dataclass(frozen=True)
class Row:
    """One number of a run: of one seed, or over all seeds where `seed` is None."""

    run: str
    metric: str
    value: float = math.nan  # NaN: undefined
    seed: int | None = None
    set: str = ""  # retain, test or forget, where the number is of one of them
    at: At = None  # an index: a bin, an epoch, a size, a class


def without_value(row: Row) -> Row:
    """Return the row without its value."""
    return Row(row.run, row.metric, math.nan, row.seed, row.set, row.at)


TRACKED = "epoch_"  # prefix of the metric names in history.csv and metrics.csv


Attack = Literal["confidence", "correctness", "entropy", "modified_entropy", "probability"]
ATTACKS: tuple[Attack, ...] = get_args(Attack)
MIA: Attack = "confidence"  # what tables call so


def score_name(attack: str) -> str:
    """Return the name of an attack's score."""
    return "mia" if attack == MIA else f"mia_{attack}"
