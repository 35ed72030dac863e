"""Every number of every sentence of the page against the long table: words, verdicts, captions,
checks.

A clause is a pattern with its numbers in groups, and what these must be. What is left of a sentence
when all clauses and constants are taken out has no digit: no number goes unread.
"""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from long_table import is_shown, mean, t95
from made_benchmark import CLASSES, NUM_SHADOWS, PART, TRIALS, WHOLE
from scipy.stats import ttest_1samp
from test_shown_tables import diverged, half_width

from collateral.contract.verdicts import MEASURES
from collateral.findings.metric_index import find_metric
from collateral.findings.trajectory import SHARES
from collateral.findings.verdict import DIFFERENT, HARM, OPEN, VERDICTS
from collateral.findings.verdict.sentences import NAMES
from collateral.plugins.find import FINDING
from collateral.results import layout

N = r"([+−]?\d[\d,]*(?:\.\d+)?)"
NAME = r"([A-Z][A-Za-z]*)"
WITH_INTERVAL = rf"{N} \[{N}, {N}\]"  # a number with its interval
MEASURE_OF = {name.lower(): measure for measure, name in NAMES.items()}
MEASURE = "|".join(sorted({*NAMES.values(), *map(str.capitalize, NAMES.values())}, key=len)[::-1])
# Levels, definitions and settings that are the same whatever the results are.
CONSTANTS = (
    *("95 %", "90 %", "80 %", "5 %", "70 %", "ddof=1", "[0, 1]", "points per 0.1", "at most 2,000"),
    "(12 bits, floats)",
    *(
        "5 points",
        "TPR at 1 % FPR",
        "1,000",
        "intervals over 16 models cover 83 to 91 %",
        "below 32",
    ),
    *(
        "the first 50 pairs",
        "1 is nearest",
        "0.1 points",
        "7.5 standard deviations",
        "3 pixels",
        "more than 100 seeds",
    ),
)


@dataclass(frozen=True)
class Said:
    """A sentence, and where it stands."""

    text: str
    cell: str = ""
    finding: str = ""
    run: str = ""


@dataclass(frozen=True)
class Clause:
    """A part of a sentence, and a function: its groups in, the numbers that it must have out."""

    pattern: str
    numbers: Callable[..., list[float]]
    is_rare: bool = False  # the made-up benchmark may have none


def sentences(animals):
    """Yield all that is said on the page."""
    for section in animals.page.all("section", "cell"):
        cell = section.get("data-cell")
        for one in section.all("p", "words"):
            place = one.above(lambda at: "/" in at.get("id"))
            yield Said(one.text, cell, place.get("id").partition("/")[2])
        yield Said(section.one("p", "forgotten").text, cell, "forgotten")
        yield Said(section.one("h2").text, cell, "title")
    for one in animals.fields:
        if (one.table, one.heading) == ("verdict", "In numbers"):
            yield Said(one.value, one.cell, "verdict", animals.run_of(one.row))
    for figure in animals.page.all("figure", "table"):
        around = figure.above(lambda at: "data-cell" in at.attributes)
        for caption in figure.all("figcaption"):
            yield Said(caption.text, around.get("data-cell") if around else "", "caption")
    yield from sentences_of_checks(animals)


def sentences_of_checks(animals):
    """Yield what the checks say: how many cells have a colour, and the line of each cell."""
    for group in animals.page.one(id="checks").all("b"):
        outer, *cells = group.parent.all("li")  # a check of several cells has a list of them
        first = outer.text.removeprefix(group.text).strip()
        if cells:
            yield Said(first.partition(" which")[0], "", group.text)
        for text in [one.text for one in cells] or [first]:
            names, _, rest = text.partition(": ")
            for name in names.split(", "):  # cells with the same text share a line
                yield Said(rest, name, group.text)


# What clauses must say. `a` is the benchmark, `s` the sentence; groups follow.


def points(value):
    return 100 * value


def of_test(a, s, *measures):
    """Return differences with the interval of the test that decided, of these measures."""
    test = "equivalence" if verdict_of(a, s) == "like Retrain" else "difference"
    names = ("difference", f"{test}_low", f"{test}_high")
    return [points(a.long.number(s.cell, s.run, name, "", at)) for at in measures for name in names]


def margin_of(a, s, measure):
    return points(a.long.number(s.cell, "retrain", "margin", "", measure))


def equivalent(a, s, name, *_):
    measure = MEASURE_OF[name.lower()]
    return [*of_test(a, s, measure), margin_of(a, s, measure)]


def gates_counted(a, s, colour, *_):
    gates = json.loads((a.root / layout.GATES).read_text())["gates"]
    colours = [gate["colour"] for gate in gates if gate["name"] == s.finding]
    return [colours.count("grey" if colour == "not made" else colour), len(colours)]


def extremes(a, s, *groups):
    """Return the reference's mean, if it is named, and those of the best and the worst method."""
    name, subset = FINDING.load(s.finding).ANSWER
    metric, runs = find_metric(name), [r for r in a.made.of_kind("method") if "@" not in r]
    means = {run: value_of(a, s.cell, run, name, subset) for run in runs}
    means = {run: value for run, value in means.items() if not math.isnan(value)}
    if metric.ideal == "retrain":
        ideal = value_of(a, s.cell, "retrain", name, subset)
        order = sorted(means, key=lambda run: abs(means[run] - ideal))
    else:
        ideal, order = None, sorted(means, key=means.get, reverse=metric.ideal == "high")
    named = [
        [a.run_of(one) for one in labels.split(", ")] for labels in groups if labels[0].isalpha()
    ]
    assert order[0] in named[0] and order[-1] in named[1]
    found = [*([] if ideal is None else [ideal]), means[order[0]], means[order[-1]]]
    return [metric.factor * value for value in found]


def value_of(a, cell, run, name, subset):
    """Return the mean over seeds or, where no seed has one, the number over seeds."""
    mean_of_seeds = a.long.mean(cell, run, name, subset)
    return a.long.number(cell, run, name, subset) if math.isnan(mean_of_seeds) else mean_of_seeds


