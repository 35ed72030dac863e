"""What do many deletion requests, one after another, do to a model?

The numbers are in the cell of the last round, and `at` is the round. Sets are fixed over rounds,
and every round is compared with its own Retrain, which never saw any request so far: request 1, 2
...; the examples that are retained after the last round; and those of them that are near request 1
by the base's features. Retrain's own numbers compare Retrain of the next seed with it.
"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
AFTER = ("costs", "verdict")
TITLE = "What do many requests do together?"
PLACE = "summary"
ORDER = 6
METRICS = {
    "request_accuracy": Metric(
        "Accuracy on a request", "accuracy on the request that `set` names", "%", "retrain"
    ),
    "reversal": Metric(
        "Reversal",
        "rise of the accuracy on an earlier request since its own round, minus that of Retrain; "
        "above zero, it is known again; mean over earlier requests, or of the one that `set` names",
        "points",
    ),
    "first_near_loss": Metric(
        "Lost near request 1",
        "accuracy of Retrain minus that of the run on the retained examples near request 1",
        "points",
        "low",
    ),
    "erosion": Metric(
        "Erosion",
        "accuracy on the examples that are retained after the last round, minus Retrain's, minus "
        "the same after round 1; below zero, later rounds have cost accuracy",
        "points",
    ),
    "rounds_gap": Metric(
        "Distance",
        "mean absolute deviation of the means from Retrain's of the accuracies on all requests so "
        "far, on retained and on test examples",
        "points",
        "low",
    ),
    "rounds_floor": Metric(
        "Noise floor of the distance",
        "distance that 95 % of pairs of groups of retrained models stay below, in one round; at "
        "least one example of each set",
        "points",
    ),
    "retrain_by_gap": Metric(
        "Retrain by distance", "first round in which the distance is above its noise floor", ""
    ),
    "retrain_by_failure": Metric(
        "Retrain by failure", "first round that diverged or was skipped in one of the seeds", ""
    ),
    "request_examples": Metric(
        "Examples of a request", "number of examples of the request that `set` names", ""
    ),
    "requests_lost": Metric(
        "To forget",
        "accuracy of the base on all requests so far, minus Retrain's; only with the control "
        "Original",
        "points",
    ),
    "requests_floor": Metric(
        "Noise floor of what is to forget",
        "difference in the accuracy on all requests so far that 95 % of pairs of groups of "
        "retrained models stay below; at least one example",
        "points",
    ),
    "rounds_rte": Metric("RTE so far", "sum of RTE over the rounds", "s", "low", is_cost=True),
    "rounds_share": Metric(
        "RTE, of retraining each time",
        "sum of RTE over the rounds, over the same sum of Retrain; undefined on another device",
        "%",
        "low",
        is_cost=True,
    ),
    "retrain_by_cost": Metric(
        "Retrain by cost",
        "first round in which the sum of RTE exceeds the RTE of one Retrain",
        "",
        is_cost=True,
    ),
}
