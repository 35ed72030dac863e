"""How large should LTD's support be?

Teachers are trained on supports of many sizes and evaluated on the forget set. The size is chosen
without Retrain; a comparison with Retrain afterwards is shown separately.
"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
TITLE = "How large should LTD's support be?"
PLACE = "ablations"
ORDER = 80
_KL = "KL divergence of class histograms on the forget set:"
METRICS = {
    "support_kl_previous": Metric(
        "KL to the smaller support", f"{_KL} from the next smaller support's teacher", "nats"
    ),
    "support_kl_seeds": Metric(
        "KL between seeds", f"{_KL} mean over pairs of seeds' teachers of one size", "nats"
    ),
    "support_kl_retrain": Metric("KL to Retrain", f"{_KL} from Retrain's", "nats", "low"),
    "support_kl_retrains": Metric(
        "KL between Retrains", f"{_KL} mean over pairs of seeds' Retrains", "nats"
    ),
    "support_teacher_ua": Metric(
        "Teacher on D_f", "the teacher's accuracy on the forget set", "%", "retrain"
    ),
    "support_top_mass": Metric(
        "Mass kept", "share of the teacher's probabilities that the student learns", "%"
    ),
    "support_epochs": Metric("Teacher epochs", "epochs of the teacher's training", "epochs"),
    "support_accuracy": Metric(
        "Teacher on support", "the teacher's accuracy on its support in its last epoch", "%"
    ),
    "support_least_similarity": Metric(
        "Least similarity", "smallest similarity to the forget set in a support", "cosine"
    ),
    "support_num_classes": Metric("Classes", "number of classes in a support", "classes"),
    "support_drop": Metric(
        "Drop by one step", "accuracy that one step of gradient ascent costs a bin", "points"
    ),
    "support_bin_low": Metric("Step's bin from", "least similarity of a seed's bin", "cosine"),
    "support_bin_high": Metric("Step's bin to", "largest similarity of a seed's bin", "cosine"),
    "support_bin_count": Metric("Step's bin size", "retained examples in a seed's bin", "examples"),
    "support_step_rate": Metric("Step's rate", "learning rate of the gradient-ascent step", "rate"),
    "support_auto": Metric("Auto's k", "support size that `k: auto` chooses", "examples"),
}
