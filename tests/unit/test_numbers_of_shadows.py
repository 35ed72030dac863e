"""LiRA and U-LiRA in the long table, by plain formulas over shadow models."""

import math
from itertools import combinations

import numpy as np
import pytest
from made_benchmark import MIXED, PART, WHOLE
from recomputed import (
    levels_by_holm,
    parts_of,
    recomputes,
    recomputes_each,
    rows_of,
    same,
    seeing,
)
from scipy.stats import t as student
from scipy.stats import ttest_1samp
from sklearn.metrics import roc_auc_score

CELLS = (PART, WHOLE, MIXED)
# Of each metric: what means no effect, and its range.
NULL = {"lira_auc": (0, 0, 1), "ulira_auc": (0.5, 0, 1), "exposure_change": (0, -1, 1)}


@pytest.fixture(scope="module", params=["animals", "farm"])
def bench(request):
    """Both made benchmarks: eight and six shadow models."""
    return request.getfixturevalue(request.param)


def law(values):
    """Return mean and sum of squares around it."""
    return values.mean(), ((values - values.mean()) ** 2).sum()


def ratios_of(margins, is_in):
    """Return log p(margin | seen) - log p(margin | unseen) of every model and example.

    A model is attacked without itself and without the next model that is of the other side. The
    variance of an example is drawn to that of all examples, which weighs as much as four models.
    """
    num_models, num_examples = margins.shape
    found = np.empty(margins.shape)
    for model in range(num_models):
        laws = {True: [], False: []}
        for x in range(num_examples):
            following = [(model + step) % num_models for step in range(1, num_models)]
            partner = next(m for m in following if is_in[m, x] != is_in[model, x])
            left = [m for m in range(num_models) if m not in (model, partner)]
            for side, of_side in laws.items():
                own = np.array([margins[m, x] for m in left if is_in[m, x] == side])
                of_side.append((*law(own), len(own) - 1))
        scores = {}
        for side, of_side in laws.items():
            mean, squares, freedom = np.array(of_side).T
            variance = (squares + 4 * squares.sum() / freedom.sum()) / (freedom + 4)
            scores[side] = -((margins[model] - mean) ** 2 / variance + np.log(variance)) / 2
        found[model] = scores[True] - scores[False]
    return found


