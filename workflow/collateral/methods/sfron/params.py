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
        description="Importance is the mean over batches of so many of the squared gradient of "
        "the mean loss; public code: 128. 1 is the diagonal of the Fisher matrix.",
    )


class Params(TrainedParams, Prepare):
    """SFRon (Huang et al., NeurIPS 2024): ascend where weights matter to D_f, repair on D_r.

    Every fifth step first ascends on the forget set, in which an example has less weight the
    larger its loss is, and only in weights that are at least as important for the forget set as
    for the retained examples; every step then descends on the retained examples. Strength of the
    ascent and learning rate follow cosines. One optimiser takes both steps: its momentum and weight
    decay move all weights. The moving average of weights in the public code has no effect at its
    default and is not implemented.

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
        1500, ge=0, description="Steps on the retained examples; public code: 1500."
    )
    every: Whole = Field(5, ge=1, description="Steps from one climb to the next; public code: 5.")
    strength: float = Field(25.0, ge=0, description="Of the climb, at first; public code: 25.")
    power: float = Field(
        0.5, ge=0, description="An example's weight is its loss to minus this; public code: 0.5."
    )
    threshold: float = Field(
        1.0, ge=0, description="Least ratio of importances of weights that climb; public code: 1."
    )
    clip: float = Field(7.0, gt=0, description="Longest gradient of a climb; public code: 7.")
    lr: float = Field(0.01, ge=0, description="First rate; public code: 0.01.")
    batch_size: Whole = Field(128, ge=1, description="Examples a step; public code: 128.")
    weight_decay: float = Field(5e-4, ge=0, description="Public code: 5e-4.")

    @property
    def is_paced(self) -> bool:
        """True, because the learning rate of a step depends on the total number of steps."""
        return True
