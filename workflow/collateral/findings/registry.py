"""Run all findings in order; if a finding raises an error, the other findings still run."""

import logging
import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from collateral.contract.rows import Row
from collateral.contract.tables import Table
from collateral.findings._shared.captions import join_sentences
from collateral.findings.metric_index import OTHER
from collateral.plugins.find import FINDING
from collateral.results.cell import CellResults, Result
from collateral.results.files import InvalidResultError, read_json, write_json
from collateral.results.layout import RETRAIN
from collateral.results.row_cache import RowCache
from collateral.results.table import BenchmarkTable, CellTable

LOG = logging.getLogger(__name__)
NO_RETRAIN = "There is no Retrain: runs are held against the base. What needs it is left out: %s."
WITHOUT_RETRAIN = "There is no Retrain: the reference is the base model (Original)."
PRINTED = (
    "Retrain was not run: the table `printed` compares means with Retrain's means as printed "
    "({printed}), and all other tables compare with the base model (Original)."
)
VIEWS = "views"  # name of the module in which a finding makes its tables, plots and sentences
T = TypeVar("T")
AnyTable = BenchmarkTable | CellTable  # numbers of all cells, or of one


@dataclass(frozen=True)
class Problem:
    """An error raised by a part of a finding."""

    finding: str
    part: str  # part that raised the error: numbers, across, checks, table, plots or words
    cell: str  # name of the cell; empty if the part covers all cells
    error: str

    def __str__(self) -> str:
        """Return the finding, its part, the cell and the error in one sentence."""
        where = f" in {self.cell}" if self.cell else ""
        return f"finding {self.finding}: its {self.part}{where} could not be made: {self.error}"


def cell_numbers(
    cell: CellResults, cache: RowCache | None = None
) -> tuple[list[Row], list[Problem]]:
    """Return the rows that all findings compute for a cell; some rows may come from the cache."""
    if excluded := excluded_findings(cell.reference):
        LOG.info(NO_RETRAIN, ", ".join(excluded))
    return _compute_all("numbers", cell, partial(_compute_cell, cell, cache))


def add_numbers_before(cell: CellResults, finding: str) -> None:
    """Add to a cell the numbers of all findings before this one; those that fail are left out."""
    for name in with_part("numbers", cell.reference):
        if name == finding:
            return
        compute = partial(_checked_rows, partial(_compute_cell, cell, None), name)
        found, _ = run_safely(compute, name, "numbers", cell.name)
        cell.add(found or [])


def numbers_across(table: BenchmarkTable) -> tuple[list[Row], list[Problem]]:
    """Return the rows that findings compute from all cells together, and the errors raised."""
    return _compute_all("across", table, partial(_compute_across, table))


def _compute_cell(cell: CellResults, cache: RowCache | None, finding: str) -> Iterator[Row]:
    """Yield the rows of a finding for a cell: first rows that may be cached, then the others."""
    module = FINDING.load(finding, "numbers")
    cached = partial(cache.rows, finding) if cache else _compute
    if hasattr(module, "of_run"):
        for result in cell.all_results():
            make = partial(module.of_run, cell, result)
            yield from cached(f"{result.run}-{result.seed}", [result], make)
    if hasattr(module, "cached_numbers"):
        yield from module.cached_numbers(cell, cached)
    if hasattr(module, "numbers"):
        yield from module.numbers(cell)


def _compute(name: str, results: Iterable[Result], make: Callable[[], Iterable[Row]]) -> list[Row]:
    """Compute rows by `make` without a cache; replaces `RowCache.rows` if there is no cache."""
    return list(make())


def _compute_across(table: BenchmarkTable, finding: str) -> Iterable[Row]:
    module = FINDING.load(finding, "numbers")
    found: Iterable[Row] = module.across(table) if hasattr(module, "across") else ()
    return found


def _compute_all(
    part: str, source: CellResults | BenchmarkTable, compute: Callable[[str], Iterable[Row]]
) -> tuple[list[Row], list[Problem]]:
    """Return the rows of all findings, and their errors; later findings can read rows of a cell."""
    rows: list[Row] = []
    problems: list[Problem] = []
    cell = source.name if isinstance(source, CellResults) else ""
    for name in with_part("numbers", source.reference):
        if lost := {problem.finding for problem in problems}.intersection(_required(name)):
            problems.append(Problem(name, part, cell, f"it needs {', '.join(sorted(lost))}"))
            continue
        found, problem = run_safely(partial(_checked_rows, compute, name), name, part, cell)
        problems += [problem] if problem else []
        rows += found or []
        if isinstance(source, CellResults):
            source.add(found or [])
    return rows, problems


def _checked_rows(compute: Callable[[str], Iterable[Row]], finding: str) -> list[Row]:
    """Return the rows of one finding; raise if the finding does not declare a row's metric."""
    found, declaring = list(compute(finding)), FINDING.load(finding)
    undeclared = sorted({row.metric for row in found} - declaring.METRICS.keys())
    if undeclared and not hasattr(declaring, OTHER):
        raise ValueError(f"{undeclared}: not among its METRICS")
    return found


