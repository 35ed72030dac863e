"""How do the accuracies of a tracked method go from epoch to epoch?"""

from collateral.contract.metrics import epoch_metrics
from collateral.findings.accuracy import METRICS as ACCURACIES

PLACE = "ablations"
ORDER = 70
METRICS = epoch_metrics(ACCURACIES)
