"""Measures that verdicts test, keys of `margin:`, and levels of repeated analyses (`looks:`)."""

from collections.abc import Sequence
from typing import Literal, get_args

ALPHA = 0.05  # probability of any false positive in a cell where no method differs from Retrain
# Measures that are compared with Retrain, in this order:
# accuracy on the forget set (ua), and membership score (mia);
# loss of accuracy on retained examples near the forget set (near) or far from it (far);
# loss of accuracy on test examples far from the forget set (far_test);
# `near` minus `far` (damage).
MEASURES = ("ua", "mia", "near", "far", "far_test", "damage")
# Names of the tests of each method: one per measure, and a second test of UA.
# The second test compares UA with the midpoint of the base model's UA and Retrain's UA.
TESTS = (*MEASURES, "midpoint")
MarginKey = Literal["ua", "mia", "near", "ra", "ta", "damage"]
# Keys of `margin:` in a config, each with the measure that it applies to.
MARGIN_KEYS: dict[str, str] = dict(zip(get_args(MarginKey), MEASURES, strict=True))
# Fraction of ALPHA that is divided among the interim analyses (all looks before the last one).
FIRST_LOOKS = 0.4


def look_levels(looks: Sequence[int]) -> list[float]:
    """Return the significance level of each analysis; the levels sum to ALPHA (Bonferroni)."""
    if len(looks) < 2:
        return [ALPHA] * len(looks)
    early = FIRST_LOOKS * ALPHA / (len(looks) - 1)
    return [early] * (len(looks) - 1) + [(1 - FIRST_LOOKS) * ALPHA]
