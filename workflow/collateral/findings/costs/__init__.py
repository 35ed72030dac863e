"""What did each run cost: how many seconds, in all and by phase, and how much memory?"""

from collateral.contract.metrics import Metric
from collateral.results.record import EPOCH_SECONDS

PLACE = "details"
ORDER = 10


def _cost(label: str, description: str, unit: str) -> Metric:
    return Metric(label, description, unit, "low", is_cost=True)  # type: ignore[arg-type]


METRICS = {
    "rte": _cost("RTE", "seconds from the base model and the data to the unlearned model", "s"),
    EPOCH_SECONDS: _cost(
        "Seconds by epoch", "seconds of the run until the end of an epoch, preparing included", "s"
    ),
    "seconds": _cost("Seconds", "seconds of one phase of the run", "s"),
    "tuning_seconds": _cost("Tuning", "seconds of all trials of the tuning", "s"),
    "support_size_seconds": _cost(
        "Support sizes", "seconds of the teachers of all support sizes", "s"
    ),
    "peak_rss_mb": _cost("Memory", "largest resident memory of the job", "MB"),
    "peak_device_mb": _cost("GPU memory", "largest memory on the device", "MB"),
    "rte_share": _cost(
        "of Retrain's RTE", "RTE over Retrain's, of means; undefined on another device", "%"
    ),
    "paying_deletions": _cost(
        "Pays from",
        "deletions from which tuning once (its teacher's time included) and unlearning takes less "
        "time than retraining: tuning / (Retrain's RTE - RTE); undefined where it never does, and "
        "on other devices",
        "",
    ),
    "on_device": _cost("Device", "1 on the device that `at` names", ""),
}
PREPARATION = _cost("Preparation", "seconds of RTE in phases other than `unlearn`", "s")
