"""Parameters of neighbour labels."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from collateral.contract.distillation import Count, StudentParams, count_or
from collateral.contract.params import MethodParams, Whole
from collateral.contract.work import Sizes, Work, looking


class Prepare(MethodParams):
    """How many neighbours there are, and among which examples."""

    label: ClassVar[str] = "Neighbor"
    touches: ClassVar[frozenset[str]] = frozenset({"retain", "forget images"})

    k: Whole = Field(
        1000, ge=1, description="Neighbours of an example, at most all; paper: 500 and 1000."
    )
    within: Literal["retain", "support"] = Field(
        "retain",
        description="Search all retained examples, or only the k most similar to D_f as a whole "
        "(public code), which are then the neighbours of every example alike.",
    )

    def asked_of_retained(self) -> dict[str, int]:
        """Return k."""
        return {"k": self.k}

    def prepare_work(self, sizes: Sizes) -> Work:
        """Count the embedding of everything."""
        return looking(sizes.examples)

    def prepared_numbers(self, sizes: Sizes) -> int:
        """Count the soft labels."""
        return sizes.forget * sizes.classes


class Params(StudentParams, Prepare):
    """Neighbor (the paper, appendix C.3): LTD's objective with labels of neighbours, no teacher.

    A forget example's soft label is the share of every class among its k nearest retained
    examples. `within: support` follows the public code, whose search has as many candidates as it
    has neighbours to find: all forget examples get one and the same soft label.
    """

    top: Annotated[Count | Literal["all"], count_or("all")] = Field(
        "all", description="Classes that a soft label keeps; paper: the whole histogram."
    )
