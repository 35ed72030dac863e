"""Measures that verdicts test, keys of `margin:`, and levels of repeated analyses (`looks:`)."""

from collections.abc import Sequence
from typing import Literal, get_args

ALPHA = 0.05  # level of the tests: in differences.py and rule.py stands what it bounds
# Measures that are compared with Retrain, in this order:
# accuracy on the forget set (ua), and membership score (mia);
# loss of accuracy near the forget set, on retained (near) and on test examples (near_test);
# loss of accuracy on all other retained examples (far), and on all other test examples (far_test);
# `near` minus `far` (damage).
MEASURES = ("ua", "mia", "near", "near_test", "far", "far_test", "damage")
# Measures that are losses of accuracy: a method that exceeds Retrain in one of them does harm.
LOSSES = MEASURES[2:]
MarginKey = Literal["ua", "mia", "near", "near_test", "ra", "ta", "damage"]
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
