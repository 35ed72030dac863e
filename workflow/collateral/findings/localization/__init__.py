"""How much does the difference from Retrain grow with similarity to the forget set?

The difference of an example is |Retrain's true-class confidence - the run's|, seed i against seed
i. Near examples may only be hard ones: rows with `at` hardness compare examples within deciles of
Retrain's margin. Retrain's own numbers compare Retrain with Retrain of the next seed, without an
interval over seeds.
"""

from dataclasses import replace

from collateral.contract.metrics import Metric, with_intervals

NEEDS = "retrain"
AFTER = ("locality",)
TITLE = "Does the loss grow with similarity?"
PLACE = "neighbours"
ANSWER = ("locality_slope", "retain")  # metric and subset that the finding's answer reports
ORDER = 15
HARDNESS = "hardness"
CONTROLS = (None, HARDNESS)
SETS = {"retain": "retained", "test": "test"}
# Examples are grouped by rank of similarity: the nearest 1 %, from 1 to 2 %, 2 to 5 %, and so on.
NEAREST = (1, 2, 5, 10, 20, 50, 100)
MEASURES = {
    "locality_slope": Metric(
        "Slope", "slope of |difference| over similarity, points per 0.1", "points per 0.1"
    ),
    "locality_rank": Metric(
        "Spearman", "rank correlation of |difference| and similarity", "", digits=2
    ),
    "near_far_ratio": Metric(
        "Near / far", "mean |difference| of near examples over that of far ones", "", digits=1
    ),
}


_SLOPE = MEASURES["locality_slope"]
METRICS = {
    **with_intervals(MEASURES, over=("seeds", "examples")),
    "nearest_difference": Metric(
        "|Difference|", "mean |difference| from the next nearer share to `at` percent", "%"
    ),
    "locality_excess": replace(
        _SLOPE,
        label="Slope beyond Retrain's",
        description="slope minus that of Retrain against Retrain of the next seed, by seed",
    ),
    "locality_excess_low": replace(
        _SLOPE,
        label="Slope beyond Retrain's from",
        description="lower end of its 95 % interval over three seeds or more, by Holm over methods",
    ),
    "rising_cells": Metric(
        "Rises in",
        "cells where the slope is above Retrain's against the next seed (95 % interval, by Holm "
        "over methods), of those with three seeds where the method ended well",
        "cells",
    ),
}