def run_safely(
    make: Callable[[], T], finding: str, part: str, cell: str
) -> tuple[T | None, Problem | None]:
    """Return the result of `make`; if `make` raises, log the traceback and return a problem."""
    try:
        return make(), None
    except InvalidResultError:  # An invalid input file affects all findings, so all are stopped.
        raise
    # Findings of plug-ins may raise any exception.
    except Exception as error:
        problem = Problem(finding, part, cell, f"{type(error).__name__}: {error}")
        LOG.exception("%s", problem)
        return None, problem


def view_function(finding: str, name: str) -> Callable[[Any], Any] | None:
    """Return a finding's function `name` (tables, plots, words ...), or None if there is none."""
    has_views = FINDING.module(finding, VIEWS) in FINDING.parts(VIEWS)
    return getattr(FINDING.load(finding, VIEWS), name, None) if has_views else None


def make_tables(finding: str, source: AnyTable) -> Iterator[Table]:
    """Yield the tables of a finding; if there is no Retrain, the captions say so."""
    is_cell = isinstance(source, CellTable)
    make = view_function(finding, "tables" if is_cell else "tables_across")
    printed = (source.benchmark if isinstance(source, CellTable) else source.plan).printed
    first, last = "", ""
    if source.reference != RETRAIN:
        first, last = (PRINTED.format(printed=printed), "") if printed else ("", WITHOUT_RETRAIN)
    for table in make(source) if make else ():
        yield replace(table, caption=join_sentences(first, table.caption, last))


def cell_name(source: AnyTable) -> str:
    """Return the name of a cell, or empty text for the table of all cells."""
    return source.name if isinstance(source, CellTable) else ""


def map_sources(make: Callable[[AnyTable], T], table: BenchmarkTable, processes: int) -> list[T]:
    """Call `make` on the benchmark's table, then on the table of each cell; return all results."""
    sources: list[AnyTable] = [table, *table.cells]
    if processes == 1:
        return [make(source) for source in sources]
    # Processes are forked, because forked processes inherit the folders of plug-ins.
    with ProcessPoolExecutor(processes, get_context("fork")) as pool:
        return list(pool.map(make, sources))


def in_page_order(*parts: str, reference: str = RETRAIN) -> list[str]:
    """Return the findings that have a module named in `parts`, in the order of the web page."""
    found = {name for part in parts for name in with_part(part, reference)}
    in_turn = [name for name in in_order() if name in found]
    return sorted(in_turn, key=lambda name: getattr(FINDING.load(name), "ORDER", math.inf))


def with_part(part: str, reference: str = RETRAIN) -> list[str]:
    """Return the findings that have the module `part` and can be computed with the reference.

    Each finding comes after the findings that it needs.
    """
    found = FINDING.parts(part)
    names = (name for name in in_order() if FINDING.module(name, part) in found)
    return [name for name in names if _accepts(reference, name)]


def excluded_findings(reference: str) -> list[str]:
    """Return the findings that are excluded because they need Retrain."""
    if reference == RETRAIN:
        return []
    return [name for name in FINDING.names() if not _accepts(reference, name)]


def _accepts(reference: str, name: str) -> bool:
    """Tell whether a finding, and all findings that it needs, can be computed with a reference.

    The reference is Retrain or the base model.
    """
    needs = getattr(FINDING.load(name), "NEEDS", reference)
    return needs == reference and all(_accepts(reference, other) for other in _required(name))


def in_order() -> list[str]:
    """Return all findings, each after the findings that it needs.

    Plug-ins come after the others, and after them a finding that declares LAST.
    """
    order: list[str] = []

    def add(name: str, above: tuple[str, ...] = ()) -> None:
        if name in above:
            raise ValueError(f"findings wait for each other: {' -> '.join((*above, name))}")
        for other in _required(name):
            add(other, (*above, name))
        if name not in order:
            order.append(name)

    for name in sorted(FINDING.names(), key=_is_last):
        add(name)
    return order


def _is_last(name: str) -> bool:
    # A finding may also import LAST, the last step of a curve, for its claims.
    return getattr(FINDING.load(name), "LAST", None) is True


def _required(name: str) -> tuple[str, ...]:
    """Return the findings whose numbers a finding reads."""
    return tuple(getattr(FINDING.load(name), "AFTER", ()))


def write_problems(path: Path, problems: Iterable[Problem]) -> None:
    """Write problems to a JSON file."""
    write_json(path, {"problems": [asdict(problem) for problem in problems]})


def read_problems(paths: Iterable[Path]) -> list[Problem]:
    """Return all problems that `write_problems` wrote to these JSON files."""
    return [Problem(**one) for path in paths for one in read_json(path)["problems"]]
