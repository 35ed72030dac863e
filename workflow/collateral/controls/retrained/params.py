"""Parameters of Retrain as a run; it has none."""

from collateral.contract.params import MethodParams


class Params(MethodParams):
    """Retrain of the same seed as a run, where Retrain of another seed is the reference.

    It never saw the forget set. The key `trust` makes it, to judge numbers.

    Formula: w = argmin CE(D_r).
    """

    label = "Retrained"
    touches = frozenset({"retain"})
    made_by = "trust"
