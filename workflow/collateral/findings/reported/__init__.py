"""What do the methods say of themselves: a teacher's accuracy, the size of a support?"""

from collateral.contract.metrics import Metric

PLACE = "details"
ORDER = 30
# Those that sweeps show; other names are a method's own.
METRICS = {
    "teacher_ua": Metric(
        "Teacher UA",
        "accuracy of LTD's teacher on the forget set, held against Retrain's UA",
        "%",
        "retrain",
    ),
    "target_ua": Metric(
        "Target UA",
        "share of the forget set whose soft label is largest at the true class, held against "
        "Retrain's UA",
        "%",
        "retrain",
    ),
    "teacher_epochs": Metric(
        "Teacher's epochs", "epochs until LTD's teacher was done", "epochs", "low"
    ),
}
OTHER_METRICS = Metric("", "a number that a method reports", "")
