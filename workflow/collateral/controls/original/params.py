"""Parameters of Original, the unchanged base model; it has no parameters."""

from collateral.contract.params import MethodParams


class Params(MethodParams):
    """The unchanged base model, which forgets nothing.

    Formula: w = w0.
    """

    label = "Original"
    touches = frozenset()
