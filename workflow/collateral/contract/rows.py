"""Rows of the long table, and the names of tracked metrics and of attacks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

At = int | str | None  # type of `Row.at`


@dataclass(frozen=True)
class Row:
    """One number of a run, for one seed; `seed` is None for a number over all seeds."""

    run: str
    metric: str
    value: float = math.nan  # NaN: undefined
    seed: int | None = None
    # Subset on which the number is computed (retain, test or forget), if there is one.
    set: str = ""
    # Part that the number belongs to, if the metric has one number per part.
    # Parts are a similarity bin, an epoch, a support size, a class, a group, "near" or "far".
    at: At = None


def without_value(row: Row) -> Row:
    """Return a copy of the row in which NaN replaces the value."""
    return Row(row.run, row.metric, math.nan, row.seed, row.set, row.at)


TRACKED = "epoch_"  # prefix of the names of metrics that are computed after every epoch


Attack = Literal["confidence", "correctness", "entropy", "modified_entropy", "probability"]
ATTACKS: tuple[Attack, ...] = get_args(Attack)
MIA: Attack = "confidence"  # name of the attack that tables call MIA


def score_name(attack: str) -> str:
    """Return the name of the column with an attack's score."""
    return "mia" if attack == MIA else f"mia_{attack}"
