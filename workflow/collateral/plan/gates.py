"""What a run ends with: the gates that are red."""

from collections.abc import Iterable
from pathlib import Path

from collateral.plan import paths
from collateral.results.gates import red


def last_lines(benchmarks: Iterable[str]) -> list[str]:
    """Return a line for each red gate of these benchmarks, and what it means."""
    found = red(Path(paths.GATES.format(benchmark=name)) for name in benchmarks)
    return [*found, "Numbers of these cells do not mean what they say."] if found else []
