"""Parameters of NegGrad+."""

from typing import Literal

from pydantic import Field

from collateral.contract.params import Epochs, TrainedParams, Whole


class Params(TrainedParams):
    """NegGrad+ (Kurmanji et al., NeurIPS 2023): gradient descent on retained examples, gradient
    ascent on the forget set.

    A step's loss is alpha L_r - (1 - alpha) L_f, of a batch of each. Public versions differ in the
    mode: the authors' and DeepUnlearn's evaluate, which `batchnorm: frozen` is, RUM's trains.

    Formula: min alpha [CE(D_r) + proximal / 2 |w - w0|^2] - (1 - alpha) CE(D_f).
    """

    label = "NegGrad+"
    paper = "https://arxiv.org/abs/2302.09880"
    touches = frozenset({"retain", "forget images", "forget labels"})
    published = {
        "text": {"proximal": 0},
        "SCRUB's code": {"epochs": 10, "lr": 0.01, "alpha": 0.95, "proximal": 0.1, "momentum": 0}
        | {"batch_size": 128, "forget_batch_size": 64, "batchnorm": "frozen"},
        "DeepUnlearn": {"lr": 0.01, "alpha": 0.95, "proximal": 0, "momentum": 0.9}
        | {"batch_size": 256, "batchnorm": "frozen"},
        "RUM": {"lr": 0.01, "proximal": 0, "momentum": 0.9}
        | {"weight_decay": 5e-4, "batchnorm": "train"},
        "RUM, low memorisation": {"epochs": 5, "lr": 0.01, "alpha": 0.99},
        "RUM, middle": {"epochs": 5, "lr": 0.01, "alpha": 0.97},
        "RUM, high memorisation": {"epochs": 10, "lr": 1e-3, "alpha": 0.97},
        "DEL": {"alpha": 0.99, "weight_decay": 0},
    }

    epochs: Epochs = Field(
        10,
        ge=0,
        description="Number of epochs, i.e. passes over the retained examples. SCRUB's code: 10.",
    )
    lr: float = Field(
        0.01,
        ge=0,
        description="Learning rate, constant during training. SCRUB's code, DeepUnlearn and RUM: "
        "0.01.",
    )
    alpha: float = Field(
        0.95,
        ge=0,
        le=1,
        description="Weight of the loss on retained examples. The loss on forget examples is "
        "subtracted with the weight 1 - alpha, so that 1 is plain fine-tuning. SCRUB's code and "
        "DeepUnlearn: 0.95.",
    )
    proximal: float = Field(
        0.0,
        ge=0,
        description="Strength p of the penalty alpha p / 2 |w - w0|^2 on the distance from the "
        "base model's weights w0, with alpha as above. 0: no penalty, as in the "
        "publication. SCRUB's code: 0.1.",
    )
    batch_size: Whole = Field(
        128, ge=1, description="Number of retained examples per step. SCRUB's code: 128."
    )
    forget_batch_size: Whole = Field(
        64, ge=1, description="Number of forget examples per step. SCRUB's code: 64."
    )
    momentum: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="Momentum of SGD; Adam and AdamW ignore it. SCRUB's code: 0, DeepUnlearn and "
        "RUM: 0.9.",
    )
    weight_decay: float = Field(
        0.0,
        ge=0,
        description="Weight decay of the optimiser. RUM: 5e-4; the publication states none.",
    )
    batchnorm: Literal["train", "frozen"] = Field(
        "frozen",
        description="Statistics of batch norm during training. `train`: those of each batch, "
        "which also update the running statistics, as in published methods. `frozen`: the running "
        "statistics of the base model, which stay unchanged. SCRUB's code and DeepUnlearn: "
        "frozen; RUM: train.",
    )
