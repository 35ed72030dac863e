"""Metrics: label, unit, ideal value and number of digits of every number in tables."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from collateral.contract.messages import quoted
from collateral.contract.rows import TRACKED

IDEALS = ("retrain", "high", "low")
EMPTY = "–"  # text for an undefined number
# Units, each with the default number of decimals; None for four significant digits.
DIGITS: dict[str, int | None] = {"%": 1, "points": 1, "points per 0.1": 2, "s": 1, "MB": 0}
DIGITS |= {"examples": 0, "cosine": 2, "nats": 3, "epochs": 1, "classes": 1, "cells": 0}
DIGITS |= {"rate": None, "": None}
# Factor for each unit: displayed value = factor * stored value; for instance, 0.5 becomes 50 %.
FACTORS = {"%": 100.0, "points": 100.0, "points per 0.1": 10.0}
PERCENT = FACTORS["%"]
LAST_BITS = 1e-12  # a spread below this fraction of the value is only rounding error
SHORTEST = 0.1  # seconds; shorter times vary too much from run to run to show more digits
# Units that column headings show; other units are in the label or in a caption.
IN_HEADINGS = ("%", "s", "MB", "nats")


@dataclass(frozen=True)
class Metric:
    """How a number is displayed; `ideal` is None if no value is better than another."""

    label: str
    description: str
    unit: str  # one of DIGITS
    ideal: str | None = None  # one of IDEALS
    # Number of decimals; if None, the default of the unit, or four significant digits.
    digits: int | None = None
    # Whether the metric depends on time or memory; such metrics are only in costs.csv.
    is_cost: bool = False

    def __post_init__(self) -> None:
        """Raise for an unknown unit or an unknown ideal."""
        known = (("unit", self.unit, [*DIGITS]), ("ideal", self.ideal, [None, *IDEALS]))
        for key, value, allowed in known:
            if value not in allowed:
                reason = f"{quoted(value)} is not allowed; allowed: {allowed}"
                raise ValueError(f"metric {quoted(self.label)}: {key}: {reason}")

    def describe(self, reference: str = "Retrain") -> str:
        """Return the description with the name of the reference run in place of `{reference}`."""
        return self.description.replace("{reference}", reference)

    @property
    def factor(self) -> float:
        """Factor that converts a stored number to `unit`."""
        return FACTORS.get(self.unit, 1.0)

    @property
    def heading(self) -> str:
        """Label with the unit, for the heading of a column or a panel."""
        return f"{self.label} ({self.unit})" if self.unit in IN_HEADINGS else self.label

    def text(self, value: float, spread: float = math.nan, *, sign: bool = False) -> str:
        """Format a stored number in its unit, with its spread: "47.4 ± 3.2"; "–" if undefined."""
        if math.isnan(value):
            return EMPTY
        if self.unit == "s" and 0 < value < SHORTEST / 2:
            return f"< {SHORTEST}"
        shown = self._format_number(value, value, "+" if sign else "")
        if math.isnan(spread):
            return shown
        is_last_bits = spread < LAST_BITS * abs(value)
        return f"{shown} ± {self._format_number(0.0 if is_last_bits else spread, value)}"

    def _format_number(self, number: float, value: float, sign: str = "") -> str:
        """Format `number`, which is `value` or its spread, with as many digits as `value`."""
        digits = DIGITS[self.unit] if self.digits is None else self.digits
        if digits is None:
            return f"{self.factor * number:{sign}.4g}".replace("-", "−")
        if self.unit == "s" and value >= 100:
            digits -= 1  # tenths of a second are noise in times above 100 s
        text = f"{self.factor * number:{sign}.{digits}f}"
        is_zero = not text.strip("+-0.")
        return (text.lstrip("+-") if is_zero else text).replace("-", "−")


def epoch_metrics(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """Return a per-epoch version of each metric, for tracked runs; names start with `epoch_`."""
    return {
        f"{TRACKED}{name}": replace(
            metric,
            label=f"{metric.label} by epoch",
            description=f"{metric.description} after an epoch; 0 is the base model",
        )
        for name, metric in metrics.items()
    }


def with_intervals(
    metrics: Mapping[str, Metric], over: Iterable[str] = ("seeds",)
) -> dict[str, Metric]:
    """Return the metrics and, for each, both ends of its 95 % interval over seeds or examples.

    The names of the ends are `<name>_low` and `<name>_high`; over examples, `<name>_examples_low`
    and `<name>_examples_high`.
    """
    found = dict(metrics)
    for name, metric in metrics.items():
        for unit in over:
            prefix, suffix = ("", "") if unit == "seeds" else (f"{unit}_", f", {unit}")
            for end, side in (("low", "lower"), ("high", "upper")):
                text = f"{side} end of the 95 % interval over {unit}: {metric.description}"
                label = f"{metric.label}, {side} end{suffix}"
                found[f"{name}_{prefix}{end}"] = replace(metric, label=label, description=text)
    return found


def format_percent(share: float) -> str:
    """Format a fraction as percent: whole percent, or one significant digit below 1 %."""
    return f"{PERCENT * share:.0f} %" if share >= 0.01 else f"{PERCENT * share:.1g} %"


def format_exact_percent(share: float) -> str:
    """Format a fraction from the config as percent, with all its digits."""
    return f"{PERCENT * share:g} %"
