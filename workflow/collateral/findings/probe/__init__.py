"""What does a model still know about the forget set that its outputs do not show?

If the config has `probe:`, finished models are used in further experiments. They are fine-tuned
on half of the forget set (`relearn`), tested on its images with added noise (`residual`), and
compared with an untrained net (`zrf`). A new linear head is fitted on features of retained examples
(`linear`), features are compared with Retrain's and the base's (`cka`), and models are fine-tuned
on retained examples only (`resurface`). Where train examples were patched (corrective
unlearning), the square is put on the test images (`patch`). Each seed is compared with Retrain of
the same seed; Retrain itself, with Retrain of the next.
"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
TITLE = "What do hidden features still know?"
PLACE = "attacks"
ORDER = 9.5
METRICS = {
    "relearn_accuracy": Metric(
        "Relearned",
        "accuracy on one half of the forget set after a number of fine-tuning steps on the other",
        "%",
        "retrain",
    ),
    "relearn_gap": Metric(
        "Relearning gap",
        "relearned accuracy minus Retrain's, mean over the steps; above zero, the model relearns "
        "more than Retrain in as many steps",
        "points",
    ),
    "relearn_even": Metric(
        "Even by step",
        "first step at which the relearned accuracy is not below Retrain's; 0: it was not below "
        "before the first step; the number of steps plus one: at no step",
        "",
        digits=1,
    ),
    "residual_accuracy": Metric(
        "Residual", "accuracy on the forget set's images with added noise", "%", "retrain"
    ),
    "residual_gap": Metric(
        "Residual gap", "residual accuracy minus Retrain's; above zero, more is left", "points"
    ),
    "zrf": Metric(
        "ZRF",
        "1 − mean Jensen-Shannon divergence, in nats, of a model's class probabilities on the "
        "forget set from an untrained net's; a high value means random predictions, so compare it "
        "with Retrain's",
        "",
        "retrain",
        digits=3,
    ),
    "linear_accuracy": Metric(
        "Linear probe",
        "accuracy on the forget set of a new linear head, fitted on features of retained examples",
        "%",
        "retrain",
    ),
    "linear_test_accuracy": Metric(
        "Linear probe, test", "the same on test examples of the affected classes", "%", "retrain"
    ),
    "linear_gap": Metric(
        "Linear gap",
        "linear probe minus Retrain's; above zero, the features know more than Retrain's",
        "points",
    ),
    "cka_retrain": Metric(
        "CKA with Retrain",
        "debiased linear CKA of a model's features with Retrain's; 1: equal but for rotation and "
        "scale",
        "",
        "high",
        digits=2,
    ),
    "cka_base": Metric(
        "CKA with the base",
        "debiased linear CKA of a model's features with the base's",
        "",
        digits=2,
    ),
    "resurface_accuracy": Metric(
        "Resurfaced",
        "accuracy on the forget set after a number of fine-tuning steps on retained examples",
        "%",
        "retrain",
    ),
    "resurface_near_accuracy": Metric(
        "Resurfaced, near", "the same on near retained examples", "%", "retrain"
    ),
    "resurface_test_accuracy": Metric(
        "Resurfaced, test", "the same on test examples", "%", "retrain"
    ),
    "resurface_gap": Metric(
        "Resurfacing",
        "rise of the accuracy on the forget set by fine-tuning on retained examples, minus that of "
        "Retrain; above zero, forgotten examples come back",
        "points",
    ),
    "patch_accuracy": Metric(
        "Corrected accuracy",
        "accuracy on test images with the patch, by their true labels",
        "%",
        "retrain",
    ),
    "patch_success": Metric(
        "Success of the patch",
        "share of the test images of other classes that, with the patch, get the label of the "
        "patched train examples",
        "%",
        "retrain",
    ),
}
