"""Parameters of a model that is trained from scratch on a part of the forget set."""

from typing import ClassVar

from pydantic import Field

from collateral.contract.params import MethodParams, TrainingParams


class Params(TrainingParams, MethodParams):
    """A new model, trained on the retained examples and a share of the forget set.

    With a share of 1 it saw all of it, with 0 nothing. The examples of a smaller share are among
    those of a larger one. Other values than those of `base` make it another recipe.

    Formula: min CE(D_r + a share of D_f).
    """

    label: ClassVar[str] = "Trained"
    touches: ClassVar[frozenset[str]] = frozenset({"retain", "forget images", "forget labels"})
    starts_anew: ClassVar[bool] = True
    made_by: ClassVar[str] = "trust"

    model: str = Field(description="Name of the architecture of the model.")
    share: float = Field(1.0, ge=0, le=1, description="Share of the forget set to train on.")
