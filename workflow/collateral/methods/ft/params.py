"""Parameters of fine-tuning."""

from typing import ClassVar

from pydantic import Field

from collateral.contract.params import Epochs, WarmedParams


class Params(WarmedParams):
    """FT, fine-tuning (Warnecke et al., NDSS 2023): train on, on the retained examples alone."""

    label: ClassVar[str] = "FT"
    touches: ClassVar[frozenset[str]] = frozenset({"retain"})

    epochs: Epochs = Field(20, ge=0, description="Passes over the retained examples; paper: 20.")
    lr: float = Field(0.01, ge=0, description="Paper tunes it in [1e-3, 1e-1].")
