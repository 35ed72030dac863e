"""Every number of the findings `atlas` and `forecast`, once more by plain formulas."""

from itertools import combinations, permutations
from types import SimpleNamespace

import numpy as np
import pytest
from recomputed import recomputes, same
from scipy.stats import rankdata
from scipy.stats import t as student
from test_finding_atlas import IMAGES, NAMES, made_cell, read_atlas
from test_forecast import finish, kept_forecast

from collateral.contract.conventions import derive_seed
from collateral.findings.atlas import numbers
from collateral.findings.forecast import numbers as forecasts

USED = ~np.eye(len(NAMES), dtype=bool)
SITES = {"site": np.array(["x", "y", "y", "x", "y", "y"])}


def text(row):
    """Return a row as it is in the long table."""
    value = "" if np.isnan(row.value) else repr(float(row.value))
    return SimpleNamespace(**{**vars(row), "value": value})


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    table = read_atlas(tmp_path_factory.mktemp("atlas"))
    return table, [text(row) for row in numbers.across(table)]


def matrices(table, run, at):
    """Return values by emitter, receiver and seed, in the order of the similarity."""
    part, _, measure = at.partition(" ")
    cells = {c.name.rpartition("-")[0]: c for c in table.cells if c.name.endswith(f"-{part}")}
    order = next(iter(numbers.find_atlases(table))).emitters

    def of(name, metric):
        return np.array([[cells[e].values(name, metric, "test", r) for r in order] for e in order])

    metric = f"atlas_{measure or 'accuracy'}"
    return of("retrain", metric), of(run, metric), of("retrain", "atlas_similarity")


def residual(matrix):
    row, column = np.nonzero(USED)
    design = np.zeros((len(row), 2 * len(matrix)))
    design[range(len(row)), row] = design[range(len(row)), len(matrix) + column] = 1
    values = matrix[USED]
    return values - design @ np.linalg.lstsq(design, values, rcond=None)[0]


def find(reference, run):
    """Count the pairs that are found: Welch's t with a least variance, and Benjamini-Hochberg."""
    n, m = reference.shape[-1], run.shape[-1]
    variances = [each.var(axis=-1, ddof=1) for each in (reference, run)]
    least = max(np.concatenate([v[USED] for v in variances]).mean(), 1 / IMAGES**2 / m)
    one, other = (np.maximum(v, least) / k for v, k in zip(variances, (n, m), strict=True))
    freedom = (one + other) ** 2 / (one**2 / (n - 1) + other**2 / (m - 1))
    is_least = (variances[0] <= least) & (variances[1] <= least)
    freedom = np.where(is_least, 2 * (len(run) - 1) * (m - 1), freedom)
    t = (reference.mean(axis=-1) - run.mean(axis=-1)) / np.sqrt(one + other)
    p = np.sort((2 * student.sf(abs(t), freedom))[USED])
    below = np.flatnonzero(p < 0.05 * np.arange(1, len(p) + 1) / len(p))
    return below[-1] + 1 if len(below) else 0


@recomputes("atlas_loss", "atlas_found", "atlas_pairs", "atlas_legitimate", "atlas_floor")
def test_losses_and_pairs(rows):
    table, found = rows
    for row in found:
        if row.metric == "atlas_pairs":
            same(row, 42)
        if row.metric == "atlas_legitimate":
            retrained, base, _ = matrices(table, "original", row.at)
            same(row, (base - retrained)[USED].mean())
        if row.metric in ("atlas_loss", "atlas_found"):
            retrained, own, _ = matrices(table, row.run, row.at)
            value = (retrained - own)[USED].mean()
            same(row, value if row.metric == "atlas_loss" else find(retrained, own))
        if row.metric == "atlas_floor":
            retrained = matrices(table, "ga", row.at)[0]
            shares = []
            for half in map(list, combinations(range(5), 2)):
                rest = [seed for seed in range(5) if seed not in half]
                shares.append(find(retrained[..., half], retrained[..., rest]) / 42)
            same(row, np.mean(shares))


@recomputes("atlas_slope", "atlas_slope_low", "atlas_slope_high", "atlas_correlation", "atlas_p")
def test_similarity(rows):
    table, found = rows
    p = {}
    for row in found:
        if row.metric == "atlas_slope":
            retrained, own, similarity = matrices(table, row.run, row.at)
            loss = retrained - own
            slopes = []
            for seed in range(5):
                x = residual(similarity[..., seed])
                slopes.append(x @ residual(loss[..., seed]) / (x @ x))
            half = student.ppf(0.975, 4) * np.std(slopes, ddof=1) / np.sqrt(5)
            ends = {"": 0.0, "_low": -half, "_high": half}
            mean, x = loss.mean(axis=-1), similarity.mean(axis=-1)
            p[row.at, row.run] = permute(mean, x)
            for one in (one for one in found if (one.run, one.at) == (row.run, row.at)):
                name = one.metric.removeprefix("atlas_slope")
                if name in ends:
                    same(one, np.mean(slopes) + ends[name])
                if one.metric == "atlas_correlation":
                    same(one, np.corrcoef(residual(mean), residual(x))[0, 1])
    compare_p(found, p)


def compare_p(found, p):
    for row in (row for row in found if row.metric == "atlas_p"):
        own, other = p[row.at, row.run], p[row.at, "rl" if row.run == "ga" else "ga"]
        # Holm of two: the smaller doubles, the larger is not below it.
        same(row, min(2 * own, 1) if own <= other else max(own, min(2 * other, 1)))


