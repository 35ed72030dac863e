"""The verdict on each method of a cell, and a sentence with the numbers that decided."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from collateral.contract.verdicts import MEASURES
from collateral.findings._shared.captions import count_seeds
from collateral.findings.checks import red_gates
from collateral.findings.metric_index import find_metric
from collateral.findings.verdict import (
    BROKEN,
    COLLAPSED,
    DAMAGED,
    HURT,
    HURT_ALL,
    HURT_FAR,
    LIKE,
    UNDECIDED,
    UNFORGOTTEN,
    UNLIKE,
    VERDICTS,
)
from collateral.metrics.differences import is_beyond
from collateral.metrics.statistics import mean_of_defined
from collateral.results.layout import ORIGINAL
from collateral.results.table import CellTable

# Names of the two kinds of test; each is the prefix of the names of the test's metrics.
DIFFERENCE, EQUIVALENCE = "difference", "equivalence"
RATE = "judged_rate"  # name of the metric with the mean rates that the sentences quote
LEAST_P = 0.001  # a smaller p-value is written as "p < 0.001"
# Names of the measures in the sentences.
NAMES = {
    "ua": "UA",
    "mia": "MIA",
    "near": "near loss",
    "far": "far loss",
    "far_test": "far loss on test examples",
    "damage": "damage",
}


@dataclass(frozen=True)
class MethodVerdict:
    """A method, its verdict, and a sentence with the numbers that decided."""

    run: str
    label: str
    verdict: str
    # Displayed verdict: the number of seeds is added to "cannot tell".
    # If the base model has the same loss, a note is added to "hurt everyone".
    title: str
    sentence: str
    is_of_base: bool = False  # whether the harm is a loss that the base model has too


def find_verdict(cell: CellTable, run: str) -> str:
    """Return the verdict on a method; empty for a run without one, such as a control."""
    return next((word for word in cell.indices(run, "verdict") if word in VERDICTS), "")


def find_verdicts(cell: CellTable) -> Iterator[MethodVerdict]:
    """Yield the verdict on every method, in the config's order; none if a sanity check is red."""
    for run in () if red_gates(cell) else cell.runs("method"):
        if verdict := find_verdict(cell, run):
            is_of_base = verdict == HURT_FAR and all(
                _is_loss_of_base(cell, run, at) for at in _find_far_losses(cell, run)
            )
            note = f" ({count_seeds(len(cell.seeds))})" if verdict == UNDECIDED else ""
            title = f"{verdict}{' (the base model too)' if is_of_base else note}"
            sentence = _name_look(cell, run) + SENTENCES[verdict](cell, run)
            yield MethodVerdict(run, cell.labels[run], verdict, title, sentence, is_of_base)


def _name_look(cell: CellTable, run: str) -> str:
    """Return a sentence on the number of seeds that decided; empty if these are all seeds."""
    count = cell.number(run, "decided_at")
    return f"Decided with the first {count:.0f} seeds. " if count < len(cell.seeds) else ""


def find_measures(cell: CellTable, run: str, verdict: str) -> list[str]:
    """Return the measures that decided a verdict, in the order of the tests."""
    if verdict == UNFORGOTTEN:
        return ["midpoint" if _is_above_midpoint(cell, run) else "mia"]
    if verdict in (HURT, HURT_ALL, HURT_FAR):
        near = [] if verdict == HURT_FAR else ["near", "damage"]
        return near + ([] if verdict == HURT else _find_far_losses(cell, run))
    return [at for at in MEASURES if verdict != UNLIKE or _is_found(cell, run, at)]


def _find_far_losses(cell: CellTable, run: str) -> list[str]:
    """Return the far losses that are significantly above zero, and larger than the margin."""
    return [
        at
        for at in ("far", "far_test")
        if _is_found(cell, run, at)
        and is_beyond(cell.number(run, DIFFERENCE, at=at), cell.number(run, "margin", at=at))
    ]


