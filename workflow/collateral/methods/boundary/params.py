"""Parameters of boundary unlearning."""

from typing import Literal

from pydantic import Field

from collateral.contract.params import Epochs, TrainedParams
from collateral.contract.work import Sizes, Work, inference_work, training_work


class Params(TrainedParams):
    """Boundary unlearning (Chen et al., CVPR 2023): move the decision boundary of the forget set.

    `shrink`: each forgotten image trains with the label that the base model gives to the same image
    after one step of the attack FGSM. `expand`: the forget set trains with the label of a new
    class, whose output is removed afterwards. No retained example is seen. It is made for whole
    classes.

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
    }

    variant: Literal["shrink", "expand"] = Field(
        "shrink", description="Which boundary unlearning; the paper has both."
    )
    epsilon: float = Field(
        0.1, gt=0, description="Of `shrink`: step of the attack, of pixels in [0, 1]; authors: 0.1."
    )
    uncrossed: Literal["nearest", "true_class"] = Field(
        "nearest",
        description="Of `shrink`: label of an image whose attack fails. `nearest`: its likeliest "
        "wrong class (text); `true_class`: its own, which is then learned better (public code).",
    )
    epochs: Epochs = Field(10, ge=0, description="Passes over the forget set; authors: 10.")
    lr: float = Field(1e-5, ge=0, description="Learning rate, constant; authors: 1e-5.")
    weight_decay: float = Field(0.0, ge=0, description="Authors: 0.")
    augment: bool = Field(False, description="Augment as the data set does; authors: no.")

    def unlearn_work(self, sizes: Sizes) -> Work:
        """Return the computation; `shrink` adds a gradient and a pass of the base model."""
        images = self.epochs * sizes.forget
        if self.variant == "expand":
            return training_work(images)
        return training_work(2 * images) + inference_work(images)
