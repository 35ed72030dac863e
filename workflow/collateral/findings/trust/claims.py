"""What the numbers of the package claim, and in which direction; stated before any result."""

from collateral.contract.claims import LAST, Claim

_OUTPUTS = {
    **{"ua": 1, "ua_affected": 1, "mia": -1, "mia_correctness": -1, "mia_entropy": -1},
    **{"mia_modified_entropy": -1, "mia_probability": -1, "rmia_auc": 1, "rmia_tpr": 1},
    **{"ulira_auc": 1, "ulira_tpr": 1, "residual_accuracy": 1, "residual_gap": 1, "zrf": -1},
    **{"request_accuracy": 1, "reversal": 1},
}
_INSIDE = {"linear_accuracy": 1, "linear_gap": 1, "relearn_gap": 1, "relearn_even": -1}
_INSIDE |= {"resurface_gap": 1}
_CURVES = ("relearn_accuracy", "resurface_accuracy")
# Not judged: `nearer` and `cka_base` compare with the base of the same seed, so that the judged
# base is compared with itself; `klom` has one value for all seeds.
_DISTANCES = {"avg_gap": 1, "avg_gap_affected": 1, "forgetting_error": 1, "tow": -1, "tow_mia": -1}
TOP_BIN = 9  # of ten bins of similarity, the one that is most like the forget set
NEAREST = 1  # the most similar 1 % of the examples
_HARM = {"ra": -1, "ta": -1, "ra_affected": -1, "ta_affected": -1}

CLAIMS = (
    *(Claim(metric, "outputs", sign) for metric, sign in _OUTPUTS.items()),
    *(Claim(metric, "inside", sign) for metric, sign in _INSIDE.items()),
    *(Claim(metric, "inside", 1, at=LAST) for metric in _CURVES),
    Claim("cka_retrain", "distance", -1, "forget"),
    *(Claim(metric, "distance", sign) for metric, sign in _DISTANCES.items()),
    *(
        Claim(m, "distance", 1, "forget")
        for m in ("js_divergence", "kl_divergence", "disagreement")
    ),
    Claim("agreement", "distance", -1, "forget"),
    *(Claim(metric, "harm", sign) for metric, sign in _HARM.items()),
    *(
        Claim(metric, "harm", 1, name)
        for metric in ("near_loss", "far_loss")
        for name in ("retain", "test")
    ),
    Claim("damage", "harm", 1, "retain"),
    *(
        Claim(metric, "harm", 1, name, at=TOP_BIN)
        for metric in ("delta_acc", "delta_conf")
        for name in ("retain", "test")
    ),
    *(
        Claim(metric, "harm", sign, name)
        for metric, sign in (("js_divergence", 1), ("kl_divergence", 1), ("disagreement", 1))
        for name in ("retain", "test")
    ),
    Claim("cka_retrain", "harm", -1, "test"),
    *(Claim("nearest_difference", "locality", 1, name, at=NEAREST) for name in ("retain", "test")),
    *(
        Claim(metric, "locality", 1, name)
        for metric in ("locality_slope", "locality_rank", "near_far_ratio")
        for name in ("retain", "test")
    ),
)
