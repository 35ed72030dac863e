"""Parameters of one more epoch on retained examples."""

from typing import ClassVar

from collateral.contract.params import MethodParams, TrainingParams


class Params(TrainingParams, MethodParams):
    """A model after one more epoch on retained examples: an edit that a number should survive.

    The learning rate is that of the last epoch of the base model's training.

    Formula: min CE(D_r), one epoch.
    """

    label: ClassVar[str] = "Refreshed"
    touches: ClassVar[frozenset[str]] = frozenset({"retain"})
    made_by: ClassVar[str] = "trust"