def permute(damage, similarity):
    rest = np.zeros_like(damage)
    rest[USED] = residual(similarity)
    y, eye = residual(damage), np.eye(len(damage))
    basis = np.array([residual(one) for one in unit_matrices(len(damage))]).T
    found = []
    for order in permutations(range(len(eye))):
        x = basis @ rest[np.ix_(order, order)][USED]
        found.append(abs(x @ y) / np.sqrt((x @ x) * (y @ y)))
    return np.mean(np.array(found) >= found[0] - 1e-9)


def unit_matrices(size):
    for row, column in zip(*np.nonzero(USED), strict=True):
        one = np.zeros((size, size))
        one[row, column] = 1
        yield one


@recomputes("atlas_asymmetry", "atlas_asymmetry_low", "atlas_asymmetry_high")
def test_asymmetry(rows):
    table, found = rows
    for row in (row for row in found if row.metric == "atlas_asymmetry"):
        retrained, own, _ = matrices(table, row.run, row.at)
        loss = retrained - own
        noise = loss.var(axis=-1, ddof=1) / 5
        values = {"atlas_asymmetry": share(loss.mean(axis=-1), noise)}
        rng = np.random.default_rng(derive_seed("atlas", row.at, row.run))
        drawn = [loss[..., rng.integers(0, 5, 5)] for _ in range(1000)]
        shares = [share(d.mean(axis=-1), noise + d.var(axis=-1, ddof=1) / 5) for d in drawn]
        known = [one for one in shares if not np.isnan(one)]
        is_known = not np.isnan(values["atlas_asymmetry"]) and len(known) >= 500
        ends = np.quantile(known, [0.025, 0.975]) if is_known else (np.nan, np.nan)
        values |= dict(zip(("atlas_asymmetry_low", "atlas_asymmetry_high"), ends, strict=True))
        for one in (one for one in found if (one.run, one.at) == (row.run, row.at)):
            if one.metric in values:
                same(one, values[one.metric])


def share(mean, noise):
    rest = np.zeros_like(mean)
    rest[USED] = residual(mean)
    chance = ((noise + noise.T) / 4)[USED].mean()
    one_way = max((((rest - rest.T) / 2)[USED] ** 2).mean() - chance, 0)
    mutual = max((((rest + rest.T) / 2)[USED] ** 2).mean() - chance, 0)
    return one_way / (one_way + mutual) if one_way + mutual else np.nan


@recomputes("atlas_accuracy", "atlas_confidence", "atlas_images", "atlas_similarity")
def test_numbers_of_a_cell(tmp_path):
    about = {"each": "site", "part": "100", "emitter": "x"}
    cell = made_cell(SITES)
    for row in map(text, numbers.numbers(cell.write(tmp_path, atlas=about))):
        mask = SITES["site"] == row.at
        if row.metric == "atlas_images":
            same(row, mask.sum())
        elif row.metric == "atlas_similarity":
            same(row, (np.arange(6) / 10)[mask].mean(), 1e-6)
        else:
            made = cell.runs[row.run, row.seed]
            right = made.test.prediction == cell.labels.test
            values = right if row.metric == "atlas_accuracy" else made.test.confidence
            lost = made.status == "diverged"
            same(row, np.nan if lost else values[mask].astype(float).mean(), 1e-6)


@recomputes(
    *("forecast_expected", "forecast_hurt", "forecast_placebo", "forecast_auc"),
    "forecast_refused",
)
def test_forecast_and_outcome(tmp_path):
    base = kept_forecast(tmp_path)
    cell = finish(base, hurt_class=0, noise=0.15)
    retain, names = cell.split.retain, np.array(cell.labels.class_names)
    label = cell.labels.train[retain]
    of_run = {
        run: np.array(
            [cell.result(run, s).train.confidence[retain].astype(float) for s in cell.seeds]
        )
        for run in ("retrain", "ga", "rl")
    }
    retrained, after = of_run["retrain"], of_run["retrain"][::-1]
    logits = [cell.result("retrain", s).train.logits[retain].astype(float) for s in cell.seeds]
    tenths = []
    for one in logits:
        true = one[np.arange(len(label)), label]
        others = np.where(np.eye(len(names), dtype=bool)[label], -np.inf, one).max(axis=1)
        ranks = rankdata(true - others) - 0.5
        tenths.append(np.minimum(10 * ranks / len(label), 9).astype(int))
    bounds = np.zeros_like(retrained)
    for tenth in range(10):
        mask = np.array(tenths) == tenth
        bounds[mask] = np.quantile((retrained - after)[mask], 0.95)
    for row in map(text, forecasts.numbers(cell)):
        own, at = label == 1, row.at
        is_class = at.startswith("class ")
        mask = names[label] == at.removeprefix("class ") if is_class else own == (at == "own")
        stratum = at if not is_class else "own" if at == "class kind_b" else "others"
        about = cell.forecast[row.run][stratum]
        by_example = dict(zip(about["examples"], about["probability"], strict=True))
        p = np.array([by_example.get(int(k), np.nan) for k in retain[mask]])
        hurt, placebo = (
            (retrained - each >= 0.1) & (retrained - each > bounds)
            for each in (of_run[row.run], after)
        )
        if row.metric == "forecast_auc":
            hit = hurt[cell.seeds.index(row.seed)][mask]
            pairs = p[hit][:, None] - p[~hit][None, :]
            is_known = pairs.size and not np.isnan(p).any()
            same(row, ((pairs > 0) + (pairs == 0) / 2).mean() if is_known else np.nan)
            continue
        values = {"forecast_expected": p.sum(), "forecast_refused": float(bool(about["refusal"]))}
        values["forecast_hurt"] = hurt[:, mask].sum() / len(cell.seeds)
        values["forecast_placebo"] = placebo[:, mask].sum() / len(cell.seeds)
        same(row, values[row.metric])
