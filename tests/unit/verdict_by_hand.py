"""The tests and verdicts of a cell again, one number at a time, by plain formulas of its own.

Nothing of the code under test is called. `judge` takes the rates of every run by measure and seed.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

MEASURES = ("ua", "mia", "near", "near_test", "far", "far_test", "damage")
Rates = Mapping[str, np.ndarray]  # the rates of a run by measure, one per seed


@dataclass
class ByHand:
    """What the tests of a method say, by measure."""

    mean: dict[str, float] = field(default_factory=dict)
    p: dict[str, float] = field(default_factory=dict)  # adjusted
    low: dict[str, float] = field(default_factory=dict)
    high: dict[str, float] = field(default_factory=dict)
    within: dict[str, bool] = field(default_factory=dict)
    shown: dict[str, int] = field(default_factory=dict)
    verdict: str = ""


@dataclass(frozen=True)
class Plain:
    """A difference of two means, its standard error and its degrees of freedom."""

    mean: float
    error: float
    freedom: float


def judge(
    runs: Mapping[str, Rates],
    retrain: Rates,
    steps: Mapping[str, float],
    stated: Mapping[str, float] | None = None,
    level: float = 0.05,
) -> dict[str, ByHand]:
    """Return the answers and the verdict of every run; a run that diverged has collapsed."""
    known = {run: rates for run, rates in runs.items() if not np.isnan(rates["ua"]).any()}
    found = {run: ByHand(verdict="collapsed") for run in runs}
    contrasts = {run: compare(run, known, retrain, steps) for run in known}
    plain_p = {run: p_values(run, known, retrain, contrasts) for run in known}
    adjusted = {run: holm(p) for run, p in plain_p.items()}
    shares = shares_of_level({run: min(p.values()) for run, p in adjusted.items()}, level)
    for run in known:
        one, levels = found[run], levels_of(plain_p[run], level * shares[run])
        for at in MEASURES:
            test = at if at in plain_p[run] else "near"
            one.mean[at] = known[run][at].mean() - retrain[at].mean()
            one.p[at] = min(adjusted[run][test] / shares[run], 1.0)
            one.low[at], one.high[at] = interval(
                test, contrasts[run][test], levels[test], known[run], retrain, steps[test]
            )
            margin = (stated or {}).get(at)
            one.within[at] = is_within(at, known[run], retrain, steps, margin, level)
            if margin is None:
                margin = max(1.96 * math.sqrt(2) * retrain[at].std(ddof=1), steps[at])
            is_found = one.low[at] > 0 or one.high[at] < 0
            is_large = abs(one.mean[at]) > margin * (1 + 1e-12)
            one.shown[at] = int(np.sign(one.mean[at])) if is_found and is_large else 0
        one.verdict = verdict_of(one)
    return found


def verdict_of(one: ByHand) -> str:
    if any(one.shown[at] == 1 for at in MEASURES[2:]):
        return "harm shown"
    if any(one.shown.values()):
        return "difference shown"
    return "like Retrain" if all(one.within.values()) else "open"


def angle(values: np.ndarray | float) -> np.ndarray:
    return np.arcsin(np.sqrt(values))


def scaled(at: str, values: np.ndarray) -> np.ndarray:
    return values if at == "damage" else angle(values)


def scaled_step(at: str, rates: Rates, retrain: Rates, step: float) -> float:
    """One example's weight, on the scale of the test, at the middle of both rates."""
    if at == "damage":
        return step
    middle = (rates[at].mean() + retrain[at].mean()) / 2
    smaller = min(middle, 1 - middle)
    return float(angle(smaller + step) - angle(smaller))


def compare(
    run: str, runs: Mapping[str, Rates], retrain: Rates, steps: Mapping[str, float]
) -> dict[str, Plain]:
    """Compare a run with Retrain in every measure by Welch's t, with the least variances."""
    found = {}
    for at in MEASURES:
        variances = [scaled(at, retrain[at]).var(ddof=1)]
        for rates in runs.values():
            # One example in one seed of n gives a mean the variance step^2 / n^2.
            least = scaled_step(at, rates, retrain, steps[at]) ** 2 / (2 * len(rates[at]))
            variances.append(max(scaled(at, rates[at]).var(ddof=1), least))
        own = scaled_step(at, runs[run], retrain, steps[at]) ** 2 / (2 * len(retrain[at]))
        least = max(own, float(np.median(variances)))
        found[at] = welch(scaled(at, runs[run][at]), scaled(at, retrain[at]), least)
    return found


