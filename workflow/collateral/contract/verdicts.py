"""Measures that verdicts test, the margins a config can state, and the levels of its looks."""

from collections.abc import Sequence
from typing import Literal, get_args

ALPHA = 0.05  # probability of any false positive in a cell where no method differs from Retrain
# Measures that are compared with Retrain: accuracy on the forget set; membership score; loss of
# accuracy on the near retained examples, on the far retained examples, and on the far test
# examples; and damage, which is the near loss minus the far loss on retained examples.
MEASURES = ("ua", "mia", "near", "far", "far_test", "damage")
# Tests of each method: one per measure, and one of UA against the midpoint of base and Retrain.
TESTS = (*MEASURES, "midpoint")
MarginKey = Literal["ua", "mia", "near", "ra", "ta", "damage"]
# Keys of `margin:` in a config, each with its measure.
MARGIN_KEYS: dict[str, str] = dict(zip(get_args(MarginKey), MEASURES, strict=True))
# Share of ALPHA that all interim analyses (looks before the last one) use together.
FIRST_LOOKS = 0.4


def look_levels(looks: Sequence[int]) -> list[float]:
    """Return the significance level of each look; the levels sum to 5 % (Bonferroni)."""
    if len(looks) < 2:
        return [ALPHA] * len(looks)
    early = FIRST_LOOKS * ALPHA / (len(looks) - 1)
    return [early] * (len(looks) - 1) + [(1 - FIRST_LOOKS) * ALPHA]
