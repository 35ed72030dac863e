"""Name outputs of a submission that are like those of other models: Retrain, the base, an entry.

Nothing here proves who made outputs. A sentence names what was measured, and the maintainer
decides; only outputs that are bit by bit Retrain's, or another seed's, are refused. The limits were
measured on digits: honest runs of eight methods, their sweeps and controls (a ResNet-8 and an MLP,
six cells, 2 to 10 seeds) are on one side of them, and forgeries of these runs on the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.metrics.kinship import (
    centre,
    equal_rows,
    explain,
    match,
    paired_excess,
    seed_parts,
)
from collateral.results.cell import CellResults, Result
from collateral.results.layout import ORIGINAL
from collateral.results.submission import Submission

MOST_EQUAL = 0.05  # share of equal rows; honest runs: 0
# Mean cosine with the own seed's base; honest 0.10 to 1.00, Retrain at most 0.06. Permuted rows: at
# most 0.06 in the forgeries, but more than 0.08 in one of five draws of 120 rows and two seeds.
LEAST_KIN = 0.08
# By how much bases of other seeds fit better; honest at most 0.07, exchanged seeds 0.57 or more.
MOST_EXCHANGED = 0.2
# Mean cosine with Retrains, on the test set; honest at most 0.30, half Retrain 0.51 or more.
MOST_RETRAIN = 0.4
# The same on some ten examples; honest at most 0.53, half Retrain 0.58 or more.
MOST_RETRAIN_ON_PART = 0.6
# Part of the logits that a mix of base and Retrain does not explain. Honest models that look like a
# mix: 2e-4 or more; a mix that was rounded to float16: at most 5e-8.
LEAST_LEFT = 1e-5
LEAST_WEIGHT = 0.05  # weight of Retrain in such a mix
# Of test accuracy above base and Retrain; honest at most 1.1. By test example: honest at most 0.0
# (41 runs on digits and the CIFAR cut); with 2 added to true logits, on the CIFAR cut 9 or more.
MOST_DEVIATIONS = 3
LEAST_EXAMPLES = 10  # smallest number of examples on which kinship is measured
NOT_TRIED = "tried on digits and a CIFAR cut; it names and decides nothing"
PARTS = {
    "test": "the test set",
    "forget": "the forget set",
    "near": "the nearest retained examples",
    "near_test": "the nearest test examples",
    "far": "the other retained examples",
}
Parts = dict[str, NDArray[Any]]  # logits by part of the examples


@dataclass(frozen=True)
class Compared:
    """A submission and the models of one cell, by seed."""

    submission: Submission
    cell: CellResults
    # Test logits of other entries for a seed, by the entry's name; None where it has none.
    entries: Mapping[str, Callable[[int], NDArray[Any] | None]]

    @cached_property
    def seeds(self) -> list[int]:
        """Seeds in which the method has not diverged, whatever its author states."""
        return [s for s in self.cell.seeds if not self.submission.is_diverged(self.cell.name, s)]

    @property
    def has_own_bases(self) -> bool:
        """Whether every seed has a base model of its own."""
        return len({*self.cell.base_seeds}) == len(self.cell.seeds)

    def divide(self, train: NDArray[Any], test: NDArray[Any]) -> Parts:
        """Divide the logits of a model into parts."""
        retained = train[self.cell.split.retain]
        return {
            "test": test,
            "forget": train[self.cell.split.forget],
            "near": retained[self.cell.near["retain"]],
            "near_test": test[self.cell.near["test"]],
            "far": retained[~self.cell.near["retain"]],
        }

    @cached_property
    def own(self) -> dict[int, Parts]:
        """Logits of the submission by seed."""
        name = self.cell.name

        def read(seed: int, subset: str) -> NDArray[Any]:
            return _clip(self.submission.logits(name, seed, subset))

        return {s: self.divide(read(s, "train"), read(s, "test")) for s in self.seeds}

    def model(self, result: Result) -> Parts:
        """Return the logits of a published model."""
        return self.divide(result.train.logits, result.test.logits)


def _clip(logits: NDArray[Any]) -> NDArray[Any]:
    """Clip as `compute_outputs` does; sums of larger numbers would not be finite."""
    found: NDArray[Any] = np.clip(logits, -6e4, 6e4)
    return found


def find_copies(compared: Compared) -> Iterator[str]:
    """Yield why a submission is refused: rows that are Retrain's, seeds that are copies."""
    cell, own = compared.cell, compared.own
    for other in cell.seeds:
        retrain = compared.model(cell.retrain(other))
        for seed, parts in own.items():
            for part, share in _equal_shares(parts, retrain).items():
                if share > MOST_EQUAL:
                    yield (
                        f"{cell.name}, seed {seed}: {share:.0%} of {PARTS[part]} have exactly "
                        f"the logits of Retrain, seed {other}"
                    )
                    return
    bases = dict(zip(cell.seeds, cell.base_seeds, strict=True))
    for one, other in combinations(own, 2):
        share = float(equal_rows(own[one]["test"], own[other]["test"]).mean())
        if share > MOST_EQUAL and bases[one] != bases[other]:
            yield f"{cell.name}: seeds {one} and {other} have the same outputs ({share:.0%})"
            return


