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
        0.04,
        gt=0,
        description="Radius at which the adversarial attack on a forget image starts (L2 distance, "
        "for pixel values from 0 to 1). It is doubled until the image is misclassified. AMUN's "
        "authors: 0.04; code of Dolgova and Stich: 0.01.",
    )
    median_after: Whole | None = Field(
        None,
        ge=1,
        description="Number n of forget images. The attack on the first n images starts at the "
        "radius `epsilon0`; on all others, it starts at the median of the radii that the first n "
        "needed. Default: all start at `epsilon0`. Paper's code (Dolgova and Stich): 50, with an "
        "`epsilon0` of 0.01.",
    )
    max_epsilon: float = Field(
        10.24,
        gt=0,
        description="Maximum radius of the adversarial attack on a forget image (L2 distance, for "
        "pixel values from 0 to 1). Images that are still classified correctly are not used as "
        "adversarial examples. Ours: 10.24, eight doublings of 0.04; the code of AMUN's authors "
        "has no maximum.",
    )
    steps: Whole = Field(
        50,
        ge=1,
        description="Maximum number of steps in which an adversarial attack searches, within one "
        "radius of a forget image, for a changed image that the model misclassifies. If "
        "it finds none, the radius is doubled. Public code: 50.",
    )
    step_share: float = Field(
        0.1,
        gt=0,
        le=1,
        description="Length of an attack step, as a share of the radius. Public code: 0.1.",
    )
    give_up: bool = Field(
        True,
        description="Whether the radius of the attack is doubled early: as soon as all remaining "
        "steps together would not change the prediction if each gained as much as the last one. "
        "false: it is doubled only after all `steps`, as in the public code.",
    )

    def prepare_work(self, sizes: Sizes) -> Work:
        """Return the amount of computation of the attack: `steps` gradients per forget example."""
        return training_work(self.steps * sizes.forget)

    def prepared_numbers(self, sizes: Sizes) -> int:
        """Return the number of stored floats: one adversarial image per forget example."""
        return sizes.forget * sizes.pixels


class Params(TrainedParams, Prepare):
    """AMUN (Ebrahimpour-Boroojeny et al., ICML 2025): train on adversarial versions of the forget
    images, with wrong labels.

    Each forget image is perturbed until the model misclassifies it, and is then trained with that
    wrong label. `standard` also trains on the forget set with its true labels, `advonly` does not.

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
        "standard",
        description="What the model is trained on. `standard`: the retained examples, the "
        "adversarial examples, and the forget set with its true labels. `advonly`: the same "
        "without the forget set. The paper evaluates both; its code uses `advonly`.",
    )
    epochs: Epochs = Field(
        20,
        ge=0,
        description="Number of epochs, i.e. passes over all training examples of the method: "
        "adversarial versions of the forget images, the retained examples, and, with "
        "`variant: standard`, the forget set. Paper: 20.",
    )
    lr: float = Field(
        0.01, ge=0, description="Learning rate at the start. Paper: tuned in [1e-3, 1e-1]."
    )
    lr_decay_epochs: Whole | None = Field(
        None,
        ge=1,
        description="Number n of epochs: after every n epochs, the learning rate is divided by "
        "ten. Default: it stays constant, because the paper states no decay.",
    )
