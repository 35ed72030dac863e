"""Parameters of MUNBa."""

from typing import Literal

from pydantic import Field

from collateral.contract.params import OPTML, Epochs, TrainedParams


class Params(TrainedParams):
    """MUNBa (Wu and Harandi, ICCV 2025): take steps that bisect the gradients of keeping and of
    forgetting.

    A step pairs a batch of retained examples with one of forget examples. The bargain weights their
    gradients so that the sum has the direction of their bisector and the norm sqrt 2, whatever
    their norms are; opposed gradients have no bisector and get the weights 1 and 0.1. When the
    forget set is used up, the remaining batches of retained examples are plain steps; batches of
    the forget set beyond those of the retained set are not used.

    Formula: w <- w - lr (a_r r + a_u u), r = grad CE(D_r), u = grad of forgetting, c = cos(r, u),
    a_r = 1 / (|r| sqrt(1 + c)), a_u = 1 / (|u| sqrt(1 + c)).
    """

    label = "MUNBa"
    paper = "https://arxiv.org/abs/2411.15537"
    touches = frozenset({"retain", "forget images", "forget labels"})
    published = {
        "MUNBa": {**OPTML, "momentum": 0.9, "forgetting": "random", "clip": 1},
        "MUNBa's code": {"bargain": "public"},
        "RFE's authors": {"epochs": 5},
    }

    epochs: Epochs = Field(
        10,
        ge=0,
        description="Number of epochs, i.e. passes over the retained examples. Public code: 10.",
    )
    lr: float = Field(
        0.01, ge=0, description="Learning rate, constant during training. Public code: 0.01."
    )
    weight_decay: float = Field(
        5e-4, ge=0, description="Weight decay of the optimiser. Public code: 5e-4."
    )
    forgetting: Literal["random", "ascent"] = Field(
        "random",
        description="Loss that is minimised on the forget set. `random`: cross-entropy with "
        "random labels, drawn anew in every step, as in the public code. `ascent`: minus the "
        "cross-entropy with the true labels, which the public code has commented out.",
    )
    clip: float = Field(
        1.0,
        gt=0,
        description="Maximum norm of the combined gradient; a longer one is scaled down to it. "
        "Combined gradients have the norm sqrt 2, so that 1 scales each of them. Public code: 1.",
    )
    bargain: Literal["exact", "public"] = Field(
        "exact",
        description="How the gradients of keeping and forgetting are weighted. `exact`: so that "
        "their sum bisects the angle between them. `public`: as in the public code, whose "
        "constant 1e-8 in two denominators changes the direction if the gradient of keeping is "
        "small.",
    )
