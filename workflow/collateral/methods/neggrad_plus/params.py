"""Parameters of NegGrad+."""

from typing import Literal

from pydantic import Field

from collateral.contract.params import Epochs, TrainedParams, Whole


class Params(TrainedParams):
    """NegGrad+ (Kurmanji et al., NeurIPS 2023): descend on retained, ascend on forget examples.

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

    epochs: Epochs = Field(10, ge=0, description="Passes over the retained examples; SCRUB: 10.")
    lr: float = Field(0.01, ge=0, description="Learning rate, constant; all sources: 0.01.")
    alpha: float = Field(
        0.95, ge=0, le=1, description="Weight of the retained examples' loss; 1 is fine-tuning."
    )
    proximal: float = Field(
        0.0,
        ge=0,
        description="w of alpha w/2 |weights - base|^2, added to the loss; the text has no such "
        "term, SCRUB's code 0.1.",
    )
    batch_size: Whole = Field(128, ge=1, description="Retained examples a step; SCRUB: 128.")
    forget_batch_size: Whole = Field(64, ge=1, description="Forget examples a step; SCRUB: 64.")
    momentum: float = Field(0.0, ge=0, lt=1, description="Of SGD; SCRUB: none, others: 0.9.")
    weight_decay: float = Field(0.0, ge=0, description="The text has none; RUM: 5e-4.")
    batchnorm: Literal["train", "frozen"] = Field(
        "frozen", description="`frozen` as SCRUB and DeepUnlearn; `train` as RUM."
    )
