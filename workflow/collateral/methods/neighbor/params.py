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
    touches = frozenset({"retain", "forget images"})

    k: Whole = Field(
        1000, ge=1, description="Neighbours of an example, at most all; paper: 500 and 1000."
    )
    within: Literal["retain", "support"] = Field(
        "retain",
        description="Search all retained examples, or only those that are most similar to D_f as a "
        "whole (public code).",
    )
    candidates: Whole | None = Field(
        None,
        ge=1,
        description="How many `within: support` searches, k or more; null: k, which are then the "
        "neighbours of every example alike. Public code: set apart from k, 1000 if not given.",
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
    """Neighbor (the paper, appendix C.3): LTD's objective with labels of neighbours, no teacher.

    A forget example's soft label is the share of every class among its k nearest retained
    examples. `within: support` follows the public code, which searches LTD's support; where that
    is no larger than k, all forget examples get one and the same soft label.

    Formula: LTD's, with q_c = share of class c among the k nearest retained examples.
    """

    published = {
        "paper": {"k": [500, 1000], "top": "all"},
        "paper, of LTD": {"epochs": 20, "lr": Between(1e-6, 1e-3), "optimizer": "adamw", "beta": 2},
        "paper's code": {**PAPER_CODE, "weight_decay": 1e-6, "beta": 2, "top": "all"}
        | {"within": "support", "candidates": 1000},
    }

    top: Count | Literal["all"] = Field(
        "all", description="Classes that a soft label keeps; paper: the whole histogram."
    )