class Attack:
    """The ratios of one method, or of the models before it, on retained and forgotten examples."""

    def __init__(self, bench, cell, run):
        made, self.split = bench.made, bench.made.split(cell)
        pool = made.exposure(cell, run or made.exposed[0])
        margins = (pool.after if run else pool.before).astype(np.float64)
        # A model that diverged is in no law, and has no AUC.
        self.sound = [model for model, own in enumerate(margins) if np.isfinite(own).all()]
        self.num_models = len(margins)
        rows = {"forget": self.split.forget, "retain": self.split.retain}
        places = {name: np.ix_(self.sound, chosen) for name, chosen in rows.items()}
        self.is_in = {name: pool.is_in[place] for name, place in places.items()}
        self.ratios = {
            name: ratios_of(margins[place], self.is_in[name]) for name, place in places.items()
        }

    def aucs(self, name, chosen):
        """Return the AUC of each model on some of the examples."""
        found = np.full(self.num_models, math.nan)
        for model, seen, own in zip(self.sound, self.is_in[name], self.ratios[name], strict=True):
            if 0 < seen[chosen].sum() < len(seen[chosen]):
                found[model] = roc_auc_score(seen[chosen], own[chosen])
        return found

    def tpr(self, name, chosen):
        """Return the share of seen examples above 99 % of the unseen ones, of all models."""
        seen, ratios = self.is_in[name][:, chosen], self.ratios[name][:, chosen]
        unseen = np.sort(ratios[~seen])[::-1]
        if len(unseen) < 1000:
            return math.nan
        return (ratios[seen] > unseen[len(unseen) // 100]).mean()


ATTACKS = {}


def attack(bench, cell, run):
    """Return the attack of a method, or of the models before unlearning without a run."""
    key = bench.made.name, cell, run
    if key not in ATTACKS:
        ATTACKS[key] = Attack(bench, cell, run)
    return ATTACKS[key]


def some_rows(bench, metric):
    """Return the rows of one cell; of the first benchmark those of all."""
    return [row for row in rows_of(bench, metric) if row.cell in (*CELLS, bench.made.cells[0])]


def chosen_of(bench, row):
    """Return which examples of the set a row is about."""
    made = bench.made
    if row.at in ("near", "far"):
        return parts_of(bench, seeing(made), row.cell, row.set)[row.at]
    if not row.at:
        return slice(None)
    similarity = made.similarity(row.cell)["train"][:, made.split(row.cell).retain]
    edges = np.linspace(float(similarity.min()), float(similarity.max()), 11)
    mean = similarity.mean(axis=0)  # an example is in the bin of its mean over all seeds
    bins = np.array([min(sum(value >= edges[1:]), 9) for value in mean])
    return bins == int(row.at)


def flips(values, level):
    """Return p-value and interval by means of all subsets of the models."""
    n = len(values)
    means = sorted(
        round(np.mean(some), 12) for k in range(1, n + 1) for some in combinations(values, k)
    )
    below, above = sum(m <= 0 for m in means), sum(m >= 0 for m in means)
    p = min(2 * (1 + min(below, above)) / (len(means) + 1), 1)
    place = math.floor(level * (len(means) + 1) / 2 + 1e-9)
    return p, means[place - 1], means[len(means) - place]


def intervals(samples, null):
    """Return the interval of each run at Holm's level; by flips where these can reject."""
    known = {run: values[~np.isnan(values)] - null for run, values in samples.items()}
    known = {run: values for run, values in known.items() if len(values) > 1}
    can = {run: 2 / 2 ** len(v) < 0.05 / len(known) for run, v in known.items()}
    p = {
        run: flips(v, 0.05)[0] if can[run] else ttest_1samp(v, 0).pvalue for run, v in known.items()
    }
    levels, found = levels_by_holm(p), {}
    for run, values in known.items():
        if can[run]:
            low, high = flips(values, levels[run])[1:]
        else:
            half = student.ppf(1 - levels[run] / 2, len(values) - 1) * values.std(ddof=1)
            half /= math.sqrt(len(values))
            low, high = values.mean() - half, values.mean() + half
        found[run] = null + low, null + high
    return found


def samples_of(bench, row, metric):
    """Return the values of each method by shadow model."""
    chosen = chosen_of(bench, row)
    before = attack(bench, row.cell, "").aucs(row.set, chosen)
    if metric == "lira_auc":
        return {"retrain": before}
    after = {run: attack(bench, row.cell, run).aucs(row.set, chosen) for run in bench.made.exposed}
    return {run: own - before if "change" in metric else own for run, own in after.items()}


@recomputes_each(*(f"{name}{end}" for name in NULL for end in ("", "_low", "_high")))
def test_an_exposure_is_a_mean_over_shadow_models_with_its_interval(bench, metric):
    name = metric.removesuffix("_low").removesuffix("_high")
    null, *ends = NULL[name]
    for row in some_rows(bench, metric)[::2]:
        samples = samples_of(bench, row, name)
        own = samples[row.run][~np.isnan(samples[row.run])]
        if metric == name:
            same(row, own.mean() if len(own) else math.nan, 1e-6)
            continue
        # In a bin, and before unlearning, there is one test at a time.
        is_bin = row.at.isdecimal()
        tested = {row.run: samples[row.run]} if is_bin else samples
        found = intervals(tested, null).get(row.run, (math.nan, math.nan))
        same(row, np.clip(found[metric.endswith("_high")], *ends), 1e-6)


@recomputes("exposure_count")
def test_an_exposure_counts_its_examples(animals):
    for row in rows_of(animals, "exposure_count"):
        split = animals.made.split(row.cell)
        total = len(split.forget if row.set == "forget" else split.retain)
        same(row, len(np.arange(total)[chosen_of(animals, row)]))


@recomputes("shadow_sure")
def test_the_least_sure_shadow_model_says_whether_they_learned(animals, farm):
    for bench in (animals, farm):
        for row in rows_of(bench, "shadow_sure"):
            pool = bench.made.exposure(row.cell, bench.made.exposed[0])
            pairs = zip(pool.before, pool.is_in, strict=True)
            same(row, min((own[seen] > 0).mean() for own, seen in pairs))


@recomputes("exposure_models")
def test_shadow_models_without_a_number_are_not_counted(farm):
    for row in rows_of(farm, "exposure_models"):
        pool = farm.made.exposure(row.cell, row.run)
        same(row, sum(np.isfinite(own).all() for own in pool.after))


@recomputes_each("lira_tpr", "ulira_tpr")
def test_a_tpr_is_of_all_shadow_models_at_one_percent_false_alarms(farm, metric):
    for row in some_rows(farm, metric):
        run = "" if metric == "lira_tpr" else row.run
        same(row, attack(farm, row.cell, run).tpr(row.set, chosen_of(farm, row)))
