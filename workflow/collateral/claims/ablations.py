"""Claims of the ablations: LTD's support, teacher and threshold; labels of neighbours."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from collateral.claims.claim import Claim, Found, Unsaid, all_of, every, joined
from collateral.claims.figures import rank
from collateral.claims.numbers import (
    BASELINES,
    deviation,
    floor,
    floor_said,
    in_order,
    is_lower,
    listed,
    name_of,
    number,
    said,
)
from collateral.claims.predicates import spread
from collateral.claims.scopes import HALF
from collateral.findings.catalogue import metric_of
from collateral.results.table import REFERENCE, CellTable

# What a method has where nothing else is varied, if no plan says so.
OWN = {("ltd", "support"): "closest", ("ltd", "teacher"): "resnet8", ("ltd", "threshold"): 0.99}
FEW = 0.05  # points, of what stays as it is


def swept(cell: CellTable, method: str, key: str) -> dict[Any, str]:
    """Return the runs of a method with one parameter varied, by value, its own run among them."""
    for sweep in cell.plan.sweeps:
        if sweep.own == method and sweep.key == key:
            return {value: run for run, value in sweep.values.items() if run in cell.kinds}
    start = f"{method}@{key}="
    values = {run.removeprefix(start): run for run in cell.kinds if run.startswith(start)}
    known: dict[Any, str] = {_typed(text): run for text, run in values.items() if "@" not in text}
    if known and (method, key) in OWN and method in cell.kinds:
        known.setdefault(OWN[method, key], method)
    return known


def _typed(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def by_number(cell: CellTable, method: str, key: str, fewest: int) -> dict[float, str]:
    """Return the runs of a sweep over numbers, from the lowest value on."""
    found = {v: run for v, run in swept(cell, method, key).items() if isinstance(v, int | float)}
    if len(found) < fewest:
        raise Unsaid(f"fewer than {fewest} values of {key} of {name_of(cell, method)}")
    return dict(sorted(found.items()))


def of_values(cell: CellTable, key: str, *values: str) -> dict[str, str]:
    """Return LTD's runs with these values."""
    found = swept(cell, "ltd", key)
    if missing := [value for value in values if value not in found]:
        raise Unsaid(f"no LTD with {key} {', '.join(missing)}")
    return {value: found[value] for value in values}


SUPPORTS = ("closest", "random", "farthest")


def closest_is_nearest(metric: str, *, is_gap: bool = False) -> Any:
    """Ask whether the closest support is nearest to Retrain by a metric."""

    def test(cell: CellTable) -> Found:
        runs = of_values(cell, "support", *SUPPORTS)
        measure = number if is_gap else deviation
        found = {name: measure(cell, run, metric) for name, run in runs.items()}
        text = ", ".join(f"{n} {said(metric, v, sign=not is_gap)}" for n, v in found.items())
        size, own = floor(cell, metric), abs(found["closest"])
        is_nearest = every([is_lower(own, abs(found[name]), size) for name in SUPPORTS[1:]])
        label = f"{'' if is_gap else 'Δ '}{metric_of(metric).label}"
        return Found(is_nearest, f"{label}: {text}{floor_said(cell, metric)}")

    return test


def teacher_matches(cell: CellTable) -> Found:
    """Ask whether the teacher's UA is within 10 points of Retrain's with the closest alone."""
    target = number(cell, REFERENCE, "ua")
    runs = of_values(cell, "support", *SUPPORTS)
    found = {name: number(cell, run, "teacher_ua") for name, run in runs.items()}
    is_near = {name: abs(value - target) < 0.1 for name, value in found.items()}
    text = ", ".join(f"{name} {said('teacher_ua', value)}" for name, value in found.items())
    is_so = [name for name in SUPPORTS if is_near[name]] == ["closest"]
    return Found(is_so, f"teacher's UA: {text}; Retrain's {said('ua', target)}")


def support_leaves_ra(cell: CellTable) -> Found:
    """Ask whether RA is the same with every support."""
    return spread(cell, list(of_values(cell, "support", *SUPPORTS).values()), "ra", 0.01)


def teachers(cell: CellTable) -> dict[str, str]:
    """Return LTD's runs by teacher, of those that convolve: the small CNN, then ResNets by size."""
    found = {name: run for name, run in swept(cell, "ltd", "teacher").items() if _size(name)}
    if "small_cnn" not in found or len(found) < 2:
        raise Unsaid("no LTD with a small CNN and with a ResNet as teacher")
    return dict(sorted(found.items(), key=lambda one: _size(one[0])))


def _size(teacher: str) -> float:
    """Return the depth of a ResNet; 1 for the small CNN, 0 for others."""
    depth = teacher.removeprefix("resnet")
    return float(depth) if depth.isdecimal() else float(teacher == "small_cnn")


def comparable_teachers(cell: CellTable) -> Found:
    """Ask whether the results hardly depend on the teacher."""
    runs = list(teachers(cell).values())
    limits = {"ua_affected": 0.03, "ra": 0.01, "ta": 0.01}
    found = joined([spread(cell, runs, metric, most) for metric, most in limits.items()])
    return Found(found.holds, f"{', '.join(teachers(cell))}: {found.text}")


