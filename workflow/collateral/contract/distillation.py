"""Parameters of distillation on the forget set, which LTD, neighbor and `ideal` share."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from collateral.contract.params import Epochs, WarmedParams, Whole

Count = Annotated[Whole, Field(ge=1)]


def count_or(word: str) -> BeforeValidator:
    """Return a validator that takes a whole number from 1, or `word`."""

    def check(value: Any) -> Any:
        is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        if not is_count and value != word:
            raise ValueError(f"should be a whole number from 1, or {word}")
        return value

    return BeforeValidator(check)


class StudentParams(WarmedParams):
    """How the base model learns soft labels on the forget set beside the retained examples."""

    epochs: Epochs = Field(20, ge=0, description="Passes over all examples; paper: 20, SVHN: 10.")
    lr: float = Field(1e-4, ge=0, description="Paper tunes it in [1e-6, 1e-3]; SVHN: 1e-4.")
    optimizer: Literal["sgd", "adam", "adamw"] = Field("adamw", description="Paper: AdamW.")
    beta: float = Field(
        2.0, ge=0, description="Weight of the forget set's loss; paper: 2, of [1, 5]; SVHN: 3."
    )
    top: Annotated[Count | Literal["all"], count_or("all")] = Field(
        3, description="Classes that a soft label keeps, renormalised; paper: 3."
    )
