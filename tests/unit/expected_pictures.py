"""What pictures must show, worked out from the rows of metrics.csv and costs.csv alone."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from fake_cell import checked
from numpy.typing import NDArray
from scipy.stats import t

from collateral.contract.metrics import DIGITS
from collateral.findings.metric_index import find_metric
from collateral.findings.registry import VIEWS, in_page_order, view_function
from collateral.plots.plot import Plot
from collateral.results import layout
from collateral.results.plan import BenchmarkPlan, Sweep
from collateral.results.table import BenchmarkTable, CellTable, read_tables

Floats = NDArray[np.float64]
SETS = {"retain": "Retained examples", "test": "Test examples"}
MEASURES = {"delta_acc": "Accuracy", "delta_conf": "True-class confidence"}
AFFECTED = ("ra_affected", "ua_affected", "ta_affected")
SHARES = (1, 2, 5, 10, 20)  # of Retrain's time, in percent
SWEPT = {
    "standard": ("ua", "ra", "ta", "mia"),
    "affected": AFFECTED,
    "teacher_accuracy": ("teacher_ua", "target_ua"),
    "teacher_epochs": ("teacher_epochs",),
}
REPORTED = (*SWEPT["teacher_accuracy"], *SWEPT["teacher_epochs"])
NEXT_SEED = "Retrain, next seed"


def mean(values: Floats) -> float:
    """Return the mean of what is defined."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def student(n: int) -> float:
    """Return the factor of a 95 % interval."""
    return float(t.ppf(0.975, n - 1)) if n > 1 else math.nan


@dataclass(frozen=True)
class Point:
    """A place of a line: its values by seed, in the unit of the picture."""

    x: float
    values: Floats
    chance: float = math.nan  # what hovering says of it
    is_own: bool = False
    has_interval: bool = True

    @property
    def known(self) -> Floats:
        """What is defined."""
        return self.values[~np.isnan(self.values)]

    @property
    def y(self) -> float:
        """The mean."""
        return mean(self.values)

    @property
    def error(self) -> float:
        """The standard error; NaN for fewer than two."""
        n = len(self.known)
        is_known = n > 1 and self.has_interval
        return float(self.known.std(ddof=1)) / math.sqrt(n) if is_known else math.nan

    @property
    def half(self) -> float:
        """Half the 95 % interval."""
        return student(len(self.known)) * self.error

    def said(self, form: str, unit: str) -> str:
        """Return what hovering says."""
        return said(self.y, self.y - self.half, self.y + self.half, form, unit)


@dataclass(frozen=True)
class Panel:
    """What a panel of lines shows."""

    title: str
    unit: str
    lines: dict[str, list[Point]]  # by label
    level: float = math.nan
    chance: float = math.nan
    runs: dict[str, str] = field(default_factory=dict)  # by label, whose switch hides the line

    @property
    def band(self) -> tuple[float, float]:
        """Where 95 % of other retrainings' means lie."""
        most = 100.0 if self.unit == "%" else math.inf
        return max(self.level - self.chance, 0.0), min(self.level + self.chance, most)

    def points(self) -> Iterator[tuple[str, Point]]:
        """Yield every point that has a mean, with its label."""
        for label, points in self.lines.items():
            for point in points:
                if not math.isnan(point.y):
                    yield label, point


def said(value: float, low: float, high: float, form: str, unit: str) -> str:
    """Return a number, and its interval where it has one, as hovering says them."""
    if math.isnan(value):
        return "–"
    between = "" if math.isnan(low + high) else f" [{low:{form}}, {high:{form}}]"
    return f"{value:{form}}{between}{unit}".replace("-", "−")