def cheaper_teachers(cell: CellTable) -> Found:
    """Ask whether the largest teacher takes more time than the small CNN and ResNet-8."""
    runs = teachers(cell)
    largest = max(runs, key=_size)
    small = [name for name in runs if _size(name) <= 8]
    if largest in small:
        raise Unsaid("no LTD with a teacher that is larger than ResNet-8")
    seconds = {name: number(cell, runs[name], "rte") for name in (*small, largest)}
    text = ", ".join(f"{name} {said('rte', value)} s" for name, value in seconds.items())
    return Found(all(seconds[name] < seconds[largest] for name in small), text)


def frozen_fails(cell: CellTable) -> Found:
    """Ask whether LTD with a perceptron on the base's features still knows what it should not."""
    (run,) = of_values(cell, "teacher", "mlp_frozen").values()
    ua, of_teacher = number(cell, run, "ua_affected"), number(cell, run, "teacher_ua")
    text = f"affected UA {said('ua_affected', ua)}, the teacher's {said('teacher_ua', of_teacher)}"
    return Found(min(ua, of_teacher) > 0.95, text)


def neighbours(cell: CellTable) -> dict[str, str]:
    """Return Neighbor's runs by k; where none is varied, its own."""
    found = {f"k {k:g}": r for k, r in by_number(cell, "neighbor", "k", 0).items()}
    if not found and "neighbor" not in cell.kinds:
        raise Unsaid("no Neighbor")
    return found or {"Neighbor": "neighbor"}


def neighbours_keep(cell: CellTable) -> Found:
    """Ask whether labels of neighbours cost fewer than 2 points of RA and TA."""
    found = [
        (name, metric, deviation(cell, run, metric))
        for name, run in neighbours(cell).items()
        for metric in ("ra", "ta")
    ]
    text = ", ".join(f"{name} Δ {m.upper()} {said(m, v, sign=True)}" for name, m, v in found)
    return Found(all(abs(value) < 0.02 for *_, value in found), text)


def neighbours_overestimate(cell: CellTable) -> Found:
    """Ask whether with labels of neighbours UA is over 5 points too high, and more than LTD's."""
    found = {name: deviation(cell, run, "ua") for name, run in neighbours(cell).items()}
    ltd = deviation(cell, "ltd", "ua")
    text = ", ".join(f"{n} {said('ua', v, sign=True)}" for n, v in {**found, "LTD": ltd}.items())
    return Found(all(v > max(0.05, ltd) for v in found.values()), f"Δ UA: {text}")


def more_neighbours(cell: CellTable) -> Found:
    """Ask whether more neighbours lower both gaps, which stay above LTD's."""
    runs = by_number(cell, "neighbor", "k", 2)
    return joined([_lowered(cell, runs, gap) for gap in ("avg_gap", "avg_gap_affected")])


def _lowered(cell: CellTable, runs: dict[float, str], gap: str) -> Found:
    (few, first), *_, (many, last) = runs.items()
    before, after, ltd = (number(cell, run, gap) for run in (first, last, "ltd"))
    text = f"{metric_of(gap).label}: k {few:g} {said(gap, before)}, k {many:g} {said(gap, after)}"
    size = floor(cell, gap)
    is_so = every([is_lower(ltd, after, size), is_lower(after, before, size)])
    return Found(is_so, f"{text}, LTD {said(gap, ltd)}{floor_said(cell, gap)}")


def stable_threshold(cell: CellTable) -> Found:
    """Ask whether RA, TA and UA hardly depend on the threshold."""
    runs = list(by_number(cell, "ltd", "threshold", 3).values())
    return joined([spread(cell, runs, metric, FEW) for metric in ("ra", "ta", "ua")])


def saturated_threshold(cell: CellTable) -> Found:
    """Ask whether from a threshold of 0.6 on the affected class's accuracies stay."""
    runs = by_number(cell, "ltd", "threshold", 3)
    later = [run for value, run in runs.items() if value >= 0.6]
    if len(later) < 2:
        raise Unsaid("fewer than two thresholds from 0.6 on")
    names = ("ra_affected", "ua_affected", "ta_affected")
    return joined([spread(cell, later, metric, FEW) for metric in names])


def teacher_approaches(cell: CellTable) -> Found:
    """Ask whether the teacher's UA comes to Retrain's as the threshold grows."""
    target = number(cell, REFERENCE, "ua")
    runs = by_number(cell, "ltd", "threshold", 3)
    found = {value: number(cell, run, "teacher_ua") for value, run in runs.items()}
    away = [abs(value - target) for value in found.values()]
    text = ", ".join(f"{at:g} {said('teacher_ua', value)}" for at, value in found.items())
    text = f"teacher's UA by threshold: {text}; Retrain's {said('ua', target)}"
    return Found(rank(away) < 0 and away[-1] < away[0], text)


