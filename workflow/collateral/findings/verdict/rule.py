"""The verdict on a method, from what is known of it: the first that holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from collateral.findings._shared.inference.differences import ALPHA, Difference
from collateral.findings.verdict import (
    COLLAPSED,
    HURT,
    LIKE,
    UNDECIDED,
    UNFORGOTTEN,
    UNKNOWN,
    UNLIKE,
)

LEAST_SHARE = 0.5  # of Retrain's TA: below is collapsed


@dataclass(frozen=True)
class Evidence:
    """What is known of a method in a cell."""

    is_broken: bool  # a seed diverged or collapsed
    ta_share: float  # of Retrain's
    differences: Mapping[str, Difference]  # of ua, damage, midpoint and near loss
    equivalence: Mapping[str, float]  # p-values, of ua and damage
    can_be_forgotten: bool  # the base model's UA is further above Retrain's than the margin


def decide(evidence: Evidence) -> str:
    """Return the first verdict that holds."""
    return next(verdict for verdict, holds in _asked(evidence) if holds)


def _asked(known: Evidence) -> Iterator[tuple[str, bool]]:
    ua, damage, midpoint, near = (
        known.differences[at] for at in ("ua", "damage", "midpoint", "near")
    )
    yield COLLAPSED, known.is_broken or known.ta_share < LEAST_SHARE
    yield UNFORGOTTEN, known.can_be_forgotten and midpoint.p < ALPHA
    yield HURT, damage.is_above and near.p < ALPHA
    yield LIKE, all(p < ALPHA for p in known.equivalence.values())
    yield UNLIKE, ua.is_found or damage.is_found
    yield UNDECIDED, ua.n > 0 and damage.n > 0
    yield UNKNOWN, True
