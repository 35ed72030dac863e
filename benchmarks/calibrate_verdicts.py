"""How often are verdicts and the page's first sentence wrong? Measured where the truth is known.

    snakemake results/calibration/metrics.csv --configfile configs/calibration.yaml
    python benchmarks/calibrate_verdicts.py population results/calibration
    python benchmarks/calibrate_verdicts.py table

`population` writes the rates of every run and seed to docs/data/calibration/rates.csv. `table`
draws seeds from them with replacement and writes the other files of that folder: decisions.csv
(errors of what a page says), families.csv (errors and power of the test), equivalence.csv,
verdicts.csv and looks.csv; of these, the files whose names begin with cifar have populations with
the means and spreads of the CIFAR cut. docs/statistics.md explains the tables.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit

from collateral.contract.verdicts import ALPHA, LOSSES, MEASURES, look_levels
from collateral.findings.accuracy import numbers as accuracy
from collateral.findings.locality import numbers as locality
from collateral.findings.membership import numbers as membership
from collateral.findings.verdict import COLLAPSED, HARM, LIKE, OPEN, VERDICTS
from collateral.findings.verdict.rule import UA, Samples, Tested, decide, run_tests, scaled_contrast
from collateral.metrics.differences import (
    FACTOR,
    LAST_BITS,
    holm,
    p_value,
    tost_p,
    unpaired,
)
from collateral.results import layout
from collateral.results.cell import CellResults

FOLDER = Path("docs/data/calibration")
CIFAR = Path("docs/data/cifar-small/metrics.csv")
METHODS = ("ft", "ga", "rl", "iu", "salun", "amun", "ltd", "neighbor")
# Rates of rates.csv: those of MEASURES but damage, and those that only the gap to Retrain uses.
TESTED = ("ua", "mia", "near", "near_test", "far", "far_test")
RATES = (*TESTED, "ra", "ta")
GAP = [RATES.index(name) for name in ("ua", "mia", "ra", "ta")]
NEAR, FAR = TESTED.index("near"), TESTED.index("far")
COUNT = "count"  # run name of the rows with the number of examples behind each rate
NUM_SEEDS = (2, 3, 5, 8, 10)
NUM_DRAWS = 2_000
IS_LOSS = np.isin(MEASURES, LOSSES)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def write_population(benchmark: Path, out: Path) -> None:
    """Write the rates of every run and seed of a benchmark, from its outputs."""
    cells = sorted(path.parent.name for path in benchmark.glob(layout.SPLIT.format(cell="*")))
    rows = [row for cell in cells for row in _cell_rows(benchmark, cell)]
    columns = ["cell", "seed", "run", *RATES]
    out.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows, columns=columns).to_csv(out, index=False, float_format="%.6g")


def _cell_rows(benchmark: Path, name: str) -> Iterator[tuple[object, ...]]:
    """Yield the rates of all runs (rates near and far are accuracies), and the examples of each."""
    folders = benchmark.glob(f"{name}/seed-*")
    seeds = tuple(sorted(int(folder.name.removeprefix("seed-")) for folder in folders))
    runs = ("retrain", "original", *METHODS)
    cell = CellResults(
        folder=benchmark,
        cell=name,
        seeds=seeds,
        base_seeds=seeds,
        methods=METHODS,
        controls=["original"],
        attacks=["confidence"],
    )
    for result in cell.all_results():
        cell.add([*accuracy.of_run(cell, result), *membership.of_run(cell, result)])
    cell.add(locality.numbers(cell))
    places = [(part, subset) for part in ("near", "far") for subset in ("retain", "test")]
    rates = {}
    for run in runs:
        before = [cell.values("retrain", f"{part}_accuracy", subset) for part, subset in places]
        losses = [cell.values(run, f"{part}_loss", subset) for part, subset in places]
        lost = np.zeros_like(before) if run == "retrain" else np.array(losses)
        plain = {metric: cell.values(run, metric) for metric in ("ua", "mia", "ra", "ta")}
        rates[run] = [plain["ua"], plain["mia"], *(before - lost), plain["ra"], plain["ta"]]
    for (place, seed), run in product(enumerate(seeds), runs):
        yield name, seed, run, *(float(values[place]) for values in rates[run])
    counts = (cell.number("retrain", f"{part}_count", subset) for part, subset in places)
    num_forgotten, sizes = len(cell.split.forget), (len(cell.split.retain), len(cell.labels.test))
    yield name, seeds[0], COUNT, num_forgotten, num_forgotten, *map(int, counts), *sizes


@dataclass(frozen=True)
class Population:
    """Rates of a cell as arrays (seeds, rates); accuracies on retained and test sets as errors."""

    methods: Floats  # (methods, seeds, rates)
    retrained: Floats
    base: Floats
    counts: Floats  # (rates,), number of examples behind each rate

    @staticmethod
    def read(frame: pd.DataFrame) -> Population:
        """Return the population of one cell of rates.csv."""
        values = {run: part.sort_values("seed")[[*RATES]] for run, part in frame.groupby("run")}
        rates = {run: _errors(part.to_numpy()) for run, part in values.items() if run != COUNT}
        counts = values[COUNT].to_numpy()[0]
        methods = np.array([rates[run] for run in METHODS])
        return Population(methods, rates["retrain"], rates["original"], counts)

    @property
    def steps(self) -> Floats:
        """Change of each measure by one example."""
        tested = self.counts[: len(TESTED)]
        return 1 / np.append(tested, tested[NEAR])

    def shifted(self, target: Floats) -> Floats:
        """Return the methods, moved on the logit scale so that each mean is that of `target`.

        A rate that is 0 or 1 in most seeds has no spread of its own there: the shift would leave
        most seeds on one side of the mean and throw a few far to the other. Retrain's rate of
        another seed takes its place.
        """
        moved = np.empty_like(self.methods)
        for place, column in product(range(len(self.methods)), range(len(RATES))):
            values, wanted = self.methods[place, :, column], target[:, column].mean()
            if np.isin(values, (0.0, 1.0)).mean() > 0.5:
                values = np.roll(self.retrained[:, column], place + 1)
            moved[place, :, column] = _move(values, wanted, self.counts[column])
        return moved

    def samples(self, methods: Floats, retrained: Floats) -> Samples:
        """Return drawn rates (draws, [methods,] seeds, rates) as input of the tests."""
        runs, reference = (np.moveaxis(_measures(v), -1, -2) for v in (methods, retrained))
        return Samples(runs, reference, self.steps, np.full(len(MEASURES), np.nan))

    @property
    def truth(self) -> Truth:
        """What is true of the methods: means over all seeds, and margins from Retrain's spread."""
        retrained = _measures(self.retrained)
        difference = _measures(self.methods).mean(axis=1) - retrained.mean(axis=0)
        margin = np.maximum(FACTOR * retrained.std(axis=0, ddof=1), self.steps)
        away = self.methods.mean(axis=1) - self.retrained.mean(axis=0)
        return Truth(difference, margin, np.abs(away[:, GAP]).mean(axis=1))


