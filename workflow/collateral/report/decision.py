"""The decision table at the top of a page: every method in every cell, the best verdict first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from collateral.contract.metrics import EMPTY, format_percent
from collateral.contract.tables import Source
from collateral.contract.verdicts import ALPHA, LOSSES, MEASURES
from collateral.findings import verdict
from collateral.findings._shared.compare import gap_by_seed
from collateral.findings.checks import is_there_anything_to_forget
from collateral.findings.locality.views import count_part
from collateral.findings.metric_index import find_metric
from collateral.findings.verdict import MEANINGS
from collateral.findings.verdict.sentences import (
    DAMAGE_WORD,
    DIFFERENCE,
    EQUIVALENCE,
    EXAMPLES,
    HURT,
    HURT_FAR,
    NAMES,
    MethodVerdict,
    describe_least,
    describe_worst,
    find_test,
    find_verdicts,
    is_harm_of_base,
)
from collateral.metrics.differences import LEAST_SEEDS, is_beyond, p_value
from collateral.metrics.statistics import mean_of_defined
from collateral.report.untested import Untested, find_untested, list_compared
from collateral.results.gates import Gate
from collateral.results.layout import ORIGINAL
from collateral.results.plan import About
from collateral.results.table import BenchmarkTable, CellTable

# Verdicts in the order in which the page lists them, each with its symbol and colour.
CHIPS = {
    verdict.LIKE: ("●", "green"),
    verdict.OPEN: ("○", "soft"),
    verdict.DIFFERENT: ("◐", "amber"),
    verdict.HARM: ("▼", "red"),
    verdict.COLLAPSED: ("✕", "red"),
}
AS_BASE = "lose accuracy as the base model does"
# Losses of accuracy by which methods are sorted; damage is the difference of two of them.
HARMS = ("near", "near_test", "far", "far_test")
NEAR = HARMS[:2]  # losses that the table shows
DOT_WIDTH = 76.0  # width in pixels of the small plot that shows the near loss of one method
EDGE = 6.0  # number of pixels that the small plot leaves empty at each end
LEAST_RANGE = 0.05  # minimum range of the small plot: five percentage points on each side of zero
MOST_COLUMNS = 4  # maximum number of cells shown side by side; more cells are shown as a matrix


@dataclass(frozen=True)
class Measured:
    """A measure of a method: its mean difference from Retrain, its interval, and its answer."""

    at: str  # name of the measure
    mean: float
    # Ends of the interval of the test that gave the answer: inside the margin if it is "within".
    low: float
    high: float
    margin: float
    answer: str  # "shown", "within" or "open"

    @property
    def test(self) -> str:
        """Name of the test that gave the answer; names of its metrics begin with it."""
        return EQUIVALENCE if self.answer == "within" else DIFFERENCE

    @property
    def is_harm(self) -> bool:
        """Whether a loss of accuracy is shown."""
        return self.answer == "shown" and self.at in LOSSES and self.mean > 0

    @property
    def is_large(self) -> bool:
        """Whether the mean difference is beyond the margin."""
        return is_beyond(abs(self.mean), self.margin)


@dataclass(frozen=True)
class Score:
    """Results of a method in a cell: verdict, differences from Retrain, gap to Retrain, time."""

    verdict: str
    words: list[str]  # what the shown differences mean, the worst first
    title: str  # the verdict in the words of the page, including a note if there is one
    sentence: str  # sentence that states the numbers behind the verdict
    measures: list[Measured]
    gap: float | None  # average gap to Retrain
    share: float | None  # time of the method, as a fraction of Retrain's time
    tuned_share: float | None = None  # the same including tuning; None if it was not tuned
    # Number of seeds that would probably be enough for a verdict other than "open".
    needed: float | None = None
    is_of_base: bool = False  # whether the base model also has the losses that are shown
    # Number of deletion requests after which time saved equals the time of tuning; None if unknown.
    paying: float | None = None

    @property
    def first_paying(self) -> int | None:
        """The deletion request from which the method has taken less time than retraining."""
        return None if self.paying is None else math.floor(self.paying) + 1

    @property
    def pays_from(self) -> str:
        """From which deletion request a tuned method saves time, as text; empty if unknown."""
        if self.share is not None and self.share >= 1:
            return "never pays"
        is_untuned = self.tuned_share is None  # then it pays from the first request on
        return "" if self.first_paying is None or is_untuned else f"pays from {self.first_paying:,}"

    def find(self, at: str) -> Measured | None:
        """Return the numbers of one measure; None if it is undefined."""
        return next((one for one in self.measures if one.at == at), None)

    @property
    def rank(self) -> int:
        """Index of the verdict in CHIPS, from the best to the worst; no verdict comes last."""
        return list(CHIPS).index(self.verdict) if self.verdict in CHIPS else len(CHIPS)

    @property
    def harms(self) -> dict[str, Measured | None]:
        """Kinds of harm that are shown, each with the measure whose lower limit is largest."""
        if self.verdict == verdict.COLLAPSED:
            return {verdict.COLLAPSED: None}
        found: dict[str, Measured | None] = {}
        for one in sorted((one for one in self.measures if one.is_harm), key=lambda one: -one.low):
            found.setdefault(AS_BASE if self.is_of_base else MEANINGS[one.at, 1], one)
        if HURT in found:  # then damage says nothing more
            found.pop(DAMAGE_WORD, None)
        return found

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
    nothing: float | None  # average gap of the base model, that is, of doing nothing
    retraining: float | None  # average gap between Retrain and a retraining with another seed
    red: list[str]  # names and texts of failed checks; if there are any, no verdict is given
    # Whether base model and Retrain are shown to differ on the forget set (yes), to be equal (no),
    # or neither (open); empty if the base model was not tested.
    forgettable: str = ""
    classes: list[str] = field(default_factory=list)  # names of the affected classes
    fraction: str = ""  # fraction of the affected classes that is forgotten, in percent
    # Numbers of near retained and near test examples, each with its share, such as "36, 17 %".
    near: list[str] = field(default_factory=list)
    seconds: float | None = None  # mean time of Retrain
    # Accuracy on the forgotten examples of Retrain and of the base model; None if unknown.
    forgotten_accuracy: tuple[float, float] | None = None


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
    def order(self) -> tuple[float, float, float]:
        """Sort key: the worst verdict in any cell, the mean of all verdicts, and the gap."""
        ranks = [s.rank if s else len(CHIPS) for s in self.scores]
        return max(ranks), sum(ranks) / len(ranks), self.mean_gap

    @property
    def faults(self) -> list[Measured]:
        """The largest loss that is shown, and the largest difference that is shown or open."""
        away = [one for s in self.scores if s for one in s.measures if one.answer != "within"]
        harms = [one for one in away if one.is_harm]
        largest = [max(of, key=lambda one: abs(one.mean)) for of in (harms, away) if of]
        return list(dict.fromkeys(largest))


@dataclass(frozen=True)
class Harmed:
    """A method that is shown to do harm of one kind: in how many cells, and how much at worst."""

    label: str
    count: int
    worst: Measured | None  # measure with the largest lower limit; None if the method collapsed


@dataclass(frozen=True)
class Doubt:
    """A check that failed or warns: in how many cells, and its reason in the first of them."""

    name: str
    colour: str  # red (failed) or amber (warning)
    cells: list[str]  # titles of the cells
    total: int  # number of cells that were checked
    text: str


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
    # p-value of the difference between the two smallest gaps to Retrain; None if it is unknown.
    nearest_p: float | None = None
    doubts: list[Doubt] = field(default_factory=list)
    # Measures outside the verdict in which a method that is like Retrain is shown to differ, and
    # the names of all such measures that were compared.
    untested: list[Untested] = field(default_factory=list)
    compared: list[str] = field(default_factory=list)

    @property
    def is_matrix(self) -> bool:
        """Whether there are too many cells to show their numbers side by side."""
        return len(self.cells) > MOST_COLUMNS

    @property
    def verdicts(self) -> list[str]:
        """The verdicts that occur, in the order of CHIPS."""
        return [one for one in CHIPS if any(row.count(one) for row in self.methods)]

    @property
    def margins(self) -> dict[str, list[str]]:
        """Names of the tested measures by their margin in points; empty if margins differ."""
        measures = [one for row in self.methods for s in row.scores if s for one in s.measures]
        of = {one.at: format_points(one.margin) for one in measures}
        if any(of[one.at] != format_points(one.margin) for one in measures):
            return {}
        found: dict[str, list[str]] = {}
        for at in [at for at in MEASURES if at in of]:
            if of.get(at.removesuffix("_test")) != of[at] or not at.endswith("_test"):
                found.setdefault(of[at], []).append(NAMES[at])
        return found

    @property
    def limits(self) -> tuple[float, float]:
        """Ends of the axis of all small plots, which show near losses.

        The axis contains all positive means; it reaches no further below zero than above.
        """
        scores = [score for row in self.methods for score in row.scores if score]
        found = [one for s in scores for at in NEAR if (one := s.find(at))]
        means, lows = [one.mean for one in found], [one.low for one in found]
        high = 1.3 * max([LEAST_RANGE, *means])
        return max(min([-LEAST_RANGE, *means, *lows]), -high), high

    @property
    def worst_cell(self) -> str:
        """Name of the cell in which most methods do harm; the printed brief shows its chart."""
        scores = zip(*(row.scores for row in self.methods), strict=True)
        harmed = [sum(bool(s and s.harms) for s in of_cell) for of_cell in scores]
        return self.cells[harmed.index(max(harmed)) if harmed else 0].name

    @property
    def usable(self) -> list[MethodRow]:
        """The methods that are like Retrain in every cell, the nearest to Retrain first."""
        found = [row for row in self.methods if row.count(verdict.LIKE) == len(self.cells)]
        return sorted(found, key=lambda row: row.mean_gap)

    @property
    def best(self) -> MethodRow | None:
        """The nearest of the methods that are like Retrain in every cell."""
        return next(iter(self.usable), None)

    @property
    def by_gap(self) -> list[MethodRow]:
        """The methods with a gap to Retrain in every cell, the nearest first.

        Those that collapsed or have no verdict, because a check failed, are left out.
        """
        found = [row for row in self.methods if not row.count(verdict.COLLAPSED, "")]
        known = [row for row in found if row.mean_gap < math.inf]
        return sorted(known, key=lambda row: row.mean_gap)

    @property
    def nearest(self) -> MethodRow | None:
        """The method with the smallest mean gap to Retrain."""
        return next(iter(self.by_gap), None)

    @property
    def is_nearest_shown(self) -> bool:
        """Whether the smallest gap is smaller than the next one beyond chance."""
        return self.nearest_p is not None and self.nearest_p < ALPHA

    @property
    def all_fail(self) -> bool:
        """Whether every method is shown to do harm or to differ in at least one cell."""
        failures = (verdict.COLLAPSED, verdict.HARM, verdict.DIFFERENT)
        return all(row.count(*failures) for row in self.methods)

    @property
    def harms(self) -> dict[str, list[Harmed]]:
        """For each kind of harm, the methods of which it is shown, the most harmful first."""
        found: dict[str, list[Harmed]] = {}
        for harm in (HURT, DAMAGE_WORD, HURT_FAR, verdict.COLLAPSED, AS_BASE):
            for row in self.methods:
                worst = [s.harms[harm] for s in row.scores if s and harm in s.harms]
                if worst:
                    most = max(worst, key=lambda one: one.low if one else 0.0)
                    found.setdefault(harm, []).append(Harmed(row.label, len(worst), most))
        for methods in found.values():
            methods.sort(key=lambda one: -(one.worst.low if one.worst else one.count))
        return found

    @property
    def open_harm(self) -> tuple[str, Measured] | None:
        """The largest loss that is not excluded, of all methods without harm shown: label, loss."""
        found = [
            (row.label, one)
            for row in self.methods
            for score in row.scores
            if score and not score.harms
            for one in score.measures
            if one.at in HARMS and one.answer == "open" and one.high > 0
        ]
        return max(found, key=lambda pair: (pair[1].high, pair[1].mean), default=None)

    def count_forgettable(self, answer: str) -> int:
        """Return in how many cells there is something to forget: "yes", "no" or "open"."""
        return sum(cell.forgettable == answer for cell in self.cells)

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Decision:
        """Return the decision table from its JSON form, which `asdict` returned."""
        return TypeAdapter(Decision).validate_python(content)


def position(value: float, limits: tuple[float, float]) -> float:
    """Return the horizontal position, in pixels, at which the small plot shows a value of damage.

    A value beyond the axis is shown at the end of the axis.
    """
    low, high = limits
    share = (min(max(value, low), high) - low) / (high - low)
    return round(EDGE + share * (DOT_WIDTH - 2 * EDGE), 1)


def build_decision(name: str, table: BenchmarkTable, version: str) -> Decision:
    """Collect the verdicts, differences, gaps and times of all methods, and the doubts."""
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
    decision = Decision(
        name,
        str(plan.data.get("name", "")),
        plan.model,
        version,
        table.cells[0].has_retrain,
        [_column(cell) for cell in table.cells],
        sorted(rows, key=lambda row: row.order),
    )
    first_two = [row.run for row in decision.by_gap[:2]]
    doubts = list_doubts(table.gates, {cell.name: cell.title for cell in table.cells})
    usable = [row.run for row in decision.usable]
    return replace(
        decision,
        nearest_p=_known(compare_gaps(table, first_two)),
        doubts=doubts,
        untested=find_untested(table.cells, usable),
        compared=list_compared(table.cells, usable),
    )


def list_doubts(gates: Sequence[Gate], titles: Mapping[str, str]) -> list[Doubt]:
    """Return the checks that failed, then those that warn, each once for all cells."""
    found = []
    for colour in ("red", "amber"):
        for name in dict.fromkeys(gate.name for gate in gates if gate.colour == colour):
            of_name = [gate for gate in gates if gate.name == name]
            own = [gate for gate in of_name if gate.colour == colour]
            cells = [titles.get(gate.cell, gate.cell) for gate in own]
            found.append(Doubt(name, colour, cells, len(of_name), own[0].text))
    return found


def compare_gaps(table: BenchmarkTable, runs: Sequence[str]) -> float:
    """Return the p-value of the difference between the mean gaps of two runs to Retrain.

    A gap is a mean of absolute differences of means over seeds. With the signs of these differences
    it is a mean over seeds, so that two gaps are compared by a paired test over seeds.
    """
    gaps = [[gap_by_seed(cell, run) for cell in table.cells] for run in runs]
    counts = {len(values) for of_run in gaps for values in of_run}
    if len(runs) != 2 or len(counts) > 1 or min(counts) < LEAST_SEEDS:
        return math.nan
    first, second = np.mean(gaps, axis=1)
    more = second - first
    return math.nan if np.isnan(more).any() else float(p_value(more))


def _score(cell: CellTable, run: str, verdicts: Mapping[str, MethodVerdict]) -> Score | None:
    if run not in cell.labels:
        return None
    found = verdicts.get(run)
    return Score(
        found.verdict if found else "",
        found.words if found else [],
        found.title if found else "",
        found.sentence if found else "",
        [_measure(cell, run, at) for at in MEASURES if found and _is_tested(cell, run, at)],
        _known(cell.number(run, "avg_gap")),
        _known(cell.number(run, "rte_share")),
        _known(cell.number(run, "rte_share_with_tuning")),
        _known(cell.number(run, "seeds_needed")),
        found is not None and found.verdict == verdict.HARM and is_harm_of_base(cell, run),
        _known(cell.number(run, "paying_deletions")),
    )


def _is_tested(cell: CellTable, run: str, at: str) -> bool:
    return not math.isnan(cell.number(run, "within", at=at))


def _measure(cell: CellTable, run: str, at: str) -> Measured:
    is_shown, is_within = (cell.number(run, name, at=at) != 0 for name in ("shown", "within"))
    answer = "shown" if is_shown else "within" if is_within else "open"
    mean, margin = (cell.number(run, name, at=at) for name in (DIFFERENCE, "margin"))
    test = find_test(cell, run, at)
    low, high = (cell.number(run, f"{test}_{end}", at=at) for end in ("low", "high"))
    return Measured(at, mean, low, high, margin, answer)


def _column(cell: CellTable) -> CellColumn:
    sizes = cell.forgotten.values()
    return CellColumn(
        cell.name,
        cell.title,
        sum(count for count, _ in sizes),
        len(cell.seeds),
        _known(cell.number(ORIGINAL, "avg_gap")),
        _known(cell.number(cell.reference, "floor", at="avg_gap")),
        [f"{gate.name}: {gate.text}" for gate in cell.red_gates],
        is_there_anything_to_forget(cell),
        [*cell.forgotten],
        format_percent(sum(n for n, _ in sizes) / max(sum(of for _, of in sizes), 1)),
        [count_part(cell, "near_count", name) for name in ("retain", "test")],
        _known(mean_of_defined(cell.values(cell.reference, "rte"))),
        _forgotten_accuracy(cell),
    )


def _forgotten_accuracy(cell: CellTable) -> tuple[float, float] | None:
    """Return the mean UA of Retrain and of the base model; None if one of them is unknown."""
    runs = (cell.reference, ORIGINAL) if cell.has_retrain else ()
    found = [mean_of_defined(cell.values(run, "ua")) for run in runs]
    return (found[0], found[1]) if found and all(map(math.isfinite, found)) else None


def decision_sources(cell: CellTable) -> list[Source]:
    """Return the source link (keys of the long-table row) of each number that the table shows."""
    ends = [f"{test}_{end}" for test in (DIFFERENCE, EQUIVALENCE) for end in ("low", "high")]
    shown = [
        *((name, at) for at in NEAR for name in (DIFFERENCE, *ends)),
        *((name, "") for name in ("avg_gap", "rte_share", "rte_share_with_tuning")),
    ]
    found = [Source(run, name, at=at) for run in cell.runs("method") for name, at in shown]
    return [*found, Source(ORIGINAL, "avg_gap"), Source(cell.reference, "floor", at="avg_gap")]


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def describe(one: Measured) -> str:
    """Return a clause on a difference from Retrain that is shown or open."""
    if one.at in LOSSES:
        examples, than = EXAMPLES[one.at]
        change = f"{'lose' if one.mean > 0 else 'gain'} {format_points(abs(one.mean))} points{than}"
        text = f"{examples} {change}"
    else:
        side = "above" if one.mean > 0 else "below"
        text = f"{NAMES[one.at]} is {format_points(abs(one.mean))} points {side} Retrain's"
    if one.answer == "shown":
        return f"{text} ({describe_least(min(abs(one.low), abs(one.high)))})"
    large = "large but not beyond chance" if one.is_large else "open"
    if one.at in LOSSES:
        return f"{text} ({large}: {describe_worst(one.mean, one.high)})"
    return f"{text} ({large}: at most {format_points(one.high if one.mean > 0 else -one.low)})"


def format_points(value: float | None, *, sign: bool = False) -> str:
    """Return a difference of rates in percentage points, as text; a dash if it is undefined."""
    return EMPTY if value is None else find_metric("difference").text(value, sign=sign)


def format_seconds(value: float) -> str:
    """Return a time in seconds as text, without the unit."""
    return find_metric("rte").text(value)


def format_share(value: float | None) -> str:
    """Return a fraction in whole percent; a dash if it is undefined."""
    return EMPTY if value is None else format_percent(value)
