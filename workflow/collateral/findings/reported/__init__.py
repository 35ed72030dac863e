"""What do methods report about themselves, such as their teacher's accuracy?"""

from collateral.contract.metrics import Metric

TITLE = "What do methods report about themselves?"
PLACE = "runs"
ORDER = 30
# Reported numbers that the tables of sweeps show; methods may report other numbers as well.
METRICS = {
    "teacher_ua": Metric(
        "Teacher UA",
        "accuracy of LTD's teacher on the forget set, compared with Retrain's UA",
        "%",
        "retrain",
    ),
    "target_ua": Metric(
        "Target UA",
        "share of the forget set whose soft label is largest at the true class, compared with "
        "Retrain's UA",
        "%",
        "retrain",
    ),
    "teacher_epochs": Metric(
        "Teacher's epochs", "epochs that LTD's teacher was trained", "epochs", "low"
    ),
}
OTHER_METRICS = Metric("", "a number that a method reports", "")
