"""Ask every question that has a folder; one that cannot be answered stops no other."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from collateral.contract.plugins import FINDING
from collateral.contract.rows import Row
from collateral.contract.tables import Table
from collateral.findings._shared.captions import join_sentences
from collateral.findings.metric_index import OTHER
from collateral.results.cell import CellResults
from collateral.results.files import InvalidResultError, read_json, write_json
from collateral.results.layout import RETRAIN
from collateral.results.row_cache import RowCache
from collateral.results.table import BenchmarkTable, CellTable

LOG = logging.getLogger(__name__)
NO_RETRAIN = "There is no Retrain: runs are held against the base. What needs it is left out: %s."
WITHOUT_RETRAIN = "There is no Retrain: the reference is the base model (Original)."
T = TypeVar("T")


@dataclass(frozen=True)
class Problem:
    """A part of a finding that raised."""

    finding: str
    part: str  # numbers, across, colours, table, plots or words
    cell: str  # empty: all of them
    error: str

    def __str__(self) -> str:
        """Say what failed, where and why."""
        where = f" in {self.cell}" if self.cell else ""
        return f"finding {self.finding}: its {self.part}{where} could not be made: {self.error}"


def cell_numbers(
    cell: CellResults, kept: RowCache | None = None
) -> tuple[list[Row], list[Problem]]:
    """Return the rows of all findings of a cell; those of single runs are taken from `kept`."""
    if refused := excluded_findings(cell.reference):
        LOG.info(NO_RETRAIN, ", ".join(refused))
    asked = with_part("numbers", cell.reference)
    return _ask_all("numbers", asked, partial(_of_cell, cell, kept), cell.name, cell.add)


def numbers_across(table: BenchmarkTable) -> tuple[list[Row], list[Problem]]:
    """Return the rows of all findings over cells."""
    asked = with_part("numbers", table.plan.reference)
    return _ask_all("across", asked, partial(_over_cells, table), "", lambda rows: None)


def _of_cell(cell: CellResults, kept: RowCache | None, finding: str) -> Iterator[Row]:
    module = FINDING.load(finding, "numbers")
    if hasattr(module, "of_run"):
        for result in cell.all_results():
            make = partial(module.of_run, cell, result)
            yield from kept.rows(finding, result, make) if kept else make()
    if hasattr(module, "numbers"):
        yield from module.numbers(cell)


def _over_cells(table: BenchmarkTable, finding: str) -> Iterable[Row]:
    module = FINDING.load(finding, "numbers")
    found: Iterable[Row] = module.across(table) if hasattr(module, "across") else ()
    return found


def _ask_all(
    part: str,
    asked: Iterable[str],
    ask: Callable[[str], Iterable[Row]],
    cell: str,
    tell: Callable[[list[Row]], None],
) -> tuple[list[Row], list[Problem]]:
    """Ask these findings, which have numbers; tell its rows to those that come later."""
    rows: list[Row] = []
    problems: list[Problem] = []
    for name in asked:
        if lost := {problem.finding for problem in problems}.intersection(_after(name)):
            problems.append(Problem(name, part, cell, f"it needs {', '.join(sorted(lost))}"))
            continue
        found, problem = run_safely(partial(_rows_of, ask, name), name, part, cell)
        if problem:
            problems.append(problem)
        else:
            rows += found or []
            tell(found or [])
    return rows, problems


def _rows_of(ask: Callable[[str], Iterable[Row]], finding: str) -> list[Row]:
    """Return the rows of one finding; refuse a number that it does not declare."""
    found, declaring = list(ask(finding)), FINDING.load(finding)
    strange = sorted({row.metric for row in found} - declaring.METRICS.keys())
    if strange and not hasattr(declaring, OTHER):
        raise ValueError(f"{strange}: not among its METRICS")
    return found


def run_safely(
    make: Callable[[], T], finding: str, part: str, cell: str
) -> tuple[T | None, Problem | None]:
    """Return what is made, or what was wrong; the traceback goes into the log."""
    try:
        return make(), None
    except InvalidResultError:  # what it was given is wrong, and so would be all others
        raise
    # Whatever a finding raises, also a user's own: the others are asked all the same.
    except Exception as error:
        problem = Problem(finding, part, cell, f"{type(error).__name__}: {error}")
        LOG.exception("%s", problem)
        return None, problem


def make_tables(finding: str, source: CellTable | BenchmarkTable) -> Iterator[Table]:
    """Yield a finding's tables of a cell or over all cells; captions say if there is no Retrain."""
    is_cell = isinstance(source, CellTable)
    plan = source.benchmark if isinstance(source, CellTable) else source.plan
    make = getattr(FINDING.load(finding, "views"), "tables" if is_cell else "tables_across", None)
    for table in make(source) if make else ():
        if plan.reference == RETRAIN:
            yield table
        else:
            yield replace(table, caption=join_sentences(table.caption, WITHOUT_RETRAIN))


def in_page_order(*parts: str, reference: str = RETRAIN) -> list[str]:
    """Return the findings that have one of these parts, as tables, figures and page follow."""
    found = {name for part in parts for name in with_part(part, reference)}
    in_turn = [name for name in in_order() if name in found]
    return sorted(in_turn, key=lambda name: getattr(FINDING.load(name), "ORDER", math.inf))


def with_part(part: str, reference: str = RETRAIN) -> list[str]:
    """Return the findings with this part that this reference will do for, each after its needs."""
    found = FINDING.parts(part)
    having_it = (name for name in in_order() if FINDING.module(name, part) in found)
    return [name for name in having_it if _will_do(reference, name)]


def excluded_findings(reference: str) -> list[str]:
    """Return the findings that need Retrain, where there is none."""
    if reference == RETRAIN:
        return []
    return [name for name in FINDING.names() if not _will_do(reference, name)]


def _will_do(reference: str, name: str) -> bool:
    """Tell whether a finding, and what it needs, can be held against this reference."""
    needs = getattr(FINDING.load(name), "NEEDS", reference)
    return needs == reference and all(_will_do(reference, other) for other in _after(name))


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


def write_problems(path: Path, problems: Iterable[Problem]) -> None:
    """Write what failed."""
    write_json(path, {"problems": [asdict(problem) for problem in problems]})


def read_problems(paths: Iterable[Path]) -> list[Problem]:
    """Read what failed."""
    return [Problem(**one) for path in paths for one in read_json(path)["problems"]]
