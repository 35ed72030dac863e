"""Which method comes nearest to Retrain within a given cost, and how does each run approach it?

The path leads from the base model towards Retrain, in the plane of forgetting error and damage to
the neighbours. Seconds are the method's own, including preparation.
"""

from collateral.contract.metrics import Metric, epoch_metrics
from collateral.findings.gap import METRICS as GAPS
from collateral.findings.gap import TERMS
from collateral.findings.verdict import METRICS as RUN_METRICS

NEEDS = "retrain"
AFTER = ("accuracy", "costs", "epochs", "locality", "membership")
TITLE = "Which method is nearest within a budget?"
PLACE = "cost"
ORDER = 30
SHARES = (1, 2, 5, 10, 20)  # budgets, in percent of Retrain's cost
_BY_EPOCH = {
    **{gap: GAPS[gap] for gap in TERMS},
    **{name: RUN_METRICS[name] for name in ("forgetting_error", "damage")},
}
_LATEST = "of the latest model within `at` percent of Retrain's seconds"
METRICS = {
    **epoch_metrics(_BY_EPOCH),
    # `is_cost` marks metrics that depend on measured seconds, which differ if a run is repeated.
    "budget_gap": Metric(
        "Avg. Gap in time", f"average gap {_LATEST}", "points", "low", is_cost=True
    ),
    "budget_epoch": Metric("Epoch in time", f"epoch {_LATEST}", "", digits=0, is_cost=True),
}