def proposed(a, s, count, labels, listed, *looks):
    runs = [a.run_of(label) for label in labels.split(", ")]
    needed = [a.long.number(s.cell, run, "seeds_needed") for run in runs]
    assert float(count) == max(needed)
    seeds, error = map(float, re.findall(r"\d+", listed)), 5.0
    return [max(needed), *seeds, error, len(a.long.seeds), max(needed)]


def verdict_of(a, s):
    return next(v for v in VERDICTS if a.long.number(s.cell, s.run, "verdict", "", v) == 1)


PLACES = {
    "near retained": "near",
    "near test": "near_test",
    "far retained": "far",
    "far test": "far_test",
}
RATES = {"UA": "ua", "MIA": "mia"}


def of_measure(a, s, at):
    """Return the difference of a measure from Retrain, its interval and its margin, in points."""
    names = ("difference", "difference_low", "difference_high", "margin")
    return [points(a.long.number(s.cell, s.run, name, "", at)) for name in names]


def measure_of(examples, rest):
    return "damage" if " more than far ones" in rest else PLACES[examples.lower()]


def shown_p(a, s, at):
    p = a.long.number(s.cell, s.run, "difference_p", "", at)
    return max(p, 0.001)  # below it the sentence says "p < 0.001"


def loss_shown(a, s, examples, verb, _value, *rest):
    at = measure_of(examples, rest)
    mean, low, high, margin = of_measure(a, s, at)
    assert (mean > 0) == (verb == "lose") and abs(mean) > margin and not low <= 0 <= high
    base = points(a.long.number(s.cell, "original", "difference", "", at))
    of_base = [base] if any("base model" in one for one in rest) else []
    assert bool(of_base) == (mean > 0 and base > margin)
    least = min(abs(low), abs(high))
    return [abs(mean), least, margin, shown_p(a, s, at), *of_base]


def loss_open(a, s, examples, verb, _value, *rest):
    at = measure_of(examples, rest)
    mean, low, high, margin = of_measure(a, s, at)
    assert (mean > 0) == (verb == "lose")
    assert any("large" in one for one in rest) == (abs(mean) > margin)
    assert abs(mean) <= margin or low <= 0 <= high
    return [abs(mean), abs(high)]


def rates_of(a, s, at, side):
    mean = of_measure(a, s, at)[0]
    assert (mean > 0) == (side == "above")
    run, retrain = (points(a.long.mean(s.cell, one, at)) for one in (s.run, "retrain"))
    return [run, abs(mean), retrain]


def rate_shown(a, s, name, _rate, _away, side, *_):
    _, low, high, margin = of_measure(a, s, RATES[name])
    least = min(abs(low), abs(high))
    return [*rates_of(a, s, RATES[name], side), least, margin, shown_p(a, s, RATES[name])]


def rate_open(a, s, name, _rate, _away, side, *rest):
    mean, low, high, margin = of_measure(a, s, RATES[name])
    assert any("large" in one for one in rest) == (abs(mean) > margin)
    return [*rates_of(a, s, RATES[name], side), low, high]


def accuracies(a, s, *_):
    return [points(a.long.mean(s.cell, run, "ta")) for run in (s.run, "retrain")]


def nearest(a, s, *_):
    near, far = (
        a.long.number(s.cell, "retrain", f"{side}_count", "retain") for side in ("near", "far")
    )
    return [near, 100 * near / (near + far)]


def worst(a, s, label, word, *_):
    run = a.run_of(label)
    found = [r for r in sound(a, s.cell) if not is_chance(a, s.cell, r)]
    assert run == max(found, key=lambda r: a.long.mean(s.cell, r, "near_loss", "retain"))
    gap = a.long.number(s.cell, run, "avg_gap")
    near, far = (a.long.mean(s.cell, run, f"{side}_loss", "retain") for side in ("near", "far"))
    assert word == ("but" if near > gap else "and")
    interval = near_interval(a, s.cell, run)
    return [points(gap), points(near), *interval, *nearest(a, s), points(far)]


def sound(a, cell):
    runs = [run for run in a.made.of_kind("method") if "@" not in run]
    return [run for run in runs if not diverged(a, cell, run)]


def near_interval(a, cell, run):
    return [
        points(a.long.number(cell, run, f"difference_{e}", "", "near")) for e in ("low", "high")
    ]


def is_chance(a, cell, run):
    low, high = near_interval(a, cell, run)
    return low <= 0 <= high


def nobody_hurt(a, s, *_):
    losses = {r: a.long.mean(s.cell, r, "near_loss", "retain") for r in sound(a, s.cell)}
    assert all(is_chance(a, s.cell, run) or value <= 0 for run, value in losses.items())
    return nearest(a, s)


def listed(a, s, group, text):
    """Check a list of methods with their losses: who is in it, and that nobody is missing."""
    first = re.match(NAME, s.text)[1]
    losses = {
        run: points(a.long.mean(s.cell, run, "near_loss", "retain")) for run in sound(a, s.cell)
    }
    losses = {run: value for run, value in losses.items() if a.made.plan.labels[run] != first}
    belongs = {
        "Also less accurate there": lambda run: not is_chance(a, s.cell, run) and losses[run] > 0,
        "More accurate than Retrain there": lambda run: (
            not is_chance(a, s.cell, run) and losses[run] < 0
        ),
        "Within the margin": lambda run: is_chance(a, s.cell, run) and is_within(a, s.cell, run),
        "Open": lambda run: is_chance(a, s.cell, run) and not is_within(a, s.cell, run),
    }[group]
    order = sorted(filter(belongs, losses), key=lambda run: -losses[run])
    assert re.findall(rf"{NAME} \(", text) == [a.made.plan.labels[run] for run in order]
    if group in ("Within the margin", "Open"):
        return [one for run in order for one in (losses[run], *near_interval(a, s.cell, run))]
    return [abs(losses[run]) for run in order]


