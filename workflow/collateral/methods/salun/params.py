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
    """SalUn, saliency unlearning (Fan et al., ICLR 2024): train the forget set on random labels,
    but change only the weights that matter most for it.

    The saliency of a weight is the absolute gradient of the summed loss on the forget set. The
    fraction `ratio` of all weights with the largest saliency, over all layers together, is trained
    like RL; all other weights stay unchanged.

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
        "NatMU, CIFAR-10": {"optimizer": "adamw", "epochs": 5, "lr": 5e-5, "weight_decay": 3e-4}
        | {"batch_size": 128, "ratio": 0.05},
        "NatMU, CIFAR-20": {"optimizer": "adamw", "epochs": 5, "lr": 1.7e-4, "weight_decay": 0}
        | {"batch_size": 128, "ratio": 0.01},
    }

    epochs: Epochs = Field(
        20,
        ge=0,
        description="Number of epochs, i.e. passes over retained and forget examples together. "
        "Paper: 20.",
    )
    lr: float = Field(
        0.01,
        ge=0,
        description="Learning rate, constant during training. Paper: tuned in [1e-3, 1e-1].",
    )
    ratio: float = Field(
        0.5,
        gt=0,
        le=1,
        description="Share of the weights that are trained, those with the largest saliency; all "
        "others keep their values. Paper: tuned in [0.1, 0.9].",
    )
    labels: Literal["any", "wrong"] = Field(
        "any",
        description="Classes from which random labels are drawn. `any`: all classes, as in public "
        "code. `wrong`: all classes except the true one.",
    )
