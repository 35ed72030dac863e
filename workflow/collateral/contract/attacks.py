"""The membership attacks, by what they look at, and the names of their scores."""

from typing import Literal, get_args

Attack = Literal["confidence", "correctness", "entropy", "modified_entropy", "probability"]
ATTACKS: tuple[Attack, ...] = get_args(Attack)
MIA: Attack = "confidence"  # what tables call so


def score_of(attack: str) -> str:
    """Return the name of an attack's score."""
    return "mia" if attack == MIA else f"mia_{attack}"
