"""How large should LTD's support be?

Teachers are trained on supports of many sizes and evaluated on the forget set. The size is chosen
without Retrain; a comparison with Retrain afterwards is shown separately.
"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
TITLE = "How large should LTD's support be?"
PLACE = "ablations"
ORDER = 80
METRICS = {
    "support_kl_previous": Metric(
        "KL to the smaller support",
        "KL divergence of the teacher's class histogram on the forget set from that of the teacher "
        "of the next smaller support",
        "nats",
    ),
    "support_kl_seeds": Metric(
        "KL between seeds",
        "mean KL divergence between the class histograms of two seeds' teachers of one support "
        "size",
        "nats",
    ),
    "support_teacher_ua": Metric(
        "Teacher on D_f", "the teacher's accuracy on the forget set", "%", "retrain"
    ),
    "support_top_mass": Metric(
        "Mass kept",
        "share of the teacher's probability mass in the few largest classes, which the student "
        "learns",
        "%",
    ),
    "support_epochs": Metric("Teacher epochs", "epochs of the teacher's training", "epochs"),
    "support_accuracy": Metric(
        "Teacher on support",
        "the teacher's training accuracy on its support in its last epoch",
        "%",
    ),
    "support_least_similarity": Metric(
        "Least similarity", "smallest similarity to the forget set in a support", "cosine"
    ),
    "support_num_classes": Metric("Classes", "number of classes in a support", "classes"),
    "support_drop": Metric(
        "Drop by one step",
        "accuracy that one step of gradient ascent costs the retained examples of a bin",
        "points",
    ),
    "support_bin_low": Metric(
        "Step's bin from", "lower edge of a bin of similarity, in one seed", "cosine"
    ),
    "support_bin_high": Metric(
        "Step's bin to", "upper edge of a bin of similarity, in one seed", "cosine"
    ),
    "support_bin_count": Metric(
        "Step's bin size", "retained examples in a bin of similarity, in one seed", "examples"
    ),
    "support_step_rate": Metric(
        "Step's rate", "learning rate of the step of gradient ascent", "rate"
    ),
    "support_auto": Metric("Auto's k", "support size that `k: auto` chooses", "examples"),
    "support_kl_retrain": Metric(
        "KL to Retrain",
        "KL divergence of the teacher's class histogram on the forget set from Retrain's",
        "nats",
        "low",
    ),
    "support_kl_retrains": Metric(
        "KL between Retrains",
        "mean KL divergence between the class histograms of two seeds' Retrains",
        "nats",
    ),
}
