"""Parameters of EU-k."""

from pydantic import Field

from collateral.contract.params import Epochs, LastBlocksParams


class Params(LastBlocksParams):
    """EU-k (Goel et al., 2022): draw the last k blocks anew, then train them on D_r.

    "Exact unlearning of the last k layers": all weights before them stay bit for bit as they are,
    and still know the forget set. With `k: all` it is Retrain by this recipe.

    Formula: w_k ~ initial weights; min CE(D_r) + proximal / 2 |w - w(start)|^2 over w_k, the
    weights of the last k blocks.
    """

    label = "EU-k"
    paper = "https://arxiv.org/abs/2201.06640"
    touches = frozenset({"retain"})
    starts_anew = True
    published = {
        "text": {"head": True, "proximal": 0, "batchnorm": "train"},
        "SCRUB's code": {"k": 3, "head": False, "lr": 0.01, "proximal": 0.1, "batchnorm": "frozen"},
        "DeepUnlearn": {"k": 3, "head": True, "lr": 0.01},
    }

    epochs: Epochs = Field(
        10, ge=0, description="Passes over the retained examples; sources: as many as the base has."
    )
