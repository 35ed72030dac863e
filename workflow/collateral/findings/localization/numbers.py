"""How each run's difference from Retrain depends on similarity to the forget set.

The statistics are slope, rank correlation and near-to-far ratio, each with intervals.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from collateral.contract.conventions import derive_seed
from collateral.contract.rows import Row
from collateral.findings.inputs import Cached, CellResults, Result
from collateral.findings.localization import CONTROLS, HARDNESS, NEAREST, SETS
from collateral.metrics.association import (
    NUM_SUMS,
    STATISTICS,
    Floats,
    Neighborhood,
    Ranked,
    Resamples,
    deciles,
    logit_margins,
    percentiles,
    undo_log,
)
from collateral.metrics.differences import LEAST_SEEDS, compare, interval
from collateral.results.layout import is_sweep
from collateral.results.table import BenchmarkTable, CellTable

LEAST_PAIRS = 3  # minimum number of seeds of a test; two seeds give only one pair of retrainings
UNKNOWN = (np.nan, np.nan)

# For each seed: each example's |true-class confidence - Retrain's|, or None if undefined.
Differences = list[Ranked | None]


def cached_numbers(cell: CellResults, cached: Cached) -> Iterator[Row]:
    """Yield all statistics of every run on retained and on test examples; skip runs of sweeps."""
    runs = [run for run in cell.runs if not is_sweep(run)]
    methods = [run for run in runs if cell.kinds[run] == "method"]
    for name in SETS:
        profile = SimilarityProfile(cell, name)
        rows: list[Row] = []
        for run in (cell.reference, *runs):
            used = dict.fromkeys((cell.reference, run))
            results = [cell.result(one, seed) for one in used for seed in cell.seeds]
            rows += cached(f"{run}-{name}", results, partial(profile.rows, run))
        yield from rows
        for control in CONTROLS:
            slopes = _slopes_by_run(rows, control)
            of_methods = {run: slopes[run] for run in methods}
            yield from compare_slopes(of_methods, slopes[cell.reference], name, control)


def _slopes_by_run(rows: Iterable[Row], control: str | None) -> dict[str, list[float]]:
    """Return the slopes of each run, one per seed, from the rows of one control."""
    slopes: dict[str, list[float]] = {}
    for row in rows:
        if (row.metric, row.at) == ("locality_slope", control):
            slopes.setdefault(row.run, []).append(row.value)
    return slopes


def compare_slopes(
    slopes: Mapping[str, Sequence[float]], floor: Sequence[float], name: str, control: str | None
) -> Iterator[Row]:
    """Yield each method's excess slope (its slope minus Retrain's), and the interval's lower end.

    Slopes are given by seed; `floor` is the slope of Retrain against Retrain of the next seed. The
    intervals are adjusted by Holm's method.
    """
    beyond = {run: np.subtract(own, floor) for run, own in slopes.items()}
    # A method that diverged in one seed has no interval.
    whole = {run: v for run, v in beyond.items() if not np.isnan(v).any()}
    found = compare(whole if len(floor) >= LEAST_PAIRS else {})
    for run, values in beyond.items():
        low = found[run].low if run in found else np.nan
        yield Row(run, "locality_excess", float(values.mean()), set=name, at=control)
        yield Row(run, "locality_excess_low", low, set=name, at=control)


def across(table: BenchmarkTable) -> Iterator[Row]:
    """Yield the number of cells in which each method's slope is significantly above Retrain's."""
    for run in dict.fromkeys(run for cell in table.cells for run in cell.runs("method")):
        for name in SETS:
            for control in CONTROLS:
                if len(lows := known_lows(table, run, name, control)):
                    count = float(np.count_nonzero(lows > 0))
                    yield Row(run, "rising_cells", count, set=name, at=control)


def known_lows(table: BenchmarkTable, run: str, name: str, control: str | None) -> Floats:
    """Return the lower interval end of a run's excess slope in each cell that has an interval."""
    cells = sound_cells(table, run)
    lows = np.array([cell.number(run, "locality_excess_low", name, control) for cell in cells])
    known: Floats = lows[~np.isnan(lows)]
    return known


def sound_cells(table: BenchmarkTable, run: str) -> list[CellTable]:
    """Return the cells in which no seed of a run failed; for the reference, all cells."""
    return [
        cell
        for cell in table.cells
        if run == cell.reference or (run in cell.labels and not cell.failure_summary(run))
    ]


def _pair_results(cell: CellResults, run: str) -> list[tuple[Result, Result] | None]:
    """Return one pair (Retrain, run) per seed; Retrain is paired with Retrain of the next seed.

    A pair is None if one of its two models diverged. Retrain with a single seed has no pair.
    """
    retrained = list(cell.retrained())
    is_reference = run == cell.reference
    others = [*retrained[1:], retrained[0]] if is_reference else []
    others = others or [result for result in cell.results() if result.run == run]
    is_alone = is_reference and len(retrained) < 2
    return [
        None if is_alone or a.is_diverged or b.is_diverged else (a, b)
        for a, b in zip(retrained, others, strict=True)
    ]


