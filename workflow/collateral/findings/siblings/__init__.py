"""What becomes of a forgotten subclass and of its siblings, such as rocket among vehicles?

Needs a forget set of `kind: where` on a column that divides the classes, as `fine` divides
CIFAR-20, and the test set must have these values too. The subclass's own test images were never
trained on, so a model that forgot only the given images may still know them. The siblings are the
other subclasses of the same classes.
"""

from collateral.contract.metrics import Metric

TITLE = "What becomes of the siblings?"
PLACE = "neighbours"
ORDER = 29
METRICS = {
    "subclass_ta": Metric(
        "TA subclass", "accuracy on the test images of the forgotten subclass", "%", "retrain"
    ),
    "siblings_ra": Metric(
        "RA siblings", "accuracy on the retained images of the siblings", "%", "retrain"
    ),
    "siblings_ta": Metric(
        "TA siblings", "accuracy on the test images of the siblings", "%", "retrain"
    ),
    "sibling_ta": Metric(
        "TA sibling", "accuracy on the test images of one sibling", "%", "retrain"
    ),
    "sibling_examples": Metric("Test images", "test images of one sibling", "examples"),
}
