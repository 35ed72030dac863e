"""Over all cells: how often is each method nearest to Retrain, and what is its rank?"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
AFTER = ("gap",)
TITLE = "Which method is nearest over all cells?"
PLACE = "summary"
ORDER = 10
# Metrics that are computed for each kind of average gap; the column `at` names the kind.
STANDINGS = {
    "ranked_cells": Metric("Ranked in", "cells where no seed diverged or collapsed", "cells"),
    "lowest_cells": Metric("Lowest in", "of these, where no other method's gap is lower", "cells"),
    "tied_cells": Metric(
        "Within noise in",
        "of these, where the gap exceeds the lowest by no more than the noise floor",
        "cells",
    ),
    "mean_rank": Metric(
        "Mean rank",
        "1 is nearest to Retrain; equal gaps share the mean of their ranks",
        "",
        "low",
        digits=1,
    ),
    "complete_rank": Metric(
        "Rank, complete cells",
        "mean rank over the cells where every method is ranked, to be held against the critical "
        "difference",
        "",
        "low",
        digits=1,
    ),
    "mean_gap": Metric("Mean gap", "over the cells where it is ranked, in points", "points"),
}
# Results of rank tests that compare all methods; they are stored in the row of Retrain.
RANKS = {
    "complete_cells": Metric("Complete in", "cells where every method is ranked", "cells"),
    "friedman_p": Metric("Friedman p", "chance of such ranks if methods are alike", "", digits=3),
    "critical_difference": Metric(
        "Critical difference",
        "mean ranks over complete cells that are less apart cannot be told apart (Nemenyi, 95 %)",
        "",
        digits=1,
    ),
}
METRICS = {**STANDINGS, **RANKS}
