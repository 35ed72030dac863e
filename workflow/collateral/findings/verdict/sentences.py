"""The verdict on each method of a cell, and a sentence with the numbers behind the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from collateral.contract.verdicts import LOSSES, MEASURES
from collateral.findings._shared.captions import count_seeds
from collateral.findings.metric_index import find_metric
from collateral.findings.verdict import (
    BROKEN,
    COLLAPSED,
    DAMAGED,
    DIFFERENT,
    HARM,
    LIKE,
    MEANINGS,
    OPEN,
    VERDICTS,
)
from collateral.metrics.differences import is_beyond
from collateral.metrics.statistics import mean_of_defined
from collateral.results.layout import ORIGINAL
from collateral.results.table import CellTable

# Names of the two kinds of test. The names of a test's metrics begin with them.
DIFFERENCE, EQUIVALENCE = "difference", "equivalence"
RATE = "judged_rate"  # name of the metric with the mean rates that the sentences quote
DECIMALS = 9  # differences that are equal to so many decimals are listed in the order of MEASURES
LEAST_P = 0.001  # a smaller p-value is written as "p < 0.001"
# Names of the measures in the sentences.
NAMES = {
    "ua": "UA",
    "mia": "MIA",
    "near": "near loss",
    "near_test": "near loss on test examples",
    "far": "far loss",
    "far_test": "far loss on test examples",
    "damage": "damage",
}
# Examples on which a loss is measured, and what a loss is compared with if it is not Retrain.
EXAMPLES = {
    "near": ("near retained examples", ""),
    "near_test": ("near test examples", ""),
    "far": ("far retained examples", ""),
    "far_test": ("far test examples", ""),
    "damage": ("near retained examples", " more than far ones"),
}
HURT, HURT_FAR = MEANINGS["near", 1], MEANINGS["far", 1]
UNFORGOTTEN = MEANINGS["ua", 1]
DAMAGE_WORD = MEANINGS["damage", 1]
HURT_ALL = f"{HURT} and everyone else"
HARM_WORDS = (HURT, HURT_FAR, HURT_ALL, DAMAGE_WORD)
OF_BASE = " as the base model does"


@dataclass(frozen=True)
class MethodVerdict:
    """A method, its verdict, and a sentence with the numbers behind the verdict."""

    run: str
    label: str
    verdict: str
    words: list[str]  # what the shown differences mean, the worst first
    sentence: str
    note: str = ""  # the number of seeds of an open verdict

    @property
    def title(self) -> str:
        """The verdict as displayed: with the meanings of the differences that are shown."""
        return f"{self.verdict}{': ' if self.words else ''}{', '.join(self.words)}{self.note}"


def find_verdict(cell: CellTable, run: str) -> str:
    """Return the verdict on a method; empty for a run without one, such as a control."""
    return next((word for word in cell.indices(run, "verdict") if word in VERDICTS), "")


def find_verdicts(cell: CellTable) -> Iterator[MethodVerdict]:
    """Yield the verdict on every method, in the order of the config.

    If a sanity check failed (is red), there are no verdicts.
    """
    for run in () if cell.red_gates else cell.runs("method"):
        if verdict := find_verdict(cell, run):
            note = f" ({count_seeds(len(cell.seeds))})" if verdict == OPEN else ""
            sentence = _name_look(cell, run) + write_sentence(cell, run, verdict)
            words = list_meanings(cell, run) if verdict in (HARM, DIFFERENT) else []
            yield MethodVerdict(run, cell.labels[run], verdict, words, sentence, note)


def _name_look(cell: CellTable, run: str) -> str:
    """Return a sentence on how many of the first seeds decided about a method.

    It is empty if all seeds were needed.
    """
    count = cell.number(run, "decided_at")
    return f"Decided with the first {count:.0f} seeds. " if count < len(cell.seeds) else ""


def find_measures(cell: CellTable, run: str, verdict: str) -> list[str]:
    """Return the measures that a verdict follows from: shown ones, largest first, or all."""
    return find_shown(cell, run) if verdict in (HARM, DIFFERENT) else [*MEASURES]


def find_test(cell: CellTable, run: str, at: str) -> str:
    """Return the test that gave the answer on a measure, whose interval is shown."""
    return EQUIVALENCE if cell.number(run, "within", at=at) == 1 else DIFFERENCE


def find_shown(cell: CellTable, run: str) -> list[str]:
    """Return the measures in which a difference is shown, the worst first."""
    shown = [at for at in MEASURES if cell.number(run, "shown", at=at) in (1, -1)]
    size = {at: round(abs(_mean(cell, run, at)), DECIMALS) for at in shown}
    return sorted(shown, key=lambda at: (_rank(cell, run, at), -size[at]))


def _rank(cell: CellTable, run: str, at: str) -> int:
    """Return the place of a difference in a list: losses, then what is not forgotten, then all."""
    if is_loss(cell, run, at):
        return 0
    return 1 if MEANINGS[at, int(cell.number(run, "shown", at=at))] == UNFORGOTTEN else 2


def is_loss(cell: CellTable, run: str, at: str) -> bool:
    """Tell whether a difference is a loss of accuracy against Retrain."""
    return at in LOSSES and _mean(cell, run, at) > 0


def is_harm_of_base(cell: CellTable, run: str) -> bool:
    """Tell whether the base model already has all losses that are shown."""
    return all(
        _is_loss_of_base(cell, run, at) for at in find_shown(cell, run) if is_loss(cell, run, at)
    )


def list_meanings(cell: CellTable, run: str) -> list[str]:
    """Return what the shown differences of a run mean, the worst first."""
    shown = find_shown(cell, run)
    found = [MEANINGS[at, int(cell.number(run, "shown", at=at))] for at in shown]
    if HURT in found:  # then damage says nothing more
        found = [word for word in found if word != DAMAGE_WORD]
    if HURT in found and HURT_FAR in found:
        found = [HURT_ALL, *(word for word in found if word not in (HURT, HURT_FAR))]
    note = OF_BASE if is_harm_of_base(cell, run) else ""
    return list(dict.fromkeys(word + note * (word in HARM_WORDS) for word in found))


def _is_loss_of_base(cell: CellTable, run: str, at: str) -> bool:
    """Tell whether the base model already has the loss that a run has, up to the margin.

    It does if its own loss is shown, and the run's is at most a margin larger.
    """
    own, base = (_mean(cell, one, at) for one in (run, ORIGINAL))
    margin = cell.number(run, "margin", at=at)
    return cell.number(ORIGINAL, "shown", at=at) == 1 and not is_beyond(own - base, margin)


def write_sentence(cell: CellTable, run: str, verdict: str) -> str:
    """Return the sentence on a verdict: differences that are shown, open ones, and the rest."""
    if verdict == COLLAPSED:
        return f"{_describe_failures(cell, run)}."
    known = _list_known(cell, run)
    if not known:
        return _unknown(cell, run)
    if verdict == LIKE:
        return f"Within the margin on every measure: {'; '.join(_equal(cell, run, known))}."
    shown = [at for at in find_shown(cell, run) if at in known]
    within = [at for at in known if cell.number(run, "within", at=at) == 1]
    undecided = [at for at in known if at not in (*shown, *within)]
    sure = [at for at in shown if is_beyond(_least(cell, run, at), _margin(cell, run, at))]
    parts = [
        _capital("; ".join(describe_shown(cell, run, at) for at in shown)),
        _list("Shown to be more than the margin", [_name_side(cell, run, at) for at in sure]),
        _list(
            "Shown to differ from zero, by an estimate above the margin",
            [_name_side(cell, run, at) for at in shown if at not in sure],
        ),
        _list("Open", [describe_open(cell, run, at) for at in undecided]),
        _list("Within the margin", [NAMES[at] for at in within]),
        f"Probably {_describe_needed(cell, run)} would decide" if verdict == OPEN else "",
    ]
    return "".join(f"{part}. " for part in parts if part).strip()


def _list_known(cell: CellTable, run: str) -> list[str]:
    """Return the measures that were tested; without damage if it says what near loss says."""

    def answer(at: str) -> list[float]:
        return [cell.number(run, name, at=at) for name in (DIFFERENCE, "shown", "within")]

    known = [at for at in MEASURES if not math.isnan(cell.number(run, "within", at=at))]
    is_repeated = answer("near") == answer("damage") and _ends(cell, run, "near") == _ends(
        cell, run, "damage"
    )
    return [at for at in known if at != "damage" or not is_repeated]


def _list(title: str, texts: list[str]) -> str:
    return f"{title}: {'; '.join(texts)}" if texts else ""


def _describe_needed(cell: CellTable, run: str) -> str:
    needed = cell.number(run, "seeds_needed")
    return "more than 100 seeds" if math.isnan(needed) else f"about {needed:.0f} seeds"


def describe_shown(cell: CellTable, run: str, at: str) -> str:
    """Return a text on a difference that is shown, with the least that its interval allows."""
    least = describe_least(_least(cell, run, at))
    details = f"margin {points(_margin(cell, run, at))}, {_p(cell, run, at)}"
    text = f"{_describe(cell, run, at)}, {least} ({details})"
    return text + (_compare_with_base(cell, at, run) if is_loss(cell, run, at) else "")


def describe_open(cell: CellTable, run: str, at: str) -> str:
    """Return a text on an open measure, with the worst that its interval allows."""
    low, high = _ends(cell, run, at)
    is_large = is_beyond(abs(_mean(cell, run, at)), cell.number(run, "margin", at=at))
    large = ", which is large but not beyond chance" if is_large else ""
    if at not in LOSSES:
        return f"{_describe(cell, run, at)} [{_signed(low)}, {_signed(high)}]{large}"
    return f"{_describe(cell, run, at)}{large}, {describe_worst(_mean(cell, run, at), high)}"


def describe_least(value: float) -> str:
    """Return a text on the least that the interval of a shown difference allows."""
    text = points(value)
    return f"at least {text}" if text != points(0.0) else "more than 0"


def describe_worst(mean: float, high: float) -> str:
    """Return a text on the worst that the interval of a loss of accuracy allows."""
    if high < 0:
        return f"at least {points(-high)}"  # a gain beyond chance
    return f"{'' if mean > 0 else 'lose '}at most {points(high)}"


def _describe(cell: CellTable, run: str, at: str) -> str:
    """Return a text on the mean difference from Retrain in a measure."""
    value = _mean(cell, run, at)
    if at in LOSSES:
        examples, than = EXAMPLES[at]
        return f"{examples} {'lose' if value > 0 else 'gain'} {points(abs(value))} points{than}"
    side = "above" if value > 0 else "below"
    rates = f"{_rate(cell, run, at)}, {points(abs(value))} points {side} Retrain's"
    return f"{NAMES[at]} is {rates} {_rate(cell, run, f'retrain_{at}')}"


def _equal(cell: CellTable, run: str, measures: list[str]) -> Iterator[str]:
    """Yield for each measure the difference, its interval and the margin that contains it."""
    for at in measures:
        low, high = _ends(cell, run, at, EQUIVALENCE)
        interval = f"{_signed(_mean(cell, run, at))} [{_signed(low)}, {_signed(high)}]"
        yield f"{NAMES[at]} {interval} within ±{points(cell.number(run, 'margin', at=at))}"


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


def _compare_with_base(cell: CellTable, at: str, run: str) -> str:
    """Return a text with the accuracy that the base model loses against Retrain.

    It is empty if this loss is within the margin or unknown.
    """
    base, margin = _mean(cell, ORIGINAL, at), cell.number(run, "margin", at=at)
    if not is_beyond(base, margin):
        return ""
    return f", of which the base model loses {points(base)} too"


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


def _mean(cell: CellTable, run: str, at: str) -> float:
    return cell.number(run, DIFFERENCE, at=at)


def _name_side(cell: CellTable, run: str, at: str) -> str:
    """Return the name of a measure; a loss below zero is called a gain."""
    return NAMES[at].replace("loss", "gain" if _mean(cell, run, at) < 0 else "loss")


def _margin(cell: CellTable, run: str, at: str) -> float:
    return cell.number(run, "margin", at=at)


def _least(cell: CellTable, run: str, at: str) -> float:
    """Return the size of a shown difference at the end of its interval that is nearest to zero."""
    return min(abs(end) for end in _ends(cell, run, at))


def _ends(cell: CellTable, run: str, at: str, test: str = DIFFERENCE) -> tuple[float, float]:
    low, high = (cell.number(run, f"{test}_{end}", at=at) for end in ("low", "high"))
    return low, high


def _rate(cell: CellTable, run: str, at: str) -> str:
    return f"{find_metric(RATE).text(cell.number(run, RATE, at=at))} %"


def points(value: float) -> str:
    """Return a difference of rates in percentage points, without the unit."""
    return find_metric(DIFFERENCE).text(value)


def _signed(value: float) -> str:
    return find_metric(DIFFERENCE).text(value, sign=True)


def _p(cell: CellTable, run: str, at: str) -> str:
    value = cell.number(run, f"{DIFFERENCE}_p", at=at)
    return f"p < {LEAST_P}" if value < LEAST_P else f"p = {value:.3f}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