@dataclass(frozen=True)
class Truth:
    """The true differences of the methods from Retrain."""

    difference: Floats  # (methods, measures)
    margin: Floats  # (measures,)
    gap: Floats  # (methods,)

    @property
    def is_beyond(self) -> Flags:
        """Which differences are beyond the margin, (methods, measures)."""
        return np.abs(self.difference) > self.margin * (1 + LAST_BITS)


def _errors(rates: Floats) -> Floats:
    return np.column_stack([rates[:, :2], 1 - rates[:, 2:]])


def _measures(rates: Floats) -> Floats:
    """Return the rates of MEASURES: those that are tested, and the damage."""
    tested = rates[..., : len(TESTED)]
    damage = rates[..., NEAR : NEAR + 1] - rates[..., FAR : FAR + 1]
    return np.concatenate([tested, damage], axis=-1)


def _move(values: Floats, wanted: float, count: float) -> Floats:
    """Return rates moved by one logit shift so that their mean is `wanted`, by bisection."""
    inner = (values * count + 0.5) / (
        count + 1
    )  # half an example more on both sides: finite logits
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        moved = _outer(expit(logit(inner) + middle), count)
        low, high = (middle, high) if moved.mean() < wanted else (low, middle)
    return _outer(expit(logit(inner) + low), count)


def _outer(rates: Floats, count: float) -> Floats:
    return np.clip((rates * (count + 1) - 0.5) / count, 0.0, 1.0)


