"""Verdicts of both made benchmarks: every test once more, for one method and measure at a time."""

import math
from functools import cache

import numpy as np
from recomputed import levels_by_holm, recomputes, recomputes_each, rows_of, same
from scipy.optimize import brentq
from scipy.stats import chi2
from scipy.stats import t as student

MEASURES = ("ua", "mia", "near", "near_test", "far", "far_test", "damage")
LOSSES = MEASURES[2:]
PLACES = {"near": "retain", "near_test": "test", "far": "retain", "far_test": "test"}
METHODS = ("ft", "ga", "rl", "ltd")
FACTOR = 1.96 * math.sqrt(2)


def variance(values):
    return np.var(values, ddof=1)


def welch(first, second, least):
    """Return error and degrees of freedom of a difference of means."""
    n = len(first)
    squares = [max(variance(values), least) / n for values in (first, second)]
    freedom = sum(squares) ** 2 / sum(square**2 / (n - 1) for square in squares)
    return math.sqrt(sum(squares)), freedom


def angle(rate):
    return math.asin(math.sqrt(min(max(rate, 0), 1)))


class Judged:
    """The tests of some runs of a cell on its first seeds, at a level."""

    def __init__(self, long, made, cell, runs, count, level):
        self.long, self.cell, self.count, self.level = long, cell, count, level
        self.num_forgotten = len(made.split(cell).forget)
        self.retrained = self.rates("retrain")
        self.runs = {run: self.rates(run) for run in runs}
        self.sound = [run for run, own in self.runs.items() if not np.isnan(own["ua"]).any()]
        self.test()

    def values(self, run, *place):
        return self.long.values(self.cell, run, *place)[: self.count]

    def rates(self, run):
        rates = {at: self.values(run, at) for at in ("ua", "mia")}
        for at, name in PLACES.items():
            side = at.removesuffix("_test")
            rates[at] = 1 - self.values(run, f"{side}_accuracy", name)
        return rates | {"damage": rates["near"] - rates["far"]}

    @cache  # noqa: B019
    def step(self, at):
        """Return what one example changes."""
        if at in ("ua", "mia"):
            return 1 / self.num_forgotten
        at = "near" if at == "damage" else at
        side = at.removesuffix("_test")
        return 1 / self.long.number(self.cell, "retrain", f"{side}_count", PLACES[at])

    def margin(self, at):
        return max(FACTOR * math.sqrt(variance(self.retrained[at])), self.step(at))

    def mean(self, run, at):
        return self.runs[run][at].mean() - self.retrained[at].mean()

    def scaled(self, run, at):
        """Return the rates of a run and of Retrain, and what one example changes, as angles."""
        pair, step = [self.runs[run][at], self.retrained[at]], self.step(at)
        if at == "damage":
            return *pair, step
        middle = (pair[0].mean() + pair[1].mean()) / 2
        smaller = min(middle, 1 - middle)
        own, other = (np.array([angle(rate) for rate in rates]) for rates in pair)
        return own, other, angle(smaller + step) - angle(smaller)

    def is_repeated(self, run):
        """Tell whether damage is the near loss, since nobody far loses anything."""
        return (self.runs[run]["far"] == self.retrained["far"]).all()

    def contrast(self, run, at):
        """Return the difference of angles, its error and its degrees of freedom."""
        pool = [variance(self.scaled(run, at)[1])]
        for other in self.sound:
            own, _, step = self.scaled(other, at)
            pool.append(max(variance(own), step**2 / (2 * self.count)))
        own, retrained, step = self.scaled(run, at)
        least = max(step**2 / (2 * self.count), np.median(pool))
        return own.mean() - retrained.mean(), *welch(own, retrained, least)

    def test(self):
        """Find p-values by Holm over the measures of a run, and levels over the runs."""
        self.p, self.adjusted = {}, {}
        for run in self.sound:
            found = {}
            for at in MEASURES:
                if not (at == "damage" and self.is_repeated(run)):
                    difference, error, freedom = self.contrast(run, at)
                    t = abs(difference) / error if difference else 0.0
                    found[at] = 2 * student.sf(t, freedom)
            self.p[run], self.adjusted[run] = found, holm(found)
        smallest = sorted(min(of.values()) for of in self.adjusted.values())
        m = len(smallest)
        found = max((k for k, p in enumerate(smallest, 1) if p * m < self.level * k), default=0)
        self.share, self.levels = {}, {}
        for run, of in self.adjusted.items():
            is_found = min(of.values()) * m < self.level * found
            self.share[run] = (found if is_found else min(found + 1, m)) / m
            self.levels[run] = levels_by_holm(self.p[run], self.level * self.share[run])

    def interval(self, run, at):
        """Return the ends, on the scale of rates, at the level at which the test decided."""
        at = "near" if at == "damage" and self.is_repeated(run) else at
        mean, (difference, error, freedom) = self.mean(run, at), self.contrast(run, at)
        level = self.levels[run][at]
        half = student.ppf(1 - level / 2, freedom) * error
        slope = 1.0
        if at != "damage":
            own, retrained, step = self.scaled(run, at)
            a, b = own.mean(), retrained.mean()
            secant = (math.sin(a) ** 2 - math.sin(b) ** 2) / (a - b) if a != b else math.sin(2 * a)
            slope = max(secant, self.step(at) / step)
        ratio = mean / difference if difference else slope
        is_narrow = self.p[run][at] < level and ratio > 0
        half = half * ratio if is_narrow else max(half * slope, abs(mean))
        return mean - half, mean + half

    def equivalence(self, run, at):
        """Return p-value and interval of the test that a difference is inside the margin."""
        own, retrained, step = self.runs[run][at], self.retrained[at], self.step(at)
        error, freedom = welch(own, retrained, step**2 / (2 * self.count))
        mean, sd, n = self.mean(run, at), math.sqrt(variance(retrained)), self.count
        half = student.ppf(1 - self.level, freedom) * error
        p = student.sf((step * (1 - 1e-12) - abs(mean)) / error, freedom)
        if sd > 0:
            p = min(2 * min(p, mover_p(abs(mean), error, freedom, sd, n - 1)), 1)
        return p, mean - half, mean + half

    def number(self, metric, run, at):
        """Return a number of a run's test."""
        if run not in self.sound:
            return math.nan
        if metric == "difference_p":
            of = "near" if at == "damage" and self.is_repeated(run) else at
            return min(self.adjusted[run][of] / self.share[run], 1)
        most = 2 if at == "damage" else 1
        if metric in ("difference_low", "difference_high"):
            return np.clip(self.interval(run, at)[metric.endswith("high")], -most, most)
        p, *ends = self.equivalence(run, at)
        if metric in ("equivalence_low", "equivalence_high"):
            return np.clip(ends[metric.endswith("high")], -most, most)
        if metric == "shown":
            low, high = self.interval(run, at)
            is_shown = (low > 0 or high < 0) and abs(self.mean(run, at)) > self.margin(at)
            return math.copysign(1, self.mean(run, at)) if is_shown else 0.0
        return {"equivalence_p": p, "within": float(p < self.level)}[metric]

    def verdict(self, run):
        """Return the verdict; a run that diverged has collapsed."""
        ta = [self.values(one, "ta") for one in (run, "retrain")]
        if run not in self.sound or ta[0].mean() < ta[1].mean() / 2:
            return "collapsed"
        shown = {at: self.number("shown", run, at) for at in MEASURES}
        if any(shown[at] > 0 for at in LOSSES):
            return "harm shown"
        if any(shown.values()):
            return "difference shown"
        return "like Retrain" if all(self.number("within", run, at) for at in MEASURES) else "open"