@dataclass(frozen=True)
class Long:
    """The long tables of a benchmark, as they are on disk."""

    folder: Path

    @cached_property
    def plan(self) -> BenchmarkPlan:
        """What the config says."""
        return BenchmarkPlan.load(self.folder / layout.PLAN)

    @cached_property
    def rows(self) -> list[dict[str, str]]:
        """All rows of both files."""
        found = []
        for name in (layout.METRICS, layout.COSTS):
            with (self.folder / name).open(newline="", encoding="utf-8") as file:
                found += list(csv.DictReader(file))
        return found

    @cached_property
    def table(self) -> BenchmarkTable:
        """What pictures are drawn from."""
        paths = [self.folder / name for name in (layout.METRICS, layout.COSTS)]
        return checked(read_tables(self.plan, *paths))

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells, in the order of the file."""
        names = dict.fromkeys(row["cell"] for row in self.rows if row["cell"])
        return [
            Cell(self, name, table) for name, table in zip(names, self.table.cells, strict=True)
        ]

    def plots(self) -> dict[tuple[str | None, str], Plot]:
        """Return all plots by cell and name; the cell of those over all cells is None."""
        sources = [(None, self.table), *((cell.name, cell.table) for cell in self.cells)]
        return {
            (place, plot.name): plot
            for place, source in sources
            for finding in in_page_order(VIEWS, reference=self.plan.reference)
            for plot in self.plots_by(finding, source)
        }

    def plots_by(self, finding: str, source: CellTable | BenchmarkTable) -> list[Plot]:
        """Return the plots of a finding, of a cell or over all."""
        function = "plots" if isinstance(source, CellTable) else "plots_across"
        make = view_function(finding, function)
        return list(make(source)) if make else []


@dataclass(frozen=True)
class Cell:
    """The rows of one cell."""

    long: Long
    name: str
    table: CellTable

    @cached_property
    def _numbers(self) -> dict[tuple[str, ...], float]:
        keys = ("run", "metric", "set", "at", "seed")
        of_cell = (row for row in self.long.rows if row["cell"] == self.name)
        return {tuple(row[k] for k in keys): float(row["value"] or "nan") for row in of_cell}

    @cached_property
    def seeds(self) -> list[str]:
        """The seeds, in order."""
        return sorted({key[4] for key in self._numbers if key[4]}, key=int)

    @cached_property
    def lost(self) -> dict[str, set[str]]:
        """By run, the seeds that did not end well."""
        found: dict[str, set[str]] = {}
        for row in self.long.rows:
            if row["cell"] == self.name and row.get("status", "ok") != "ok" and row["seed"]:
                found.setdefault(row["run"], set()).add(row["seed"])
        return found

    def kind(self, run: str) -> str:
        """Return method or control; empty where the cell has no such run."""
        return next((r["kind"] for r in self._of_run(run)), "")

    def _of_run(self, run: str) -> Iterator[dict[str, str]]:
        return (r for r in self.long.rows if r["cell"] == self.name and r["run"] == run)

    def values(self, run: str, metric: str, set: str = "", at: object = "") -> Floats:
        """Return a number by seed."""
        found = (self._numbers.get((run, metric, set, str(at), s), math.nan) for s in self.seeds)
        return np.array(list(found))

    def number(self, run: str, metric: str, set: str = "", at: object = "") -> float:
        """Return a number over all seeds."""
        return self._numbers.get((run, metric, set, str(at), ""), math.nan)

    def places(self, run: str, metric: str, set: str = "") -> list[str]:
        """Return where a run has a number."""
        found = {key[3] for key in self._numbers if key[:3] == (run, metric, set)}
        return sorted(found, key=lambda at: (not at.isdecimal(), int(at) if at.isdecimal() else 0))

    @cached_property
    def labels(self) -> dict[str, str]:
        """The runs that are drawn, methods before controls: those with a good seed."""
        runs = [run for run in self.long.plan.labels if "@" not in run]
        return {
            run: self.long.plan.labels[run]
            for kind in ("method", "control")
            for run in runs
            if self.kind(run) == kind and len(self.lost.get(run, ())) < len(self.seeds)
        }

    def chance(self, metric: str) -> float:
        """Return what 95 % of the deviations between retrainings stay below, in points."""
        floor = self.number("retrain", "floor", at=metric)
        return 100 * student(len(self.seeds)) * math.sqrt(math.pi / 2) * floor

    def chance_by_sd(self, metric: str, set: str = "", at: object = "") -> float:
        """Return the same of a number whose standard deviation is known."""
        return 100 * student(len(self.seeds)) * self.number("retrain", f"{metric}_sd", set, at)

    def rate(self, run: str, metric: str, set: str = "", at: object = "") -> Floats:
        """Return a number by seed in percent or points."""
        return find_metric(metric).factor * self.values(run, metric, set, at)

    # Panels of lines, by picture.

    def line_pictures(self) -> dict[str, list[Panel]]:
        """Return all pictures of lines that there must be."""
        found = {"similarity": self.similarity()}
        if any(self.places(run, "epoch_ua") for run in self.labels):
            found["epochs"] = self.epochs()
        for sweep in self.table.plan.sweeps:
            found |= self.swept(sweep)
        if self.places("ltd", "support_teacher_ua"):
            found |= self.supports()
        return found

    def edges(self, set: str) -> list[tuple[float, float]]:
        """Return the ends of each bin of similarity."""
        bins = self.places("retrain", "bin_low", set)
        return [
            tuple(self.number("retrain", f"bin_{end}", set, b) for end in ("low", "high"))
            for b in bins
        ]  # type: ignore[misc]

    def similarity(self) -> list[Panel]:
        """Return accuracy, then confidence, each of retained and of test examples."""
        return [self._similarity(metric, name) for metric in MEASURES for name in SETS]

    def _similarity(self, metric: str, name: str) -> Panel:
        lines = {
            label: [
                Point(
                    (low + high) / 2,
                    self.rate(run, metric, name, b),
                    self.chance_by_sd(metric, name, b),
                )
                for b, (low, high) in enumerate(self.edges(name))
            ]
            for run, label in self.labels.items()
        }
        return Panel(f"{MEASURES[metric]}, {SETS[name]}", "points", lines, runs=self._by_label)

    @property
    def _by_label(self) -> dict[str, str]:
        return {label: run for run, label in self.labels.items()}

    def epochs(self) -> list[Panel]:
        """Return RA, UA and TA, of all examples and of the affected classes, where defined."""
        names = ("ra", "ua", "ta", "ra_affected", "ta_affected")
        return [
            self._epochs(one) for one in names if not math.isnan(mean(self.rate("retrain", one)))
        ]

    def _epochs(self, metric: str) -> Panel:
        name, bound = f"epoch_{metric}", self.chance(metric)
        lines = {
            label: [
                Point(int(at), 100 * self.values(run, name, at=at), bound)
                for at in self.places(run, name)
            ]
            for run, label in self.labels.items()
            if self.places(run, "epoch_ua")
        }
        level = mean(self.rate("retrain", metric))
        heading = find_metric(metric).heading
        return Panel(heading, "%", lines, level, bound, self._by_label)

    def swept(self, sweep: Sweep) -> dict[str, list[Panel]]:
        """Return a picture a kind of numbers."""
        drawn = [run for run in sweep.numbers if self._is_drawn(run)]
        if sweep.key == "teacher_seed" or len(drawn) < 3:
            return {}
        return {
            f"sweep-{sweep.name}-{kind}": panels
            for kind, metrics in SWEPT.items()
            if (panels := [self._swept(sweep, m) for m in metrics if self._is_shown(sweep, m)])
        }

    def _is_drawn(self, run: str) -> bool:
        """Tell whether a run did not fail in all seeds."""
        return bool(self.kind(run)) and len(self.lost.get(run, ())) < len(self.seeds)

    def _is_shown(self, sweep: Sweep, metric: str) -> bool:
        """Tell whether to draw it: of what a method reports, where that varies at all."""
        known = {name: self._known(sweep, name) for name in REPORTED}
        varies = any(len(v) > 1 and np.ptp(v, axis=0).any() for v in known.values())
        return metric not in REPORTED or (varies and len(known[metric]) > 1)

    def _known(self, sweep: Sweep, metric: str) -> Floats:
        values = [self.values(run, metric) for run in sweep.numbers]
        return np.array([of_run for of_run in values if not np.isnan(of_run).any()])

    def _swept(self, sweep: Sweep, metric: str) -> Panel:
        shown, held = (
            find_metric(metric),
            {"teacher_ua": "ua", "target_ua": "ua"}.get(metric, metric),
        )
        is_rate = shown.unit == "%"
        level = mean(self.rate("retrain", held)) if is_rate else math.nan
        bound = self.chance(held) if is_rate else math.nan
        points = [
            Point(x, self.rate(run, metric), bound, run == sweep.own)
            for run, x in sorted(sweep.numbers.items(), key=lambda pair: pair[1])
            if self._is_drawn(run)
        ]
        runs = {sweep.method: sweep.own}
        return Panel(shown.heading, shown.unit, {sweep.method: points}, level, bound, runs)

    def supports(self) -> dict[str, list[Panel]]:
        """Return the lines over the size of the support."""
        run, label = "ltd", f"{self.long.plan.labels['ltd']}'s teacher"
        sizes = self.places(run, "support_teacher_ua")
        floors = [self.number(run, "support_kl_seeds", at=k) for k in sizes]

        def panel(title: str, name: str, unit: str, *held: float) -> Panel:
            factor, bound = find_metric(f"support_{name}").factor, [*held, math.nan, math.nan][1]
            points = [
                Point(int(k), factor * self.values(run, f"support_{name}", at=k), bound)
                for k in sizes
            ]
            return Panel(title, unit, {label: points}, *held, runs={label: run})

        changes = panel("KL to the next smaller support's", "kl_previous", "nats")
        points = [replace(p, chance=f) for p, f in zip(changes.lines[label], floors, strict=True)]
        accuracy = find_metric("support_teacher_ua").unit
        two = self.number(run, "support_kl_retrains")
        held = mean(self.rate("retrain", "ua")), self.chance("ua")
        return {
            "support-kl": [replace(changes, lines={label: points})],
            "support-accuracy": [
                panel("Teacher on the forget set (%)", "teacher_ua", accuracy),
                panel("Classes in the support", "num_classes", "classes"),
            ],
            "support-retrain": [
                panel("KL of the teacher to Retrain (nats)", "kl_retrain", "nats", 0.0, two),
                panel("Accuracy on the forget set (%)", "teacher_ua", accuracy, *held),
            ],
        }

    def probed(self, metric: str) -> list[Panel]:
        """Return the curves of a probe, and their distance from Retrain's."""
        steps = self.places("retrain", metric)
        reference = [self.rate("retrain", metric, at=step) for step in steps]
        own, gap = {}, {}
        for run, label in self.labels.items():
            values = [self.rate(run, metric, at=step) for step in steps]
            own[label] = [Point(int(s), v) for s, v in zip(steps, values, strict=True)]
            differences = zip(steps, values, reference, strict=True)
            gap[label] = [Point(int(s), v - r) for s, v, r in differences]
        own["Retrain"] = [Point(int(s), v) for s, v in zip(steps, reference, strict=True)]
        return [Panel("", "%", own), Panel("", "points", gap)]

    # What other pictures are made of.

    def course(self, run: str, part: str) -> Floats:
        """Return a number of a tracked run in points, by epoch."""
        name = f"epoch_{part}"
        return 100 * np.array([self.number(run, name, at=at) for at in self.places(run, name)])

    def seconds(self, run: str) -> Floats:
        """Return the mean seconds of a tracked run, by epoch."""
        epochs = self.places(run, "epoch_avg_gap")
        return np.array([mean(self.values(run, "epoch_seconds", at=at)) for at in epochs])

    @property
    def tracked(self) -> dict[str, str]:
        """The tracked runs that are drawn."""
        return {r: label for r, label in self.labels.items() if self.places(r, "epoch_avg_gap")}

    def affected(self, run: str) -> list[Point]:
        """Return the differences from Retrain on the affected classes, paired by seed."""
        return [
            Point(k, self.rate(run, m) - self.rate("retrain", m), self.chance(m))
            for k, m in enumerate(AFFECTED)
        ]

    def affected_mean(self, run: str, metric: str) -> float:
        """Return the difference of the means, as tables print it."""
        return 100 * (mean(self.values(run, metric)) - mean(self.values("retrain", metric)))

    def classes(self, run: str) -> dict[str, Point]:
        """Return the classes that remain by name: similarity, and the loss by seed."""
        return {
            name: Point(
                mean(self.values("retrain", "class_similarity", at=name)),
                self.rate(run, "class_drop", at=name),
                self.chance_by_sd("class_drop", at=name),
            )
            for name in self.places("retrain", "class_similarity")
        }

    def fit(self, run: str) -> Callable[[Floats], Floats]:
        """Return the line through the mean of the classes with the mean slope of the seeds."""
        points = [p for p in self.classes(run).values() if not math.isnan(p.y + p.x)]
        x, y = (np.mean([getattr(p, name) for p in points]) for name in "xy")
        slope = 100 * self.number(run, "class_slope")
        return lambda at: y + slope * (at - x)

    def verdicts(self) -> list[Judged]:
        """Return the numbers of every run that has a place in the picture of verdicts."""
        runs = [run for run in self.table.labels if run != "retrain"]
        found = [Judged.read(self, run) for run in runs]
        return [one for one in found if not math.isnan(one.error + one.damage)]

    def corner(self) -> tuple[float, float, float, float]:
        """Return the box of the margins: error (mean of UA's and MIA's) and damage, in points."""
        ua, mia, damage = (
            100 * self.number("retrain", "margin", at=at) for at in ("ua", "mia", "damage")
        )
        return 0, mean(np.array([ua, mia])), -damage, damage

    def step(self, name: str) -> Floats:
        """Return a number of the step of gradient ascent, by bin and seed."""
        places = self.places("ltd", "support_drop")
        return np.array([self.values("ltd", f"support_{name}", at=b) for b in places])

    def taken(self) -> Iterator[tuple[float, float]]:
        """Yield where what `k: auto` takes begins and ends, seed by seed."""
        low, high, counts = (self.step(name) for name in ("bin_low", "bin_high", "bin_count"))
        for seed, auto in enumerate(self.values("ltd", "support_auto")):
            is_enough = np.cumsum(counts[::-1, seed]) >= int(auto)
            yield low[-1 - int(np.argmax(is_enough)), seed], high[-1, seed]

    def slope(self, run: str) -> str:
        """Return the slope and its interval, per tenth, as the picture writes them."""
        ends = [10 * self.number(run, f"class_slope{end}") for end in ("", "_low", "_high")]
        return said(*ends, ".2f", "")