def _is_loss_of_base(cell: CellTable, run: str, at: str) -> bool:
    """Tell whether the base model's loss is above the margin, and the run adds at most a margin."""
    own, base = (cell.number(one, DIFFERENCE, at=at) for one in (run, ORIGINAL))
    margin = cell.number(run, "margin", at=at)
    return is_beyond(base, margin) and not is_beyond(own - base, margin)


def _is_found(cell: CellTable, run: str, at: str) -> bool:
    """Tell whether the interval of a difference from Retrain excludes zero."""
    low, high = (cell.number(run, f"{DIFFERENCE}_{end}", at=at) for end in ("low", "high"))
    return low > 0 or high < 0


def _is_above_midpoint(cell: CellTable, run: str) -> bool:
    level = cell.number(cell.reference, "look_level", at=f"{cell.number(run, 'decided_at'):.0f}")
    return cell.number(run, f"{DIFFERENCE}_p", at="midpoint") < level


def _collapsed(cell: CellTable, run: str) -> str:
    count = cell.number(run, "decided_at")
    shares = {status: cell.number(run, RATE, at=status) for status in BROKEN}
    ended = ", ".join(
        f"{status} ({share * count:.0f} of {count:.0f} seeds)"
        for status, share in shares.items()
        if share > 0
    )
    if math.isnan(cell.number(run, RATE, at="ta")):
        return f"{_capital(ended)}."
    ta = f"TA is {_rate(cell, run, 'ta')} where Retrain has {_rate(cell, run, 'retrain_ta')}"
    return f"{_capital(ended)}; {ta}." if ended else f"{ta}."


def _unforgotten(cell: CellTable, run: str) -> str:
    [at] = find_measures(cell, run, UNFORGOTTEN)
    p = _p_of(cell, run, at)
    base, retrained = (_rate(cell, run, name) for name in ("base_ua", "retrain_ua"))
    if at == "midpoint":
        above = _points(cell.number(run, DIFFERENCE, at=at))
        return (
            f"UA is {_rate(cell, run, 'ua')}, {above} above the midpoint of the base model's "
            f"{base} and Retrain's {retrained} ({p})."
        )
    return (
        f"MIA is {_rate(cell, run, 'mia')}, {_with_interval(cell, run, at)} points from Retrain's "
        f"({p}): an attacker still takes the forgotten examples for members. UA has no room to "
        f"fall: the base model's is {base}, Retrain's {retrained}."
    )


def _hurt(cell: CellTable, run: str) -> str:
    near, damage = (_with_interval(cell, run, at) for at in ("near", "damage"))
    p = _p(max(cell.number(run, f"{DIFFERENCE}_p", at=at) for at in ("near", "damage")))
    return (
        f"The nearest retained examples lose {near} points against Retrain, which is {damage} "
        f"points more than all others ({p}){_compare_with_base(cell, run, 'near')}."
    )


def _hurt_all(cell: CellTable, run: str) -> str:
    return f"{_hurt(cell, run)} {_hurt_far(cell, run)}"


def _hurt_far(cell: CellTable, run: str) -> str:
    places = {"far": "retained", "far_test": "test"}
    parts = [
        f"{_with_interval(cell, run, at)} points on {places[at]} examples ({_p_of(cell, run, at)})"
        f"{_compare_with_base(cell, run, at)}"
        for at in _find_far_losses(cell, run)
    ]
    return f"Loss against Retrain far from the forget set: {', '.join(parts)}."


def _compare_with_base(cell: CellTable, run: str, at: str) -> str:
    """Return a text with the base model's loss; empty if it is within the margin or unknown."""
    base, margin = cell.number(ORIGINAL, DIFFERENCE, at=at), cell.number(run, "margin", at=at)
    if not is_beyond(base, margin):
        return ""
    # A near loss is only half of its verdict, which tests damage too, so it acquits no method.
    is_acquitted = at != "near" and _is_loss_of_base(cell, run, at)
    rest = ", so unlearning did not cause it" if is_acquitted else ""
    return f"; the base model loses {_signed(base)} too{rest}"


