"""Parameters of gradient ascent."""

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
    """GA, gradient ascent (Thudi et al., EuroS&P 2022): raise the loss on the forget set.

    With fewer forget examples than `batch_size`, an epoch is one step. In train mode, much of the
    damage comes from batch norm statistics that drift to the forgotten class: see `batchnorm:
    frozen`.

    Formula: w <- w + lr grad CE(D_f).
    """

    label = "GA"
    paper = "https://arxiv.org/abs/2109.13398"
    touches = frozenset({"forget images", "forget labels"})
    published = {
        "paper": {"epochs": 5, "lr": Between(1e-6, 1e-2), **PAPER_SGD},
        "paper, SVHN": {"epochs": 10},
        "paper, MNIST": {"steps": 120, "lr": 5e-5, "weight_decay": 1e-6},
        "paper's code": PAPER_CODE,
        "Unlearn-Sparse": {**OPTML, "epochs": 5, "lr": 1e-4},
        "SFRon": {"epochs": 9, "lr": 1e-4, "batch_size": 128, "weight_decay": 5e-4},
        "RUM": {"epochs": 5, "lr": 1e-4},
        "DELETE's scripts, CIFAR-10": {"epochs": 20, "lr": 1e-5, "batch_size": 128}
        | {"weight_decay": 0},
    }

    epochs: Epochs = Field(
        5, ge=0, description="Number of epochs, i.e. passes over the forget set. Paper: 5."
    )
    steps: Whole | None = Field(
        None,
        ge=0,
        description="Number of steps to train, in place of `epochs`. Default: `epochs` is used. "
        "Paper, MNIST: 120.",
    )
    lr: float = Field(
        1e-4,
        ge=0,
        description="Learning rate, constant during training. Paper: tuned in [1e-6, 1e-2].",
    )
