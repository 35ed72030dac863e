"""Calibrate the tests behind verdicts on a population of real runs: errors and power by test.

    snakemake results/calibration/metrics.csv --configfile configs/calibration.yaml
    python benchmarks/calibrate_verdicts.py population results/calibration
    python benchmarks/calibrate_verdicts.py table

`population` writes the rates of every run and seed to docs/data/calibration/rates.csv. `table`
draws seeds from them with replacement, runs every candidate test, and writes errors.csv,
equivalence.csv, verdicts.csv, looks.csv and cifar.csv beside them. errors.csv also has the test in
use on the first and on the last half of the seeds; cifar.csv has populations with the means and
spreads of the CIFAR cut. docs/statistics.md explains these tables.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit, polygamma, psi

from collateral.contract.verdicts import ALPHA, MEASURES, look_levels
from collateral.findings.locality.numbers import BINNED, Binned, bin_count, bin_mean
from collateral.findings.verdict import VERDICTS
from collateral.findings.verdict.rule import (
    DAMAGE,
    MIDPOINT,
    UA,
    Samples,
    decide,
    run_tests,
    with_midpoint,
)
from collateral.metrics.differences import (
    FACTOR,
    Contrast,
    angle,
    angle_step,
    equivalence_p,
    holm,
    tost_p,
    unpaired,
)
from collateral.results.cell import CellResults

FOLDER = Path("docs/data/calibration")
CIFAR = Path("docs/data/cifar-small/metrics.csv")
METHODS = ("ft", "ga", "rl", "iu", "salun", "amun", "ltd", "neighbor")
RATES = ("ua", "mia", "near", "far", "far_test")  # accuracies and MIA, in the order of MEASURES
COUNT = "count"  # run name of the rows with the number of examples behind each rate
NUM_SEEDS = (3, 5, 8, 10)
NUM_DRAWS = 10_000
NUM_VERDICT_DRAWS = 2_000  # for equivalence and whole verdicts, which take longer
TESTS = (  # scale of rates, pairing of seeds, variance over seeds
    ("points", "paired", "own"),
    ("points", "paired", "half moderated"),
    ("points", "unpaired", "own"),
    ("points", "unpaired", "moderated"),
    ("points", "unpaired", "half moderated"),
    ("points", "unpaired", "typical"),
    ("logit", "paired", "own"),
    ("logit", "paired", "half moderated"),
    ("logit", "unpaired", "own"),
    ("logit", "unpaired", "moderated"),
    ("logit", "unpaired", "half moderated"),
    ("logit", "unpaired", "typical"),
    ("angle", "paired", "own"),
    ("angle", "unpaired", "own"),
    ("angle", "unpaired", "half moderated"),
    ("angle", "unpaired", "typical"),
)
USED = TESTS[-1]
FORMER = TESTS[0]
FAR_ENOUGH = 5.0  # standard errors of a population's difference that counts as real

Floats = NDArray[np.float64]


def write_population(benchmark: Path, out: Path) -> None:
    """Write the rates of every run and seed of a benchmark, from its outputs and metrics."""
    files = [path for path in benchmark.glob("*/metrics.csv") if path.is_file()]
    frame = pd.concat([pd.read_csv(path, dtype=str, keep_default_na=False) for path in files])
    rows = [
        row for cell, part in frame.groupby("cell") for row in _cell_rows(benchmark, cell, part)
    ]
    columns = ["cell", "seed", "run", *RATES]
    out.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows, columns=columns).to_csv(out, index=False, float_format="%.6g")


def _cell_rows(benchmark: Path, name: str, frame: pd.DataFrame) -> Iterator[tuple[object, ...]]:
    plain = frame[(frame["seed"] != "") & (frame["set"] == "") & (frame["at"] == "")]
    seeds = tuple(sorted(plain["seed"].astype(int).unique()))
    runs = ("original", *METHODS)
    cell = CellResults(folder=benchmark, cell=name, seeds=seeds, base_seeds=seeds, methods=runs)
    value = pd.to_numeric(plain.set_index(["run", "seed", "metric"])["value"])
    retain, test = (Binned(cell, part) for part in BINNED)
    num_forgotten = len(cell.split.forget)
    for place, seed in enumerate(seeds):
        far, near = bin_count(retain.is_near[place], 2)
        far_test = bin_count(test.is_near[place], 2)[0]
        yield name, seed, COUNT, num_forgotten, num_forgotten, near, far, far_test
        for run in ("retrain", *runs):
            result = cell.result(run, seed)
            far, near = bin_mean(retain.correctness(result), retain.is_near[place], 2)
            far_test = bin_mean(test.correctness(result), test.is_near[place], 2)[0]
            ua, mia = (value[run, str(seed), metric] for metric in ("ua", "mia"))
            yield name, seed, run, ua, mia, near, far, far_test


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
        counts = values[COUNT].to_numpy().mean(axis=0)
        methods = np.array([rates[run] for run in METHODS])
        return Population(methods, rates["retrain"], rates["original"], counts)

    @property
    def steps(self) -> Floats:
        """Change of each measure by one example."""
        return 1 / np.append(self.counts, self.counts[2])

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

    @property
    def at_midpoint(self) -> Floats:
        """The methods, with UA moved to the midpoint of the base model's and Retrain's."""
        moved = self.methods.copy()
        moved[..., UA] = self.shifted((self.retrained + self.base) / 2)[..., UA]
        return moved

    def part(self, seeds: slice) -> Population:
        """Return the population with only these seeds."""
        methods, retrained, base = self.methods[:, seeds], self.retrained[seeds], self.base[seeds]
        return Population(methods, retrained, base, self.counts)

    def samples(self, methods: Floats, retrained: Floats, base: Floats) -> Samples:
        """Return drawn rates (draws, [methods,] seeds, rates) with damage as one more measure."""
        runs, reference = (np.moveaxis(_with_damage(v), -1, -2) for v in (methods, retrained))
        unknown = np.full(len(MEASURES), np.nan)
        return Samples(runs, reference, base[..., UA], self.steps, unknown)


def _errors(rates: Floats) -> Floats:
    return np.column_stack([rates[:, :2], 1 - rates[:, 2:]])


def _with_damage(rates: Floats) -> Floats:
    return np.concatenate([rates, rates[..., 2:3] - rates[..., 3:4]], axis=-1)


def _move(values: Floats, wanted: float, count: float) -> Floats:
    """Return rates moved by one logit shift so that their mean is `wanted`, by bisection."""
    logits = logit(_inner(values, count))
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        moved = _outer(expit(logits + middle), count)
        low, high = (middle, high) if moved.mean() < wanted else (low, middle)
    return _outer(expit(logits + low), count)


def _inner(rates: Floats, count: float | Floats) -> Floats:
    """Return rates with half an example more on both sides, so that their logits are finite."""
    return (rates * count + 0.5) / (count + 1)


def _outer(rates: Floats, count: float) -> Floats:
    return np.clip((rates * (count + 1) - 0.5) / count, 0.0, 1.0)


def moderate(variances: Floats, freedom: float, share: float) -> tuple[Floats, Floats]:
    """Shrink the variances of the last axis towards each other (Smyth 2004).

    `share` of the prior degrees of freedom is used. Return variances and degrees of freedom.
    """
    logs = np.log(variances) - psi(freedom / 2) + np.log(freedom / 2)
    excess = logs.var(axis=-1, ddof=1) - polygamma(1, freedom / 2)
    is_finite = excess > 1e-8
    prior_freedom = 2 * _inverse_trigamma(np.where(is_finite, excess, 1.0))
    shift = psi(prior_freedom / 2) - np.log(prior_freedom / 2)
    prior = np.where(is_finite, np.exp(logs.mean(axis=-1) + shift), variances.mean(axis=-1))
    weight = (share * np.where(is_finite, prior_freedom, 1e9))[..., None]
    shrunk = (weight * prior[..., None] + freedom * variances) / (weight + freedom)
    return shrunk, np.minimum(weight + freedom, variances.shape[-1] * freedom)


def _inverse_trigamma(values: Floats) -> Floats:
    found = 0.5 + 1 / values
    for _ in range(8):  # Newton's method on 1 / trigamma, which is nearly linear
        trigamma = polygamma(1, found)
        found = found + trigamma * (1 - trigamma / values) / polygamma(2, found)
    return found


@dataclass(frozen=True)
class Estimates:
    """Means and variances of drawn samples on one scale, arrays (draws, methods, measures)."""

    mean: Floats  # of the method minus Retrain; of UA minus the midpoint in the last measure
    own: Floats  # variance of the method over seeds
    other: Floats  # variance of Retrain over seeds
    paired: Floats  # variance of the differences seed by seed
    num_seeds: int

    @staticmethod
    def of(samples: Samples, scale: str) -> Estimates:
        """Return estimates on a scale; a variance is at least that of one example in one seed."""
        runs, reference = with_midpoint(samples)
        counts = 1 / np.append(samples.steps, samples.steps[UA])
        step = _scaled_steps((runs.mean(axis=-1) + reference.mean(axis=-1)) / 2, scale, counts)
        first, second = (_scaled(values, scale, counts) for values in (runs, reference))
        num_seeds = runs.shape[-1]
        least = step**2 / num_seeds
        return Estimates(
            first.mean(axis=-1) - second.mean(axis=-1),
            np.maximum(first.var(axis=-1, ddof=1), least / 2),
            np.maximum(second.var(axis=-1, ddof=1), least / 2),
            np.maximum((first - second).var(axis=-1, ddof=1), least),
            num_seeds,
        )

    def p(self, pairing: str, variance: str) -> Floats:
        """Return the p-values of one test, adjusted by Holm over methods and measures."""
        contrast = self._paired(variance) if pairing == "paired" else self._unpaired(variance)
        is_midpoint = np.arange(contrast.mean.shape[-1]) == MIDPOINT
        p = np.where(is_midpoint, contrast.p_above, contrast.p)
        return holm(p.reshape(len(p), -1)).reshape(p.shape)

    def _paired(self, kind: str) -> Contrast:
        square, freedom = self._shrunk(self.paired, kind)
        return Contrast(self.mean, np.sqrt(square / self.num_seeds), freedom)

    def _unpaired(self, kind: str) -> Contrast:
        # Retrain is one more run of the pool, once for all methods.
        pool = np.concatenate([self.own, self.other[:, :1]], axis=1)
        if kind == "typical":
            typical = np.median(pool, axis=1, keepdims=True)
            own, other = np.maximum(self.own, typical), np.maximum(self.other, typical)
            freedom = np.float64(self.num_seeds - 1)
        else:
            pool, freedom = self._shrunk(pool, kind)
            own, other = pool[:, :-1], pool[:, -1:]
        welch = (own + other) ** 2 / (own**2 + other**2) * freedom
        return Contrast(self.mean, np.sqrt((own + other) / self.num_seeds), welch)

    def _shrunk(self, variances: Floats, kind: str) -> tuple[Floats, Floats]:
        """Return the variances of a kind and their degrees of freedom, the same for all runs."""
        freedom = self.num_seeds - 1.0
        if "moderated" not in kind:
            return variances, np.full((1, 1, 1), freedom)
        known = np.moveaxis(np.where(np.isnan(variances), 1.0, variances), 1, -1)
        shrunk, freedoms = moderate(known, freedom, 0.5 if kind == "half moderated" else 1.0)
        shrunk = np.where(np.isnan(variances), np.nan, np.moveaxis(shrunk, -1, 1))
        return shrunk, np.moveaxis(freedoms, -1, 1)


def _scaled(rates: Floats, scale: str, counts: Floats) -> Floats:
    is_damage = np.arange(len(counts))[:, None] == DAMAGE
    scaled = {
        "points": lambda: rates,
        "logit": lambda: logit(_inner(np.clip(rates, 0, 1), counts[:, None])),
        "angle": lambda: angle(rates),
    }[scale]()
    return np.where(is_damage, rates, scaled)


def _scaled_steps(rate: Floats, scale: str, counts: Floats) -> Floats:
    inner = _inner(np.clip(rate, 0, 1), counts)
    steps = {
        "points": 1 / counts,
        "logit": 1 / (counts * inner * (1 - inner)),
        "angle": angle_step(rate, 1 / counts),
    }[scale]
    return np.where(np.arange(len(counts)) == DAMAGE, 1 / counts, steps)


class Draws:
    """Draws of seeds from a population, with replacement, for every null case and for power."""

    def __init__(self, population: Population, num_seeds: int, count: int = NUM_DRAWS) -> None:
        """Draw the seeds of Retrain, base and methods together, and those of posing Retrains."""
        size, rng = len(population.retrained), np.random.default_rng(num_seeds)
        self.population = population
        self.seeds = rng.integers(0, size, (count, num_seeds))
        self.others = rng.integers(0, size, (count, len(METHODS), num_seeds))

    def samples(self, methods: Floats) -> Samples:
        """Return the drawn seeds of methods (methods, seeds, rates), their Retrain and base."""
        drawn = np.moveaxis(methods[:, self.seeds], 0, 1)
        return self._with_reference(drawn)

    def posing(self, away: Floats | float = 0.0) -> Samples:
        """Return Retrains of other seeds in place of the methods, moved by `away` points."""
        return self._with_reference(self.population.retrained[self.others] + away)

    def _with_reference(self, drawn: Floats) -> Samples:
        population, seeds = self.population, self.seeds
        return population.samples(drawn, population.retrained[seeds], population.base[seeds])


def real_differences(population: Population) -> NDArray[np.bool_]:
    """Tell which methods differ from Retrain in which measures, by the whole population."""
    methods, retrained = _with_damage(population.methods), _with_damage(population.retrained)
    variance = methods.var(axis=1, ddof=1) + retrained.var(axis=0, ddof=1)
    error = np.sqrt(np.maximum(variance / len(retrained), 1e-18))
    return np.abs(methods.mean(axis=1) - retrained.mean(axis=0)) > FAR_ENOUGH * error


def all_error_rows(name: str, population: Population) -> Iterator[dict[str, object]]:
    """Yield the rows of every candidate, and of the test in use on both halves of the seeds."""
    yield from error_rows(name, population, TESTS)
    half = len(population.retrained) // 2
    for label, seeds in (("first half", slice(half)), ("last half", slice(half, None))):
        yield from error_rows(f"{name}, {label}", population.part(seeds), (USED,))


def error_rows(
    name: str, population: Population, tests: Sequence[tuple[str, str, str]] = (FORMER, USED)
) -> Iterator[dict[str, object]]:
    """Yield family-wise errors and power of some candidates, by number of seeds."""
    at_retrain = population.shifted(population.retrained)
    is_real = real_differences(population)
    for num_seeds in NUM_SEEDS:
        draws = Draws(population, num_seeds)
        cases = {
            "posing": draws.posing(),
            "shifted": draws.samples(at_retrain),
            "midpoint": draws.samples(population.at_midpoint),
            "power": draws.samples(population.methods),
        }
        found: dict[str, dict[tuple[str, ...], NDArray[np.bool_]]] = {}
        for case, samples in cases.items():
            names = {scale for scale, _, _ in tests}
            scales = {scale: Estimates.of(samples, scale) for scale in names}
            found[case] = {test: scales[test[0]].p(*test[1:]) < ALPHA for test in tests}
        for test in tests:
            power = found["power"][test][..., :MIDPOINT][:, is_real]
            yield {
                **{"cell": name, "seeds": num_seeds},
                **dict(zip(("scale", "pairing", "variance"), test, strict=True)),
                "posing": found["posing"][test].any(axis=(1, 2)).mean(),
                "shifted": found["shifted"][test].any(axis=(1, 2)).mean(),
                "worst_method": found["shifted"][test].any(axis=2).mean(axis=0).max(),
                "midpoint": found["midpoint"][test][..., MIDPOINT].any(axis=1).mean(),
                "power": power.mean() if is_real.any() else np.nan,
                "num_real": is_real.sum(),
            }


def equivalence_rows(name: str, population: Population) -> Iterator[dict[str, object]]:
    """Yield how often Retrains pass as equivalent on UA: as they are, and one true margin away."""
    sd = _with_damage(population.retrained).std(axis=0, ddof=1)
    margin = FACTOR * sd[UA]
    away = np.array([-margin, 0, 0, 0, 0])
    for num_seeds in NUM_SEEDS:
        draws = Draws(population, num_seeds, NUM_VERDICT_DRAWS)
        alike, apart = draws.posing(), draws.posing(away)
        passed = {key: _naive_and_mover(samples) for key, samples in (("a", alike), ("b", apart))}
        verdicts = _verdicts(alike)
        yield {
            **{"cell": name, "seeds": num_seeds},
            **dict(zip(("level_naive", "level"), passed["b"], strict=True)),
            **dict(zip(("power_naive", "power"), passed["a"], strict=True)),
            "like_retrain": (verdicts == "like Retrain").mean(),
        }


def _naive_and_mover(samples: Samples) -> tuple[float, float]:
    """Return the share equivalent on UA by a margin taken for known, and by the corrected test."""
    step, spread = samples.steps[UA], samples.spread[..., None, UA]
    runs, reference = (v[..., UA, :] for v in (samples.runs, samples.reference))
    plain = unpaired(runs, reference, step**2 / (2 * runs.shape[-1]))
    naive = tost_p(plain, np.maximum(FACTOR * spread, step)) < ALPHA
    freedom = np.float64(runs.shape[-1] - 1)
    return naive.mean(), (equivalence_p(plain, spread, freedom, step) < ALPHA).mean()


def _verdicts(samples: Samples, level: float = ALPHA) -> NDArray[np.str_]:
    is_collapsed = np.zeros(samples.runs.shape[:-2], dtype=bool)
    return decide(samples, run_tests(samples, level), is_collapsed, level)


def verdict_rows(name: str, population: Population) -> Iterator[dict[str, object]]:
    """Yield the share of draws in which each method gets each verdict, by number of seeds."""
    for num_seeds in NUM_SEEDS:
        draws = Draws(population, num_seeds, NUM_VERDICT_DRAWS)
        verdicts = _verdicts(draws.samples(population.methods))
        posing = _verdicts(draws.posing())
        for run, found in (*zip(METHODS, verdicts.T, strict=True), ("another Retrain", posing)):
            shares = {verdict: (found == verdict).mean() for verdict in VERDICTS}
            yield {"cell": name, "seeds": num_seeds, "method": run, **shares}


def _first(samples: Samples, num_seeds: int) -> Samples:
    """Return the samples with only their first `num_seeds` seeds."""
    names = ("runs", "retrained", "base_ua")
    return replace(samples, **{name: getattr(samples, name)[..., :num_seeds] for name in names})


def look_rows(name: str, population: Population) -> Iterator[dict[str, object]]:
    """Yield the family-wise error of three looks, at their levels and at 5 % each."""
    looks = (5, 8, 10)
    draws = Draws(population, looks[-1], NUM_VERDICT_DRAWS)
    samples = draws.samples(population.shifted(population.retrained))
    for rule, levels in (("weighted", look_levels(looks)), ("5 % each", [ALPHA] * 3)):
        tested = [run_tests(_first(samples, n), a) for n, a in zip(looks, levels, strict=True)]
        found = [((t.low > 0) | (t.high < 0))[..., :MIDPOINT].any(axis=(1, 2)) for t in tested]
        yield {"cell": name, "levels": rule, "error": np.any(found, axis=0).mean()}


def cifar_populations() -> Iterator[tuple[str, Population]]:
    """Yield populations of Beta laws with the means and spreads of the CIFAR cut's three seeds.

    The file has losses against Retrain and no accuracies by similarity: the level of Retrain's
    errors is that of affected RA, RA and TA, and the variance of a run that of its loss minus
    Retrain's.
    """
    frame = pd.read_csv(CIFAR, dtype={"seed": str, "at": str}, keep_default_na=False)
    places = (("near", "retain", "ra_affected"), ("far", "retain", "ra"), ("far", "test", "ta"))
    for name, cell in frame[frame["cell"] != ""].groupby("cell"):
        values = cell[cell["at"] == ""].set_index(["run", "metric", "set"])["value"].sort_index()
        number = pd.to_numeric(values).groupby(level=[0, 1, 2])
        mean, variance = number.mean(), number.var(ddof=1)
        forgotten = pd.to_numeric(cell[cell["metric"] == "forget_count"]["value"]).sum()
        counts = [forgotten] * 2 + [mean["retrain", f"{part}_count", of] for part, of, _ in places]
        level = [1 - mean["retrain", of, ""] for _, _, of in places]
        # The stored spread is that of a difference between two means of three retrainings.
        square = [1.5 * mean["retrain", f"{part}_loss_sd", of] ** 2 for part, of, _ in places]
        rng, drawn = np.random.default_rng(0), {}
        for run in ("retrain", "original", *METHODS):
            center = [mean[run, of, ""] for of in ("ua", "mia")]
            spread = [variance[run, of, ""] for of in ("ua", "mia")]
            for (part, of, _), error, own in zip(places, level, square, strict=True):
                loss = (run, f"{part}_loss", of)
                center.append(error + (0 if run == "retrain" else mean[loss]))
                spread.append(own if run == "retrain" else max(variance[loss] - own, own))
            drawn[run] = _draw_rates(rng, np.clip(center, 0, 1), np.array(spread))
        methods = np.array([drawn[run] for run in METHODS])
        yield name, Population(methods, drawn["retrain"], drawn["original"], np.array(counts))


def _draw_rates(rng: np.random.Generator, mean: Floats, variance: Floats) -> Floats:
    """Return 2,000 seeds of rates by Beta laws; a rate without a spread is constant."""
    is_constant = (variance <= 0) | (mean <= 0) | (mean >= 1)
    inner = np.where(is_constant, 0.5, mean)
    size = inner * (1 - inner) / np.where(is_constant, 0.01, variance) - 1
    drawn = rng.beta(
        inner * np.fmax(size, 0.1), (1 - inner) * np.fmax(size, 0.1), (2000, len(mean))
    )
    return np.where(is_constant, mean, drawn)


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
    cifar = {f"cifar {name}": population for name, population in cifar_populations()}
    tables = {
        "errors": (all_error_rows, populations),
        "cifar": (error_rows, cifar),
        "equivalence": (equivalence_rows, populations),
        "verdicts": (verdict_rows, populations),
        "looks": (look_rows, populations),
    }
    for name, (make, where) in tables.items():
        rows = [row for cell, population in where.items() for row in make(cell, population)]
        pd.DataFrame(rows).to_csv(given.folder / f"{name}.csv", index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
