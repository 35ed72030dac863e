"""Which method is nearest to Retrain within a given cost, and by which way did it come?

The way is from the base model towards Retrain, in the plane of what is not yet forgotten and of
who else gets hurt. Seconds are the method's own, preparing among them.
"""

from dataclasses import replace

from collateral.contract.metrics import Metric, epoch_metrics
from collateral.findings.gap import METRICS as GAPS
from collateral.findings.gap import TERMS
from collateral.findings.verdict import METRICS as OF_RUNS

NEEDS = "retrain"
AFTER = ("accuracy", "costs", "epochs", "locality", "membership")
ORDER = 30
SHARES = (1, 2, 5, 10, 20)  # percent of Retrain's cost
_PLACES = {
    **{gap: GAPS[gap] for gap in TERMS},
    **{name: OF_RUNS[name] for name in ("forgetting_error", "damage")},
}
METRICS = {
    **epoch_metrics(_PLACES),
    # Of costs: which model is in time is never the same twice.
    "budget_gap": replace(
        GAPS["avg_gap"],
        label="Avg. Gap in time",
        description="average gap of the latest model within a share of Retrain's seconds, which "
        "`at` names in percent",
        is_cost=True,
    ),
    "budget_epoch": Metric(
        "Epoch in time", "the epoch after which the run has that model", "", digits=0, is_cost=True
    ),
}
