"""The sentences at the top of a page, which follow from the decision table."""

from __future__ import annotations

from collections.abc import Sequence

from collateral.contract.metrics import format_percent
from collateral.findings import verdict
from collateral.report.decision import USABLE, Decision, MethodRow, Score, format_points

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
# Predicate of the sentence about a harmful method, by the method's verdict.
HARMS = {
    verdict.HURT: "hurts the neighbours",
    verdict.HURT_ALL: "hurts the neighbours",
    verdict.HURT_FAR: "hurts everyone",
    verdict.COLLAPSED: "collapses",
}
# Predicate for a method whose loss far from the forget set is that of the base model.
AS_BASE = "loses accuracy everywhere, as the base model does,"
ERROR = "If no method differed from Retrain, the chance of any finding would be at most 5 %."
MOST_NAMED = 3  # maximum number of methods named in a sentence; more are only counted
MOST_LISTED = 3  # maximum number of cells whose gaps are listed; else their mean


def find_best(decision: Decision) -> MethodRow | None:
    """Return the method to use: no failure in any cell, and nearer to Retrain than doing nothing.

    Methods that are like Retrain in all cells come first, then the one with the smallest gap.
    """
    num_cells = len(decision.cells)
    better = [row for row in _find_usable(decision) if _beats_nothing(row, decision)]
    return min(
        better, key=lambda row: (row.count(verdict.LIKE) < num_cells, row.mean_gap), default=None
    )


def _find_usable(decision: Decision) -> list[MethodRow]:
    """Return the methods without a failure in any cell."""
    num_cells = len(decision.cells)
    return [row for row in decision.methods if row.count(*USABLE) == num_cells]


def _beats_nothing(row: MethodRow, decision: Decision) -> bool:
    """Tell whether the gap is below that of doing nothing in every cell where both are known."""
    pairs = zip(row.scores, decision.cells, strict=True)
    known = [
        (score.gap, cell.nothing)
        for score, cell in pairs
        if score and score.gap is not None and cell.nothing is not None
    ]
    return all(gap < nothing for gap, nothing in known)


def headline(decision: Decision) -> str:
    """Return which method to use, which ones do harm, and where there is nothing to forget."""
    if not decision.has_verdicts:
        return _no_verdict(decision)
    count = sum(cell.has_nothing_to_forget for cell in decision.cells)
    where = _in_tests(count, len(decision.cells))
    text = " By UA, the accuracy on the forgotten images, there is nothing to forget"
    warning = f"{text} {where}." if count else ""
    return f"{_recommendation(decision)} {_harm(decision)}{warning}"


def _no_verdict(decision: Decision) -> str:
    if not decision.has_retrain:
        return "No verdict without Retrain: runs are compared with the model before unlearning."
    red = [check for cell in decision.cells for check in cell.red]
    if red:
        return "No verdict: a check failed, so that the comparison with Retrain means nothing."
    return "No verdict: no method has numbers that can be tested."


def _recommendation(decision: Decision) -> str:
    best, where = find_best(decision), _in_tests(len(decision.cells), len(decision.cells))
    if best is None:
        return f"No method can be recommended: {_why_none(decision)}."
    if best.count(verdict.LIKE) == len(decision.cells):
        return f"{best.label} is like Retrain {where}."
    if len(_find_usable(decision)) == 1:
        found = f"{best.label} is the only method with no failure found {where}"
    else:
        found = f"Of the methods with no failure found {where}, {best.label} is nearest to Retrain"
    return f"{found}{_caveat(best, decision)}."


def _caveat(best: MethodRow, decision: Decision) -> str:
    """Say whether the best method's damage is above the margin in any cell."""
    pairs = zip(best.scores, decision.cells, strict=True)
    may_hurt = any(
        score.damage > cell.margin
        for score, cell in pairs
        if score and score.damage is not None and cell.margin is not None
    )
    return ", but may hurt the neighbours" if may_hurt else ""


def _why_none(decision: Decision) -> str:
    """Say why no method is best: too few seeds, no gain over doing nothing, or failures."""
    num_cells = len(decision.cells)
    if _is_undecided(decision):
        seeds = min(cell.seeds for cell in decision.cells)
        count = f"{_number(seeds)} seed{'' if seeds == 1 else 's'}"
        return f"{count} cannot tell any method from Retrain"
    if _find_usable(decision):
        return "those without a failure are no nearer to Retrain than doing nothing"
    test = "this test" if num_cells == 1 else "at least one test"
    return f"each of them fails in {test}"


def _harm(decision: Decision) -> str:
    """Name the methods that do harm, those that do it in most cells first."""
    parts = []
    for verb in (*dict.fromkeys(HARMS.values()), AS_BASE):
        for place, (names, where) in enumerate(_by_count(decision, verb)):
            action = f" {verb if len(names) == 1 else _plural(verb)}" if place == 0 else ""
            parts.append(f"{_join(names)}{action} {where}")
    if parts:
        return f"{'; '.join(parts)}."
    if _is_undecided(decision):
        return "Whether a method hurts anyone cannot be told."
    return "No method was found to hurt anyone."


def _is_undecided(decision: Decision) -> bool:
    """Tell whether every verdict is "cannot tell"."""
    return decision.verdicts == [verdict.UNDECIDED]