def counts_of_hurt(a, s, label, text, *_):
    """Of the retained and the test examples: who loses a tenth of confidence, mean over seeds."""
    runs, retain = ("retrain", a.run_of(label)), a.made.split(s.cell).retain
    counts = []
    for name, part in (("retained", "train"), ("test", "test")):
        before, after = (
            np.mean(
                [getattr(a.made.outputs(s.cell, r, k), part).confidence for k in a.made.seeds], 0
            )
            for r in runs
        )
        lost = before - after if part == "test" else (before - after)[retain]
        counts += [int((lost >= 0.1).sum()), len(lost)] if name in text else []
    return counts


def is_within(a, cell, run):
    return a.long.number(cell, run, "within", "", "near") == 1


def before(*part):
    return lambda a, s, *_: [a.long.number(s.cell, "retrain", "lira_auc", *part)]


def by_interval(metric, part, belongs):
    """Check that the methods of a list are those whose intervals belong there."""

    def numbers(a, s, text):
        ends = {
            run: [a.long.number(s.cell, run, f"{metric}_{end}", *part) for end in ("low", "high")]
            for run in ("ga", "ltd")
        }
        runs = [run for run in ends if belongs(*ends[run])]
        assert [a.run_of(label) for label in re.findall(rf"{NAME} \(", text)] == runs
        return [a.long.number(s.cell, run, metric, *part) for run in runs]

    return numbers


def change(sign):
    def belongs(low, high):
        return (1 if low > 0 else -1 if high < 0 else 0) == sign

    return by_interval("exposure_change", ("retain", "near"), belongs)


def left(*, has_trace):
    return by_interval("ulira_auc", ("forget", ""), lambda low, _: (low > 0.5) == has_trace)


def leader(a, s, share, names, *_):
    runs = [a.run_of(label) for label in names.split(" and ")]
    gaps = {a.long.number(s.cell, run, "budget_gap", "", share) for run in runs}
    assert len(gaps) == 1
    # Whoever may spend more may stop earlier, or not start.
    smaller = [one for one in SHARES if one <= int(share)]
    others = [
        a.long.number(s.cell, run, "budget_gap", "", one)
        for run in sound(a, s.cell)
        for one in smaller
    ]
    assert min(value for value in others if not math.isnan(value)) == max(gaps)
    assert max(gaps) < a.idle_gap(s.cell)
    return [int(share), points(max(gaps))]


def step(a, s, *_):
    """Return what one step of gradient ascent did, as least and largest over seeds."""
    long, place = a.long, ("ltd", "support_{}")
    values = {name: long.values(s.cell, "ltd", f"support_{name}") for name in ("auto", "step_rate")}
    top = points(long.values(s.cell, place[0], "support_drop", "", 9))
    least = []
    for k in range(len(long.seeds)):
        counts = [long.values(s.cell, "ltd", "support_bin_count", "", b)[k] for b in range(10)]
        taken = 1 + int(np.searchsorted(np.cumsum(counts[::-1]), values["auto"][k]))
        least.append(long.values(s.cell, "ltd", "support_bin_low", "", 10 - taken)[k])
    return [
        end
        for of in (values["auto"], values["step_rate"], top, np.array(least))
        for end in (of.min(), of.max())
    ]


def most_left(metric):
    def numbers(a, s, names, *_):
        means = {
            run: points(a.long.mean(s.cell, run, metric))
            for run in a.made.of_kind("method")
            if "@" not in run
        }
        largest = max(means.values())
        [run] = [a.run_of(label) for label in names.split(" and ")]
        assert means[run] == largest > bound_of(a, s.cell, metric)
        return [largest, points(mean(np.abs(a.long.values(s.cell, "retrain", metric))))]

    return numbers


def bound_of(a, cell, metric):
    own = points(a.long.values(cell, "retrain", metric))
    return t95(len(own)) * math.sqrt(mean(own**2) / len(own))


def none_left(metric):
    def numbers(a, s, *_):
        runs = [run for run in a.made.of_kind("method") if "@" not in run]
        assert max(points(a.long.mean(s.cell, run, metric)) for run in runs) <= bound_of(
            a, s.cell, metric
        )
        return []

    return numbers


def level(a, s, names, *_):
    begin = a.long.mean(s.cell, "retrain", "relearn_accuracy", "", 0)
    methods = [run for run in a.made.of_kind("method") if "@" not in run]
    below = [r for r in methods if a.long.mean(s.cell, r, "relearn_accuracy", "", 0) < begin]
    steps = {run: a.long.values(s.cell, run, "relearn_even") for run in below}
    steps = {run: of for run, of in steps.items() if (of <= 3).any()}
    first = min(mean(of) for of in steps.values())
    runs = [a.run_of(label) for label in names.split(" and ")]
    assert all(round(mean(steps[run]), 1) == round(first, 1) for run in runs)
    own = steps[runs[0]]
    return [first, 4, np.count_nonzero(own <= 3), np.count_nonzero(~np.isnan(own))]


def zrf(a, s, _own, name, *__):
    retrained = a.long.mean(s.cell, "retrain", "zrf")
    methods = [run for run in a.made.of_kind("method") if "@" not in run]
    found = {run: a.long.mean(s.cell, run, "zrf") for run in methods}
    run = min(found, key=lambda one: abs(found[one] - retrained))
    assert a.run_of(name) == run
    return [retrained, found[run]]


def forgotten(a, s, *_):
    """Return how many are forgotten, in all and of each class that is named, the most first."""
    split, label = a.made.split(s.cell), a.made.labels.train
    counts = {
        CLASSES[c]: (np.count_nonzero(label[split.forget] == c), np.count_nonzero(label == c))
        for c in split.affected
    }
    order = sorted(counts, key=lambda name: counts[name], reverse=True)
    assert re.findall(r"\d+ of \d+ ([a-z]+)[,.]", s.text) == order
    return [len(split.forget), len(label), *(n for name in order for n in counts[name])]


