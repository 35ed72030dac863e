"""Parameters of unlearning by a bad teacher."""

from typing import Literal

from pydantic import Field

from collateral.contract.params import Epochs, TrainedParams


class Params(TrainedParams):
    """Bad Teacher (Chundawat et al., AAAI 2023): learn an untrained network's predictions on the
    forget set.

    At the same time, the base model is distilled on a share of the retained examples, drawn once.
    No label is read. Defaults are those of the authors' notebook that forgets a fine class of
    CIFAR-100, with the 20 coarse classes as labels.

    Formula: min mean of KL(p_untrained, p) over D_f and KL(p0, p) over a share of D_r.
    """

    label = "Bad Teacher"
    paper = "https://arxiv.org/abs/2205.08096"
    touches = frozenset({"retain", "forget images"})
    published = {
        "SSD's code": {"epochs": 1, "optimizer": "adam", "lr": 1e-4, "batch_size": 256}
        | {"share": 0.3, "temperature": 1, "augment": False, "batchnorm": "train"},
        "SFRon": {"epochs": 10, "optimizer": "sgd", "lr": 0.02, "batch_size": 128},
        "NatMU, CIFAR-10": {"optimizer": "adamw", "epochs": 5, "lr": 5e-5, "temperature": 7.2}
        | {"batch_size": 128, "weight_decay": 9e-4},
        "NatMU, CIFAR-20": {"optimizer": "adamw", "epochs": 5, "lr": 7.4e-5, "temperature": 0.72}
        | {"batch_size": 128, "weight_decay": 0},
    }

    epochs: Epochs = Field(
        1,
        ge=0,
        description="Number of epochs, i.e. passes over the forget set and over the random part of "
        "the retained examples that `share` sets. SSD's code: 1.",
    )
    lr: float = Field(
        1e-4, ge=0, description="Learning rate, constant during training. SSD's code: 1e-4."
    )
    share: float = Field(
        0.3,
        ge=0,
        le=1,
        description="Share of the retained examples on which the base model is distilled; they "
        "are drawn once. SSD's code: 0.3.",
    )
    temperature: float = Field(
        1.0,
        gt=0,
        description="Temperature of the softmax of the student and of its two teachers, which are "
        "the base model and an untrained network. SSD's code: 1.",
    )
    optimizer: Literal["sgd", "adam", "adamw"] = Field(
        "adam", description="Optimiser that trains the model. SSD's code: Adam."
    )
    weight_decay: float = Field(
        0.0, ge=0, description="Weight decay of the optimiser. NatMU: 0 or 9e-4."
    )
    augment: bool = Field(
        False,
        description="Whether training images are augmented by the random crops and flips of the "
        "data set. SSD's code: no.",
    )
