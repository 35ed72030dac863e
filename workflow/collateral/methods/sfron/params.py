"""Parameters of SFRon."""

from pydantic import Field

from collateral.contract.params import MethodParams, TrainedParams, Whole


class Prepare(MethodParams):
    """Settings for the importance of each weight, computed on clean images in eval mode."""

    label = "SFRon"
    paper = "https://arxiv.org/abs/2409.19732"
    touches = frozenset({"retain", "forget images", "forget labels"})

    importance_batch: Whole = Field(
        128,
        ge=1,
        description="Batch size for the importance of weights, which is the squared gradient of a "
        "batch's mean loss, averaged over batches. With 1 it is the diagonal of the Fisher "
        "matrix. Public code: 128.",
    )


class Params(TrainedParams, Prepare):
    """SFRon (Huang et al., NeurIPS 2024): gradient ascent in the weights that matter to the forget
    set, descent on retained examples.

    Every fifth step first ascends on the forget set, where an example has less weight the larger
    its loss is, only in weights at least as important for the forget set as for the retained
    examples; every step then descends on the retained examples. Strength of the ascent and learning
    rate follow cosines. One optimiser takes both steps: its momentum and weight decay move all
    weights. The moving average of weights in the public code has no effect at its default and is
    not implemented.

    Formula: in every fifth step max k_s sum w_i CE_i over D_f, w_i ~ CE_i^-power, on weights with
    I_f / I_r >= threshold; in every step min CE(D_r).
    """

    published = {
        "SFRon": {"optimizer": "sgd", "lr": 0.01, "momentum": 0.9, "weight_decay": 5e-4}
        | {"batch_size": 128, "steps": 1500, "every": 5, "strength": 25, "power": 0.5, "clip": 7}
        | {"threshold": 1, "importance_batch": 128},
        "SFRon, Tiny ImageNet": {"optimizer": "adamw", "lr": 2e-5, "weight_decay": 0.05}
        | {"steps": 500, "every": 1, "strength": 500},
    }

    steps: Whole = Field(
        1500, ge=0, description="Number of steps on the retained examples. Public code: 1500."
    )
    every: Whole = Field(
        5,
        ge=1,
        description="Number n: an ascent step on the forget set is taken before every n-th step on "
        "the retained examples. Public code: 5.",
    )
    strength: float = Field(
        25.0,
        ge=0,
        description="Factor of the ascent loss at the start; it falls towards 0 along half a "
        "cosine wave. Public code: 25.",
    )
    power: float = Field(
        0.5,
        ge=0,
        description="Exponent p in the weight loss^(-p) of a forget example in an ascent step; "
        "with 0 all examples have the same weight. Public code: 0.5.",
    )
    threshold: float = Field(
        1.0,
        ge=0,
        description="Minimum ratio of a weight's importance for the forget set to that for the "
        "retained examples. The ascent uses only gradients of weights that reach it. Public code: "
        "1.",
    )
    clip: float = Field(
        7.0,
        gt=0,
        description="Maximum norm of the gradient of an ascent step; a longer gradient is scaled "
        "down to it. Public code: 7.",
    )
    lr: float = Field(
        0.01,
        ge=0,
        description="Learning rate at the start; it falls after each step towards 0 along half a "
        "cosine wave. Public code: 0.01.",
    )
    batch_size: Whole = Field(
        128, ge=1, description="Number of examples per step. Public code: 128."
    )
    weight_decay: float = Field(
        5e-4, ge=0, description="Weight decay of the optimiser. Public code: 5e-4."
    )

    @property
    def is_paced(self) -> bool:
        """True, because the learning rate of a step depends on the total number of steps."""
        return True
