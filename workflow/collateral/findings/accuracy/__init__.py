"""How accurate is each model on forgotten, retained and test examples?

UA is accuracy on the forget set; some literature prints 100 - UA.
"""

from collateral.contract.metrics import Metric

TITLE = "How accurate is each model?"
PLACE = "summary"
ANSWER = ("ta", "")  # metric and subset that the finding's answer reports
ORDER = 40
METRICS = {
    "ua": Metric("UA", "accuracy on the forget set", "%", "retrain"),
    "ra": Metric("RA", "accuracy on the retained examples", "%", "retrain"),
    "ta": Metric("TA", "accuracy on the test set", "%", "retrain"),
    "ua_affected": Metric(
        "UA affected", "accuracy on the forgotten examples of the affected classes", "%", "retrain"
    ),
    "ra_affected": Metric(
        "RA affected", "accuracy on the retained examples of the affected classes", "%", "retrain"
    ),
    "ta_affected": Metric(
        "TA affected", "accuracy on the test examples of the affected classes", "%", "retrain"
    ),
}
