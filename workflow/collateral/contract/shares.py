"""A share of a number of examples."""

from decimal import Decimal


def share_of(count: int, fraction: float) -> int:
    """Return floor(count * fraction) for the decimal that the user wrote.

    In binary, 0.29 * 100 is just below 29 and would lose an example.
    """
    return int(count * Decimal(str(fraction)))
