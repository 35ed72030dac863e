"""The verdicts on the methods of a cell: for each method, the first that holds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from collateral.contract.verdicts import ALPHA, MEASURES
from collateral.findings.verdict import VERDICTS
from collateral.findings.verdict.evidence import DAMAGE, MIDPOINT, UA, Flags, Samples, Tested
from collateral.metrics.differences import LAST_BITS

LEAST_SHARE = 0.5  # of Retrain's TA: a method with less has collapsed


def decide(
    samples: Samples, tested: Tested, is_collapsed: Flags, level: float = ALPHA
) -> NDArray[np.str_]:
    """Return the first verdict that holds for each method."""
    hurts_near = tested.is_above("near") & tested.is_above("damage")
    hurts_far = find_far_loss(samples, tested)
    is_found = (tested.low > 0) | (tested.high < 0)
    holds = (
        is_collapsed,
        keeps_memory(samples, tested, level),
        hurts_near & hurts_far,
        hurts_near,
        hurts_far,
        is_equivalent(tested, level),
        is_found[..., :MIDPOINT].any(axis=-1),
    )
    return np.select(holds, VERDICTS[: len(holds)], default=VERDICTS[-1])


def keeps_memory(samples: Samples, tested: Tested, level: float) -> Flags:
    """Tell which methods did not forget: by UA, or by MIA where UA has no room to fall."""
    by_ua = tested.p[..., MIDPOINT] < level
    # Where the base model's UA is unknown, neither is asked.
    is_without_room = ~samples.is_forgettable & ~np.isnan(samples.room)
    return by_ua | (is_without_room[..., None] & tested.is_below("mia"))


def is_equivalent(tested: Tested, level: float) -> Flags:
    """Tell which methods are equivalent to Retrain on every measure that is defined."""
    p = tested.equivalence_p
    is_tested = ~np.isnan(p[..., (UA, DAMAGE)]).any(axis=-1)
    return np.asarray(((p < level) | np.isnan(p)).all(axis=-1) & is_tested)


def find_far_loss(samples: Samples, tested: Tested) -> Flags:
    """Tell which methods lose accuracy far from the forget set, beyond chance and the margin."""
    found = np.zeros(tested.mean.shape[:-1], dtype=bool)
    for measure in ("far", "far_test"):
        place = MEASURES.index(measure)
        is_large = tested.mean[..., place] > samples.margins[..., None, place] * (1 + LAST_BITS)
        found |= tested.is_above(measure) & is_large
    return found
