"""The decision table at the top of a page: every method in every cell, the best methods first."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from collateral.contract.metrics import EMPTY, format_percent
from collateral.contract.tables import Source
from collateral.findings import verdict
from collateral.findings.checks import has_nothing_to_forget, red_gates
from collateral.findings.metric_index import find_metric
from collateral.findings.verdict.sentences import MethodVerdict, find_verdicts
from collateral.results.layout import ORIGINAL
from collateral.results.plan import About
from collateral.results.table import BenchmarkTable, CellTable

# Verdicts in the order of preference, each with its symbol and the colour of its label.
CHIPS = {
    verdict.LIKE: ("●", "green"),
    verdict.UNDECIDED: ("○", "soft"),
    verdict.UNLIKE: ("△", "amber"),
    verdict.UNFORGOTTEN: ("◐", "amber"),
    verdict.HURT_FAR: ("▼", "red"),
    verdict.HURT: ("▼", "red"),
    verdict.HURT_ALL: ("▼", "red"),
    verdict.COLLAPSED: ("✕", "red"),
}
# Kind of harm that each verdict states.
HARMS = {
    verdict.HURT: "hurt the neighbours",
    verdict.HURT_ALL: "hurt the neighbours",
    verdict.HURT_FAR: "hurt everyone",
    verdict.COLLAPSED: "collapsed",
}
AS_BASE = "lose accuracy everywhere, as the base model does"
USABLE = (verdict.LIKE, verdict.UNDECIDED)
# Metrics of damage: the mean, and the ends of its interval.
# Damage is the accuracy that neighbours of the forget set lose beyond all other examples.
DAMAGE = ("difference", "difference_low", "difference_high")
DOT_WIDTH = 76.0  # width in pixels of the small plot that shows the damage of one method
EDGE = 6.0  # number of pixels that the small plot leaves empty at each end
LEAST_RANGE = 0.05  # minimum range of the small plot: five percentage points on each side of zero
MOST_COLUMNS = 4  # maximum number of cells shown side by side; more cells are shown as a matrix


@dataclass(frozen=True)
class Score:
    """Results of a method in a cell: verdict, damage with 95 % interval, gap to Retrain, time."""

    verdict: str
    title: str  # the verdict in the words of the page, including a note if there is one
    sentence: str  # sentence that states the numbers behind the verdict
    damage: float | None
    low: float | None
    high: float | None
    gap: float | None  # average gap to Retrain
    share: float | None  # time of the method, as a fraction of Retrain's time
    # Number of seeds that would probably be enough for a verdict other than "cannot tell".
    needed: float | None = None
    is_of_base: bool = False  # whether the harm is a far loss that the base model also has

    @property
    def is_hurt(self) -> bool:
        """Whether the verdict says that the method harms the neighbours of the forget set."""
        return self.verdict in (verdict.HURT, verdict.HURT_ALL)

    @property
    def harm(self) -> str:
        """Kind of harm that the method does; empty if it does none."""
        return AS_BASE if self.is_of_base else HARMS.get(self.verdict, "")

    @property
    def chip(self) -> tuple[str, str]:
        """Symbol and colour of the verdict."""
        return CHIPS.get(self.verdict, ("", "soft"))


@dataclass(frozen=True)
class CellColumn:
    """A cell (one forget set): a group of columns of the table, or a row of the matrix."""

    name: str
    title: str
    count: int  # number of forgotten examples
    seeds: int
    margin: float | None  # largest damage that counts as equal to Retrain's
    nothing: float | None  # average gap of the base model, that is, of doing nothing
    retraining: float | None  # average gap between Retrain and a retraining with another seed
    red: list[str]  # names and texts of failed checks; if there are any, no verdict is given
    # Whether the base model's UA exceeds Retrain's UA by no more than the margin.
    has_nothing_to_forget: bool = False
    classes: list[str] = field(default_factory=list)  # names of the affected classes
    fraction: str = ""  # fraction of the affected classes that is forgotten, in percent


@dataclass(frozen=True)
class MethodRow:
    """A row of the table: a method with one score per cell; None if it did not run in a cell."""

    run: str
    label: str
    about: About
    scores: list[Score | None]

    def count(self, *verdicts: str) -> int:
        """Return the number of cells with one of these verdicts."""
        return sum(score is not None and score.verdict in verdicts for score in self.scores)

    @property
    def mean_gap(self) -> float:
        """Mean over all cells of the gap to Retrain; infinite if the gap is undefined in a cell."""
        gaps = [math.inf if s is None or s.gap is None else s.gap for s in self.scores]
        return sum(gaps) / len(gaps)

    @property
    def order(self) -> tuple[float, ...]:
        """Sort key: number of cells with harm, of cells without a usable verdict, and mean gap."""
        return self.count(*HARMS), len(self.scores) - self.count(*USABLE), self.mean_gap


@dataclass(frozen=True)
class Decision:
    """The decision table of a benchmark."""

    benchmark: str
    data: str
    model: str
    version: str  # fingerprint of the code that made the reference run
    has_retrain: bool
    cells: list[CellColumn]
    methods: list[MethodRow]

    @property
    def is_matrix(self) -> bool:
        """Whether there are too many cells to show their numbers side by side."""
        return len(self.cells) > MOST_COLUMNS

    @property
    def verdicts(self) -> list[str]:
        """The verdicts that occur, in the order of preference."""
        return [one for one in CHIPS if any(row.count(one) for row in self.methods)]

    @property
    def limits(self) -> tuple[float, float]:
        """Ends of the axis of all small plots.

        The axis contains all positive means; it reaches no further below zero than above.
        """
        scores = [score for row in self.methods for score in row.scores if score]
        means = [score.damage for score in scores if score.damage is not None]
        lows = [score.low for score in scores if score.low is not None]
        high = 1.3 * max([LEAST_RANGE, *means])
        return max(min([-LEAST_RANGE, *means, *lows]), -high), high

    @property
    def worst_cell(self) -> str:
        """Name of the cell in which most methods do harm; the printed brief shows its chart."""
        scores = zip(*(row.scores for row in self.methods), strict=True)
        harmed = [sum(bool(s and s.verdict in HARMS) for s in of_cell) for of_cell in scores]
        return self.cells[harmed.index(max(harmed)) if harmed else 0].name

    @property
    def usable(self) -> list[MethodRow]:
        """The methods that have a usable verdict (one of USABLE) in every cell."""
        return [row for row in self.methods if row.count(*USABLE) == len(self.cells)]

    @property
    def best(self) -> MethodRow | None:
        """The recommended method: usable in all cells, and nearer to Retrain than the base model.

        Methods that are like Retrain in all cells come first, then the one with the smallest gap.
        """
        better = [row for row in self.usable if _beats_nothing(row, self.cells)]
        num_cells = len(self.cells)
        return min(
            better,
            key=lambda row: (row.count(verdict.LIKE) < num_cells, row.mean_gap),
            default=None,
        )

    @property
    def may_hurt(self) -> bool:
        """Whether the damage of the best method is above the margin in any cell."""
        return self.best is not None and any(
            score.damage > cell.margin
            for score, cell in zip(self.best.scores, self.cells, strict=True)
            if score and score.damage is not None and cell.margin is not None
        )

    @property
    def harms(self) -> dict[str, dict[int, list[str]]]:
        """For each kind of harm, the methods that do it by their number of cells, most first."""
        found: dict[str, dict[int, list[str]]] = {}
        for harm in dict.fromkeys((*HARMS.values(), AS_BASE)):
            methods = defaultdict(list)
            for row in self.methods:
                count = sum(score is not None and score.harm == harm for score in row.scores)
                if count:
                    methods[count].append(row.label)
            if methods:
                found[harm] = dict(sorted(methods.items(), reverse=True))
        return found

    @property
    def worst_hurt(self) -> dict[str, Score]:
        """For each method that hurts the neighbours, its score in the cell with most damage."""
        hurt = {row.label: [s for s in row.scores if s and s.is_hurt] for row in self.methods}
        return {
            label: max(scores, key=lambda score: score.damage or 0.0)
            for label, scores in hurt.items()
            if scores
        }

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Decision:
        """Return the decision table from its JSON form, which `asdict` returned."""
        return TypeAdapter(Decision).validate_python(content)


def _beats_nothing(row: MethodRow, cells: Sequence[CellColumn]) -> bool:
    """Tell whether a method's gap is below the base model's in all cells where both are known."""
    return all(
        score.gap < cell.nothing
        for score, cell in zip(row.scores, cells, strict=True)
        if score and score.gap is not None and cell.nothing is not None
    )


def position(value: float, limits: tuple[float, float]) -> float:
    """Return the horizontal position, in pixels, at which the small plot shows a value of damage.

    A value beyond the axis is shown at the end of the axis.
    """
    low, high = limits
    share = (min(max(value, low), high) - low) / (high - low)
    return round(EDGE + share * (DOT_WIDTH - 2 * EDGE), 1)


def build_decision(name: str, table: BenchmarkTable, version: str) -> Decision:
    """Collect the verdicts, damages, gaps and times of all methods."""
    plan = table.plan
    runs = list(dict.fromkeys(run for cell in table.cells for run in cell.runs("method")))
    verdicts = {cell.name: {one.run: one for one in find_verdicts(cell)} for cell in table.cells}
    rows = [
        MethodRow(
            run,
            plan.labels[run],
            plan.about.get(run, About()),
            [_score(cell, run, verdicts[cell.name]) for cell in table.cells],
        )
        for run in runs
    ]
    return Decision(
        name,
        str(plan.data.get("name", "")),
        plan.model,
        version,
        table.cells[0].has_retrain,
        [_column(cell) for cell in table.cells],
        sorted(rows, key=lambda row: row.order),
    )


def _score(cell: CellTable, run: str, verdicts: Mapping[str, MethodVerdict]) -> Score | None:
    if run not in cell.labels:
        return None
    found = verdicts.get(run)
    damage, low, high = (_known(cell.number(run, name, at="damage")) for name in DAMAGE)
    return Score(
        found.verdict if found else "",
        found.title if found else "",
        found.sentence if found else "",
        damage,
        low,
        high,
        _known(cell.number(run, "avg_gap")),
        _known(cell.number(run, "rte_share")),
        _known(cell.number(run, "seeds_needed")),
        found is not None and found.is_of_base,
    )


def _column(cell: CellTable) -> CellColumn:
    sizes = cell.forgotten.values()
    return CellColumn(
        cell.name,
        cell.title,
        sum(count for count, _ in sizes),
        len(cell.seeds),
        _known(cell.number(cell.reference, "margin", at="damage")),
        _known(cell.number(ORIGINAL, "avg_gap")),
        _known(cell.number(cell.reference, "floor", at="avg_gap")),
        [f"{gate.name}: {gate.text}" for gate in red_gates(cell)],
        has_nothing_to_forget(cell),
        [*cell.forgotten],
        format_percent(sum(n for n, _ in sizes) / max(sum(of for _, of in sizes), 1)),
    )


def decision_sources(cell: CellTable) -> list[Source]:
    """Return the source link (keys of the long-table row) of each number that the table shows."""
    shown = [*((name, "damage") for name in DAMAGE), ("avg_gap", ""), ("rte_share", "")]
    found = [Source(run, name, at=at) for run in cell.runs("method") for name, at in shown]
    return [*found, Source(ORIGINAL, "avg_gap"), Source(cell.reference, "floor", at="avg_gap")]


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def format_points(value: float | None, *, sign: bool = False) -> str:
    """Return a difference of rates in percentage points, as text; a dash if it is undefined."""
    return EMPTY if value is None else find_metric("difference").text(value, sign=sign)


def format_share(value: float | None) -> str:
    """Return a fraction in whole percent; a dash if it is undefined."""
    return EMPTY if value is None else format_percent(value)
