"""How often were verdicts and first sentences wrong by the rule of commit 203b72e?

Run it with the package of that commit, on the rates of the same runs that its own script wrote:

    git worktree add old 203b72e && cd old && export PYTHONPATH=workflow:benchmarks
    python HERE/old_rule.py docs/data/calibration/rates.csv HERE

Draws and truth are those of benchmarks/calibrate_verdicts.py today. The old page recommended the
usable method with the smallest gap to Retrain, if that gap was below the base model's. The old
verdicts on the seeds of the CIFAR cut go to cifar-old.csv.
"""

import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from calibrate_verdicts import METHODS, Draws, Population

from collateral.findings.verdict import HURT, HURT_ALL, HURT_FAR, LIKE, UNDECIDED
from collateral.findings.verdict.rule import Samples, decide, run_tests

NUM_DRAWS, NUM_SEEDS = 1_000, (2, 3, 5, 8, 10)
USABLE = (LIKE, UNDECIDED)  # verdicts with which the old page recommended a method
RATES = ("ua", "mia", "near", "near_test", "far", "far_test", "ra", "ta")  # of rates.csv today
MEASURES = ("ua", "mia", "near", "near_test", "far", "far_test", "damage")
GAP = ("ua", "mia", "ra", "ta")
# Places of the losses among the old tests; near loss on test examples was not tested.
OLD_TESTS = {"near": 2, "far": 3, "far_test": 4, "damage": 5}
FACTOR = 1.96 * 2**0.5


class Truth:
    """True differences from Retrain, margins and gaps: means over all seeds of rates.csv."""

    def __init__(self, frame: pd.DataFrame) -> None:
        """Read the rates of one cell."""
        self.runs = {run: part.sort_values("seed")[[*RATES]] for run, part in frame.groupby("run")}
        step = 1 / self.runs["count"].iloc[0]
        self.retrain = self._measures("retrain")
        means = [self._measures(run).mean() - self.retrain.mean() for run in METHODS]
        self.difference = pd.DataFrame(means)[[*MEASURES]].to_numpy()
        steps = [step["near" if at == "damage" else at] for at in MEASURES]
        self.margin = np.maximum(FACTOR * self.retrain.std(ddof=1)[[*MEASURES]], steps).to_numpy()
        away = [self.runs[run].mean() - self.runs["retrain"].mean() for run in METHODS]
        self.gap = pd.DataFrame(away)[[*GAP]].abs().to_numpy().mean(axis=1)

    def _measures(self, run: str) -> pd.DataFrame:
        """Return the measures of a run by seed; accuracies near and far become errors."""
        rates = self.runs[run].reset_index(drop=True)
        losses = 1 - rates[["near", "near_test", "far", "far_test"]]
        return rates[["ua", "mia"]].join(losses).assign(damage=losses["near"] - losses["far"])

    def gaps(self, run: str, seeds: np.ndarray) -> np.ndarray:
        """Return the gap to Retrain of each draw of seeds."""
        drawn, center = (
            self.runs[one][[*GAP]].to_numpy()[seeds].mean(axis=1) for one in (run, "retrain")
        )
        return np.abs(drawn - center).mean(axis=-1)


@dataclass
class Judged:
    """Verdicts on drawn pages: which methods are usable, which of them wrongly, and their gaps."""

    is_usable: np.ndarray  # (draws, methods)
    beats_nothing: np.ndarray  # (draws, methods)
    is_wrong: np.ndarray  # (methods,)
    gap: np.ndarray  # (draws, methods)
    true_gap: np.ndarray  # (methods,)
    errors: dict[str, float]


def judge_cell(old: pd.DataFrame, new: pd.DataFrame, num_seeds: int, case: str) -> Judged:
    """Judge the pages that draws of seeds from one cell give."""
    population, truth = Population.read(old), Truth(new)
    draws = Draws(population, num_seeds, NUM_DRAWS)
    is_null = case != "as run"
    methods = population.shifted(population.retrained) if case == "shifted" else population.methods
    difference = np.zeros_like(truth.difference) if is_null else truth.difference
    samples = draws.posing() if case == "posing" else draws.samples(methods)
    tested = run_tests(samples)
    verdicts = decide(samples, tested, np.zeros(tested.mean.shape[:-1], dtype=bool))
    gap = np.stack([truth.gaps(run, draws.seeds) for run in METHODS], axis=1)
    beats_nothing = gap < truth.gaps("original", draws.seeds)[:, None]
    return Judged(
        np.isin(verdicts, USABLE),
        np.ones_like(beats_nothing) if is_null else beats_nothing,
        (np.abs(difference) > truth.margin * (1 + 1e-12)).any(axis=1),
        gap,
        truth.gap,
        count_errors(verdicts, find_losses(samples, tested), difference, truth.margin),
    )


def find_losses(samples, tested) -> np.ndarray:
    """Return which losses are beyond chance and beyond the margin, (draws, methods, measures)."""
    found = np.zeros((*tested.mean.shape[:-1], len(MEASURES)), dtype=bool)
    for at, place in OLD_TESTS.items():
        is_large = tested.mean[..., place] > samples.margins[..., None, place] * (1 + 1e-12)
        found[..., MEASURES.index(at)] = (tested.low[..., place] > 0) & is_large
    return found


