"""The verdict on each method of a cell, and a sentence with the numbers behind the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator
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

# Names of the two kinds of test. The names of a test's metrics begin with them.
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
# For each verdict: the pattern of its sentence; `parts` are texts on the measures that decided.
PATTERNS = {
    COLLAPSED: "{failures}.",
    UNFORGOTTEN: "MIA is {mia}, {parts} points from Retrain's ({p}): an attacker still takes the "
    "forgotten examples for members. UA has no room to fall: the base model's is {base_ua}, "
    "Retrain's {retrain_ua}.",
    HURT: "The nearest retained examples lose {near} points against Retrain, which is {damage} "
    "points more than all others ({p}){near_of_base}.",
    HURT_FAR: "Loss against Retrain far from the forget set: {parts}.",
    LIKE: "Equivalent to Retrain on every measure: {parts} ({p}).",
    UNLIKE: "{parts}.",
    UNDECIDED: "Neither a difference from Retrain nor equivalence is found: {parts} points. "
    "Probably {needed} would decide.",
}
BY_MIDPOINT = (
    "UA is {ua}, {midpoint} above the midpoint of the base model's {base_ua} and Retrain's "
    "{retrain_ua} ({p})."
)
# For each verdict: the pattern of the text on one measure, which is one of the `parts`.
PARTS = {
    UNFORGOTTEN: "{interval}",
    HURT_FAR: "{interval} points on {examples} examples ({p}){of_base}",
    LIKE: "{name} {interval} within ±{margin}",
    UNLIKE: "{name} is {interval} points from Retrain's ({p})",
    UNDECIDED: "{name} {interval}",
}
EXAMPLES = {"far": "retained", "far_test": "test"}  # examples on which a far loss is measured


@dataclass(frozen=True)
class MethodVerdict:
    """A method, its verdict, and a sentence with the numbers behind the verdict."""

    run: str
    label: str
    verdict: str
    # The verdict as displayed. The number of seeds is added to "cannot tell".
    # A note is added to "hurt everyone" if the base model has the same loss.
    title: str
    sentence: str
    is_of_base: bool = False  # whether the base model already has the same loss


def find_verdict(cell: CellTable, run: str) -> str:
    """Return the verdict on a method; empty for a run without one, such as a control."""
    return next((word for word in cell.indices(run, "verdict") if word in VERDICTS), "")


def find_verdicts(cell: CellTable) -> Iterator[MethodVerdict]:
    """Yield the verdict on every method, in the order of the config.

    If a sanity check failed (is red), there are no verdicts.
    """
    for run in () if red_gates(cell) else cell.runs("method"):
        if verdict := find_verdict(cell, run):
            is_of_base = verdict == HURT_FAR and all(
                _is_loss_of_base(cell, run, at) for at in _find_far_losses(cell, run)
            )
            note = f" ({count_seeds(len(cell.seeds))})" if verdict == UNDECIDED else ""
            title = f"{verdict}{' (the base model too)' if is_of_base else note}"
            sentence = _name_look(cell, run) + write_sentence(cell, run, verdict)
            yield MethodVerdict(run, cell.labels[run], verdict, title, sentence, is_of_base)


def _name_look(cell: CellTable, run: str) -> str:
    """Return a sentence on how many of the first seeds decided about a method.

    It is empty if all seeds were needed.
    """
    count = cell.number(run, "decided_at")
    return f"Decided with the first {count:.0f} seeds. " if count < len(cell.seeds) else ""


def find_measures(cell: CellTable, run: str, verdict: str) -> list[str]:
    """Return the names of the measures that decided a verdict, in the order of the tests."""
    if verdict == UNFORGOTTEN:
        return ["midpoint" if _is_above_midpoint(cell, run) else "mia"]
    if verdict in (HURT, HURT_ALL, HURT_FAR):
        near = [] if verdict == HURT_FAR else ["near", "damage"]
        return near + ([] if verdict == HURT else _find_far_losses(cell, run))
    return [at for at in MEASURES if verdict != UNLIKE or _is_found(cell, run, at)]


def _find_far_losses(cell: CellTable, run: str) -> list[str]:
    """Return the names of the far losses significantly above zero and larger than the margin."""
    return [
        at
        for at in ("far", "far_test")
        if _is_found(cell, run, at)
        and is_beyond(cell.number(run, DIFFERENCE, at=at), cell.number(run, "margin", at=at))
    ]


def _is_loss_of_base(cell: CellTable, run: str, at: str) -> bool:
    """Tell whether the base model already has the loss that a run has, up to the margin.

    It does if its own loss is above the margin, and the run's is at most a margin larger.
    """
    own, base = (cell.number(one, DIFFERENCE, at=at) for one in (run, ORIGINAL))
    margin = cell.number(run, "margin", at=at)
    return is_beyond(base, margin) and not is_beyond(own - base, margin)


def _is_found(cell: CellTable, run: str, at: str) -> bool:
    """Tell whether a difference from Retrain was found: its interval excludes zero."""
    low, high = (cell.number(run, f"{DIFFERENCE}_{end}", at=at) for end in ("low", "high"))
    return low > 0 or high < 0


def _is_above_midpoint(cell: CellTable, run: str) -> bool:
    level = cell.number(cell.reference, "look_level", at=f"{cell.number(run, 'decided_at'):.0f}")
    return cell.number(run, f"{DIFFERENCE}_p", at="midpoint") < level


def write_sentence(cell: CellTable, run: str, verdict: str) -> str:
    """Return the sentence on a verdict, with the numbers that decided."""
    if verdict == HURT_ALL:
        return " ".join(write_sentence(cell, run, one) for one in (HURT, HURT_FAR))
    test = EQUIVALENCE if verdict == LIKE else DIFFERENCE
    measures = [
        at
        for at in find_measures(cell, run, verdict)
        if not math.isnan(cell.number(run, f"{test}_p", at=at))
    ]
    if verdict == UNDECIDED and not measures:
        return _unknown(cell, run)
    pattern = BY_MIDPOINT if measures == ["midpoint"] else PATTERNS[verdict]
    parts = [_describe(cell, run, at, test, PARTS.get(verdict, "")) for at in measures]
    text = (", " if verdict == HURT_FAR else "; ").join(parts)
    needed = cell.number(run, "seeds_needed")
    texts = {
        **{at: _with_interval(cell, run, at) for at in ("near", "damage")},
        **{at: _rate(cell, run, at) for at in ("ua", "mia", "base_ua", "retrain_ua")},
        "midpoint": _points(cell.number(run, DIFFERENCE, at="midpoint")),
        "near_of_base": _compare_with_base(cell, run, "near"),
        "failures": _describe_failures(cell, run),
        "needed": "more than 100 seeds" if math.isnan(needed) else f"about {needed:.0f} seeds",
        "p": _p(max((cell.number(run, f"{test}_p", at=at) for at in measures), default=math.nan)),
    }
    return pattern.format(parts=_capital(text) if verdict == UNLIKE else text, **texts)


def _describe(cell: CellTable, run: str, at: str, test: str, pattern: str) -> str:
    """Return the text on one measure, from the given pattern."""
    return pattern.format(
        name=NAMES.get(at, ""),
        interval=_with_interval(cell, run, at, test),
        margin=_points(cell.number(run, "margin", at=at)),
        examples=EXAMPLES.get(at, ""),
        of_base=_compare_with_base(cell, run, at),
        p=_p(cell.number(run, f"{test}_p", at=at)),
    )


def _describe_failures(cell: CellTable, run: str) -> str:
    """Return a text on how many seeds diverged or collapsed, and on TA if it is defined."""
    count = cell.number(run, "decided_at")
    shares = {status: cell.number(run, RATE, at=status) for status in BROKEN}
    ended = ", ".join(
        f"{status} ({share * count:.0f} of {count:.0f} seeds)"
        for status, share in shares.items()
        if share > 0
    )
    ta = f"TA is {_rate(cell, run, 'ta')} where Retrain has {_rate(cell, run, 'retrain_ta')}"
    is_known = not math.isnan(cell.number(run, RATE, at="ta"))
    return "; ".join(filter(None, (_capital(ended), ta if is_known else "")))


def _compare_with_base(cell: CellTable, run: str, at: str) -> str:
    """Return a text with the accuracy that the base model loses against Retrain.

    It is empty if this loss is within the margin or unknown.
    """
    base, margin = cell.number(ORIGINAL, DIFFERENCE, at=at), cell.number(run, "margin", at=at)
    if not is_beyond(base, margin):
        return ""
    # A near loss that the base model has does not clear a method: the verdict also needs damage.
    is_acquitted = at != "near" and _is_loss_of_base(cell, run, at)
    rest = ", so unlearning did not cause it" if is_acquitted else ""
    return f"; the base model loses {_signed(base)} too{rest}"


def _unknown(cell: CellTable, run: str) -> str:
    """Return the sentence on a method with fewer than two seeds that can be compared."""
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


def _with_interval(cell: CellTable, run: str, at: str, test: str = DIFFERENCE) -> str:
    """Return a difference from Retrain as text, with its interval in brackets."""
    low, high = (cell.number(run, f"{test}_{end}", at=at) for end in ("low", "high"))
    return f"{_signed(cell.number(run, DIFFERENCE, at=at))} [{_signed(low)}, {_signed(high)}]"


def _rate(cell: CellTable, run: str, at: str) -> str:
    return f"{find_metric(RATE).text(cell.number(run, RATE, at=at))} %"


def _points(value: float) -> str:
    return f"{find_metric(DIFFERENCE).text(value)} points"


def _signed(value: float) -> str:
    return find_metric(DIFFERENCE).text(value, sign=True)


def _p(value: float) -> str:
    return f"p < {LEAST_P}" if value < LEAST_P else f"p = {value:.3f}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
