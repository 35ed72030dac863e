"""Parameters of rounding to int8; it has none."""

from collateral.contract.params import MethodParams


class Params(MethodParams):
    """A model whose weights are rounded to int8: an edit that a number should survive.

    Symmetric rounding per output channel; biases and batch norm stay.

    Formula: w = d round(w0 / d), d = max |w0| / 127 of each output channel.
    """

    label = "int8"
    touches = frozenset()
    made_by = "trust"
