"""The paper's claims, and the results that they are tested on.

Results are read from folders. The scope of a claim selects its cases; each case has one answer.

A claim of the paper on the class couch is tested on couch, if the benchmark has it, and otherwise
on every cell in which the same fraction of one class is forgotten.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from collateral.results import layout
from collateral.results.files import read_rows
from collateral.results.plan import BenchmarkPlan
from collateral.results.provenance import check_folder, verify
from collateral.results.table import BenchmarkTable, CellTable, read_tables

LABELS = {
    **{run: run.upper() for run in ("rl", "ft", "ga", "iu", "amun", "ltd")},
    **{"retrain": "Retrain", "salun": "SalUn", "neighbor": "Neighbor"},
}
FIVE = ("oak_tree", "apple", "hamster", "road", "shark")
TOLERANCE = 0.02  # tolerance of a forgotten fraction: small classes cannot be halved exactly
Verdict = Literal["holds", "does not hold", "cannot be said"]
VERDICTS: dict[bool | None, Verdict] = {
    True: "holds",
    False: "does not hold",
    None: "cannot be said",
}


class Missing(Exception):
    """Raised if the results lack something that a test needs; the message says what is missing."""


class Found(NamedTuple):
    """The outcome of a claim's tests (None if undecided), and the numbers that they read."""

    holds: bool | None
    text: str


@dataclass(frozen=True)
class Claim:
    """A claim of the paper: an entry of claims.toml."""

    id: int
    sentence: str
    source: str  # tables and figures of the paper that make the claim
    cells: str  # key of SCOPES, which selects the cells that the claim is tested on
    tests: tuple[str, ...]  # expressions that must hold; evaluate.py evaluates them


@dataclass(frozen=True)
class Answer:
    """Whether a claim holds in one case: on one cell, on several cells, or in the theory."""

    claim: Claim
    benchmark: str  # name of the benchmark; empty if the claim has no case
    case: str  # name of the case
    verdict: Verdict
    text: str


def all_hold(verdicts: Sequence[bool | None]) -> bool | None:
    """Return False if any outcome is False, else None (undecided) if any is None, else True."""
    return False if False in verdicts else (None if None in verdicts else True)


@dataclass(frozen=True)
class Theory:
    """Numbers from the experiments on the theory, and whether the theory's identities hold."""

    # Value of each finding (a measured number), by names of its panel and of the finding.
    findings: dict[tuple[str, str], float]
    checks: dict[str, bool]  # whether each identity holds, by its name


Results = BenchmarkTable | Theory
Cases = Mapping[str, tuple[CellTable | Theory, ...]]  # results of each case, by name of the case


def read_all(folder: Path) -> dict[str, Results]:
    """Return the results of each benchmark, by the benchmark's name.

    `folder` is the folder of one benchmark, or each of its subfolders is.
    """
    folders = [folder] if _has_results(folder) else sorted(filter(_has_results, folder.glob("*/")))
    if not folders:
        raise ValueError(f"{folder}: no results: there is no {layout.METRICS} in it; run first")
    return {inner.name: _read(inner) for inner in folders}


def _has_results(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (layout.METRICS, layout.THEORY_FINDINGS))


def _read(folder: Path) -> Results:
    if (folder / layout.THEORY_FINDINGS).is_file():
        return _read_theory(folder)
    paths = list(_long_tables(folder))
    plan = folder / layout.PLAN
    return read_tables(
        BenchmarkPlan.load(plan) if plan.is_file() else plan_from_runs(paths[0]), *paths
    )


def _long_tables(folder: Path) -> Iterator[Path]:
    """Yield the paths of the long tables in a folder.

    A table with a provenance record is verified; tables in docs/data have no such record.
    """
    for path in (folder / layout.METRICS, folder / layout.COSTS):
        if path.is_file():
            yield verify(path, folder) if layout.record_path(path).is_file() else path


def plan_from_runs(metrics: Path) -> BenchmarkPlan:
    """Return a plan with the runs of a long table, for results without plan.json."""
    runs = dict.fromkeys(row["run"] for row in read_rows(metrics) if row["run"] != layout.RETRAIN)
    return BenchmarkPlan({run: LABELS.get(run, run) for run in runs})


def _read_theory(folder: Path) -> Theory:
    if (folder / layout.RECORD).is_file():
        check_folder(folder)
    rows, checks = read_rows(folder / layout.THEORY_FINDINGS), folder / layout.THEORY_CHECKS
    return Theory(
        {(row["panel"], row["finding"]): float(row["value"] or "nan") for row in rows},
        {row["identity"]: row["holds"] == "True" for row in read_rows(checks)},
    )


