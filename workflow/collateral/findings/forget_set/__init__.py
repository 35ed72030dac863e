"""How many examples of which classes were forgotten?"""

from collateral.contract.metrics import Metric

METRICS = {
    "train_count": Metric("Class size", "train examples of an affected class", "examples"),
    "forget_count": Metric("Forgotten", "forgotten examples of an affected class", "examples"),
}
