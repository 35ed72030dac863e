"""Parameters of random labels."""

from typing import Literal

from pydantic import Field

from collateral.contract.params import (
    OPTML,
    PAPER_CODE,
    PAPER_SGD,
    Between,
    Epochs,
    WarmedParams,
    Whole,
)


class Params(WarmedParams):
    """RL, random labels (Warnecke et al., NDSS 2023): train the forget set on random labels.

    Labels are drawn once an epoch; forget and retained examples are shuffled together.
    The true labels of the forget set are read by `labels: wrong` alone.

    Formula: min CE over (x, y) of D_r and (x, y') of D_f, y' uniform over the classes, anew every
    epoch.
    """

    label = "RL"
    paper = "https://arxiv.org/abs/2108.11577"
    touches = frozenset({"retain", "forget images", "forget labels"})
    published = {
        "paper": {"epochs": 20, "lr": Between(1e-3, 0.1), **PAPER_SGD},
        "paper, SVHN": {"epochs": 10},
        "paper, MNIST": {"steps": 300, "lr": 5e-5, "weight_decay": 1e-6},
        "paper's code": {**PAPER_CODE, "labels": "any", "retain": True},
        "Unlearn-Saliency": {**OPTML, "labels": "any"},
        "SFRon": {"epochs": 10, "lr": 3e-3, "batch_size": 128, "weight_decay": 5e-4}
        | {"labels": "wrong"},
        "RUM": {"epochs": 10, "lr": 0.1},
        "SSD's code": {"optimizer": "adam", "epochs": 3, "lr": 1e-4, "batch_size": 128}
        | {"labels": "wrong", "augment": False},
        "DELETE's scripts, CIFAR-10": {"retain": False, "epochs": 20, "lr": 3e-4}
        | {"batch_size": 128, "weight_decay": 0},
        "NatMU, CIFAR-10": {"optimizer": "adamw", "epochs": 5, "lr": 1.8e-5}
        | {"batch_size": 128, "weight_decay": 4e-4},
        "NatMU, CIFAR-20": {"optimizer": "adamw", "epochs": 5, "lr": 1.8e-5}
        | {"batch_size": 128, "weight_decay": 3.7e-4},
    }

    epochs: Epochs = Field(
        20,
        ge=0,
        description="Number of epochs, i.e. passes over all examples that are trained on. Paper: "
        "20.",
    )
    steps: Whole | None = Field(
        None,
        ge=0,
        description="Number of steps to train, in place of `epochs`. Default: `epochs` is used. "
        "Paper, MNIST: 300.",
    )
    lr: float = Field(
        0.01,
        ge=0,
        description="Learning rate, constant during training. Paper: tuned in [1e-3, 1e-1].",
    )
    retain: bool = Field(
        True,
        description="Whether the model also trains on the retained examples, with their true "
        "labels.",
    )
    labels: Literal["any", "wrong"] = Field(
        "any",
        description="Classes from which random labels are drawn. `any`: all classes, as in public "
        "code. `wrong`: all classes except the true one.",
    )
