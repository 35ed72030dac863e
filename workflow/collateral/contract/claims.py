"""What a number claims, so that it can be judged by models of which the truth is known."""

from dataclasses import dataclass
from typing import Literal, get_args

from collateral.contract.messages import quoted
from collateral.contract.rows import At

# outputs, inside: the model still knows the forget set. distance: it differs from Retrain.
# harm: it lost accuracy elsewhere. locality: it lost more near the forget set.
Subject = Literal["outputs", "inside", "distance", "harm", "locality"]
SUBJECTS: tuple[Subject, ...] = get_args(Subject)
FORGETTING: tuple[Subject, ...] = ("outputs", "inside", "distance")
LAST = "last"  # the last step of a curve


@dataclass(frozen=True)
class Claim:
    """The claim of one number, and the direction in which it claims more, stated beforehand."""

    metric: str
    about: Subject
    sign: int  # 1: a larger number claims that more is known, or more was lost; -1: a smaller one
    set: str = ""
    at: At = None  # index of the number; LAST for the last step of a curve

    def __post_init__(self) -> None:
        """Raise for an unknown subject or direction."""
        for key, value, known in (("about", self.about, SUBJECTS), ("sign", self.sign, (1, -1))):
            if value not in known:
                reason = f"{quoted(str(value))} is not allowed; allowed: {list(known)}"
                raise ValueError(f"claim of {quoted(self.metric)}: {key}: {reason}")

    @property
    def name(self) -> str:
        """Name in the column `at` of the long table: the metric, and its index if it has one."""
        return self.metric if self.at is None else f"{self.metric} {self.at}"
