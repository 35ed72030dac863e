"""Claims of LTD's teacher: which net it is, and up to which accuracy it is trained."""

from __future__ import annotations

from itertools import pairwise

from collateral.claims.claim import Claim, Found, Unsaid, joined
from collateral.claims.figures import rank
from collateral.claims.numbers import number, said
from collateral.claims.predicates import FEW, spread
from collateral.claims.scopes import HALF
from collateral.claims.swept import by_number, of_values, swept
from collateral.results.table import REFERENCE, CellTable


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


CLAIMS = [
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
]
