"""How a number is shown: percent with one decimal, the deviation with its sign, seconds."""

import math
from dataclasses import dataclass

from collateral.findings.catalogue import METRICS
from collateral.findings._shared.compare import GAPS, Entry, Row

EMPTY = "–"


@dataclass(frozen=True)
class Shown:
    """An entry as text; empty strings where there is nothing to show."""

    value: str  # "47.4 ± 3.2"
    deviation: str = ""  # "(+25.8)", for the noise floor "(1.2)"
    best: bool = False
    chance: bool = False


def heading(metric: str) -> str:
    """Return the heading of a column; percent is said once, in the caption."""
    unit = METRICS[metric].unit
    return METRICS[metric].label + (f" ({unit})" if unit == "s" else "")


def show(row: Row, metric: str) -> Shown:
    """Return the entry of `row` under `metric` as text."""
    entry = row.entries[metric]
    if row.kind == "floor":
        return _show_floor(entry)
    if math.isnan(entry.mean):
        return Shown(EMPTY)
    if METRICS[metric].unit in ("s", "epochs"):
        return Shown(_spread(entry.mean, entry.std, digits=1 if entry.mean >= 10 else 2))
    if row.kind == "reference" and metric in GAPS:
        return Shown("0")
    value = _spread(100 * entry.mean, 100 * entry.std, digits=1)
    deviation = "" if math.isnan(entry.deviation) else f"({signed(entry.deviation)})"
    return Shown(value, deviation, entry.best, entry.chance)


def signed(rate: float) -> str:
    """Return a difference of rates in points, with its sign unless it rounds to zero."""
    text = f"{100 * rate:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")


def _spread(center: float, spread: float, digits: int) -> str:
    text = f"{center:.{digits}f}"
    return text if math.isnan(spread) else f"{text} ± {spread:.{digits}f}"


def _show_floor(entry: Entry) -> Shown:
    if not math.isnan(entry.deviation):
        return Shown("", f"({100 * entry.deviation:.1f})")
    return Shown("" if math.isnan(entry.mean) else f"{100 * entry.mean:.1f}")
