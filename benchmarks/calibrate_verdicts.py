"""How often are verdicts and the page's first sentence wrong? Measured where the truth is known.

    snakemake results/calibration/metrics.csv --configfile configs/calibration.yaml
    python benchmarks/calibrate_verdicts.py population results/calibration
    python benchmarks/calibrate_verdicts.py table

    snakemake results/untypical/metrics.csv --configfile configs/calibration.yaml
    python benchmarks/calibrate_verdicts.py population results/untypical
    python benchmarks/calibrate_verdicts.py table results/untypical

`population` writes the rates of every run and seed to docs/data/calibration/rates.csv, or to a
folder there with the name of the benchmark. `table` draws seeds from them with replacement, and
writes the other files of that folder, by the margins of the config: decisions.csv
(errors of what a page says), families.csv (errors and power of the test), equivalence.csv,
verdicts.csv and looks.csv; cifar.csv has the verdicts on the seeds of the CIFAR cut. Rows of the
old rule in decisions.csv stay: the code of commit 203b72e made them from the same draws.
docs/statistics.md explains the tables.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit

from collateral.config.load import read
from collateral.contract.verdicts import ALPHA, LOSSES, MARGIN_KEYS, MEASURES, look_levels
from collateral.findings.accuracy import numbers as accuracy
from collateral.findings.locality import numbers as locality
from collateral.findings.membership import numbers as membership
from collateral.findings.verdict import COLLAPSED, HARM, LIKE, OPEN, VERDICTS
from collateral.findings.verdict.numbers import MOST
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

CONFIG = Path("configs/calibration.yaml")
FIRST = Path("results/calibration")  # the benchmark whose files are in FOLDER itself
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
NUM_DRAWS = 1_000
SETS = {"retain": "ra", "test": "ta"}  # subsets of the CIFAR cut, with their accuracies
NUM_CLASSES, PER_CLASS = 20, 250  # classes of the CIFAR cut, and train examples of each
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


def stated_margins(benchmark: str) -> Floats:
    """Return the margins of a benchmark's config, one per measure; NaN if there is none."""
    stated = read(CONFIG).benchmarks[benchmark].margin.items()
    known = {MARGIN_KEYS[key]: value / 100 for key, value in stated}
    return np.array([known.get(at, np.nan) for at in MEASURES])


def _no_margins() -> Floats:
    return np.full(len(MEASURES), np.nan)


@dataclass(frozen=True)
class Population:
    """Rates of a cell as arrays (seeds, rates); accuracies on retained and test sets as errors."""

    methods: Floats  # (methods, seeds, rates)
    retrained: Floats
    base: Floats
    counts: Floats  # (rates,), number of examples behind each rate
    stated: Floats = field(default_factory=_no_margins)  # (measures,); NaN: margin is estimated

    @staticmethod
    def read(frame: pd.DataFrame, stated: Floats) -> Population:
        """Return the population of one cell of rates.csv."""
        values = {run: part.sort_values("seed")[[*RATES]] for run, part in frame.groupby("run")}
        rates = {run: _errors(part.to_numpy()) for run, part in values.items() if run != COUNT}
        counts = values[COUNT].to_numpy()[0]
        methods = np.array([rates[run] for run in METHODS])
        return Population(methods, rates["retrain"], rates["original"], counts, stated)

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
        return Samples(runs, reference, self.steps, self.stated)

    @property
    def truth(self) -> Truth:
        """What is true of the methods: means over all seeds, and stated or estimated margins."""
        retrained = _measures(self.retrained)
        difference = _measures(self.methods).mean(axis=1) - retrained.mean(axis=0)
        estimated = np.maximum(FACTOR * retrained.std(axis=0, ddof=1), self.steps)
        margin = np.where(np.isnan(self.stated), estimated, self.stated)
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

    @property
    def of_equals(self) -> Truth:
        """The truth of methods that do not differ from Retrain."""
        return Truth(np.zeros_like(self.difference), self.margin, np.zeros_like(self.gap))


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

    def gaps(self, methods: Floats) -> Floats:
        """Return each seed's contribution to each gap to Retrain, (draws, methods, seeds)."""
        away = (self.rates(methods) - self.population.retrained[self.seeds][:, None])[..., GAP]
        by_seed: Floats = (np.sign(away.mean(axis=2, keepdims=True)) * away).mean(axis=-1)
        return by_seed


