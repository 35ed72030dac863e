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
# Labels of other numbers that the methods of the package report; a plug-in's have their own name.
LABELS = {
    "amun_epsilon_mean": "Mean radius of the attack (L2 distance)",
    "amun_unflipped": "Forgotten images that the attack did not change to another class",
    "auto_rate": "Learning rate of the ascent step of `k: auto`",
    "clusters": "Clusters of the forget set",
    "curvature_correction": "Curvature's share of the step",
    "dampened_share": "Share of the weights that are dampened",
    "search_recall": "Recall of the approximate search",
    "support_classes": "Classes in the support",
    "support_similarity_min": "Least similarity in the support (cosine)",
    "support_size": "Examples in the support",
    "teacher_support_accuracy": "Teacher's accuracy on the support",
    "top_mass": "Probability that soft labels keep",
}
OTHER_METRICS = Metric("", "a number that a method reports", "")
