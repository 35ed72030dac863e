"""What hovering says of a number, the same in every chart: the number, its interval, chance."""

import math
from typing import TypedDict

UNKNOWN = "–"


class Spoken(TypedDict):
    """The texts of a number."""

    said: str  # "+1.0 [-0.1, +2.1] points"
    floor: str  # "2.0 points"


def spoken(
    mean: float, ends: tuple[float, float], chance: float, form: str = "+.1f", unit: str = " points"
) -> Spoken:
    """Return a number with its interval, if it has one, and what chance explains of it."""
    between = f" [{number(ends[0], form)}, {number(ends[1], form)}]" if _is_known(ends) else ""
    said = f"{number(mean, form)}{between}{unit}" if math.isfinite(mean) else UNKNOWN
    return {"said": said, "floor": number(chance, form.lstrip("+"), unit)}


def number(value: float, form: str, unit: str = "") -> str:
    """Return a number as text; a dash for what is none."""
    return f"{value:{form}}{unit}".replace("-", "−") if math.isfinite(value) else UNKNOWN


def _is_known(ends: tuple[float, float]) -> bool:
    return all(map(math.isfinite, ends))
