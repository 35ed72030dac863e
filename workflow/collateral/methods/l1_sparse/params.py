"""Parameters of l1-sparse unlearning."""

from typing import Literal

from pydantic import Field

from collateral.contract.params import OPTML, Epochs, TrainedParams


class Params(TrainedParams):
    """L1-sparse (Jia et al., NeurIPS 2023): fine-tune on retained examples with an l1 penalty that
    falls to zero.

    The penalty includes the weights of batch norm and the biases. The authors' gamma is not known,
    because the default in their code belongs to another method: it has to be tuned.

    Formula: min CE(D_r) + gamma_e |w|_1, in epoch e of E gamma_e = gamma (1 - e / (E -
    plain_epochs)).
    """

    label = "L1-sparse"
    paper = "https://arxiv.org/abs/2304.04934"
    touches = frozenset({"retain"})
    published = {
        "Unlearn-Sparse": {**OPTML, "momentum": 0.9, "plain_epochs": 0, "schedule": "linear"},
        "torchunlearn": {"gamma": 1e-5, "schedule": "constant"},
        "RFE": {"gamma": 5e-4, "lr": 1e-3},
        "RUM": {"epochs": 10, "lr": 0.01},
        "DEL": {"epochs": 30, "lr": 0.015, "gamma": 7e-5, "schedule": "linear"}
        | {"weight_decay": 0, "batch_size": 128},
    }

    epochs: Epochs = Field(
        10,
        ge=0,
        description="Number of epochs, i.e. passes over the retained examples. Authors' code: 10.",
    )
    lr: float = Field(
        0.01, ge=0, description="Learning rate, constant during training. Authors' code: 0.01."
    )
    gamma: float = Field(
        5e-4,
        ge=0,
        description="Weight of the l1 penalty (the sum of the absolute values of all weights) in "
        "the first epoch; `schedule` says how it changes afterwards. The authors' value "
        "is not known; torchunlearn: 1e-5, RFE's authors: 5e-4 with a learning rate of "
        "1e-3.",
    )
    schedule: Literal["linear", "constant"] = Field(
        "linear",
        description="Schedule of gamma, the weight of the l1 penalty. `linear`: gamma (1 - e / (E "
        "- n)) in epoch e = 0, 1, ...; E is `epochs`, and n is `plain_epochs`, the number of "
        "final epochs without the penalty. `constant`: gamma stays the same in all epochs but the "
        "final n.",
    )
    plain_epochs: Epochs = Field(
        0, ge=0, description="Number of final epochs without the l1 penalty. Authors' code: 0."
    )
    weight_decay: float = Field(
        5e-4, ge=0, description="Weight decay of the optimiser. Authors' code: 5e-4."
    )

    @property
    def is_paced(self) -> bool:
        """Whether training in an epoch depends on the total number of epochs.

        It does with a linear `schedule`, and with `plain_epochs`, which are the last epochs.
        """
        return super().is_paced or self.plain_epochs > 0