def epochs_rise(cell: CellTable) -> Found:
    """Ask whether a higher threshold takes the teacher more epochs, half as many again at last."""
    runs = by_number(cell, "ltd", "threshold", 3)
    found = {value: number(cell, run, "teacher_epochs") for value, run in runs.items()}
    epochs = list(found.values())
    text = ", ".join(f"{at:g} {said('teacher_epochs', n)}" for at, n in found.items())
    is_rising = all(a <= b for a, b in pairwise(epochs))
    return Found(is_rising and epochs[-1] > 1.5 * epochs[0], f"epochs by threshold: {text}")


def beta_does(cell: CellTable) -> Found:
    """Ask whether no other beta has an Avg. Gap below that of 2 by more than chance."""
    found = {
        beta: number(cell, r, "avg_gap") for beta, r in by_number(cell, "ltd", "beta", 2).items()
    }
    if 2 not in found:
        raise Unsaid("no LTD with beta 2")
    text = ", ".join(f"{beta:g} {said('avg_gap', gap)}" for beta, gap in found.items())
    size = floor(cell, "avg_gap")
    text = f"Avg. Gap by beta: {text} (floor {said('avg_gap', size)})"
    return Found(found[2] - min(found.values()) <= size, text)


def adamw_does_not_help(cell: CellTable) -> Found:
    """Ask whether no baseline comes nearer to Retrain with AdamW by more than chance."""
    pairs = {run: _with_adamw(cell, run) for run in BASELINES if run != "iu"}
    pairs = {run: other for run, other in pairs.items() if other}
    if not pairs:
        raise Unsaid("no baseline with AdamW")
    size = floor(cell, "avg_gap")
    gains = {
        run: number(cell, run, "avg_gap") - number(cell, other, "avg_gap")
        for run, other in pairs.items()
    }
    text = f"AdamW lowers Avg. Gap by {listed(cell, in_order(gains), 'avg_gap')}"
    is_so = max(gains.values()) <= size
    missing = [name_of(cell, run) for run in BASELINES if run not in pairs and run != "iu"]
    if is_so and missing:
        return Found(None, f"{text}; not here: {', '.join(missing)}")
    return Found(is_so, f"{text} (floor {said('avg_gap', size)})")


def _with_adamw(cell: CellTable, run: str) -> str:
    names = (
        other
        for other in cell.kinds
        if other.startswith((f"{run}@optimizer=adamw", f"{run}_adamw"))
    )
    return next(names, "")


CLAIMS = [
    Claim(
        12,
        "The closest support is nearer to Retrain in affected UA than a random or the farthest",
        "table 3",
        HALF,
        closest_is_nearest("ua_affected"),
    ),
    Claim(
        13,
        "The closest support is nearer in affected TA too, and by the affected gap",
        "table 3",
        HALF,
        all_of(
            closest_is_nearest("ta_affected"), closest_is_nearest("avg_gap_affected", is_gap=True)
        ),
    ),
    Claim(
        14,
        "The teacher's UA is within 10 points of Retrain's with the closest support alone",
        "table 3",
        HALF,
        teacher_matches,
    ),
    Claim(15, "The support changes RA by less than a point", "table 3", HALF, support_leaves_ra),
    Claim(
        16,
        "Convolutional teachers are alike: affected UA within 3 points, RA and TA within 1",
        "tables 4, 5",
        HALF,
        comparable_teachers,
    ),
    Claim(17, "Small teachers take less time", "table 4", HALF, cheaper_teachers),
    Claim(
        18,
        "With a perceptron on the base's features as teacher, over 95 % of the forgotten are known",
        "table 5",
        HALF,
        frozen_fails,
    ),
    Claim(
        19,
        "Labels of neighbours keep RA and TA within 2 points of Retrain's",
        "table 6",
        HALF,
        neighbours_keep,
    ),
    Claim(
        20,
        "Labels of neighbours leave UA over 5 points too high, and higher than LTD's",
        "table 6",
        HALF,
        neighbours_overestimate,
    ),
    Claim(
        21,
        "More neighbours lower both gaps, which stay above LTD's",
        "tables 6, 7",
        HALF,
        more_neighbours,
    ),
    Claim(
        22,
        "The teacher's threshold changes RA, TA and UA by less than 5 points",
        "figure 5",
        HALF,
        stable_threshold,
    ),
    Claim(
        23,
        "From a threshold of 0.6 on, the affected class's accuracies move by less than 5 points",
        "figure 6",
        HALF,
        saturated_threshold,
    ),
    Claim(
        24,
        "The teacher's UA comes to Retrain's as the threshold grows",
        "figure 7",
        HALF,
        teacher_approaches,
    ),
    Claim(25, "A higher threshold takes more epochs", "figure 8", HALF, epochs_rise),
    Claim(
        34,
        "Beta 2 does as well as any other, and AdamW does not help the baselines",
        "text",
        HALF,
        all_of(beta_does, adamw_does_not_help),
    ),
]
