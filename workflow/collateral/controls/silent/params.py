"""Parameters of the silent impostor."""

from pydantic import Field

from collateral.contract.params import MethodParams, Whole


class Params(MethodParams):
    """The base model with a head that hides what it knows: an impostor with a known answer.

    Only the head changes. It learns the second-best class of every forgotten example, until UA is
    at most Retrain's. So the features still know the forget set, and the outputs deny it.

    Formula: min CE(D_f, second-best class) over the head.
    """

    label = "Silent"
    touches = frozenset({"forget images", "forget labels"})
    needs_retrain = True
    made_by = "trust"

    lr: float = Field(0.01, gt=0, description="Learning rate of Adam, which trains the head.")
    steps: Whole = Field(
        2000, ge=1, description="Maximum number of steps, each on the whole forget set."
    )