def share(cell: CellTable) -> tuple[str, float] | None:
    """Return the forgotten class and its forgotten fraction; None unless one class is affected."""
    if len(cell.forgotten) != 1:
        return None
    ((name, (count, size)),) = cell.forgotten.items()
    return name, count / size


def cells_at(results: Results, fraction: float) -> Iterator[tuple[str, CellTable]]:
    """Yield the cells in which this fraction of one class is forgotten, with the class's name."""
    for cell in results.cells if isinstance(results, BenchmarkTable) else ():
        found = share(cell)
        if found and abs(found[1] - fraction) < TOLERANCE:
            yield found[0], cell


def is_svhn(results: Results) -> bool:
    """Tell whether the data set of a benchmark is SVHN."""
    return isinstance(results, BenchmarkTable) and results.plan.data.get("name") == "svhn"


@dataclass(frozen=True)
class Scope:
    """Cells on which a claim is tested; in each of them, a fraction of one class is forgotten."""

    missing: str  # text of the answer if there are no such cells
    fractions: tuple[float, ...] = (0.5,)  # fractions of a class that may be forgotten in a cell
    of_svhn: bool | None = False  # only SVHN (True), only other data sets (False), or any (None)
    classes: tuple[str, ...] = ()  # forgotten classes; if empty, any class
    is_one_case: bool = False  # whether all cells together are one case; else each is a case
    is_each: bool = False  # whether tests run on each cell of a case separately
    prefers_couch: bool = False  # whether only cells of the class couch count, if there are any

    def cases(self, results: Results) -> Cases:
        """Return the cases of a claim with this scope: by name, the cells that it is tested on."""
        found = [one for fraction in self.fractions for one in cells_at(results, fraction)]
        if self.of_svhn not in (None, is_svhn(results)):
            return {}
        if self.classes:
            found = [(name, cell) for name, cell in found if name in self.classes]
        couch = [cell for name, cell in found if name == "couch" and self.prefers_couch]
        cells = tuple(couch or [cell for _, cell in found])
        if self.is_one_case:
            return {", ".join(cell.name for cell in cells): cells} if cells else {}
        return {cell.name: (cell,) for cell in cells}


@dataclass(frozen=True)
class PairScope(Scope):
    """Pairs of cells: half of a class forgotten, and 90 % of the same class."""

    def cases(self, results: Results) -> Cases:
        """Return one case for each class that has both cells: half and 90 % of it forgotten.

        SVHN has no such case.
        """
        most = {} if is_svhn(results) else dict(cells_at(results, 0.9))
        halves = [(half, most[name]) for name, half in cells_at(results, 0.5) if name in most]
        return {f"{half.name}, {other.name}": (half, other) for half, other in halves}


@dataclass(frozen=True)
class TheoryScope(Scope):
    """The experiments on the theory."""

    def cases(self, results: Results) -> Cases:
        """Return one case if the results are of the experiments on the theory; otherwise none."""
        return {"": (results,)} if isinstance(results, Theory) else {}


NO_HALF = "no cell with half of a class forgotten"
NO_PART = "no cell with a part of a class forgotten"
SCOPES = {
    "half": Scope(NO_HALF, prefers_couch=True),
    "90 %": Scope("no cell with 90 % of a class forgotten", (0.9,), prefers_couch=True),
    "half and 90 %": PairScope("no class of which half and, apart, 90 % are forgotten"),
    "all halves": Scope(NO_HALF, is_one_case=True),
    "each half": Scope(NO_HALF, is_one_case=True, is_each=True),
    "each half and 90 %": Scope(NO_PART, (0.5, 0.9), is_one_case=True, is_each=True),
    "whole class": Scope("no cell with a whole class forgotten", (1.0,), None),
    "SVHN, half": Scope("no SVHN with half of a class forgotten", (0.5,), True),
    "SVHN, 90 %": Scope("no SVHN with 90 % of a class forgotten", (0.9,), True),
    "SVHN": Scope("no SVHN", (0.5, 0.9), True),
    "theory": TheoryScope("no theory"),
    "each of five classes": Scope(
        f"no cell of {', '.join(FIVE)}", (0.5,), None, FIVE, is_one_case=True, is_each=True
    ),
    **{
        f"half of {name}": Scope(
            f"no cell with half of {name} forgotten", (0.5,), None, (name,), is_one_case=True
        )
        for name in FIVE
    },
}
