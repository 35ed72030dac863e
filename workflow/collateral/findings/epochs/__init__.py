"""How do the accuracies of a tracked method go from epoch to epoch?"""

from dataclasses import replace

from collateral.contract.metrics import Metric
from collateral.findings.accuracy import METRICS as ACCURACIES
from collateral.results.record import TRACKED

PLACE = "ablations"
ORDER = 70
METRICS: dict[str, Metric] = {
    f"{TRACKED}{name}": replace(
        metric,
        label=f"{metric.label} by epoch",
        description=f"{metric.description} after an epoch; 0 is the base model",
    )
    for name, metric in ACCURACIES.items()
}
