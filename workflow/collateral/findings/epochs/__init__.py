"""How do the accuracies of a tracked method change from epoch to epoch?"""

from collateral.contract.metrics import epoch_metrics
from collateral.findings.accuracy import METRICS as ACCURACIES

TITLE = "How do accuracies change by epoch?"
PLACE = "cost"
ORDER = 70
METRICS = epoch_metrics(ACCURACIES)
