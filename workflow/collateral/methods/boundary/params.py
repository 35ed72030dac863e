"""Parameters of boundary unlearning."""

from typing import Literal

from pydantic import Field

from collateral.contract.params import Epochs, TrainedParams
from collateral.contract.work import Sizes, Work, inference_work, training_work


class Params(TrainedParams):
    """Boundary unlearning (Chen et al., CVPR 2023): move the decision boundary of the forget set.

    `shrink`: each forgotten image trains with the base model's label of the same image after one
    step of the attack FGSM. `expand`: the forget set trains with the label of a new class, whose
    output is removed afterwards. No retained example is seen. It is made for whole classes.

    Formula: shrink: min CE(x, y') on D_f, y' = argmax f0(x + epsilon sign grad CE(x, y)) over the
    classes without y; expand: min CE(x, C + 1) on D_f, then without the output C + 1.
    """

    label = "Boundary"
    paper = "https://arxiv.org/abs/2303.11570"
    touches = frozenset({"forget images", "forget labels"})
    published = {
        "text": {"uncrossed": "nearest"},
        "authors' code": {"epochs": 10, "lr": 1e-5, "optimizer": "sgd", "momentum": 0.9}
        | {"weight_decay": 0, "epsilon": 0.1, "uncrossed": "true_class", "augment": False},
        "DELETE's scripts, CIFAR-10": {"epochs": 20, "lr": [5e-5, 8e-4], "batch_size": 128}
        | {"uncrossed": "true_class", "augment": True},
    }

    variant: Literal["shrink", "expand"] = Field(
        "shrink",
        description="Which of the two methods of the publication is used. `shrink`: train each "
        "forgotten image with the label that the base model predicts after an adversarial attack "
        "on the image. `expand`: train the forget set with the label of a new class, whose output "
        "is removed afterwards.",
    )
    epsilon: float = Field(
        0.1,
        gt=0,
        description="Number by which the attack of `variant: shrink` raises or lowers each pixel "
        "value, for pixel values from 0 to 1. Authors' code: 0.1.",
    )
    uncrossed: Literal["nearest", "true_class"] = Field(
        "nearest",
        description="Label with which `variant: shrink` trains a forgotten image that the base "
        "model still classifies correctly after the attack. `nearest`: the wrong class with the "
        "highest probability, as the publication describes. `true_class`: the true class, which "
        "is then learned even better, as in the code of the authors.",
    )
    epochs: Epochs = Field(
        10,
        ge=0,
        description="Number of epochs, i.e. passes over the forget set. Authors' code: 10.",
    )
    lr: float = Field(
        1e-5, ge=0, description="Learning rate, constant during training. Authors' code: 1e-5."
    )
    weight_decay: float = Field(
        0.0, ge=0, description="Weight decay of the optimiser. Authors' code: 0."
    )
    augment: bool = Field(
        False,
        description="Whether training images are augmented by the random crops and flips of the "
        "data set. Authors' code: no.",
    )

    def unlearn_work(self, sizes: Sizes) -> Work:
        """Return the computation; `shrink` adds a gradient and a pass of the base model."""
        images = self.epochs * sizes.forget
        if self.variant == "expand":
            return training_work(images)
        return training_work(2 * images) + inference_work(images)