def decision_rows(populations: Mapping[str, Population]) -> Iterator[dict[str, object]]:
    """Yield how often what a page says is wrong, by number of seeds, for each cell and for all.

    In the case *as run*, the methods are as they are; in the cases *shifted* and *posing*, none
    differs from Retrain in truth. All cells draw the same seeds, as a page of both would.
    """
    for num_seeds, case in product(NUM_SEEDS, ("as run", "shifted", "posing")):
        verdicts, shown, truths, gaps = [], [], [], []
        for name, population in populations.items():
            truth, draws = population.truth, Draws(population, num_seeds)
            methods = population.methods
            if case != "as run":
                methods, truth = population.shifted(population.retrained), truth.of_equals
            samples = draws.posing() if case == "posing" else draws.samples(methods)
            tested = run_tests(samples)
            verdicts.append(decide(tested, _nobody(tested)))
            shown.append(tested.shown)
            truths.append(truth)
            gaps.append(draws.gaps(methods))
            row = {"rule": "new", "cell": name, "case": case, "seeds": num_seeds}
            row |= judge(verdicts[-1], shown[-1], truth)
            yield row | (judge_nearest(gaps[-1:], truths[-1:]) if case == "as run" else {})
        if len(populations) == 1:
            continue
        row = {"rule": "new", "cell": "both", "case": case, "seeds": num_seeds}
        row |= judge(np.hstack(verdicts), np.hstack(shown), _join(truths))
        is_like = np.array([found == LIKE for found in verdicts]).all(axis=0)
        is_beyond = np.array([truth.is_beyond.any(axis=-1) for truth in truths]).any(axis=0)
        row["praised"] = is_like.any(axis=-1).mean()
        row["praised_wrongly"] = (is_like & is_beyond).any(axis=-1).mean()
        yield row | (judge_nearest(gaps, truths) if case == "as run" else {})


def _join(truths: Sequence[Truth]) -> Truth:
    """Return the truth of the methods of all cells, as if they were methods of one cell."""
    differences = np.concatenate([truth.difference for truth in truths])
    margins = np.concatenate(
        [np.broadcast_to(truth.margin, truth.difference.shape) for truth in truths]
    )
    return Truth(differences, margins, np.concatenate([truth.gap for truth in truths]))


def judge(verdicts: NDArray[np.str_], shown: NDArray[np.int64], truth: Truth) -> dict[str, float]:
    """Return the error rates of what pages say, from verdicts (draws, methods).

    `shown` has the sign of every difference that is shown, (draws, methods, measures).
    """
    is_praised, is_blamed = verdicts == LIKE, verdicts == HARM
    harms = (shown > 0) & IS_LOSS
    is_false = is_blamed & ~(harms & (truth.difference > LAST_BITS)).any(axis=-1)
    is_small = is_blamed & ~(harms & truth.is_beyond).any(axis=-1)
    num_blamed = np.maximum(is_blamed.sum(axis=-1), 1)
    real = (truth.difference > 0) & truth.is_beyond & IS_LOSS
    return {
        "praised": is_praised.any(axis=-1).mean(),
        "praised_wrongly": (is_praised & truth.is_beyond.any(axis=-1)).any(axis=-1).mean(),
        "false_share": (is_false.sum(axis=-1) / num_blamed).mean(),
        "any_false": is_false.any(axis=-1).mean(),
        "small_share": (is_small.sum(axis=-1) / num_blamed).mean(),
        "harms_found": harms[:, real].mean() if real.any() else np.nan,
        "decided": (verdicts != OPEN).mean(),
        "all_open": (verdicts == OPEN).all(axis=-1).mean(),
    }