def shares(a, s, *names):
    """Return which part of each class is forgotten, in percent."""
    split, label = a.made.split(s.cell), a.made.labels.train
    part = {
        CLASSES[c]: np.mean(np.isin(np.flatnonzero(label == c), split.forget))
        for c in split.affected
    }
    named = [name for name in names if name in part]
    assert set(named) == set(part)
    return [100 * part[name] for name in named]


def class_part(a, s, name, _):
    return shares(a, s, name)


def near_classes(a, s, kind, listed, *_):
    """Return how many neighbours are of each class that is named, the most first."""
    subset = {"retained": "retain", "test": "test"}[kind]
    names = re.findall(r"([a-z]+) \(", listed)
    counts = {
        name: a.long.number(s.cell, "retrain", "near_class", subset, name)
        for name in a.long.indices(s.cell, "retrain", "near_class", subset)
    }
    assert names == sorted(counts, key=lambda name: -counts[name])
    total = a.long.number(s.cell, "retrain", "near_count", subset)
    assert sum(counts.values()) == total
    return [counts[name] for name in names]


def effect(a, s, label, key, value, *_):
    """Return a swept value, the difference of its gap from the own value's, and Holm's p."""
    [sweep] = [
        one
        for one in a.made.plan.cells[s.cell].sweeps
        if (one.method, one.key) == (label, key) and value in one.labels.values()
    ]
    own = gap_of_seeds(a, s.cell, sweep.own)
    others = [run for run in sweep.values if run != sweep.own]
    more = {run: gap_of_seeds(a, s.cell, run) - own for run in others}
    p = {run: ttest_1samp(found, 0).pvalue for run, found in more.items()}
    adjusted, least = {}, 0.0
    for place, run in enumerate(sorted(p, key=lambda one: p[one])):
        least = max(least, min((len(p) - place) * p[run], 1.0))
        adjusted[run] = least
    [run] = [run for run in others if sweep.labels[run] == value]
    return [float(value), 100 * mean(more[run]), adjusted[run]]


def not_shown(a, s, *_):
    """Return how many swept values, other than the method's own, the sentence does not name."""
    sweeps = a.made.plan.cells[s.cell].sweeps
    count = sum(len(sweep.values) - 1 for sweep in sweeps)
    return [count - len(re.findall(r"points, p ", s.text))]


def gap_of_seeds(a, cell, run):
    """Return the part of each seed in the average gap."""
    away = [
        a.long.values(cell, run, at) - a.long.values(cell, "retrain", at)
        for at in ("ua", "ra", "ta", "mia")
    ]
    return np.mean([np.sign(one.mean()) * one for one in away], axis=0)


def best_value(a, s, label, key, value, _):
    """Return the swept value with the smallest average gap, and this gap."""
    [sweep] = [
        one for one in a.made.plan.cells[s.cell].sweeps if (one.method, one.key) == (label, key)
    ]
    gaps = {run: a.long.number(s.cell, run, "avg_gap") for run in sweep.labels}
    best = min(gaps, key=gaps.get)
    assert sweep.labels[best] == value
    return [float(value), points(gaps[best])]


def worst_class(a, s, label, name, *_):
    """Return what the class loses that loses most by a method."""
    run, others = a.run_of(label), a.long.indices(s.cell, "retrain", "class_similarity")
    drops = {one: a.long.mean(s.cell, run, "class_drop", "", one) for one in others}
    known = {one: drop for one, drop in drops.items() if not math.isnan(drop)}
    assert name == max(known, key=known.get)
    return [points(known[name])]


def same_ta(a, s, *_):
    assert len({*a.long.values(s.cell, "retrain", "ta")}) == 1
    return [len(a.long.seeds)]


def regrets_of(a, cell):
    """Return the regret of each tuned method, in points."""
    found = {run: points(a.long.mean(cell, run, "regret")) for run in a.made.of_kind("method")}
    return {run: regret for run, regret in found.items() if not math.isnan(regret)}


def regret_of_choice(a, s, label, *_):
    """Return the regret of a method, and the chosen and the nearest value."""
    run = a.run_of(label)
    assert regrets_of(a, s.cell)[run] > 5
    places = (int(a.long.mean(s.cell, run, f"trial_{which}")) for which in ("chosen", "nearest"))
    trials = [TRIALS[run][place] for place in places]
    values = [value for trial in trials for value in trial.values()]
    return [regrets_of(a, s.cell)[run], *values]


