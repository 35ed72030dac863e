"""Parameters of fine-tuning."""

from pydantic import Field

from collateral.contract.params import OPTML, PAPER_CODE, PAPER_SGD, Between, Epochs, WarmedParams


class Params(WarmedParams):
    """FT, fine-tuning (Warnecke et al., NDSS 2023): train the base model on retained examples only.

    Formula: min CE(D_r).
    """

    label = "FT"
    paper = "https://arxiv.org/abs/2108.11577"
    touches = frozenset({"retain"})
    published = {
        "paper": {"epochs": 20, "lr": Between(1e-3, 0.1), **PAPER_SGD},
        "paper, SVHN": {"epochs": 10},
        "paper's code": PAPER_CODE,
        "Unlearn-Sparse": OPTML,
        "SFRon": {"epochs": 10, "lr": 0.01, "batch_size": 128, "weight_decay": 5e-4},
        "RUM": {"epochs": 10, "lr": 0.01},
        "DEL": {"epochs": Between(30, 50), "lr": 0.015, "weight_decay": 0},
        "DELETE's scripts, CIFAR-10": {"epochs": 20, "lr": 0.02, "batch_size": 128}
        | {"weight_decay": 0},
        "SSD's code": {"epochs": 5, "lr": 0.02, "momentum": 0.9, "weight_decay": 5e-4}
        | {"batch_size": [64, 128], "augment": False},
    }

    epochs: Epochs = Field(
        20, ge=0, description="Number of epochs, i.e. passes over the retained examples. Paper: 20."
    )
    lr: float = Field(
        0.01,
        ge=0,
        description="Learning rate, constant during training. Paper: tuned in [1e-3, 1e-1].",
    )