@dataclass(frozen=True)
class Judged:
    """A run in the picture of verdicts, in points; the price as a share of Retrain's time."""

    label: str
    error: float
    damages: Floats  # by seed
    ends: tuple[float, float]
    price: float
    is_edge: bool  # it collapsed

    @staticmethod
    def read(cell: Cell, run: str) -> Judged:
        """Return the numbers of a run."""
        is_within = cell.number(run, "within", at="damage") == 1
        test = "equivalence" if is_within else "difference"  # the one that gave the answer
        low, high = (cell.number(run, f"{test}_{end}", at="damage") for end in ("low", "high"))
        return Judged(
            cell.long.plan.labels[run],
            100 * cell.number(run, "forgetting_error"),
            100 * cell.values(run, "damage", "retain"),
            (100 * low, 100 * high),
            cell.number(run, "rte_share"),
            cell.number(run, "verdict", at="collapsed") == 1,
        )

    @property
    def damage(self) -> float:
        """The mean."""
        return mean(self.damages)

    @property
    def area(self) -> float:
        """That of its mark: 110 where a run takes as long as Retrain."""
        share = 0.0 if math.isnan(self.price) else min(self.price, 1.5)
        return max(110 * share, 9.0)


def localization(long: Long) -> list[Panel]:
    """Return the means over cells of the differences by nearness, retained and test examples."""
    return [_localization(long, name) for name in SETS]