def name_likeness(compared: Compared) -> Iterator[str]:
    """Yield sentences about one cell, each with what was measured."""
    cell = compared.cell.name
    for find in (_name_wrapper, _name_mix, _name_entries, _name_kinship, _name_accuracy):
        yield from (f"{cell}: {text}" for text in find(compared))


def _equal_shares(parts: Parts, others: Parts) -> dict[str, float]:
    return {
        part: float(equal_rows(rows, others[part]).mean())
        for part, rows in parts.items()
        if len(rows)
    }


def _name_wrapper(compared: Compared) -> Iterator[str]:
    """Name outputs that are the base's but for some examples, which a model cannot know."""
    for seed in compared.seeds:
        base = compared.model(compared.cell.result(ORIGINAL, seed))
        shares = _equal_shares(compared.own[seed], base)
        same = [PARTS[part] for part, share in shares.items() if share > MOST_EQUAL]
        if len(same) == len(shares):
            yield f"outputs only: in seed {seed} they are the base model's: nothing was unlearned"
            return
        if same:
            where = ", ".join(same)
            yield (
                f"outputs only: in seed {seed} they are exactly the base model's on {where}, and "
                "not elsewhere, as those of a program around the base that knows the examples"
            )
            return


def _name_mix(compared: Compared) -> Iterator[str]:
    """Name outputs that base and Retrain explain, with a weight on Retrain."""
    for seed in compared.seeds:
        own = compared.own[seed]
        base, retrain = (
            compared.model(compared.cell.result(run, seed))
            for run in (ORIGINAL, compared.cell.reference)
        )
        for part in PARTS:
            if len(own[part]) < LEAST_EXAMPLES:
                continue
            left, weights = explain(centre(own[part]), [centre(base[part]), centre(retrain[part])])
            if left < LEAST_LEFT and abs(weights[1]) > LEAST_WEIGHT:
                yield (
                    f"mix: on {PARTS[part]}, seed {seed} is {weights[0]:.2f} of the base plus "
                    f"{weights[1]:.2f} of Retrain, which leaves {left:.0e} of the square of its "
                    "logits unexplained"
                )
                return


def _name_entries(compared: Compared) -> Iterator[str]:
    """Name outputs that another entry explains and the base does not."""
    for name, read in compared.entries.items():
        for seed in compared.seeds:
            logits = read(seed)
            if logits is None or not np.isfinite(logits).all():
                continue
            own = centre(compared.own[seed]["test"])
            base = centre(compared.cell.result(ORIGINAL, seed).test.logits)
            left = explain(own, [centre(_clip(logits))])[0]
            if left < LEAST_LEFT < explain(own, [base])[0]:
                yield (
                    f"copy: seed {seed} has the logits of {name}, up to a common factor "
                    f"({left:.0e} of their square is not explained by it)"
                )
                break


