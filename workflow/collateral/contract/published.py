"""What was published of a method's parameters, by source: to hold our defaults against."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Between(NamedTuple):
    """A range that a source tunes in."""

    low: float
    high: float


# By source, then by parameter: a value, a list of values that were all used, or a range.
Published = Mapping[str, Mapping[str, Any]]

# Of what several methods share; all of GA, FT, RL, SalUn and AMUN in the paper, appendix B.2.
PAPER_SGD: Mapping[str, Any] = {"optimizer": "sgd", "momentum": 0.9, "weight_decay": 1e-6}
# Its code's command line, where none of its own is set.
PAPER_CODE: Mapping[str, Any] = {"epochs": 10, "lr": 1e-4, "batch_size": 256, "augment": True}
# The shared loop of Unlearn-Saliency and Unlearn-Sparse.
OPTML: Mapping[str, Any] = {"epochs": 10, "lr": 0.01, "weight_decay": 5e-4, "batch_size": 256}


def format_values(values: Mapping[str, Any]) -> str:
    """Return parameters with their values, in a line."""
    return ", ".join(f"{name} {_value(value)}" for name, value in values.items())


def _value(value: Any) -> str:
    if isinstance(value, Between):
        return f"{_value(value.low)} to {_value(value.high)}"
    if isinstance(value, list):
        return " or ".join(map(_value, value))
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}".replace("e-0", "e-") if isinstance(value, int | float) else str(value)