def count_errors(verdicts, found, difference, margin) -> dict[str, float]:
    """Return the error rates of what the verdicts say."""
    near, far, far_test = (MEASURES.index(at) for at in ("near", "far", "far_test"))
    says_near = np.isin(verdicts, (HURT, HURT_ALL))
    says_far = np.isin(verdicts, (HURT_FAR, HURT_ALL))
    has_loss, has_large = difference > 1e-12, difference > margin * (1 + 1e-12)

    def is_unfounded(holds: np.ndarray) -> np.ndarray:
        is_true = (says_near & holds[:, near]) | (says_far & (holds[:, far] | holds[:, far_test]))
        return (says_near | says_far) & ~is_true

    count = np.maximum((says_near | says_far).sum(axis=-1), 1)
    real = has_large & (np.arange(len(MEASURES)) >= near)
    return {
        "false_share": (is_unfounded(has_loss).sum(axis=-1) / count).mean(),
        "any_false": is_unfounded(has_loss).any(axis=-1).mean(),
        "small_share": (is_unfounded(has_large).sum(axis=-1) / count).mean(),
        "harms_found": found[:, real].mean() if real.any() else np.nan,
        "decided": (verdicts != UNDECIDED).mean(),
        "all_open": (verdicts == UNDECIDED).all(axis=-1).mean(),
    }


def count_praise(judged: list[Judged], *, is_null: bool) -> dict[str, float]:
    """Return how often a page of these cells recommends a method, and how often wrongly."""
    usable = np.all([one.is_usable & one.beats_nothing for one in judged], axis=0)
    gap = np.mean([one.gap for one in judged], axis=0)
    best = np.where(usable, gap, np.inf).argmin(axis=-1)
    is_any = usable.any(axis=-1)
    is_wrong = np.any([one.is_wrong for one in judged], axis=0)
    truly_nearest = np.mean([one.true_gap for one in judged], axis=0).argmin()
    return {
        "praised": is_any.mean(),
        "praised_wrongly": (is_any & is_wrong[best]).mean(),
        "nearest_right": np.nan if is_null else (is_any & (best == truly_nearest)).mean(),
    }


def judge_cifar(metrics: Path) -> pd.DataFrame:
    """Return the old verdicts on the seeds of the CIFAR cut; near is the affected class, as today.

    The cut has 20 classes with 250 train and as many test examples each.
    """
    frame = pd.read_csv(metrics, dtype={"seed": str, "at": str}, keep_default_na=False)
    plain = frame[(frame["at"] == "") & (frame["set"] == "") & (frame["seed"] != "")]
    found = []
    for (cell, share), part in plain.groupby(["cell", "fraction"]):
        values = part.set_index(["run", "seed", "metric"])["value"].pipe(pd.to_numeric).unstack()
        total = frame[(frame["cell"] == cell) & frame["metric"].isin(["near_count", "far_count"])]
        sizes = pd.to_numeric(total["value"]).groupby([total["set"], total["metric"]]).first()
        size = sizes.groupby(level=0).sum()
        forgotten, near = 250 * float(share), 250 * (1 - float(share))
        near_test = size["test"] / 20
        counts = [forgotten, forgotten, near, size["retain"] - near, size["test"] - near_test, near]
        errors = values[["ua", "mia"]].assign(
            near=1 - values["ra_affected"],
            far=1 - _of_others(values, "ra", size["retain"], near),
            far_test=1 - _of_others(values, "ta", size["test"], near_test),
        )
        errors["damage"] = errors["near"] - errors["far"]
        runs = {run: errors.loc[run].to_numpy().T for run in ("retrain", *METHODS)}
        samples = Samples(
            np.array([runs[run] for run in METHODS]),
            runs["retrain"],
            values.loc["original", "ua"].to_numpy(),
            1 / np.array(counts),
            np.full(len(counts), np.nan),
        )
        tested = run_tests(samples)
        verdicts = decide(samples, tested, np.zeros(len(METHODS), dtype=bool))
        found += [(cell, run, verdict) for run, verdict in zip(METHODS, verdicts, strict=True)]
    return pd.DataFrame(found, columns=["cell", "method", "verdict"])


def _of_others(values: pd.DataFrame, name: str, size: float, near: float) -> pd.Series:
    """Return the accuracy on all examples but those of the affected class."""
    return (values[name] * size - values[f"{name}_affected"] * near) / (size - near)


def main(old_rates: str, folder: str) -> None:
    """Write the rows of the old rule in front of those of the new one, and cifar-old.csv."""
    out, new_rates = Path(folder, "decisions.csv"), Path(folder, "rates.csv")
    old, new = (dict([*pd.read_csv(path).groupby("cell")]) for path in (old_rates, new_rates))
    rows = []
    for num_seeds, case in product(NUM_SEEDS, ("as run", "shifted", "posing")):
        judged = {cell: judge_cell(old[cell], new[cell], num_seeds, case) for cell in old}
        pages = {**{cell: [one] for cell, one in judged.items()}, "both": [*judged.values()]}
        for cell, page in pages.items():
            row = {"rule": "old", "cell": cell, "case": case, "seeds": num_seeds}
            errors = page[0].errors if len(page) == 1 else {}
            rows.append(row | count_praise(page, is_null=case != "as run") | errors)
    frame = pd.DataFrame(rows)
    if out.exists():
        frame = pd.concat([frame, pd.read_csv(out).query("rule != 'old'")])
    frame.to_csv(out, index=False, float_format="%.4f")
    cifar = Path(folder).parent / "cifar-small" / "metrics.csv"
    judge_cifar(cifar).to_csv(Path(folder, "cifar-old.csv"), index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