LABELS = r"([A-Z]\w*(?:, [A-Z]\w*)*)"
UNIT = "(?: %| points| s| nats)?"
EXAMPLES = rf"([NnFf]\w+ \w+) examples (lose|gain) {N} points( more than far ones)?"
CLAUSES = [
    Clause(rf"{NAME}: (\w+) {N}(?: \(own\))? \({N} points\)", best_value),
    Clause(rf"{NAME}: (\w+) {N} \({N} points, p = {N}\)", effect),
    Clause(rf"{N} others are not shown to differ", not_shown),
    Clause(
        rf"in points: {N} forget sets",
        lambda a, *_: [sum(not a.is_red(cell) for cell in a.made.cells)],
    ),
    Clause(rf"Paired test over {N} seeds", lambda a, *_: [len(a.long.seeds)]),
    Clause(rf"(retained|test) ones ((?:[a-z]+ \({N}\)(?:, )?)+)", near_classes),
    Clause(rf"{NAME}: (\w+) \({N} points\)(?=[,.])", worst_class),
    Clause(
        rf"nearest to Retrain's \({N}{UNIT}\) with {LABELS} \({N}{UNIT}\), and furthest with "
        rf"{LABELS} \({N}{UNIT}\)",
        extremes,
    ),
    Clause(
        rf"(?:low|high)est with {LABELS} \({N}{UNIT}\), and (?:low|high)est with {LABELS} "
        rf"\({N}{UNIT}\)",
        extremes,
    ),
    # Verdicts.
    Clause(
        rf"{EXAMPLES}, at least {N} \(margin {N}, p [=<] {N}\)"
        rf"(, of which the base model loses {N} too)?",
        loss_shown,
        is_rare=True,
    ),
    Clause(
        rf"{EXAMPLES}(, which is large but not beyond chance)?, (?:lose )?at (?:most|least) {N}",
        loss_open,
        is_rare=True,
    ),
    Clause(
        rf"(UA|MIA) is {N} %, {N} points (above|below) Retrain's {N} %, at least {N} \(margin "
        rf"{N}, p [=<] {N}\)",
        rate_shown,
        is_rare=True,
    ),
    Clause(
        rf"(UA|MIA) is {N} %, {N} points (above|below) Retrain's {N} % \[{N}, {N}\]"
        rf"(, which is large but not beyond chance)?",
        rate_open,
        is_rare=True,
    ),
    Clause(rf"({MEASURE}) {WITH_INTERVAL} within ±{N}", equivalent, is_rare=True),
    Clause(
        rf"Probably about {N} seeds would decide",
        lambda a, s, *_: [a.long.number(s.cell, s.run, "seeds_needed")],
        is_rare=True,
    ),
    Clause(
        rf"Probably {N} seeds would decide ([^:]+): seeds: \[([^\]]*)\] in the config; finished "
        rf"runs stay. Deciding again raises the error above 5 %. looks: \[{N}, {N}\] beside it",
        proposed,
        is_rare=True,
    ),
    Clause(rf"TA is {N} % where Retrain has {N} %", accuracies),
    Clause(rf"[Dd]iverged \({N} of {N} seeds\)", lambda a, s, *_: [1, len(a.long.seeds)]),
    # Near and far.
    Clause(
        rf"{NAME}: an average gap of {N} points, (but|and) {N} points \[{N}, {N}\] less accurate "
        rf"than Retrain on the {N} "
        rf"retained examples most similar to the forgotten ones \({N} %\) by the base model's "
        rf"features, against {N} "
        rf"points on all others",
        lambda a, s, label, _g, word, *__: worst(a, s, label, word),
    ),
    Clause(
        rf"No method is shown to be less accurate than Retrain on the {N} retained examples most "
        rf"similar to the forgotten ones \({N} %\)",
        nobody_hurt,
        is_rare=True,
    ),
    Clause(
        r"(Also less accurate there|More accurate than Retrain there|Within the margin|Open): "
        r"(?=[^.(:;]+ \([+−\d])"  # names with their losses, and not the measures of one method
        r"([^.]+(?:\.\d[^.]*)*)\.",
        listed,
    ),
    # Exposure.
    Clause(
        rf"Retained examples near the forgotten ones \(AUC before: {N}\)", before("retain", "near")
    ),
    Clause(r"more exposed after ((?:[A-Z]+ \([^)]*\)(?:, )?)+)", change(+1)),
    Clause(r"less exposed after ((?:[A-Z]+ \([^)]*\)(?:, )?)+)", change(-1)),
    Clause(r"no clear change after ((?:[A-Z]+ \([^)]*\)(?:, )?)+)", change(0)),
    Clause(rf"Forgotten examples \(AUC before: {N}\)", before("forget")),
    Clause(r"a trace is left by ((?:[A-Z]+ \([^)]*\)(?:, )?)+)", left(has_trace=True)),
    Clause(rf"{N} shadow models (?:show|find)", lambda *_: [NUM_SHADOWS]),
    Clause(r"no trace after ((?:[A-Z]+ \([^)]*\)(?:, )?)+)", left(has_trace=False)),
    # Budgets.
    Clause(rf"within {N} % ([A-Z]+(?: and [A-Z]+)*) \({N} points\)", leader),
    Clause(rf"Doing nothing has {N} points", lambda a, s, *_: [points(a.idle_gap(s.cell))]),
    # Support sizes.
    Clause(
        rf"k: auto takes {N} to {N} examples\. .*? \(here {N} to {N}\) that costs .*? 5 "
        rf"points; it cost it {N} to {N}\. "
        rf".*? similarity {N} to {N} up",
        step,
    ),
    Clause(rf"A support of {N} or fewer is of one class", lambda *_: [20]),
    # Probes.
    Clause(
        rf"the other half: furthest above Retrain with ([A-Z and]+) "
        rf"\({N} points; retraining again differs by {N}\)",
        most_left("relearn_gap"),
        is_rare=True,
    ),
    Clause(r"the other half: no method is further", none_left("relearn_gap"), is_rare=True),
    Clause(
        rf"under noise: furthest above Retrain with ([A-Z and]+) "
        rf"\({N} points; retraining again differs by {N}\)",
        most_left("residual_gap"),
        is_rare=True,
    ),
    Clause(r"under noise: no method is further", none_left("residual_gap"), is_rare=True),
    Clause(
        rf"new linear head on the forget set: furthest above Retrain with ([A-Z and]+) "
        rf"\({N} points; retraining again differs by {N}\)",
        most_left("linear_gap"),
        is_rare=True,
    ),
    Clause(
        r"linear head on the forget set: no method is further",
        none_left("linear_gap"),
        is_rare=True,
    ),
    Clause(
        rf"on retained examples: furthest above Retrain with ([A-Z and]+) "
        rf"\({N} points; retraining again differs by {N}\)",
        most_left("resurface_gap"),
        is_rare=True,
    ),
    Clause(r"on retained examples: no method is further", none_left("resurface_gap"), is_rare=True),
    Clause(
        rf"first level: ([A-Z]+(?: and [A-Z]+)*) \(mean step {N}; a seed that never is counts as "
        rf"{N}; level in {N} of {N} seeds\)",
        level,
    ),
    Clause(rf"ZRF: Retrain's is {N}, and {NAME} comes nearest \({N}\)", zrf),
    # What was forgotten.
    Clause(
        rf"{N} of {N} train examples are forgotten: (?:{N} of {N} [a-z]+(?:, )?)(?:{N} of "
        rf"{N} [a-z]+(?:, )?)?"
        rf"(?:{N} of {N} [a-z]+(?:, )?)?",
        forgotten,
    ),
    Clause(rf"exact copy among the retained: {N}", lambda a, s, *_: [s.cell == WHOLE]),
    Clause(
        rf"withdrawn: {N} % of ([a-z]+), {N} % of ([a-z]+), {N} % of ([a-z]+) forgotten", shares
    ),
    Clause(rf"([a-z]+), {N} % forgotten", class_part),
    Clause(rf"by {NAME} ((?:{N} of {N} (?:retained|test)(?: and )?)+) examples", counts_of_hurt),
    # Captions.
    Clause(rf"(?:n =|over) {N} seeds", lambda a, s, *_: [len(a.long.seeds)]),
    Clause(rf"of which {N} for each distribution", lambda a, s, *_: [len(a.long.seeds) // 2]),
    Clause(rf"(?:over the|over) {N} cells", lambda a, s, *_: [len(a.made.cells)]),
    Clause(rf"the {N} classes that have a forgotten example", lambda a, s, *_: [len(CLASSES)]),
    Clause(rf"intervals over {N} shadow models", lambda *_: [NUM_SHADOWS]),
    Clause(rf"Retrain's cost \({N} s\)", lambda a, s, *_: [a.long.mean(s.cell, "retrain", "rte")]),
    Clause(
        rf"(?:Retrain's UA of|(?<=; )Retrain's is) {N}",
        lambda a, s, *_: [points(a.long.mean(s.cell, "retrain", "ua"))],
    ),
    Clause(
        rf"Non-members: {N}",
        lambda a, s, *_: [a.long.number(s.cell, "retrain", "rmia_non_members")],
    ),
    Clause(
        rf"{N} examples are compared; the kernel has a bandwidth of {N}",
        lambda a, s, *_: [
            len(a.made.split(s.cell).forget),
            a.long.mean(s.cell, "retrain", "nearer_bandwidth"),
        ],
    ),
    # Checks.
    Clause(
        rf"none of the {N} forgotten examples", lambda a, s, *_: [len(a.made.split(s.cell).forget)]
    ),
    Clause(rf"exactly the retained: {N} seeds", lambda a, s, *_: [len(a.long.seeds)]),
    Clause(
        rf"lowest RA of {N} seeds is {N} %",
        lambda a, s, *_: [len(a.long.seeds), points(min(a.long.values(s.cell, "retrain", "ra")))],
    ),
    Clause(
        rf"base and Retrain differ by {N} points",
        lambda a, s, *_: [points(min(a.long.values(s.cell, "retrain", "base_distance")))],
    ),
    Clause(
        rf"its MIA is shown to be {N} points below Retrain's",
        lambda a, s, *_: [
            -points(a.long.number(s.cell, "original", "difference", "", "mia")),
        ],
        is_rare=True,
    ),
    Clause(
        rf"the base model's UA is {N} points from Retrain's, the margin is {N}",
        lambda a, s, *_: [
            points(
                a.long.mean(s.cell, "retrain", "base_ua") - a.long.mean(s.cell, "retrain", "ua")
            ),
            points(a.long.number(s.cell, "retrain", "margin", "", "ua")),
        ],
    ),
    Clause(
        rf"UA halfway between the base and Retrain is {N} %",
        lambda a, s, *_: [
            50 * (a.long.mean(s.cell, "retrain", "base_ua") + a.long.mean(s.cell, "retrain", "ua"))
        ],
    ),
    Clause(
        rf"gives at least {N} % more than half",
        lambda a, s, *_: [points(a.long.number(s.cell, "retrain", "shadow_sure"))],
    ),
    Clause(
        rf"{N} forgotten images have an exact copy",
        lambda a, s, *_: [a.long.number(s.cell, "retrain", "exact_copies")],
    ),
    Clause(
        rf"the lowest TA of {N} seeds, on classes that are kept, is {N} % "
        rf"\(Retrain\) and {N} % \(the base\); always naming the largest class gives {N} %",
        lambda a, s, *_: [
            len(a.long.seeds),
            *(points(min(a.long.values(s.cell, r, "known_ta"))) for r in ("retrain", "original")),
            points(a.long.number(s.cell, "retrain", "guessing")),
        ],
    ),
    Clause(
        rf"pixel values differ by up to {N} of 255, {N} images are constant",
        lambda a, s, *_: [
            a.long.number(s.cell, "retrain", "pixel_range"),
            255,
            a.long.number(s.cell, "retrain", "constant_images"),
        ],
    ),
    Clause(
        rf"{N} test images are exact copies of train images, {N} of forgotten",
        lambda a, s, *_: [
            a.long.number(s.cell, "retrain", "test_copies"),
            a.long.number(s.cell, "retrain", "test_copies_forgotten"),
        ],
    ),
    Clause(
        rf"GA lr {N} of {N} to {N}",
        lambda a, s, *_: [0.02, *(end([t["lr"] for t in TRIALS["ga"]]) for end in (min, max))],
    ),
    Clause(rf"open \({N} seeds\)", lambda a, s, *_: [len(a.long.seeds)], is_rare=True),
    Clause(rf"{N} seeds are too few to say", lambda a, s, *_: [len(a.long.seeds)], is_rare=True),
    Clause(rf"(red|amber|green|not made) in {N} of {N} cells", gates_counted),
    Clause(
        rf"standard deviations over {N} retrainings, in points: UA {N}, RA {N}, TA {N}, MIA {N}",
        lambda a, s, *_: [
            len(a.long.seeds),
            *(
                points(np.std(a.long.values(s.cell, "retrain", at), ddof=1))
                for at in ("ua", "ra", "ta", "mia")
            ),
        ],
    ),
    Clause(rf"TA is the same in all {N} retrainings", same_ta, is_rare=True),
    Clause(
        rf"nearer to Retrain by at most {N} points of average gap, the bar is {N}",
        lambda a, s, *_: [max(regrets_of(a, s.cell).values()), 5.0],
        is_rare=True,
    ),
    Clause(
        rf"{NAME} by {N} points \([a-z]+ [^()]+ in place of [^()]+\)",
        regret_of_choice,
        is_rare=True,
    ),
    Clause(rf"; the bar is {N}", lambda *_: [5.0], is_rare=True),
    Clause(rf"with {N} seeds and {N} methods", lambda a, s, *_: [len(a.long.seeds), 4]),
]


def read(animals, one):
    """Return what is wrong with a sentence, and what is left of it."""
    text, wrong, found = one.text, [], set()
    for clause in CLAUSES:
        for match in re.finditer(clause.pattern, text):
            groups = [group for group in match.groups() if group is not None]
            shown = re.findall(N, match[0])
            values = clause.numbers(animals, one, *groups)
            if clause.pattern.startswith("k: auto"):
                shown = [g for g in groups]
            if not (len(shown) == len(values) and all(map(is_shown, shown, values))):
                wrong.append(f"{match[0]!r} should have {values}")
            found.add(clause.pattern)
        text = re.sub(clause.pattern, " ", text)
    for constant in CONSTANTS:
        text = text.replace(constant, " ")
    return wrong, text, found


def test_every_number_of_every_sentence_is_that_of_the_long_table(animals):
    wrong, unread, used, count = [], [], set(), 0
    for one in sentences(animals):
        bad, rest, found = read(animals, one)
        wrong += [f"{one.cell}, {one.finding}, {one.run}: {text}" for text in bad]
        unread += [(one.cell, one.finding, rest)] if re.search(r"\d", rest) else []
        used |= found
        count += 1
    assert wrong == []
    assert unread == [], "\n".join(map(str, unread))
    assert count > 100
    assert [c.pattern for c in CLAUSES if c.pattern not in used and not c.is_rare] == []


def verdicts(animals, cell):
    if animals.is_red(cell):
        return {}
    runs = [run for run in animals.made.of_kind("method") if "@" not in run]
    said = {run: Said("", cell, "verdict", run) for run in runs}
    return {run: verdict_of(animals, one) for run, one in said.items()}


# What a shown difference means; a loss is on near or far examples, retained or test.
WORDS = {
    **dict.fromkeys([("near", 1), ("near_test", 1)], "hurt the neighbours"),
    **dict.fromkeys([("far", 1), ("far_test", 1)], "hurt everyone"),
    **dict.fromkeys([("near", -1), ("near_test", -1)], "more accurate near"),
    **dict.fromkeys([("far", -1), ("far_test", -1)], "more accurate far"),
    **dict.fromkeys([("ua", 1), ("mia", -1)], "did not forget"),
    **{("ua", -1): "UA too low", ("mia", 1): "MIA too high"},
    **{("damage", 1): "neighbours lose more than others"},
    **{("damage", -1): "neighbours lose less than others"},
}


def shown_of(animals, cell, run):
    """Return the shown differences of a method by measure, and those that are losses."""
    number = animals.long.number
    signs = {at: number(cell, run, "shown", "", at) for at in MEASURES}
    found = {at: number(cell, run, "difference", "", at) for at in MEASURES if signs[at] in (1, -1)}
    return found, {at: one for at, one in found.items() if at not in ("ua", "mia") and one > 0}


def is_as_base(animals, cell, run):
    """Tell whether the base model has every shown loss too, up to the margin."""
    number = animals.long.number
    _, losses = shown_of(animals, cell, run)
    base = {at: number(cell, "original", "difference", "", at) for at in losses}
    margin = {at: number(cell, run, "margin", "", at) for at in losses}
    return all(base[at] > margin[at] and losses[at] - base[at] <= margin[at] for at in losses)


def words_of(animals, cell, run):
    """Return what the shown differences of a method mean: losses first, then what is left."""
    found, losses = shown_of(animals, cell, run)
    note = " as the base model does" * is_as_base(animals, cell, run)
    words = {at: WORDS[at, int(np.sign(one))] for at, one in found.items()}
    groups = (
        [at for at in found if at in losses],
        [at for at in found if words[at] == "did not forget"],
        [at for at in found if at not in losses and words[at] != "did not forget"],
    )
    order = [at for group in groups for at in sorted(group, key=lambda at: -abs(found[at]))]
    listed = [words[at] for at in order]
    if "hurt the neighbours" in listed:
        listed = [word for word in listed if word != "neighbours lose more than others"]
        if "hurt everyone" in listed:
            hurt = ("hurt the neighbours", "hurt everyone")
            rest = [word for word in listed if word not in hurt]
            listed = ["hurt the neighbours and everyone else", *rest]
    is_loss = ("hurt", "neighbours lose more")
    return list(dict.fromkeys(word + note * word.startswith(is_loss) for word in listed))


def shown(animals, cell, run, verdict):
    seeds = f" ({len(animals.long.seeds)} seeds)" if verdict == OPEN else ""
    words = words_of(animals, cell, run) if verdict in (HARM, DIFFERENT) else []
    return f"{verdict}{': ' if words else ''}{', '.join(words)}{seeds}"


def test_a_verdict_is_the_one_of_its_method(animals):
    fields = [o for o in animals.fields if (o.table, o.heading) == ("verdict", "Verdict")]
    judged = [cell for cell in animals.made.cells if not animals.is_red(cell)]
    assert len(fields) == 4 * len(judged) == 8  # with a red check no verdict is given
    assert len({one.value for one in fields}) >= 4
    for one in fields:
        run = animals.run_of(one.row)
        assert one.value == shown(animals, one.cell, run, verdicts(animals, one.cell)[run])


def test_the_index_names_the_methods_of_each_verdict(animals):
    glance = json.loads((animals.root / layout.GLANCE).read_text())
    decision = glance["decision"]
    cells = [cell["name"] for cell in decision["cells"]]
    assert cells == sorted(animals.made.cells)
    for place, cell in enumerate(decision["cells"]):
        name = cell["name"]
        section = animals.page.one("section", "cell", data_cell=name)
        assert section.one("h2").text == cell["title"]
        assert [text.partition(":")[0] for text in cell["red"]] == (
            ["exact copies"] if animals.is_red(name) else []
        )
        found = {row["run"]: row["scores"][place] for row in decision["methods"]}
        assert set(found) == {run for run in animals.made.of_kind("method") if "@" not in run}
        wanted = verdicts(animals, name)
        for run, score in found.items():
            verdict = wanted.get(run, "")  # none with a red check
            title = shown(animals, name, run, verdict) if verdict else ""
            assert (score["verdict"], score["title"]) == (verdict, title)
    labels = {row["run"]: row["label"] for row in decision["methods"]}
    assert labels == {run: animals.made.plan.labels[run] for run in labels}


def test_the_words_of_a_cell_name_the_methods_of_each_verdict(animals):
    for cell in animals.made.cells:
        said = [
            one.text
            for one in sentences(animals)
            if (one.cell, one.finding) == (cell, "verdict") and not one.run
        ]
        if animals.is_red(cell):
            assert len(said) == 1
            assert said[0].startswith("No verdict: exact copies: ")
            continue
        groups = {}
        for run, verdict in verdicts(animals, cell).items():
            words = words_of(animals, cell, run) if verdict in (HARM, DIFFERENT) else []
            named = animals.made.plan.labels[run] + f" ({', '.join(words)})" * bool(words)
            groups.setdefault(verdict, []).append(named)
        parts = [f"{v}: {', '.join(groups[v])}" for v in VERDICTS if v in groups]
        assert [text.lower() for text in said] == [f"{'; '.join(parts)}.".lower()]


def test_the_index_has_the_numbers_of_the_long_table(animals):
    decision = json.loads((animals.root / layout.GLANCE).read_text())["decision"]
    count = 0
    for row in decision["methods"]:
        for cell, score in zip(decision["cells"], row["scores"], strict=True):
            at_hand = (cell["name"], row["run"])
            for key, name in {"gap": "avg_gap", "share": "rte_share"}.items():
                value = animals.long.number(*at_hand, name)
                assert score[key] == (None if math.isnan(value) else pytest.approx(value))
            assert bool(score["verdict"]) or not score["measures"]
            for one in score["measures"]:
                test = "equivalence" if one["answer"] == "within" else "difference"
                names = {"mean": "difference", "low": f"{test}_low", "high": f"{test}_high"}
                for key, name in (names | {"margin": "margin"}).items():
                    value = animals.long.number(*at_hand, name, "", one["at"])
                    assert one[key] == pytest.approx(value)
                answers = [animals.long.number(*at_hand, n, "", one["at"]) for n in ANSWERS]
                wanted = [one["answer"] == "shown", one["answer"] == "within"]
                assert [abs(answer) for answer in answers] == wanted
                count += 1
    assert count > 40
    for cell in decision["cells"]:
        name = cell["name"]
        assert cell["nothing"] == pytest.approx(animals.long.number(name, "original", "avg_gap"))
        floor = animals.long.number(name, "retrain", "floor", "", "avg_gap")
        assert cell["retraining"] == pytest.approx(floor)
        assert cell["seeds"] == len(animals.long.seeds)


ANSWERS = ("shown", "within")
KINDS = {
    "Hurt the neighbours": ("near", "near_test"),
    "Hurt everyone": ("far", "far_test"),
}


def test_the_headline_names_the_methods_that_hurt_and_by_how_much(animals):
    headline = json.loads((animals.root / layout.GLANCE).read_text())["headline"]
    assert animals.page.one("h1").text == headline
    given = [(c, run, v) for c in animals.made.cells for run, v in verdicts(animals, c).items()]
    for kind, measures in KINDS.items():
        least = {}
        for cell, run, verdict in given:
            for at in shown_of(animals, cell, run)[1] if verdict == HARM else ():
                if at in measures and not is_as_base(animals, cell, run):
                    ends = [
                        points(animals.long.number(cell, run, f"difference{end}", "", at))
                        for end in ("_low", "")
                    ]
                    least[run] = max(least.get(run, ends), ends)
        assert (f"{kind}: " in headline) == bool(least)
        order = sorted(least, key=lambda run: -least[run][0])
        for run in order[:1]:
            low, most = least[run]
            size = f"({most:.1f} points, at least {low:.1f})"
            assert f"{kind}: {animals.made.plan.labels[run]} {size}" in headline
        said = headline.partition(f"{kind}: ")[2].partition(". ")[0]
        assert all(animals.made.plan.labels[run] in said for run in order[:3])
    collapsed = {run for _, run, verdict in given if verdict == "collapsed"}
    assert ("Collapsed: " in headline) == bool(collapsed)


def test_a_class_slope_is_told_with_its_own_interval(animals):
    """The slope's ends are a Student-t interval of the seeds' slopes."""
    long = animals.long
    for run in ("ft", "ga", "ltd", "original"):
        names = [name for name in CLASSES if name != "zebra"]
        similarity = np.array(
            [long.values(WHOLE, "retrain", "class_similarity", "", n) for n in names]
        )
        drop = np.array([long.values(WHOLE, run, "class_drop", "", n) for n in names])
        slopes = (drop[1] - drop[0]) / (similarity[1] - similarity[0])
        ends = mean(slopes) - half_width(slopes), mean(slopes) + half_width(slopes)
        found = [long.number(WHOLE, run, f"class_slope{end}") for end in ("", "_low", "_high")]
        assert found == pytest.approx([mean(slopes), *ends])


def test_cells_are_called_by_their_titles_everywhere(animals):
    titles = {s.get("data-cell"): s.one("h2").text for s in animals.page.all("section", "cell")}
    assert titles[PART] == "ox, 50 % forgotten"
    nav = {a.get("href"): a.text for a in animals.page.one("nav").all("a", "cell")}
    assert nav == {f"#cell-{cell}": title for cell, title in titles.items()}
    for one in animals.page.all("section", "decision"):
        link = one.one("h3").one("a")
        assert (link.get("href"), link.text) == (
            f"#cell-{one.get('data-cell')}",
            titles[one.get("data-cell")],
        )