def holm(p):
    """Return p-values that are adjusted by Holm."""
    order, found, largest = sorted(p, key=p.get), {}, 0.0
    for key in order:
        left = sum(value >= p[key] for value in p.values())
        largest = max(largest, p[key] * left)
        found[key] = min(largest, 1.0)
    return found


def mover_limit(mean, error, freedom, sd, sd_freedom, alpha):
    """Return the upper limit of |difference| minus the margin; below 0 they are equivalent."""
    lowest = sd * math.sqrt(sd_freedom / chi2.isf(alpha, sd_freedom))
    half = student.ppf(1 - alpha, freedom) * error
    return mean - FACTOR * sd + math.hypot(half, FACTOR * (sd - lowest))


def mover_p(*of):
    """Return the level at which MOVER's limit is 0; between 1e-4 and 0.45, else 1e-4 or 1."""

    def limit(alpha):
        return mover_limit(*of, alpha)

    if limit(0.45) >= 0:
        return 1.0
    return 1e-4 if limit(1e-4) < 0 else brentq(limit, 1e-4, 0.45)


LOOKS = {"animals": [(3, 0.05)], "farm": [(2, 0.02), (4, 0.03)]}
KNOWN = {}


def judged_by(bench, cell, run):
    """Return the tests of a run: of the first look that decides, with all methods; or alone."""
    looks, made = LOOKS[bench.made.name], bench.made
    runs = METHODS if run in METHODS else (run,)
    for count, level in looks if run in METHODS else looks[-1:]:
        key = made.name, cell, runs, count
        if key not in KNOWN:
            KNOWN[key] = Judged(bench.long, made, cell, runs, count, level)
        if run not in METHODS or KNOWN[key].verdict(run) != "open":
            break
    return KNOWN[key]