def _localization(long: Long, name: str) -> Panel:
    runs = [r for r in long.plan.labels if "@" not in r]
    methods = [r for r in runs if any(c.kind(r) == "method" for c in long.cells)]
    lines, switched = {}, {}
    for run in (*methods, "retrain"):
        cells = [c for c in long.cells if c.kind(run) and not c.lost.get(run)]
        label = NEXT_SEED if run == "retrain" else long.plan.labels[run]
        if cells:
            lines[label], switched[label] = _nearest(cells, run, name), run
    return Panel(SETS[name], "points", lines, runs=switched)


def _nearest(cells: Sequence[Cell], run: str, name: str) -> list[Point]:
    metric, points = "nearest_difference", []
    for share in (100, 50, 20, 10, 5, 2, 1):
        of_cells = [100 * cell.values(run, metric, name, share) for cell in cells]
        values = of_cells[0] if len(cells) == 1 else np.array([mean(v) for v in of_cells])
        points.append(Point(share, values, has_interval=len(cells) > 1 or run != "retrain"))
    return points


def points_said(value: float) -> str:
    """Return a number of points without its interval, as hovering says it."""
    return said(value, math.nan, math.nan, ".1f", " points")


def span(values: Floats) -> str:
    """Return "3 to 5", or "3" where all are alike."""
    low, high = (f"{end:.0f}" for end in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def digits(unit: str) -> str:
    """Return how a number of this unit is written."""
    return f".{DIGITS.get(unit, 2)}f"
