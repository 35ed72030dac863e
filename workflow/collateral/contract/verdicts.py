"""Measures that verdicts test, the margins a config can state, and the levels of its looks."""

from collections.abc import Sequence
from typing import Literal, get_args

ALPHA = 0.05  # probability of a false statement about a cell without any difference
# Each is compared with Retrain: accuracy on the forget set, membership score, losses of accuracy
# on the nearest and on all other retained examples and on all other test examples, and damage,
# which is near minus far loss.
MEASURES = ("ua", "mia", "near", "far", "far_test", "damage")
# Tests of one method: each measure, and UA against the midpoint of base and Retrain.
TESTS = (*MEASURES, "midpoint")
MarginKey = Literal["ua", "mia", "near", "ra", "ta", "damage"]
# Keys of `margin:` in a config, and the measure of each.
MARGIN_KEYS: dict[str, str] = dict(zip(get_args(MarginKey), MEASURES, strict=True))
FIRST_LOOKS = 0.4  # share of the level that all looks but the last have together


def look_levels(looks: Sequence[int]) -> list[float]:
    """Return the significance level of each look; the levels sum to 5 % (Bonferroni)."""
    if len(looks) < 2:
        return [ALPHA] * len(looks)
    early = FIRST_LOOKS * ALPHA / (len(looks) - 1)
    return [early] * (len(looks) - 1) + [(1 - FIRST_LOOKS) * ALPHA]
