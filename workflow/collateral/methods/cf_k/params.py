"""Parameters of CF-k."""

from pydantic import Field

from collateral.contract.params import Epochs, LastBlocksParams


class Params(LastBlocksParams):
    """CF-k (Goel et al., 2022): fine-tune the last k blocks on the retained examples.

    "Catastrophically forgetting the last k layers": all weights before them stay bit for bit as
    they are, batch norm's statistics too. With `k: all` it is FT.

    Formula: min CE(D_r) + proximal / 2 |w - w0|^2 over the weights of the last k blocks.
    """

    label = "CF-k"
    paper = "https://arxiv.org/abs/2201.06640"
    touches = frozenset({"retain"})
    published = {
        "text": {"head": True, "proximal": 0, "batchnorm": "train"},
        "SCRUB's code": {"k": 3, "head": False, "epochs": 10, "lr": 0.01, "proximal": 0.1}
        | {"batchnorm": "frozen"},
        "DeepUnlearn": {"k": 3, "head": True, "epochs": 10, "lr": 0.01},
    }

    epochs: Epochs = Field(10, ge=0, description="Passes over the retained examples; SCRUB: 10.")