def _like(cell: CellTable, run: str) -> str:
    known = [at for at in MEASURES if not math.isnan(cell.number(run, "equivalence_p", at=at))]
    parts = [
        f"{NAMES[at]} {_with_interval(cell, run, at, EQUIVALENCE)} within "
        f"±{_points(cell.number(run, 'margin', at=at))}"
        for at in known
    ]
    worst = max(cell.number(run, "equivalence_p", at=at) for at in known)
    return f"Equivalent to Retrain on every measure: {'; '.join(parts)} ({_p(worst)})."


def _unlike(cell: CellTable, run: str) -> str:
    parts = [
        f"{NAMES[at]} is {_with_interval(cell, run, at)} points from Retrain's "
        f"({_p_of(cell, run, at)})"
        for at in find_measures(cell, run, UNLIKE)
    ]
    return f"{_capital('; '.join(parts))}."


def _undecided(cell: CellTable, run: str) -> str:
    known = [at for at in MEASURES if not math.isnan(cell.number(run, f"{DIFFERENCE}_low", at=at))]
    if not known:
        return _unknown(cell, run)
    parts = [f"{NAMES[at]} {_with_interval(cell, run, at)}" for at in known]
    needed = cell.number(run, "seeds_needed")
    more = "more than 100 seeds" if math.isnan(needed) else f"about {needed:.0f} seeds"
    return (
        f"Neither a difference from Retrain nor equivalence is found: {'; '.join(parts)} points. "
        f"Probably {more} would decide."
    )


def _unknown(cell: CellTable, run: str) -> str:
    """Return the sentence of a method with fewer than two seeds that can be compared."""
    ua = cell.values(run, "ua") - cell.values(cell.reference, "ua")
    damage = cell.values(run, "damage", DAMAGED)
    means = {
        "UA is {} points from Retrain's": mean_of_defined(ua),
        "damage is {} points": mean_of_defined(damage),
    }
    known = [text.format(_signed(value)) for text, value in means.items() if not math.isnan(value)]
    count = sum(not math.isnan(a + b) for a, b in zip(ua, damage, strict=True))
    why = "One seed" if len(cell.seeds) == 1 else f"Both in {count} of {len(ua)} seeds"
    return f"{_capital('; '.join(known)) + '. ' if known else ''}{why}: chance is unknown."


SENTENCES: dict[str, Callable[[CellTable, str], str]] = {
    COLLAPSED: _collapsed,
    UNFORGOTTEN: _unforgotten,
    HURT_ALL: _hurt_all,
    HURT: _hurt,
    HURT_FAR: _hurt_far,
    LIKE: _like,
    UNLIKE: _unlike,
    UNDECIDED: _undecided,
}


def _with_interval(cell: CellTable, run: str, at: str, test: str = DIFFERENCE) -> str:
    """Return the text of a difference from Retrain, with its interval in brackets."""
    low, high = (cell.number(run, f"{test}_{end}", at=at) for end in ("low", "high"))
    return f"{_signed(cell.number(run, DIFFERENCE, at=at))} [{_signed(low)}, {_signed(high)}]"


def _rate(cell: CellTable, run: str, at: str) -> str:
    return f"{find_metric(RATE).text(cell.number(run, RATE, at=at))} %"


def _points(value: float) -> str:
    return f"{find_metric(DIFFERENCE).text(value)} points"


def _signed(value: float) -> str:
    return find_metric(DIFFERENCE).text(value, sign=True)


def _p_of(cell: CellTable, run: str, at: str) -> str:
    return _p(cell.number(run, f"{DIFFERENCE}_p", at=at))


def _p(value: float) -> str:
    return f"p < {LEAST_P}" if value < LEAST_P else f"p = {value:.3f}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
