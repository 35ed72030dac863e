"""Slope, rank correlation and near-to-far ratio of every run, and the intervals of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from collateral.contract.rows import Row
from collateral.contract.seeds import derive_seed
from collateral.findings._shared.inference.differences import compare
from collateral.findings._shared.inference.examples import Resamples, percentiles
from collateral.findings.localization import CONTROLS, HARDNESS, NEAREST, SETS
from collateral.findings.localization.association import (
    NUM_SUMS,
    STATISTICS,
    Floats,
    Ground,
    margins,
    over_seeds,
    shown,
    tenths_of,
)
from collateral.findings.near import near_by_seed
from collateral.results.layout import RETRAIN
from collateral.results.table import BenchmarkTable, CellTable

if TYPE_CHECKING:
    from collateral.results.cell import CellResults, Result

LEAST_PAIRS = 3  # seeds: the two pairs of two retrainings are the same
UNKNOWN = (np.nan, np.nan)


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the numbers of every run but sweeps', on retained and on test examples."""
    runs = [run for run in cell.runs if "@" not in run]
    kinds = {result.run: result.kind for result in cell.results()}
    methods = [run for run in runs if kinds[run] == "method"]
    for name in SETS:
        landscape = Landscape(cell, name)
        rows: list[Row] = []
        for run in (RETRAIN, *runs):
            pairs = _pairs(cell, run)
            differences = [landscape.difference(*pair) if pair else None for pair in pairs]
            yield from landscape.by_share(run, differences)
            for control in CONTROLS:
                rows += landscape.strength(run, differences, control)
        yield from rows
        for control in CONTROLS:
            yield from excesses(rows, methods, name, control)


def excesses(
    rows: Iterable[Row], methods: Sequence[str], name: str, control: str | None
) -> Iterator[Row]:
    """Yield how much steeper each method's slope is than Retrain's, by seed; all are one family."""
    slopes: dict[str, list[float]] = {}
    for row in rows:
        if (row.metric, row.at) == ("locality_slope", control):
            slopes.setdefault(row.run, []).append(row.value)
    beyond = {run: np.subtract(slopes[run], slopes[RETRAIN]) for run in methods}
    # As a gap, it is undefined for a run that diverged in one seed.
    whole = {run: v for run, v in beyond.items() if not np.isnan(v).any()}
    has_seeds = len(slopes[RETRAIN]) >= LEAST_PAIRS
    found = compare(whole if has_seeds else {})
    for run, values in beyond.items():
        low = found[run].low if run in found else np.nan
        yield Row(run, "locality_excess", float(values.mean()), set=name, at=control)
        yield Row(run, "locality_excess_low", low, set=name, at=control)


def across(table: BenchmarkTable) -> Iterator[Row]:
    """Yield in how many cells each method's difference rises more than Retrain's does."""
    for run in dict.fromkeys(run for cell in table.cells for run in cell.runs("method")):
        for name in SETS:
            for control in CONTROLS:
                if len(lows := known_lows(table, run, name, control)):
                    count = float(np.count_nonzero(lows > 0))
                    yield Row(run, "rising_cells", count, set=name, at=control)


def known_lows(table: BenchmarkTable, run: str, name: str, control: str | None) -> Floats:
    """Return the ends of the intervals that are known, of cells where the run ended well."""
    cells = sound_cells(table, run)
    lows = np.array([cell.number(run, "locality_excess_low", name, control) for cell in cells])
    known: Floats = lows[~np.isnan(lows)]
    return known


def sound_cells(table: BenchmarkTable, run: str) -> list[CellTable]:
    """Return the cells where no seed of a run diverged or collapsed; of Retrain, all."""
    return [
        cell
        for cell in table.cells
        if run == RETRAIN or (run in cell.labels and not cell.failure_summary(run))
    ]


def _pairs(cell: CellResults, run: str) -> list[tuple[Result, Result] | None]:
    """Return by seed whom to compare with whom: Retrain with the next seed's; None: undefined."""
    retrained = list(cell.retrained())
    others = [*retrained[1:], retrained[0]] if run == RETRAIN else []
    others = others or [result for result in cell.results() if result.run == run]
    is_alone = run == RETRAIN and len(retrained) < 2
    return [
        None if is_alone or a.is_diverged or b.is_diverged else (a, b)
        for a, b in zip(retrained, others, strict=True)
    ]


