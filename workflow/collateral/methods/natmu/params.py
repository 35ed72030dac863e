"""Parameters of NatMU."""

from typing import Literal

from pydantic import Field

from collateral.contract.params import Epochs, MethodParams, TrainedParams, Whole
from collateral.contract.work import Sizes


class Prepare(MethodParams):
    """Parameters of the blends of forget images with retained images."""

    label = "NatMU"
    paper = "https://arxiv.org/abs/2405.15495"
    touches = frozenset({"retain", "forget images", "forget labels"})

    blends: Whole = Field(
        4,
        ge=1,
        le=4,
        description="Number of blends per forget image, each with an image of another wrong "
        "class; at most one per wrong class. Public code: 4.",
    )
    delta: float = Field(
        -0.03,
        ge=-1,
        le=1,
        description="Number added to the weight of the forget image in every pixel of a blend; "
        "the lower it is, the less of the forget image remains. Public code: -0.03 on CIFAR-100, "
        "-0.19 on CIFAR-10, 0.045 on Tiny ImageNet.",
    )

    def count_blends(self, sizes: Sizes) -> int:
        """Return the number of blends, assuming that no class runs out of retained images."""
        return min(self.blends, sizes.classes - 1) * sizes.forget

    def prepared_numbers(self, sizes: Sizes) -> int:
        """Return the size of all blends in floats; four uint8 pixels have the size of a float."""
        return self.count_blends(sizes) * sizes.pixels // 4


class Params(TrainedParams, Prepare):
    """NatMU, natural unlearning (He et al., 2024): train on forget images blended with images of
    other classes, with the labels of those.

    A forget image is blended with a retained image of each of the most likely wrong classes, by a
    mask that rises or falls from the edges, and gets the label of the retained image. No retained
    image is used twice; if a class has none left, the next most likely class takes its place, and
    if no class has, there are fewer blends. Public code needs five classes and squares of 32 or 64
    pixels; here any number and size are allowed.

    Formula: min CE over D_r and blends (M x_f + (1 - M) x_r, y_r).
    """

    published = {
        "NatMU": {"optimizer": "adamw", "epochs": 5, "batch_size": 128, "blends": 4}
        | {"augment": True, "delta": -0.03, "lr": 1.1e-3, "weight_decay": 5e-4},
        "NatMU, CIFAR-10": {"delta": -0.19, "lr": 1e-3, "weight_decay": 0.002},
        "NatMU, Tiny ImageNet": {"delta": 0.045, "lr": 8.3e-4, "weight_decay": 7e-5}
        | {"batch_size": 256},
        "NatMU, CIFAR-20": {"delta": -0.053, "lr": 9e-4, "weight_decay": 3.7e-4},
    }

    epochs: Epochs = Field(
        5,
        ge=0,
        description="Number of epochs, i.e. passes over the retained examples and the blends "
        "(forget images mixed with retained images). Public code: 5.",
    )
    lr: float = Field(
        1.1e-3,
        ge=0,
        description="Learning rate at the start; it falls after each step towards 0 along half a "
        "cosine wave. Public code: 1.1e-3 on CIFAR-100.",
    )
    optimizer: Literal["sgd", "adam", "adamw"] = Field(
        "adamw", description="Optimiser that trains the model. Public code: AdamW."
    )
    batch_size: Whole = Field(
        128, ge=1, description="Number of examples per step. Public code: 128."
    )
    weight_decay: float = Field(
        5e-4, ge=0, description="Weight decay of the optimiser. Public code: 5e-4 on CIFAR-100."
    )

    @property
    def is_paced(self) -> bool:
        """True, because the learning rate of an epoch depends on the total number of epochs."""
        return True
