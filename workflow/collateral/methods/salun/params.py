"""Parameters of SalUn."""

from typing import Literal

from pydantic import Field

from collateral.contract.params import (
    OPTML,
    PAPER_SGD,
    Between,
    Epochs,
    MethodParams,
    TrainedParams,
)


class Prepare(MethodParams):
    """No parameters, because the saliency of a weight depends only on base model and forget set."""

    label = "SalUn"
    paper = "https://arxiv.org/abs/2310.12508"
    touches = frozenset({"retain", "forget images", "forget labels"})


class Params(TrainedParams, Prepare):
    """SalUn, saliency unlearning (Fan et al., ICLR 2024): random labels on weights salient for D_f.

    The saliency of a weight is the absolute gradient of the summed loss on the forget set. The
    fraction `ratio` of all weights with the largest saliency, over all layers together, is trained
    like RL: new random labels in every epoch, forget and retained examples shuffled together. All
    other weights stay unchanged.

    Formula: RL's step times a mask: 1 on the top `ratio` of |grad CE(D_f)| at w0, else 0.
    """

    published = {
        "paper": {"epochs": 20, "lr": Between(1e-3, 0.1), "ratio": Between(0.1, 0.9), **PAPER_SGD},
        "paper, SVHN": {"epochs": 10},
        "paper's code": {"ratio": 0.5, "labels": "any"},
        "Unlearn-Saliency": {**OPTML, "ratio": 0.5, "labels": "any"},
        "SFRon": {"epochs": 10, "lr": 7e-3, "batch_size": 128, "weight_decay": 5e-4, "ratio": 0.2},
        "RUM": {"epochs": 10, "lr": 0.1},
        "DEL's README": {"epochs": 10, "lr": 0.013, "ratio": 0.5},
        "NatMU, CIFAR-20": {"optimizer": "adamw", "epochs": 5, "lr": 1.7e-4},
    }

    epochs: Epochs = Field(20, ge=0, description="Passes over the examples; paper: 20.")
    lr: float = Field(0.01, ge=0, description="Paper tunes it in [1e-3, 1e-1].")
    ratio: float = Field(
        0.5,
        gt=0,
        le=1,
        description="Share of the weights that train; paper tunes it in [0.1, 0.9].",
    )
    labels: Literal["any", "wrong"] = Field(
        "any", description="Draw from all classes (public code), or from all but the true one."
    )
