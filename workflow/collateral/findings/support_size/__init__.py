"""How large should LTD's support be: what do teachers on supports of every size say of D_f?

Without Retrain; and, apart, held against it after the fact.
"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
PLACE = "ablations"
ORDER = 80
METRICS = {
    "support_kl_previous": Metric(
        "KL to the smaller support",
        "KL divergence of the teacher's histogram of the forget set from that of the next smaller "
        "support's teacher",
        "nats",
    ),
    "support_kl_seeds": Metric(
        "KL between seeds",
        "mean KL divergence between the histograms of two seeds' teachers of one support size",
        "nats",
    ),
    "support_teacher_ua": Metric(
        "Teacher on D_f", "the teacher's accuracy on the forget set", "%", "retrain"
    ),
    "support_top_mass": Metric(
        "Mass kept", "share of the teacher's probabilities that the largest few classes hold", "%"
    ),
    "support_epochs": Metric("Teacher epochs", "epochs of the teacher's training", "epochs"),
    "support_accuracy": Metric(
        "Teacher on support",
        "the teacher's accuracy on its support over its last epoch, as trained",
        "%",
    ),
    "support_least_similarity": Metric(
        "Least similarity", "least similarity to the forget set in a support", "cosine"
    ),
    "support_num_classes": Metric("Classes", "classes in a support", "classes"),
    "support_drop": Metric(
        "Drop by one step",
        "accuracy that the retained examples of a bin lose by one step of gradient ascent",
        "points",
    ),
    "support_bin_low": Metric("Step's bin from", "least similarity of a seed's own bin", "cosine"),
    "support_bin_high": Metric("Step's bin to", "largest similarity of a seed's own bin", "cosine"),
    "support_bin_count": Metric(
        "Step's bin size", "retained examples in a seed's own bin", "examples"
    ),
    "support_step_rate": Metric(
        "Step's rate", "learning rate of the step of gradient ascent", "rate"
    ),
    "support_auto": Metric("Auto's k", "retained examples that `k: auto` takes", "examples"),
    "support_kl_retrain": Metric(
        "KL to Retrain",
        "KL divergence of the teacher's histogram of the forget set from Retrain's",
        "nats",
        "low",
    ),
    "support_kl_retrains": Metric(
        "KL between Retrains",
        "mean KL divergence between the histograms of two seeds' Retrains",
        "nats",
    ),
}
