"""Parameters of neighbour labels."""

from typing import Literal

from pydantic import Field, model_validator

from collateral.contract.params import (
    PAPER_CODE,
    Between,
    Count,
    MethodParams,
    StudentParams,
    Whole,
)
from collateral.contract.work import Sizes


class Prepare(MethodParams):
    """Parameters of the neighbours: their number, and the number of candidate examples."""

    label = "Neighbor"
    paper = "https://arxiv.org/abs/2605.31317"
    touches = frozenset({"retain", "forget images"})

    k: Whole = Field(
        1000,
        ge=1,
        description="Number of nearest retained examples whose labels form the soft label of a "
        "forget example; all candidates if there are fewer. Paper: 500 and 1000.",
    )
    within: Literal["retain", "support"] = Field(
        "retain",
        description="Where neighbours are searched. `retain`: among all retained examples. "
        "`support`: among those most similar to the forget set as a whole, as in the public code.",
    )
    candidates: Whole | None = Field(
        None,
        ge=1,
        description="Number of retained examples that `within: support` searches; it must be at "
        "least k. null: k, so that all forget examples have the same neighbours. Public code: "
        "1000 by default.",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> "Prepare":
        if self.candidates is not None and self.within != "support":
            raise ValueError("candidates goes with within: support alone")
        if self.candidates is not None and self.candidates < self.k:
            raise ValueError(f"candidates: {self.candidates} is fewer than k: {self.k}")
        return self

    def required_retained(self) -> dict[str, int]:
        """Return the required number of retained examples, by name of the parameter."""
        required = {"k": self.k, "candidates": self.candidates}
        return {key: count for key, count in required.items() if count is not None}

    def prepared_numbers(self, sizes: Sizes) -> int:
        """Return the number of stored floats: the soft labels."""
        return sizes.forget * sizes.classes


class Params(StudentParams, Prepare):
    """Neighbor (Dolgova and Stich, 2026, appendix C.3): soft labels are the class frequencies among
    the nearest retained examples.

    They take the place of LTD's teacher; the objective is that of LTD. `within: support` follows
    the public code, which searches LTD's support; if that is no larger than k, all forget examples
    get the same soft label.

    Formula: LTD's, with q_c = share of class c among the k nearest retained examples.
    """

    published = {
        "paper": {"k": [500, 1000], "top": "all"},
        "paper, of LTD": {"epochs": 20, "lr": Between(1e-6, 1e-3), "optimizer": "adamw", "beta": 2},
        "paper's code": {**PAPER_CODE, "weight_decay": 1e-6, "beta": 2, "top": "all"}
        | {"within": "support", "candidates": 1000},
    }

    top: Count | Literal["all"] = Field(
        "all",
        description="Number of classes that each soft label keeps: those with the largest "
        "probabilities, rescaled to sum to 1. `all`: every class. Paper: all.",
    )
