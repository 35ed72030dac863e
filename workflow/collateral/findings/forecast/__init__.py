"""Could one have known who gets hurt? The forecast made before unlearning, beside the outcome."""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
TITLE = "Could one have known who gets hurt?"
PLACE = "neighbours"
ORDER = 26

METRICS = {
    "forecast_expected": Metric(
        "Forecast",
        "number of retained examples that `collateral forecast` expected to be hurt before "
        "anything was unlearned",
        "examples",
    ),
    "forecast_hurt": Metric(
        "Outcome",
        "number of retained examples that are hurt: their true class loses at least 10 points of "
        "probability against Retrain, and more than 95 % of equally hard examples lose between two "
        "Retrains",
        "examples",
    ),
    "forecast_placebo": Metric(
        "By retraining",
        "number of retained examples that Retrain of the next seed would count as hurting",
        "examples",
    ),
    "forecast_auc": Metric(
        "AUC",
        "probability that a hurt example had a larger forecast than one that is not hurt",
        "rate",
        "high",
        digits=2,
    ),
    "forecast_refused": Metric(
        "Refused", "1 if nothing was forecast, because no forecast would have been reliable", ""
    ),
}