TESTS = (
    *("difference_low", "difference_high", "difference_p"),
    *("equivalence_low", "equivalence_high", "equivalence_p", "within", "shown"),
)


@recomputes_each(*TESTS)
def test_a_number_of_a_test_is_that_of_its_run_and_measure(animals, farm, metric):
    tolerance = 3e-5 if metric == "equivalence_p" else 1e-6  # its p-value is found by halving
    for bench in (animals, farm):
        for row in rows_of(bench, metric):
            judged = judged_by(bench, row.cell, row.run)
            same(row, judged.number(metric, row.run, row.at), tolerance)


@recomputes("verdict", "decided_at", "look_level")
def test_a_verdict_is_the_first_that_holds_at_the_first_look_that_decides(animals, farm):
    found = set()
    for bench in (animals, farm):
        for row in rows_of(bench, "verdict"):
            judged = judged_by(bench, row.cell, row.run)
            assert row.at == judged.verdict(row.run), row
            same(row, 1)
            same(bench.long.places(row.cell, row.run, "decided_at")[0], judged.count)
            found.add(row.at)
        for row in rows_of(bench, "look_level"):
            same(row, dict(LOOKS[bench.made.name])[int(row.at)])
    assert len(found) > 2


@recomputes("judged_rate")
def test_the_rates_of_a_verdict_are_of_the_seeds_that_decided_it(animals, farm):
    for bench in (animals, farm):
        for row in rows_of(bench, "judged_rate"):
            count, made = judged_by(bench, row.cell, row.run).count, bench.made
            if row.at in ("diverged", "collapsed"):
                seeds = made.seeds[:count]
                is_so = [made.status(row.run, seed, row.cell) == row.at for seed in seeds]
                same(row, float(np.mean(is_so)))
                continue
            run = "retrain" if row.at.startswith("retrain_") else row.run
            values = bench.long.values(row.cell, run, row.at.removeprefix("retrain_"))[:count]
            same(row, values[~np.isnan(values)].mean())


def would_decide(judged, run, count):
    """Tell whether so many seeds would decide with 80 % power, if all else stays as it is."""
    z, n, level = 0.8416, judged.count, judged.level
    for at in MEASURES:
        difference, error, freedom = judged.contrast(run, at)
        freedom, error = freedom * (count - 1) / (n - 1), error * math.sqrt(n / count)
        least = student.ppf(1 - level * judged.share[run] / len(MEASURES) / 2, freedom) + z
        is_beyond = abs(judged.mean(run, at)) > judged.margin(at)
        if is_beyond and abs(difference) / error >= least:
            return True
    return all(would_be_alike(judged, run, at, count) for at in MEASURES)


def would_be_alike(judged, run, at, count):
    own, retrained, step = judged.runs[run][at], judged.retrained[at], judged.step(at)
    error, freedom = welch(own, retrained, step**2 / (2 * judged.count))
    error *= math.sqrt(judged.count / count)
    freedom *= (count - 1) / (judged.count - 1)
    away, sd = abs(judged.mean(run, at)) + 0.8416 * error, math.sqrt(variance(retrained))
    by_example = student.sf((step - away) / error, freedom) < judged.level / (2 if sd > 0 else 1)
    if sd == 0:
        return by_example
    limit = mover_limit(away, error, freedom, sd, count - 1, judged.level / 2)
    return by_example or limit < 0


@recomputes("seeds_needed")
def test_the_seeds_that_would_decide_are_the_fewest_of_up_to_a_hundred(animals, farm):
    for bench in (animals, farm):
        rows = [row for row in bench.long.rows if row.metric == "seeds_needed"]
        for row in rows:
            judged = judged_by(bench, row.cell, row.run)
            assert judged.verdict(row.run) == "open"
            counts = range(judged.count + 1, 101)
            enough = (count for count in counts if would_decide(judged, row.run, count))
            same(row, next(enough, math.nan))