@dataclass(frozen=True)
class SimilarityProfile:
    """Similarity, nearness and hardness of the examples in one subset of a cell, for each seed.

    Similarity is a number; nearness is a mask, true for the most similar examples.
    """

    cell: CellResults
    name: str

    @cached_property
    def resamples(self) -> Resamples:
        """Bootstrap resamples of the examples; all runs and seeds use the same resamples."""
        rng = np.random.default_rng(derive_seed("localization", self.name, self.num_examples))
        drawn = Resamples.draw(self.num_examples, rng)
        # Examples are sorted by similarity, so that resamples do not depend on the order on disk.
        order = np.argsort(self.cell.similarity[self.name][0], kind="stable")
        return replace(drawn, order=order[drawn.order])

    @property
    def num_examples(self) -> int:
        """Number of examples of the subset."""
        return int(self.cell.similarity[self.name].shape[1])

    @cached_property
    def nearest_first(self) -> list[NDArray[np.int64]]:
        """Indices of the examples in the order of decreasing similarity, one array per seed."""
        similarity = self.cell.similarity[self.name]
        return [np.argsort(-of_seed, kind="stable") for of_seed in similarity]

    @cached_property
    def neighborhoods(self) -> dict[str | None, list[Neighborhood]]:
        """One neighborhood per seed, by control.

        The control None compares all examples; hardness compares examples in the same decile only.
        """
        of_seeds = self.cell.similarity[self.name].astype(np.float64)
        similarities = [Ranked.of(similarity) for similarity in of_seeds]
        parts = self.cell.near[self.name], self.cell.far[self.name]
        hardness = [self._hardness(result) for result in self.cell.retrained()]
        return {
            None: [Neighborhood.whole(s, *parts) for s in similarities],
            HARDNESS: [
                Neighborhood.within(s, *parts, deciles(h))
                for s, h in zip(similarities, hardness, strict=True)
            ],
        }

    def _hardness(self, retrained: Result) -> Floats:
        """Return the hardness of each example: Retrain's logit margin, or 0 if it is undefined."""
        labels, is_test = self.cell.labels, self.name == "test"
        outputs, label = (
            (retrained.test, labels.test) if is_test else (retrained.train, labels.train)
        )
        margins = np.nan_to_num(logit_margins(outputs.logits, label))
        return margins if is_test else margins[self.cell.split.retain]

    def rows(self, run: str) -> Iterator[Row]:
        """Yield all statistics of one run on this subset."""
        pairs = _pair_results(self.cell, run)
        differences = [Ranked.of(self.difference(*pair)) if pair else None for pair in pairs]
        yield from self.average_by_share(run, differences)
        for control in CONTROLS:
            yield from self.measure(run, differences, control)

    def difference(self, one: Result, other: Result) -> Floats:
        """Return, for each example, |true-class confidence of one run - that of the other run|."""
        of_one, of_other = (
            self.cell.sets(r.train.confidence, r.test.confidence)[self.name].astype(np.float64)
            for r in (one, other)
        )
        return np.abs(of_one - of_other)

    def measure(self, run: str, differences: Differences, control: str | None) -> Iterator[Row]:
        """Yield the slope, the rank correlation and the near-to-far ratio of a run, by seed.

        Each statistic has an interval over seeds and an interval over examples.
        """
        summands = [
            None if difference is None else neighborhood.summands(difference)
            for neighborhood, difference in zip(
                self.neighborhoods[control], differences, strict=True
            )
        ]
        sums = [np.full(NUM_SUMS, np.nan) if s is None else s.sum(axis=0) for s in summands]
        whole = [self.resamples.sums(s) for s in summands if s is not None]
        # A run that diverged in one seed has no interval.
        drawn = whole if len(whole) == len(summands) else [np.full((1, NUM_SUMS), np.nan)]
        # Pairs of retrainings are not independent, so the reference has no interval over seeds.
        has_interval = drawn is whole and run != self.cell.reference
        for name, statistic in STATISTICS.items():
            by_seed = statistic(np.array(sums))
            for seed, value in zip(self.cell.seeds, by_seed, strict=True):
                yield Row(run, name, undo_log(name, value), seed, self.name, control)
            resampled = np.mean([statistic(s) for s in drawn], axis=0)
            ends = {
                "": interval_over_seeds(by_seed) if has_interval else UNKNOWN,
                "examples_": percentiles(resampled, self.num_examples),
            }
            for kind, (low, high) in ends.items():
                yield Row(run, f"{name}_{kind}low", undo_log(name, low), None, self.name, control)
                yield Row(run, f"{name}_{kind}high", undo_log(name, high), None, self.name, control)

    def average_by_share(self, run: str, differences: Differences) -> Iterator[Row]:
        """Yield a run's mean |difference| from Retrain in groups of examples by rank of similarity.

        The groups are the nearest 1 % of the examples, from 1 to 2 %, and so on.
        """
        for place, seed in enumerate(self.cell.seeds):
            means = dict.fromkeys(NEAREST, np.nan)
            difference = differences[place]
            if difference is not None:
                means = nearest_means(difference.values[self.nearest_first[place]])
            for share, value in means.items():
                yield Row(run, "nearest_difference", float(value), seed, self.name, share)


def interval_over_seeds(statistics: Floats) -> tuple[float, float]:
    """Return the 95 % interval of the mean over seeds; NaN for fewer than two defined values."""
    defined = statistics[~np.isnan(statistics)]
    if len(defined) < LEAST_SEEDS:
        return UNKNOWN
    low, high = interval(defined)
    return float(low), float(high)


def nearest_means(nearest_first: Floats) -> dict[int, float]:
    """Return the mean of each group of sorted values: the first 1 %, 1 to 2 %, ..., 50 to 100 %.

    The mean of an empty group is NaN. The key of a group is its upper percentage, from `NEAREST`.
    """
    ends = [0, *(len(nearest_first) * share // 100 for share in NEAREST)]
    slices = [nearest_first[start:end] for start, end in pairwise(ends)]
    means = [float(part.mean()) if len(part) else float("nan") for part in slices]
    return dict(zip(NEAREST, means, strict=True))