@dataclass(frozen=True)
class Landscape:
    """A set of a cell: how similar, how near and how hard its examples are, by seed."""

    cell: CellResults
    name: str

    @cached_property
    def resamples(self) -> Resamples:
        """Resamples of the set, the same for all runs and seeds."""
        rng = np.random.default_rng(derive_seed("localization", self.name, self.num_examples))
        return Resamples.draw(self.num_examples, rng)

    @property
    def num_examples(self) -> int:
        """The number of examples of the data set."""
        return int(self.cell.similarity[self.name].shape[1])

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The examples by similarity, so that no resample depends on their order on disk."""
        return np.argsort(self.cell.similarity[self.name][0], kind="stable")

    @cached_property
    def grounds(self) -> dict[str | None, list[Ground]]:
        """What differences are held against, by control and seed."""
        similarities = self.cell.similarity[self.name].astype(np.float64)
        near = near_by_seed(self.cell, self.name)
        hardness = [self._hardness(result) for result in self.cell.retrained()]
        return {
            None: [Ground.plain(s, n) for s, n in zip(similarities, near, strict=True)],
            HARDNESS: [
                Ground.within(s, n, tenths_of(h))
                for s, n, h in zip(similarities, near, hardness, strict=True)
            ],
        }

    def _hardness(self, retrained: Result) -> Floats:
        """Return Retrain's margins; where it diverged they do not count."""
        labels, split = self.cell.labels, self.cell.split
        if self.name == "test":
            return np.nan_to_num(margins(retrained.test.logits, labels.test))
        kept = retrained.train.logits[split.retain]
        return np.nan_to_num(margins(kept, labels.train[split.retain]))

    def difference(self, one: Result, other: Result) -> Floats:
        """Return |confidence - confidence| of each example."""
        of_one, of_other = (
            self.cell.sets(r.train.confidence, r.test.confidence)[self.name].astype(np.float64)
            for r in (one, other)
        )
        return np.abs(of_one - of_other)

    def strength(
        self, run: str, differences: list[Floats | None], control: str | None
    ) -> Iterator[Row]:
        """Yield the three numbers by seed, and their intervals over seeds and over examples."""
        columns = [
            None if difference is None else ground.columns(difference)
            for ground, difference in zip(self.grounds[control], differences, strict=True)
        ]
        sums = [np.full(NUM_SUMS, np.nan) if c is None else c.sum(axis=0) for c in columns]
        whole = [self.resamples.sums(c[self.order]) for c in columns if c is not None]
        # As a gap, an interval is undefined for a run that diverged in one seed.
        drawn = whole if len(whole) == len(columns) else [np.full((1, NUM_SUMS), np.nan)]
        for name, statistic in STATISTICS.items():
            by_seed = statistic(np.array(sums))
            for seed, value in zip(self.cell.seeds, by_seed, strict=True):
                yield Row(run, name, shown(name, value), seed, self.name, control)
            ends = {
                # Two pairs of retrainings share one: they are no sample.
                "": over_seeds(by_seed) if drawn is whole and run != RETRAIN else UNKNOWN,
                "examples_": percentiles(
                    np.mean([statistic(s) for s in drawn], axis=0), self.num_examples
                ),
            }
            for kind, (low, high) in ends.items():
                yield Row(run, f"{name}_{kind}low", shown(name, low), None, self.name, control)
                yield Row(run, f"{name}_{kind}high", shown(name, high), None, self.name, control)

    def by_share(self, run: str, differences: list[Floats | None]) -> Iterator[Row]:
        """Yield the mean difference of the nearest percent, of those up to the second, and on."""
        for place, seed in enumerate(self.cell.seeds):
            means = dict.fromkeys(NEAREST, np.nan)
            difference = differences[place]
            if difference is not None:
                order = np.argsort(-self.cell.similarity[self.name][place], kind="stable")
                means = nearest_means(difference[order])
            for share, value in means.items():
                yield Row(run, "nearest_difference", float(value), seed, self.name, share)


def nearest_means(nearest_first: Floats) -> dict[int, float]:
    """Return the mean of each slice, from the nearest on; NaN for an empty one."""
    ends = [0, *(len(nearest_first) * share // 100 for share in NEAREST)]
    slices = [nearest_first[start:end] for start, end in pairwise(ends)]
    means = [float(part.mean()) if len(part) else float("nan") for part in slices]
    return dict(zip(NEAREST, means, strict=True))