def _by_count(decision: Decision, harm: str) -> list[tuple[list[str], str]]:
    """Return methods with this harm, grouped by the number of cells in which they do it."""
    num_cells = len(decision.cells)
    counts = {row.label: [*map(_find_harm, row.scores)].count(harm) for row in decision.methods}
    return [
        ([label for label, n in counts.items() if n == count], _in_tests(count, num_cells))
        for count in sorted({n for n in counts.values() if n}, reverse=True)
    ]


def _find_harm(score: Score | None) -> str:
    if score is None:
        return ""
    return AS_BASE if score.is_of_base else HARMS.get(score.verdict, "")


def _plural(verb: str) -> str:
    first, _, rest = verb.partition(" ")
    return f"{first.removesuffix('s')} {rest}".strip()


def _in_tests(count: int, total: int) -> str:
    if total == 1:
        return "in this test"
    if count == total:
        return "in both tests" if total == 2 else f"in all {total} tests"
    return f"in {_number(count)} of {_number(total)}"


def _number(count: int) -> str:
    return NUMBERS[count] if count < len(NUMBERS) else str(count)


def _join(names: Sequence[str]) -> str:
    if len(names) > MOST_NAMED:
        return f"{_number(len(names)).capitalize()} methods"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def describe_setting(decision: Decision) -> str:
    """Return data, model, seeds and reference in one sentence."""
    seeds = sorted({cell.seeds for cell in decision.cells})
    count = f"{' or '.join(map(str, seeds))} seed{'' if seeds == [1] else 's'}"
    reference = "Retrain, a model trained without the forgotten images from the start"
    if not decision.has_retrain:
        reference = "Original, the model before unlearning, because there is no Retrain"
    setting = ", ".join(part for part in (decision.data, decision.model, count) if part)
    return f"{setting}. Reference: {reference}."


def explanation(decision: Decision) -> str:
    """Return the best method's distance from Retrain; else the methods that did not forget."""
    if not decision.has_verdicts:
        return ""
    if best := find_best(decision):
        return _distances(best, decision)
    unforgotten = [row.label for row in decision.methods if row.count(verdict.UNFORGOTTEN)]
    return f"Did not forget: {', '.join(unforgotten)}." if unforgotten else ""


def certainty(decision: Decision) -> str:
    """Return how sure the headline is: what the seeds prove, and intervals of the damage."""
    if not decision.has_verdicts:
        return ""
    best = find_best(decision)
    parts = [_proof(best, decision) if best else "", _harm_intervals(decision), ERROR]
    return " ".join(part for part in parts if part)


def _proof(best: MethodRow, decision: Decision) -> str:
    """Say whether the best method is proven to equal Retrain, and how many seeds may decide."""
    if best.count(verdict.LIKE) == len(decision.cells):
        return f"{best.label} equals Retrain within the margins, on every measure."
    seeds = min(cell.seeds for cell in decision.cells)
    if seeds == 1:
        return "One seed cannot tell a difference from chance."
    unsure = [score for score in best.scores if score and score.verdict == verdict.UNDECIDED]
    needed = [score.needed for score in unsure]
    more = f"about {max(n or 0 for n in needed):.0f}" if None not in needed else "more than 100"
    return (
        f"{_number(seeds).capitalize()} seeds find no failure of {best.label}, and are too few to "
        f"prove that it equals retraining; probably {more} would decide."
    )


def _harm_intervals(decision: Decision) -> str:
    """Return a sentence: the damage of each method that hurts the neighbours, in its worst cell.

    Empty if there is no such method, or if there are too many to name.
    """
    hurt = {
        row.label: max((s for s in row.scores if s and s.is_hurt), key=lambda s: s.damage or 0)
        for row in decision.methods
        if row.count(verdict.HURT, verdict.HURT_ALL)
    }
    if not 0 < len(hurt) <= MOST_NAMED:
        return ""
    parts = [
        f"{label} {format_points(s.damage, sign=True)} [{format_points(s.low, sign=True)}, "
        f"{format_points(s.high, sign=True)}]"
        for label, s in hurt.items()
    ]
    return f"Neighbours lose more points than others (95 % interval): {', '.join(parts)}."


def _distances(best: MethodRow, decision: Decision) -> str:
    gaps = _list_points([score.gap if score else None for score in best.scores])
    others = {
        "another retraining": [cell.retraining for cell in decision.cells],
        "doing nothing": [cell.nothing for cell in decision.cells],
    }
    known = {name: values for name, values in others.items() if any(v is not None for v in values)}
    compared = "; ".join(f"{name}: {_list_points(values)}" for name, values in known.items())
    shares = [s.share for s in best.scores if s and s.share is not None]
    time = f", and takes {format_percent(sum(shares) / len(shares))} of its time" if shares else ""
    return (
        f"{best.label} is {gaps} points from Retrain, averaged over UA, RA, TA and MIA"
        f"{f' ({compared})' if compared else ''}{time}."
    )


def _list_points(values: Sequence[float | None]) -> str:
    texts = [format_points(value) for value in values]
    if len(texts) <= MOST_LISTED:
        return f"{', '.join(texts[:-1])} and {texts[-1]}" if len(texts) > 1 else texts[0]
    known = [value for value in values if value is not None]
    return f"on average {format_points(sum(known) / len(known) if known else None)}"