def judge_nearest(gaps: Sequence[Floats], truths: Sequence[Truth]) -> dict[str, float]:
    """Return how often the method that is truly nearest to Retrain is named as the nearest.

    As on the page, gaps are averaged over cells, and two of them are compared by a paired test over
    seeds (report/decision.py). `gaps` has, for each cell, an array (draws, methods, seeds).
    """
    by_seed = np.mean(gaps, axis=0)
    order, every = np.argsort(by_seed.mean(axis=-1), axis=-1), np.arange(len(by_seed))
    p = p_value(by_seed[every, order[:, 1]] - by_seed[every, order[:, 0]])
    is_shown, is_right = p < ALPHA, order[:, 0] == np.mean([t.gap for t in truths], axis=0).argmin()
    return {
        "nearest_right": is_right.mean(),
        "nearest_shown": is_shown.mean(),
        "nearest_shown_wrongly": (is_shown & ~is_right).mean(),
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
    """Yield how often Retrains of other seeds pass as equal: as they are, and one margin away.

    `level` is the largest share of any measure; `like_away` that of *like Retrain*, `pages_away`
    that of pages with any method *like Retrain*, if all are one margin away in one measure.
    """
    margin = population.truth.margin
    for num_seeds in NUM_SEEDS:
        draws = Draws(population, num_seeds)
        alike = run_tests(draws.posing())
        levels, like, pages = [], [], []
        for place in range(len(TESTED)):
            # Rates move to the side on which there is room.
            sign = -1 if population.retrained[:, place].mean() > 0.5 else 1
            away = sign * margin[place] * (np.arange(len(RATES)) == place)
            tested = run_tests(draws.posing(away))
            levels.append(tested.within[..., place].mean())
            is_like = decide(tested, _nobody(tested)) == LIKE
            like.append(is_like.mean())
            pages.append(is_like.any(axis=-1).mean())
        naive = _naive(draws.posing(-margin[UA] * (np.arange(len(RATES)) == UA)))
        naive = naive if np.isnan(population.stated[UA]) else np.nan
        yield {
            **{"cell": name, "seeds": num_seeds, "level_naive": naive},
            **{"level": max(levels), "like_away": max(like), "pages_away": max(pages)},
            "power": alike.within[..., UA].mean(),
            "like_retrain": (decide(alike, _nobody(alike)) == LIKE).mean(),
        }


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


def cifar_rows() -> Iterator[dict[str, object]]:
    """Yield the answers and verdicts on the CIFAR cut, from its kept metrics.csv.

    The examples of the affected class stand for near ones, all others for far ones.
    """
    frame = pd.read_csv(CIFAR, dtype={"seed": str, "at": str}, keep_default_na=False)
    plain = frame[(frame["at"] == "") & (frame["seed"] != "") & (frame["cell"] != "")]
    for name, cell in plain.groupby("cell"):
        fraction = float(cell["fraction"].iloc[0])
        value = pd.to_numeric(cell.set_index(["run", "metric", "set", "seed"])["value"])
        known = value.sort_index().groupby(level=[0, 1, 2]).agg(list).map(np.array)
        total = {
            s: known["retrain", "near_count", s][0] + known["retrain", "far_count", s][0]
            for s in SETS
        }
        near = {"retain": (1 - fraction) * PER_CLASS, "test": total["test"] / NUM_CLASSES}
        counts = (
            [fraction * PER_CLASS] * 2
            + [near[s] for s in SETS]
            + [total[s] - near[s] for s in SETS]
        )
        rates = {run: _cifar_rates(known[run], near, total) for run in ("retrain", *METHODS)}
        samples = Samples(
            _measures(np.array([rates[run] for run in METHODS])).swapaxes(-1, -2),
            _measures(rates["retrain"]).T,
            1 / np.array([*counts, counts[NEAR]]),
            np.full(len(MEASURES), np.nan),
        )
        tested = run_tests(samples)
        for (i, run), (j, at) in product(enumerate(METHODS), enumerate(MEASURES)):
            is_shown, is_within = tested.shown[i, j] != 0, tested.within[i, j]
            most = MOST.get(at, 1.0)
            kind = "equivalence_" if is_within else ""  # the interval of the test that decided
            low, high = (getattr(tested, f"{kind}{end}")[i, j] for end in ("low", "high"))
            yield {
                **{"cell": name, "method": run, "verdict": decide(tested, _nobody(tested))[i]},
                **{"measure": at, "difference": tested.mean[i, j]},
                **{"low": max(low, -most), "high": min(high, most)},
                "answer": "shown" if is_shown else "within" if is_within else "open",
            }


def _cifar_rates(known: pd.Series, near: Mapping[str, float], total: Mapping[str, float]) -> Floats:
    """Return a run's rates of TESTED, (seeds, rates), from accuracies of the affected class."""
    errors: dict[str, list[Floats]] = {"near": [], "far": []}
    for subset, accuracy_name in SETS.items():
        affected, every = known[f"{accuracy_name}_affected", ""], known[accuracy_name, ""]
        others = (every * total[subset] - affected * near[subset]) / (total[subset] - near[subset])
        errors["near"].append(1 - affected)
        errors["far"].append(1 - others)
    return np.array([known["ua", ""], known["mia", ""], *errors["near"], *errors["far"]]).T


def main() -> None:
    """Write the population, or the tables."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["population", "table"])
    parser.add_argument("benchmark", type=Path, nargs="?", default=FIRST, help="results/untypical")
    parser.add_argument("--folder", type=Path, help="in place of the one in docs/data/calibration")
    given = parser.parse_args()
    is_first = given.benchmark.name == FIRST.name
    folder = given.folder or (FOLDER if is_first else FOLDER / given.benchmark.name)
    rates = folder / "rates.csv"
    if given.what == "population":
        write_population(given.benchmark, rates)
        return
    cells, stated = pd.read_csv(rates).groupby("cell"), stated_margins(given.benchmark.name)
    populations = {str(name): Population.read(part, stated) for name, part in cells}
    tables = {
        "families": family_rows,
        "equivalence": equivalence_rows,
        "verdicts": verdict_rows,
        "looks": look_rows,
    }
    decisions = pd.DataFrame(decision_rows(populations))
    if is_first:
        old = pd.read_csv(FOLDER / "decisions.csv").query("rule == 'old'")
        decisions = pd.concat([old, decisions])
        pd.DataFrame(cifar_rows()).to_csv(folder / "cifar.csv", index=False, float_format="%.4f")
    decisions.to_csv(folder / "decisions.csv", index=False, float_format="%.4f")
    for name, make in tables.items():
        rows = [row for cell, population in populations.items() for row in make(cell, population)]
        pd.DataFrame(rows).to_csv(folder / f"{name}.csv", index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
