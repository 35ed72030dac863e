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
from test_shown_tables import diverged, half_width

from collateral.findings.trajectory import SHARES
from collateral.findings.verdict import VERDICTS
from collateral.results import layout

N = r"([+−]?\d[\d,]*(?:\.\d+)?)"
NAME = r"([A-Z][A-Za-z]*)"
# Levels, definitions and settings that are the same whatever the results are.
CONSTANTS = (
    *("95 %", "90 %", "80 %", "5 %", "70 %", "ddof=1", "[0, 1]", "points per 0.1", "at most 2,000"),
    *("5 points", "TPR at 1 % FPR", "1,000", "intervals over 16 cover 83 to 91 %", "below 32"),
    *("1 is nearest", "0.1 points", "13 standard deviations", "3 pixels"),
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
    for gate in animals.page.one(id="checks").all("li"):
        name, _, rest = gate.text.removeprefix(gate.one("b").text).strip().partition(": ")
        yield Said(rest, name, gate.one("b").text)


# What clauses must say. `a` is the benchmark, `s` the sentence; groups follow.


def points(value):
    return 100 * value


def of_tests(measure):
    def numbers(a, s, *_):
        verdict = VERDICTS[int(a.long.number(s.cell, s.run, "verdict"))]
        test = "equivalence" if verdict == "like Retrain" else "difference"
        names = ("difference", f"{test}_low", f"{test}_high")
        return [points(a.long.number(s.cell, s.run, name, "", measure)) for name in names]

    return numbers


def p_value(a, s, *_):
    verdict = VERDICTS[int(a.long.number(s.cell, s.run, "verdict"))]
    if verdict == "like Retrain":
        return [
            max(a.long.number(s.cell, s.run, "equivalence_p", "", at) for at in ("ua", "damage"))
        ]
    measure = {"did not forget": "midpoint", "hurt the neighbours": "near"}[verdict]
    return [a.long.number(s.cell, s.run, "difference_p", "", measure)]


def midpoint(a, s, *_):
    means = [
        a.long.mean(s.cell, *one)
        for one in ((s.run, "ua"), ("retrain", "base_ua"), ("retrain", "ua"))
    ]
    above = means[0] - (means[1] + means[2]) / 2
    return [points(value) for value in (means[0], above, *means[1:])]


def widths(a, s, *_):
    found = [
        points(
            a.long.number(s.cell, s.run, "difference_high", "", at)
            - a.long.number(s.cell, s.run, "difference_low", "", at)
        )
        for at in ("ua", "damage")
    ]
    return [len(a.long.seeds), *found, *margins(a, s)]


def margins(a, s, *_):
    return [points(a.long.number(s.cell, "retrain", "margin", "", at)) for at in ("ua", "damage")]


def accuracies(a, s, *_):
    return [points(a.long.mean(s.cell, run, "ta")) for run in (s.run, "retrain")]


def nearest(a, s, *_):
    near, far = (
        a.long.mean(s.cell, "retrain", f"{side}_count", "retain") for side in ("near", "far")
    )
    return [near, 100 * near / (near + far)]


def worst(a, s, label, word, *_):
    run = a.run_of(label)
    assert run == max(sound(a, s.cell), key=lambda r: a.long.mean(s.cell, r, "near_loss", "retain"))
    gap = a.long.number(s.cell, run, "avg_gap")
    near, far = (a.long.mean(s.cell, run, f"{side}_loss", "retain") for side in ("near", "far"))
    assert word == ("but" if near > gap else "and")
    return [points(gap), points(near), *nearest(a, s), points(far)]


def sound(a, cell):
    runs = [run for run in a.made.of_kind("method") if "@" not in run]
    return [run for run in runs if not diverged(a, cell, run)]


def near_chance(a, s, *_):
    return [points(a.long.chance(s.cell, ("retrain", "near_loss_sd", "retain", "")))]


def nobody_hurt(a, s, *_):
    [bound] = near_chance(a, s)
    losses = (points(a.long.mean(s.cell, r, "near_loss", "retain")) for r in sound(a, s.cell))
    assert max(losses) <= bound
    return [*nearest(a, s), bound]


def listed(a, s, group, text):
    """Check a list of methods with their losses: who is in it, and that nobody is missing."""
    bound = near_chance(a, s)[0]
    first = re.match(NAME, s.text)[1]
    losses = {
        run: points(a.long.mean(s.cell, run, "near_loss", "retain")) for run in sound(a, s.cell)
    }
    losses = {run: value for run, value in losses.items() if a.made.plan.labels[run] != first}
    belongs = {
        "Also less accurate there": lambda value: value > bound,
        "More accurate than Retrain there": lambda value: value < -bound,
        "Within chance": lambda value: abs(value) <= bound,
    }[group]
    order = sorted((r for r in losses if belongs(losses[r])), key=lambda run: -losses[run])
    assert re.findall(rf"{NAME} \(", text) == [a.made.plan.labels[run] for run in order]
    return [abs(losses[run]) for run in order]


def exposed(a, s, *groups):
    """Check which methods expose the neighbours more or less."""
    count = a.long.number(s.cell, "retrain", "exposure_count", "retain", "near")
    return [count, a.long.number(s.cell, "retrain", "lira_auc", "retain", "near")]


def change(sign):
    def numbers(a, s, text):
        runs = [a.run_of(label) for label in re.findall(rf"{NAME} \(", text)]
        ends = {run: interval(a, s.cell, run) for run in ("ga", "ltd")}
        meant = [run for run, (low, high) in ends.items() if (low > 0 if sign > 0 else high < 0)]
        values = {
            run: a.long.number(s.cell, run, "exposure_change", "retain", "near") for run in meant
        }
        assert runs == sorted(meant, key=lambda run: -abs(values[run]))
        return [values[run] for run in runs]

    return numbers


def interval(a, cell, run, metric="exposure_change", part=("retain", "near")):
    return [a.long.number(cell, run, f"{metric}_{end}", *part) for end in ("low", "high")]


def left(a, s, *groups):
    ends = {run: interval(a, s.cell, run, "ulira_auc", ("forget", "")) for run in ("ga", "ltd")}
    meant = [run for run, (low, _) in ends.items() if low > 0.5]
    before = a.long.number(s.cell, "retrain", "lira_auc", "forget")
    values = {run: a.long.number(s.cell, run, "ulira_auc", "forget") for run in meant}
    order = sorted(meant, key=lambda run: -values[run])
    if groups:
        assert re.findall(rf"{NAME} \(", groups[1]) == [a.made.plan.labels[run] for run in order]
    return [before, *(values[run] for run in order)]


def neither(a, s, *_):
    assert all(
        low <= 0 <= high for low, high in (interval(a, s.cell, run) for run in ("ga", "ltd"))
    )
    count, before = exposed(a, s)
    return [count, NUM_SHADOWS, before]


def no_trace(a, s, *_):
    found = left(a, s)
    assert len(found) == 1
    return [NUM_SHADOWS, *found]


def undecided(a, s, *_):
    ends = [interval(a, s.cell, run) for run in ("ga", "ltd")]
    return [sum(low <= 0 <= high for low, high in ends), NUM_SHADOWS]


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
    return [first, np.count_nonzero(own <= 3), np.count_nonzero(~np.isnan(own))]


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


def fraction(a, s, *_):
    return [a.made.split(s.cell).chosen["fraction"]]


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


CLAUSES = [
    # Verdicts.
    Clause(
        rf"The nearest retained examples lose {N} points against Retrain",
        lambda a, s, *_: [points(a.long.mean(s.cell, s.run, "near_loss", "retain"))],
    ),
    Clause(
        rf"UA is {N} %, {N} points above the midpoint of the base model's {N} % and "
        rf"Retrain's {N} %",
        midpoint,
    ),
    Clause(rf"UA is {N} \[{N}, {N}\] points from Retrain's", of_tests("ua")),
    Clause(rf"[Dd]amage is {N} \[{N}, {N}\] points", of_tests("damage")),
    Clause(rf"\(p = {N}\)", p_value),
    Clause(
        r"\(p < 0\.001\)", lambda a, s: [0.001] if p_value(a, s)[0] < 0.001 else [], is_rare=True
    ),
    Clause(
        rf"{N} seeds cannot tell: the intervals are {N} points and {N} points wide, and "
        rf"equal is what is within ±{N} points and ±{N} points",
        widths,
    ),
    Clause(rf"intervals within ±{N} points and ±{N} points", margins),
    Clause(rf"TA is {N} % where Retrain has {N} %", accuracies),
    Clause(rf"[Dd]iverged \({N} of {N} seeds\)", lambda a, s, *_: [1, len(a.long.seeds)]),
    # Near and far.
    Clause(
        rf"{NAME}: an average gap of {N} points, (but|and) {N} points less accurate than "
        rf"Retrain on the {N} "
        rf"retained examples most similar to the forgotten ones \({N} %\), against {N} "
        rf"points on all others",
        lambda a, s, label, _g, word, *__: worst(a, s, label, word),
    ),
    Clause(
        rf"No method is less accurate than Retrain on the {N} retained examples most "
        rf"similar to the forgotten "
        rf"ones \({N} %\) by more than chance explains \(±{N} points\)",
        nobody_hurt,
        is_rare=True,
    ),
    Clause(rf"Chance explains ±{N} points there", near_chance),
    Clause(
        r"(Also less accurate there|More accurate than Retrain there|Within chance): "
        r"([^.]+(?:\.\d[^.]*)*)\.",
        listed,
    ),
    # Exposure.
    Clause(
        rf"The {N} retained examples nearest to the forgotten ones are neither more nor "
        rf"less exposed after any "
        rf"method, as far as {N} shadow models can tell \(AUC before: {N}\)",
        neither,
    ),
    Clause(
        rf"The {N} retained examples nearest to the forgotten ones \(AUC before: {N}\)", exposed
    ),
    Clause(r"more exposed after ((?:[A-Z]+ \([^)]*\)(?:, )?)+)", change(+1)),
    Clause(r"less exposed after ((?:[A-Z]+ \([^)]*\)(?:, )?)+)", change(-1)),
    Clause(rf"Of {N} more, {N} shadow models cannot tell", undecided),
    Clause(
        rf"A trace of the forgotten ones \(AUC before: {N}\) is left by ((?:[A-Z]+ "
        rf"\([^)]*\)(?:, )?)+)",
        left,
    ),
    Clause(
        rf"{N} shadow models can show no trace of the forgotten ones \(AUC before: {N}\)", no_trace
    ),
    # Budgets.
    Clause(rf"within {N} % (?:still )?([A-Z]+(?: and [A-Z]+)*) \({N} points\)", leader),
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
        rf"most of the other half is known by ([A-Z and]+) \({N} points against Retrain's "
        rf"curve; retraining again "
        rf"differs by {N}\)",
        most_left("relearn_gap"),
    ),
    Clause(
        rf"most of the forget set is left in ([A-Z and]+) \({N} points against Retrain; "
        rf"retraining again differs by "
        rf"{N}\)",
        most_left("residual_gap"),
    ),
    Clause(r"no method knows more of the other half", none_left("relearn_gap")),
    Clause(r"no method has more of the forget set left", none_left("residual_gap")),
    Clause(
        rf"([A-Z]+(?: and [A-Z]+)*) comes level first, by step {N} \(in {N} of {N} seeds\)", level
    ),
    Clause(rf"ZRF: Retrain's is {N}, and {NAME} comes nearest \({N}\)", zrf),
    # What was forgotten.
    Clause(
        rf"{N} of {N} train examples are forgotten: (?:{N} of {N} [a-z]+(?:, )?)(?:{N} of "
        rf"{N} [a-z]+(?:, )?)?"
        rf"(?:{N} of {N} [a-z]+(?:, )?)?",
        forgotten,
    ),
    Clause(rf"fraction {N}", fraction),
    Clause(rf"{N} of them has an exact copy", lambda a, s, *_: [s.cell == WHOLE]),
    Clause(
        rf"withdrawn: {N} % of ([a-z]+), {N} % of ([a-z]+), {N} % of ([a-z]+) forgotten", shares
    ),
    Clause(rf"([a-z]+), {N} % forgotten", class_part),
    # Captions.
    Clause(rf"(?:n =|over) {N} seeds", lambda a, s, *_: [len(a.long.seeds)]),
    Clause(rf"of which {N} for each law", lambda a, s, *_: [len(a.long.seeds) // 2]),
    Clause(rf"Retrain of the {N} other seeds", lambda a, s, *_: [len(a.long.seeds) - 1]),
    Clause(rf"(?:over the|over) {N} cells", lambda a, s, *_: [len(a.made.cells)]),
    Clause(rf"the {N} classes that have a forgotten example", lambda a, s, *_: [len(CLASSES)]),
    Clause(rf"intervals over {N} shadow models", lambda *_: [NUM_SHADOWS]),
    Clause(rf"Retrain's cost \({N} s\)", lambda a, s, *_: [a.long.mean(s.cell, "retrain", "rte")]),
    Clause(
        rf"(?:Retrain's UA of|of which Retrain has) {N}",
        lambda a, s, *_: [points(a.long.mean(s.cell, "retrain", "ua"))],
    ),
    Clause(
        rf"here are {N}", lambda a, s, *_: [a.long.number(s.cell, "retrain", "rmia_non_members")]
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
        rf"the base's UA is {N} points from Retrain's, the margin is {N}",
        lambda a, s, *_: [
            points(
                a.long.mean(s.cell, "retrain", "base_ua") - a.long.mean(s.cell, "retrain", "ua")
            ),
            points(a.long.number(s.cell, "retrain", "margin", "", "ua")),
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
        rf"GA lr {N} of {N} to {N}",
        lambda a, s, *_: [0.02, *(end([t["lr"] for t in TRIALS["ga"]]) for end in (min, max))],
    ),
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
    assert unread == []
    assert count > 100
    assert [c.pattern for c in CLAUSES if c.pattern not in used and not c.is_rare] == []


def verdicts(animals, cell):
    if animals.is_red(cell):
        return {}
    runs = [run for run in animals.made.of_kind("method") if "@" not in run]
    return {run: VERDICTS[int(animals.long.number(cell, run, "verdict"))] for run in runs}


def test_a_verdict_is_the_one_of_its_method(animals):
    fields = [o for o in animals.fields if (o.table, o.heading) == ("verdict", "Verdict")]
    judged = [cell for cell in animals.made.cells if not animals.is_red(cell)]
    assert len(fields) == 4 * len(judged) == 8  # with a red check no verdict is given
    assert len({one.value for one in fields}) >= 4
    for one in fields:
        assert one.value == verdicts(animals, one.cell)[animals.run_of(one.row)]


def test_the_index_names_the_methods_of_each_verdict(animals):
    glance = json.loads((animals.root / layout.GLANCE).read_text())
    assert [anchor for anchor, _, _ in glance["cells"]] == [
        f"cell-{c}" for c in sorted(animals.made.cells)
    ]
    for anchor, title, headline in glance["cells"]:
        cell = anchor.removeprefix("cell-")
        section = animals.page.one("section", "cell", data_cell=cell)
        assert section.one("h2").text == title
        if animals.is_red(cell):
            assert headline.startswith("No verdict: exact copies: ")
            continue
        groups = {}
        for run, verdict in verdicts(animals, cell).items():
            groups.setdefault(verdict, []).append(animals.made.plan.labels[run])
        parts = [f"{v}: {', '.join(groups[v])}" for v in VERDICTS if v in groups]
        assert headline.lower() == f"{'; '.join(parts)}.".lower()


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
