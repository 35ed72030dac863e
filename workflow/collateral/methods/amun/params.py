"""Parameters of adversarial machine unlearning."""

from typing import Literal

from pydantic import Field

from collateral.contract.params import (
    PAPER_SGD,
    Between,
    Epochs,
    MethodParams,
    TrainedParams,
    Whole,
)
from collateral.contract.work import Sizes, Work, training_work


class Prepare(MethodParams):
    """Parameters of the attack on the forget images; distances are L2, pixels are in [0, 1]."""

    label = "AMUN"
    paper = "https://arxiv.org/abs/2503.00917"
    touches = frozenset({"retain", "forget images", "forget labels"})

    epsilon0: float = Field(
        0.04, gt=0, description="First radius; public code: 0.04, the paper's port of it: 0.01."
    )
    median_after: Whole | None = Field(
        None,
        ge=1,
        description="Where given, only so many of the images, the first, start at epsilon0, and "
        "all others at the median of their radii, as in the paper's port: 50, epsilon0 0.01.",
    )
    max_epsilon: float = Field(
        10.24,
        gt=0,
        description="No larger radius is tried; our choice, 8 doublings: public code has no end.",
    )
    steps: Whole = Field(50, ge=1, description="Most steps at one radius; public code: 50.")
    step_share: float = Field(
        0.1, gt=0, le=1, description="Length of a step as a share of the radius; public code: 0.1."
    )
    give_up: bool = Field(
        True,
        description="Double the radius as soon as the last step's gain, repeated in all steps "
        "left, would not flip the prediction; false: after all steps, as public code.",
    )

    def prepare_work(self, sizes: Sizes) -> Work:
        """Return the amount of computation of the attack: `steps` gradients per forget example."""
        return training_work(self.steps * sizes.forget)

    def prepared_numbers(self, sizes: Sizes) -> int:
        """Return the number of stored floats: one adversarial image per forget example."""
        return sizes.forget * sizes.pixels


class Params(TrainedParams, Prepare):
    """AMUN (Ebrahimpour-Boroojeny et al., ICML 2025): train on close adversarial examples.

    Each forget image is perturbed until the model misclassifies it, and is then trained with that
    wrong label. `standard` also trains on the forget set with its true labels, `advonly` does not.
    Weight decay is the paper's; its code has 5e-4, and divides the rate by ten every 5 epochs.

    Formula: min CE over D_r, D_f and D_adv = {(x + d, y')}: x of D_f, d short, y' = argmax p0(x +
    d) != y.
    """

    published = {
        "paper": {"epochs": 20, "lr": Between(1e-3, 0.1), "variant": ["standard", "advonly"]}
        | {**PAPER_SGD},
        "paper, SVHN": {"epochs": 10},
        "paper's code": {"epochs": 20, "lr": 0.05, "lr_decay_epochs": 5, "weight_decay": 5e-4}
        | {"batch_size": 256, "variant": "advonly", "epsilon0": 0.01, "median_after": 50}
        | {"steps": 50, "step_share": 0.1, "give_up": False},
        "AMUN": {"epochs": 10, "lr": 0.01, "lr_decay_epochs": [1, 5, 10], "weight_decay": 5e-4}
        | {"batch_size": 128, "variant": "standard", "epsilon0": 0.04}
        | {"steps": 50, "step_share": 0.1, "give_up": False},
    }

    variant: Literal["standard", "advonly"] = Field(
        "standard", description="Paper evaluates both; its port's default is `advonly`."
    )
    epochs: Epochs = Field(20, ge=0, description="Passes over all examples; paper: 20.")
    lr: float = Field(0.01, ge=0, description="Paper tunes it in [1e-3, 1e-1].")
    lr_decay_epochs: Whole | None = Field(
        None, ge=1, description="Divide the rate by ten every so many epochs; paper states none."
    )
