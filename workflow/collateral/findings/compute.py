"""Ask every question that has a folder; one that cannot be answered stops no other."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from collateral.contract.plugins import FINDING
from collateral.contract.rows import Row
from collateral.findings.catalogue import OTHER
from collateral.results.cell import CellResults
from collateral.results.files import read_json, write_json
from collateral.results.table import BenchmarkTable

LOG = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class Problem:
    """A part of a finding that raised."""

    finding: str
    part: str  # numbers, across, table, figure or words
    cell: str  # empty: all of them
    error: str

    def __str__(self) -> str:
        """Say what failed, where and why."""
        where = f" in {self.cell}" if self.cell else ""
        return f"finding {self.finding}: its {self.part}{where} could not be made: {self.error}"


def cell_numbers(cell: CellResults) -> tuple[list[Row], list[Problem]]:
    """Return the rows of all findings of a cell."""
    return _numbers("numbers", cell.name, lambda module: module.numbers(cell), cell.add)


def numbers_across(table: BenchmarkTable) -> tuple[list[Row], list[Problem]]:
    """Return the rows of all findings over cells."""
    return _numbers("across", "", lambda module: module.across(table))


def _numbers(
    function: str,
    cell: str,
    ask: Callable[[Any], Iterable[Row]],
    tell: Callable[[list[Row]], None] = lambda rows: None,
) -> tuple[list[Row], list[Problem]]:
    rows: list[Row] = []
    problems: list[Problem] = []
    for name in in_order():
        lost = {problem.finding for problem in problems}.intersection(_after(name))
        if lost:
            problems.append(Problem(name, function, cell, f"it needs {', '.join(sorted(lost))}"))
            continue
        with_function = [m for m in modules("numbers", [name]) if hasattr(m, function)]
        for module in with_function:
            found, problem = attempt(lambda: _declared(name, ask(module)), name, function, cell)
            rows += found or []
            tell(found or [])
            problems += [problem] if problem else []
    return rows, problems


def attempt(
    make: Callable[[], T], finding: str, part: str, cell: str
) -> tuple[T | None, Problem | None]:
    """Return what is made, or what was wrong; the traceback goes into the log."""
    try:
        return make(), None
    # Whatever a finding raises, also a user's own: the others are asked all the same.
    except Exception as error:
        problem = Problem(finding, part, cell, f"{type(error).__name__}: {error}")
        LOG.exception("%s", problem)
        return None, problem


def modules(part: str, findings: Iterable[str] | None = None) -> Iterator[Any]:
    """Yield the part of this name of every finding that has it, in their order."""
    having = FINDING.parts(part)
    for name in in_order() if findings is None else findings:
        if FINDING.module(name, part) in having:
            yield FINDING.load(name, part)


def presented(part: str) -> list[str]:
    """Return the findings that have this part, as tables, figures and page follow each other."""
    having = FINDING.parts(part)
    names = [name for name in in_order() if FINDING.module(name, part) in having]
    return sorted(names, key=lambda name: getattr(FINDING.load(name), "ORDER", math.inf))


def in_order() -> list[str]:
    """Return all findings, each after those that it needs."""
    order: list[str] = []

    def add(name: str, above: tuple[str, ...] = ()) -> None:
        if name in above:
            raise ValueError(f"findings wait for each other: {' -> '.join((*above, name))}")
        for other in _after(name):
            add(other, (*above, name))
        if name not in order:
            order.append(name)

    for name in FINDING.names():
        add(name)
    return order


def _after(name: str) -> tuple[str, ...]:
    return tuple(getattr(FINDING.load(name), "AFTER", ()))


def _declared(name: str, rows: Iterable[Row]) -> list[Row]:
    """Return the rows; refuse a number that the finding does not declare."""
    module, found = FINDING.load(name), list(rows)
    metrics = {row.metric for row in found}
    if not hasattr(module, OTHER) and (strange := sorted(metrics - module.METRICS.keys())):
        raise ValueError(f"{strange}: not among its METRICS")
    return found


def write_problems(path: Path, problems: Iterable[Problem]) -> None:
    """Write what failed."""
    write_json(path, {"problems": [asdict(problem) for problem in problems]})


def read_problems(paths: Iterable[Path]) -> list[Problem]:
    """Read what failed."""
    return [Problem(**one) for path in paths for one in read_json(path)["problems"]]