def welch(first: np.ndarray, second: np.ndarray, least: float) -> Plain:
    squares = [max(sample.var(ddof=1), least) / len(sample) for sample in (first, second)]
    bottom = sum(s**2 / (len(x) - 1) for s, x in zip(squares, (first, second), strict=True))
    mean = first.mean() - second.mean()
    return Plain(float(mean), math.sqrt(sum(squares)), sum(squares) ** 2 / bottom)


def p_values(
    run: str, runs: Mapping[str, Rates], retrain: Rates, contrasts: Mapping[str, dict[str, Plain]]
) -> dict[str, float]:
    """Two-sided p-values; without damage where no far retained example was lost in any seed."""
    found = {
        at: float(2 * stats.t.sf(abs(one.mean / one.error), one.freedom))
        for at, one in contrasts[run].items()
    }
    if (runs[run]["far"] == retrain["far"]).all():
        del found["damage"]
    return found


def holm(p: Mapping[str, float]) -> dict[str, float]:
    adjusted, most = {}, 0.0
    for place, at in enumerate(sorted(p, key=p.__getitem__)):
        most = max(most, min((len(p) - place) * p[at], 1.0))
        adjusted[at] = most
    return adjusted


def shares_of_level(smallest: Mapping[str, float], level: float) -> dict[str, float]:
    """Benjamini and Hochberg: R of m methods differ and have R / m; the others (R + 1) / m."""
    ordered, count = sorted(smallest.values()), len(smallest)
    found = max((k for k in range(1, count + 1) if ordered[k - 1] < level * k / count), default=0)
    others = min(found + 1, count) / count
    blamed = {run for run, p in smallest.items() if p < level * found / count}
    return {run: found / count if run in blamed else others for run in smallest}


def levels_of(p: Mapping[str, float], level: float) -> dict[str, float]:
    """The level at which Holm decides about each measure; equal p-values have the strictest."""
    left, levels = len(p), {}
    for value in sorted({*p.values()}):
        tied = [at for at in p if p[at] == value]
        levels |= dict.fromkeys(tied, level / left)
        if value >= level / left:
            return levels | {at: level / left for at in p if p[at] >= value}
        left -= len(tied)
    return levels


def interval(
    at: str, one: Plain, level: float, rates: Rates, retrain: Rates, step: float
) -> tuple[float, float]:
    """The interval of the difference in rates, from that of the angles."""
    mean = rates[at].mean() - retrain[at].mean()
    half = stats.t.isf(level / 2, one.freedom) * one.error
    is_found = 2 * stats.t.sf(abs(one.mean / one.error), one.freedom) < level
    if is_found and mean * one.mean > 0:
        half *= mean / one.mean
    else:  # not beyond chance: it contains zero
        a, b = (float(scaled(at, of[at]).mean()) for of in (rates, retrain))
        rise = math.sin(a) ** 2 - math.sin(b) ** 2
        slope = rise / (a - b) if abs(a - b) > 1e-9 else math.sin(a + b)
        slope = max(slope, step / scaled_step(at, rates, retrain, step))
        half = max(half * (1 if at == "damage" else slope), abs(mean))
    return mean - half, mean + half


def is_within(
    at: str,
    rates: Rates,
    retrain: Rates,
    steps: Mapping[str, float],
    stated: float | None,
    level: float,
) -> bool:
    """Two one-sided t-tests of a stated margin; else the estimated one (MOVER), or one example."""
    is_near_loss = at == "damage" and (rates["far"] == retrain["far"]).all()
    test = "near" if is_near_loss else at
    one = welch(rates[test], retrain[test], steps[test] ** 2 / (2 * len(retrain[test])))

    def passes(margin: float, alpha: float) -> bool:
        reach = stats.t.isf(alpha, one.freedom) * one.error
        return bool(-margin < one.mean - reach and one.mean + reach < margin)

    if stated is not None:
        return passes(stated, level)
    sd, freedom = retrain[at].std(ddof=1), len(retrain[at]) - 1
    if sd == 0:
        return passes(steps[at], level)
    lowest = sd * math.sqrt(freedom / stats.chi2.isf(level / 2, freedom))
    reach = stats.t.isf(level / 2, one.freedom) * one.error
    factor = 1.96 * math.sqrt(2)
    limit = abs(one.mean) - factor * sd + math.hypot(reach, factor * (sd - lowest))
    return limit < 0 or passes(steps[at], level / 2)
