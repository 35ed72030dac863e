"""What a run ends with: the gates that are red."""

from collections.abc import Iterable
from pathlib import Path

from collateral.plan import paths
from collateral.results.files import InvalidResultError
from collateral.results.gates import describe_red_gates


def last_lines(benchmarks: Iterable[str]) -> list[str]:
    """Return a line for each red gate of these benchmarks, and what it means.

    A file that is not what its record says is named in place of its gates: the run was good.
    """
    found, unsound = [], []
    for name in benchmarks:
        try:
            found += describe_red_gates(Path(paths.GATES.format(benchmark=name)))
        except InvalidResultError as error:
            unsound.append(str(error))
    meaning = ["Numbers of these cells do not mean what they say."] if found else []
    return [*unsound, *found, *meaning]
