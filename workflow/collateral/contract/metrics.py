"""What a number is called, measured in and best at, and how many of its digits are shown."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from collateral.contract.messages import did_you_mean, quoted
from collateral.contract.rows import TRACKED

Unit = Literal[
    "%",
    "points",
    "points per 0.1",
    "s",
    "MB",
    "examples",
    "cosine",
    "nats",
    "epochs",
    "classes",
    "cells",
    "rate",
    "",
]
Ideal = Literal["retrain", "high", "low"]
EMPTY = "–"  # an undefined number
DIGITS: dict[str, int] = {
    "%": 1,
    "points": 1,
    "points per 0.1": 2,
    "s": 2,
    "MB": 0,
    "examples": 0,
    "cosine": 2,
    "nats": 3,
    "epochs": 1,
    "classes": 1,
    "cells": 0,
}
# Rates are kept in [0, 1], and slopes as rates per 1.
FACTORS = {"%": 100.0, "points": 100.0, "points per 0.1": 10.0}
PERCENT = FACTORS["%"]
LAST_BITS = 1e-12  # of a value: so small a spread is the arithmetic's
IN_HEADINGS = ("%", "s", "MB", "nats")  # other units are in the label or in a caption


@dataclass(frozen=True)
class Metric:
    """How a number is shown; `ideal` is None where it is neither good nor bad."""

    label: str
    description: str
    unit: Unit
    ideal: Ideal | None = None
    digits: int | None = None  # after the point; None: the unit's, or four significant ones
    is_cost: bool = False  # follows from time or memory, never the same twice: in costs.csv alone

    def __post_init__(self) -> None:
        """Refuse a unit and an ideal that nobody knows how to show."""
        for key, allowed in (("unit", get_args(Unit)), ("ideal", get_args(Ideal))):
            value = getattr(self, key)
            if value not in allowed and (key, value) != ("ideal", None):
                listed = ", ".join(map(quoted, allowed))
                hint = did_you_mean(str(value), [word for word in allowed if word])
                said = f"{quoted(value)} is not allowed; allowed: {listed}{hint}"
                raise ValueError(f"metric {quoted(self.label)}: {key}: {said}")

    @property
    def factor(self) -> float:
        """What the stored number is multiplied by to be shown in `unit`."""
        return FACTORS.get(self.unit, 1.0)

    @property
    def heading(self) -> str:
        """The label and its unit, above a column or a panel."""
        return f"{self.label} ({self.unit})" if self.unit in IN_HEADINGS else self.label

    def text(self, value: float, spread: float = math.nan, *, sign: bool = False) -> str:
        """Return a stored number in its unit, and its spread: "47.4 ± 3.2"; "–" if undefined."""
        if math.isnan(value):
            return EMPTY
        shown = self._rounded(value, value, "+" if sign else "")
        if math.isnan(spread):
            return shown
        is_last_bits = spread < LAST_BITS * abs(value)
        return f"{shown} ± {self._rounded(0.0 if is_last_bits else spread, value)}"

    def _rounded(self, number: float, value: float, sign: str = "") -> str:
        """Write a number with the digits that `value` is shown with."""
        digits = DIGITS.get(self.unit) if self.digits is None else self.digits
        if digits is None:
            return f"{self.factor * number:{sign}.4g}".replace("-", "−")
        if self.unit == "s" and value >= 10:
            digits -= 1  # of long times, the hundredths are noise
        text = f"{self.factor * number:{sign}.{digits}f}"
        is_zero = not text.strip("+-0.")
        return (text.lstrip("+-") if is_zero else text).replace("-", "−")


def epoch_metrics(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """Return the same numbers after every epoch of a tracked run, by their names there."""
    return {
        f"{TRACKED}{name}": replace(
            metric,
            label=f"{metric.label} by epoch",
            description=f"{metric.description} after an epoch; 0 is the base model",
        )
        for name, metric in metrics.items()
    }


def format_percent(share: float) -> str:
    """Return a share within a sentence: whole percent, or one digit of what is below one."""
    return f"{PERCENT * share:.0f} %" if share >= 0.01 else f"{PERCENT * share:.1g} %"


def format_exact_percent(share: float) -> str:
    """Return a share of the config with all its digits."""
    return f"{PERCENT * share:g} %"