class Draws:
    """Draws of seeds from a population, with replacement."""

    def __init__(self, population: Population, num_seeds: int, count: int = NUM_DRAWS) -> None:
        """Draw the seeds of Retrain and methods together, and those of posing Retrains."""
        size, rng = len(population.retrained), np.random.default_rng(num_seeds)
        self.population = population
        self.seeds = rng.integers(0, size, (count, num_seeds))
        self.others = rng.integers(0, size, (count, len(METHODS), num_seeds))

    def rates(self, methods: Floats) -> Floats:
        """Return the drawn seeds of methods (methods, seeds, rates)."""
        return np.moveaxis(methods[:, self.seeds], 0, 1)

    def samples(self, methods: Floats) -> Samples:
        """Return the drawn seeds of methods (methods, seeds, rates) and of their Retrain."""
        retrained = self.population.retrained[self.seeds]
        return self.population.samples(self.rates(methods), retrained)

    def posing(self, away: Floats | float = 0.0) -> Samples:
        """Return Retrains of other seeds in place of the methods, moved by `away` points."""
        retrained = self.population.retrained
        return self.population.samples(retrained[self.others] + away, retrained[self.seeds])

    def gaps(self, methods: Floats) -> tuple[Floats, NDArray[np.int64], Flags]:
        """Return the gaps to Retrain, the smallest one, and whether it is beyond chance.

        As on the page, two gaps are compared by a paired test over seeds (report/decision.py).
        """
        away = (self.rates(methods) - self.population.retrained[self.seeds][:, None])[..., GAP]
        by_seed = (np.sign(away.mean(axis=2, keepdims=True)) * away).mean(axis=-1)
        gap = by_seed.mean(axis=-1)
        first, second = np.moveaxis(np.argsort(gap, axis=-1)[:, :2], -1, 0)
        every = np.arange(len(gap))
        p = p_value(by_seed[every, second] - by_seed[every, first])
        return gap, first, p < ALPHA


def decision_rows(name: str, population: Population) -> Iterator[dict[str, object]]:
    """Yield how often what a page says is wrong, by number of seeds."""
    cases = {
        "as run": (population.methods, population.truth),
        "shifted": (population.shifted(population.retrained), None),
    }
    for num_seeds, (case, (methods, truth)) in product(NUM_SEEDS, cases.items()):
        draws = Draws(population, num_seeds)
        tested = run_tests(draws.samples(methods))
        _, nearest, is_said = draws.gaps(methods)
        known = truth or Truth(
            np.zeros((len(METHODS), len(MEASURES))), population.truth.margin, np.zeros(len(METHODS))
        )
        yield {
            **{"rule": "new", "cell": name, "case": case, "seeds": num_seeds},
            **judge(decide(tested, _nobody(tested)), tested.shown, known),
            "nearest_right": (nearest == known.gap.argmin()).mean() if truth else np.nan,
            "nearest_said": is_said.mean() if truth else np.nan,
            "nearest_said_wrongly": (is_said & (nearest != known.gap.argmin())).mean()
            if truth
            else np.nan,
        }


def judge(verdicts: NDArray[np.str_], shown: NDArray[np.int64], truth: Truth) -> dict[str, float]:
    """Return the error rates of what pages say, from verdicts (draws, methods).

    `shown` has the sign of every difference that is shown, (draws, methods, measures).
    """
    is_praised = verdicts == LIKE
    is_blamed = verdicts == HARM
    harms = (shown > 0) & IS_LOSS
    loses = truth.difference > LAST_BITS
    is_false = is_blamed & ~(harms & loses).any(axis=-1)
    is_small = is_blamed & ~(harms & truth.is_beyond).any(axis=-1)
    num_blamed = np.maximum(is_blamed.sum(axis=-1), 1)
    real = (truth.difference > 0) & truth.is_beyond & IS_LOSS
    return {
        "praised_wrongly": (is_praised & truth.is_beyond.any(axis=-1)).any(axis=-1).mean(),
        "praised": is_praised.any(axis=-1).mean(),
        "false_share": (is_false.sum(axis=-1) / num_blamed).mean(),
        "any_false": is_false.any(axis=-1).mean(),
        "small_share": (is_small.sum(axis=-1) / num_blamed).mean(),
        "harms_found": harms[:, real].mean() if real.any() else np.nan,
        "decided": (verdicts != OPEN).mean(),
        "all_open": (verdicts == OPEN).all(axis=-1).mean(),
    }


def _nobody(tested: Tested) -> Flags:
    return np.zeros(tested.mean.shape[:-1], dtype=bool)


def family_rows(name: str, population: Population) -> Iterator[dict[str, object]]:
    """Yield how often tests find anything where nothing differs, and the power, by family."""
    is_real = population.truth.is_beyond
    shifted = population.shifted(population.retrained)
    for num_seeds in NUM_SEEDS:
        draws = Draws(population, num_seeds)
        cases = {"posing": draws.posing(), "shifted": draws.samples(shifted)}
        found = {case: _found_by_family(samples) for case, samples in cases.items()}
        power = _found_by_family(draws.samples(population.methods))
        for family in power:
            yield {
                **{"cell": name, "seeds": num_seeds, "family": family},
                **{case: found[case][family].any(axis=(1, 2)).mean() for case in cases},
                "power": power[family][:, is_real].mean(),
            }


