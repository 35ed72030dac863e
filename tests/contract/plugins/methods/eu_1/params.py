"""Parameters of EU-k with one layer."""

from typing import ClassVar

from pydantic import Field

from collateral.contract.params import TrainedParams


class Params(TrainedParams):
    """EU-k (Goel et al., 2022), k = 1: draw the last layer anew, train it on retained examples."""

    label: ClassVar[str] = "EU-1"
    touches: ClassVar[frozenset[str]] = frozenset({"retain"})
    starts_anew: ClassVar[bool] = True

    epochs: int = Field(5, ge=0, description="Passes over the retained examples.")
    lr: float = Field(0.05, ge=0, description="Learning rate.")
