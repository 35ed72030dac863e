"""What did each run cost: seconds in total and by phase, and memory?"""

from collateral.contract.metrics import Metric
from collateral.results.record import EPOCH_SECONDS

TITLE = "What did each run cost?"
PLACE = "cost"
ANSWER = ("rte", "")  # metric and subset that the finding's answer reports
ORDER = 35


def _cost(label: str, description: str, unit: str) -> Metric:
    return Metric(label, description, unit, "low", is_cost=True)


METRICS = {
    "rte": _cost("RTE", "seconds from the base model and the data to the unlearned model", "s"),
    EPOCH_SECONDS: _cost(
        "Seconds by epoch",
        "seconds from the run's start to the end of an epoch, preparation included",
        "s",
    ),
    "seconds": _cost("Seconds", "seconds of one phase of the run", "s"),
    "tuning_seconds": _cost("Tuning", "seconds of all tuning trials", "s"),
    "support_size_seconds": _cost(
        "Support sizes", "seconds of training the teachers of all support sizes", "s"
    ),
    "peak_rss_mb": _cost("Memory", "largest resident memory of the job", "MB"),
    "peak_device_mb": _cost("GPU memory", "largest memory on the device", "MB"),
    "rte_share": _cost(
        "of Retrain's RTE", "mean RTE over Retrain's mean RTE; undefined on another device", "%"
    ),
    "rte_share_with_tuning": _cost(
        "with tuning",
        "mean RTE and the seconds of tuning once (with its teacher), over Retrain's mean RTE; "
        "undefined on other devices",
        "%",
    ),
    "paying_deletions": _cost(
        "Pays from",
        "deletions from which tuning once (with its teacher) and unlearning each time is faster "
        "than retraining each time: tuning / (Retrain's RTE - RTE); undefined if never, and on "
        "other devices",
        "",
    ),
    "on_device": _cost("Device", "1 for the device that `at` names", ""),
}
PREPARATION = _cost("Preparation", "seconds of RTE in phases other than `unlearn`", "s")
