"""Parameters of the damaged impostor."""

from pydantic import Field

from collateral.contract.params import MethodParams


class Params(MethodParams):
    """A model with noise in all weights: an impostor with a known answer.

    The edit does not know the forget set, so it cannot remove the forget set alone. The damaged
    base model still knows it; a damaged Retrain never did.

    Formula: w = w0 + noise * sd(w0) * N(0, 1), for each weight tensor.
    """

    label = "Damaged"
    touches = frozenset()
    made_by = "trust"

    noise: float = Field(
        0.1,
        ge=0,
        description="Standard deviation of the noise that is added to the weights, as a multiple "
        "of the standard deviation of each weight tensor.",
    )
