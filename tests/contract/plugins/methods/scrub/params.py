"""Parameters of SCRUB."""

from typing import ClassVar, Literal

from pydantic import Field

from collateral.contract.params import TrainedParams
from collateral.contract.work import Sizes, Work, training


class Params(TrainedParams):
    """SCRUB (Kurmanji et al., NeurIPS 2023): leave a teacher on the forget set, elsewhere stay.

    The teacher is the base model. Defaults: small_scale_unlearning.ipynb of the public code.
    """

    label: ClassVar[str] = "SCRUB"
    touches: ClassVar[frozenset[str]] = frozenset({"retain", "forget images"})

    epochs: int = Field(10, ge=0, description="Passes over the retained examples.")
    max_epochs: int = Field(3, ge=0, description="First epochs, with a pass over the forget set.")
    lr: float = Field(5e-4, ge=0, description="Learning rate of the first epochs.")
    decay_after: tuple[int, ...] = Field((5, 8, 9), description="Epochs done, for a tenth of it.")
    optimizer: Literal["sgd", "adam", "adamw"] = Field("adam", description="Adam.")
    weight_decay: float = Field(0.1, ge=0, description="Of all weights.")
    batch_size: int = Field(32, ge=1, description="Retained examples a step.")
    forget_batch_size: int = Field(64, ge=1, description="Forget examples a step.")
    temperature: float = Field(2.0, gt=0, description="Of both models' predictions.")
    gamma: float = Field(1.0, ge=0, description="Weight of the retained examples' labels.")
    alpha: float = Field(0.5, ge=0, description="Weight of the teacher on retained examples.")

    def unlearn_work(self, sizes: Sizes) -> Work:
        """Count a pass over the forget set in the first epochs alone."""
        first = min(self.max_epochs, self.epochs)
        return training(self.epochs * sizes.retain + first * sizes.forget)