def _found_by_family(samples: Samples) -> dict[str, Flags]:
    """Return what the test finds beyond chance, if its family is another one."""
    p = scaled_contrast(samples).p
    tested = run_tests(samples)
    return {
        "all methods": holm(p.reshape(len(p), -1)).reshape(p.shape) < ALPHA,
        "each method": holm(p) < ALPHA,
        "each method, BH over methods": (tested.low > 0) | (tested.high < 0),
    }


def equivalence_rows(name: str, population: Population) -> Iterator[dict[str, object]]:
    """Yield how often Retrains of other seeds pass as equal, as they are and one margin away."""
    margin = population.truth.margin
    for num_seeds in NUM_SEEDS:
        draws = Draws(population, num_seeds)
        alike = draws.posing()
        apart = {}
        for place, at in enumerate(TESTED):
            # Where a rate is near 1, errors can only grow.
            sign = -1 if population.retrained[:, place].mean() > 0.5 else 1
            away = np.zeros(len(RATES))
            away[place] = sign * margin[place]
            apart[at] = run_tests(draws.posing(away))
        levels = {at: t.within[..., MEASURES.index(at)].mean() for at, t in apart.items()}
        passed = [(decide(t, _nobody(t)) == LIKE).any(axis=-1).mean() for t in apart.values()]
        yield {
            **{"cell": name, "seeds": num_seeds},
            "level_naive": _naive(draws.posing(_away(population))),
            "level": max(levels.values()),
            "praised_wrongly": max(passed),
            "power": run_tests(alike).within[..., UA].mean(),
            "like_retrain": (decide(run_tests(alike), _nobody(run_tests(alike))) == LIKE).mean(),
        }


def _away(population: Population) -> Floats:
    away = np.zeros(len(RATES))
    away[UA] = -population.truth.margin[UA]
    return away


def _naive(samples: Samples) -> float:
    """Return the share equal on UA if the estimated margin is taken for known."""
    step, spread = samples.steps[UA], samples.spread[..., None, UA]
    runs, reference = (v[..., UA, :] for v in (samples.runs, samples.reference))
    plain = unpaired(runs, reference, step**2 / (2 * runs.shape[-1]))
    return float((tost_p(plain, np.maximum(FACTOR * spread, step)) < ALPHA).mean())


def verdict_rows(name: str, population: Population) -> Iterator[dict[str, object]]:
    """Yield the share of draws in which each method gets each verdict, by number of seeds."""
    for num_seeds in NUM_SEEDS:
        draws = Draws(population, num_seeds)
        both = (run_tests(draws.samples(population.methods)), run_tests(draws.posing()))
        verdicts, posing = (decide(tested, _nobody(tested)) for tested in both)
        for run, found in (*zip(METHODS, verdicts.T, strict=True), ("another Retrain", posing)):
            shares = {v: (found == v).mean() for v in VERDICTS if v != COLLAPSED}
            yield {"cell": name, "seeds": num_seeds, "method": run, **shares}


def look_rows(name: str, population: Population) -> Iterator[dict[str, object]]:
    """Yield the share of pages with any finding of three looks, at their levels and at 5 % each."""
    looks = (5, 8, 10)
    draws = Draws(population, looks[-1])
    samples = draws.samples(population.shifted(population.retrained))
    for rule, levels in (("weighted", look_levels(looks)), ("5 % each", [ALPHA] * 3)):
        tested = [run_tests(_first(samples, n), a) for n, a in zip(looks, levels, strict=True)]
        found = [((t.low > 0) | (t.high < 0)).any(axis=(1, 2)) for t in tested]
        yield {"cell": name, "levels": rule, "error": np.any(found, axis=0).mean()}


def _first(samples: Samples, num_seeds: int) -> Samples:
    """Return the samples with only their first `num_seeds` seeds."""
    names = ("runs", "retrained")
    return replace(samples, **{name: getattr(samples, name)[..., :num_seeds] for name in names})


def main() -> None:
    """Write the population, or the tables."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["population", "table"])
    parser.add_argument("benchmark", type=Path, nargs="?", help="results/calibration")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    given = parser.parse_args()
    rates = given.folder / "rates.csv"
    if given.what == "population":
        write_population(given.benchmark, rates)
        return
    cells = pd.read_csv(rates).groupby("cell")
    populations = {str(name): Population.read(part) for name, part in cells}
    tables = {
        "decisions": decision_rows,
        "families": family_rows,
        "equivalence": equivalence_rows,
        "verdicts": verdict_rows,
        "looks": look_rows,
    }
    for name, make in tables.items():
        rows = [row for cell, population in populations.items() for row in make(cell, population)]
        pd.DataFrame(rows).to_csv(given.folder / f"{name}.csv", index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