def _name_kinship(compared: Compared) -> Iterator[str]:
    """Name outputs that are like Retrain, like another seed's base, or like no base."""
    cell, seeds = compared.cell, compared.seeds
    if len(seeds) < 2:
        yield "kinship: not measured, because it needs two seeds"
        return
    own = [*compared.own.values()]
    base, retrain = (
        [compared.model(cell.result(run, seed)) for seed in seeds]
        for run in (ORIGINAL, cell.reference)
    )
    for part in ("test", "forget", "near", "near_test"):
        if len(own[0][part]) < LEAST_EXAMPLES:
            continue
        like = _match(own, retrain, part)[1]
        if like > (MOST_RETRAIN if part == "test" else MOST_RETRAIN_ON_PART):
            yield f"kinship: on {PARTS[part]} it is like Retrain (cosine {like:.2f}); {NOT_TRIED}"
            return
    if compared.submission.stated.starts == "anew" or not compared.has_own_bases:
        return
    kin, best, order = _match(own, base, "test")
    if best - kin > MOST_EXCHANGED:
        moved = [f"{s} like {seeds[p]}" for s, p in zip(seeds, order, strict=True) if s != seeds[p]]
        yield f"kinship: seeds are like other seeds' bases ({', '.join(moved)}); {NOT_TRIED}"
    elif kin < LEAST_KIN:
        yield (
            f"kinship: it is not like the bases (cosine {kin:.2f}): other rows, other bases, or a "
            f"method that starts anew and does not state it; {NOT_TRIED}"
        )


def _match(own: list[Parts], others: list[Parts], part: str) -> tuple[float, float, list[int]]:
    first, second = (seed_parts([centre(one[part]) for one in of]) for of in (own, others))
    return match(first, second)


def _name_accuracy(compared: Compared) -> Iterator[str]:
    """Name a test accuracy that neither the base nor Retrain has: were test labels used?"""
    cell, label = compared.cell, compared.cell.labels.test
    if not compared.seeds:
        return
    own = _right([compared.own[seed]["test"].argmax(axis=1) for seed in compared.seeds], label)
    base, retrain = (
        _right([cell.result(run, seed).test.prediction for seed in compared.seeds], label)
        for run in (ORIGINAL, cell.reference)
    )
    above = own.mean() - max(base.mean(), retrain.mean())
    deviation = _deviation([base.mean(axis=1), retrain.mean(axis=1)], len(label))
    only, lost = own & ~base & ~retrain, ~own & base & retrain
    if above > MOST_DEVIATIONS * deviation:
        yield (
            f"test accuracy is {100 * above:.1f} points above both base and Retrain, more than "
            f"{MOST_DEVIATIONS} deviations between seeds ({100 * deviation:.1f} each): were test "
            "labels used?"
        )
    elif (excess := paired_excess(only, lost)) > MOST_DEVIATIONS:
        yield (
            f"test labels: {only.sum()} times it alone is right on a test example, and "
            f"{lost.sum()} times it alone is wrong, while base and Retrain agree: "
            f"{excess:.1f} deviations; were test labels used?"
        )


def _right(predictions: list[NDArray[Any]], label: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which predictions are right; shape: (seeds, examples)."""
    right: NDArray[np.bool_] = np.stack(predictions) == label
    return right


def _deviation(accuracies: list[NDArray[Any]], num_examples: int) -> float:
    """Return the deviation of a difference between two means over seeds.

    That of Retrain may be 0 by chance, so it is at least that of the base models, and of a draw of
    as many test examples.
    """
    highest = max(float(values.mean()) for values in accuracies)
    of_seeds = [float(values.std(ddof=1)) for values in accuracies if len(values) > 1]
    deviation = max([*of_seeds, float(np.sqrt(highest * (1 - highest) / num_examples))])
    return deviation * float(np.sqrt(2 / len(accuracies[0])))
