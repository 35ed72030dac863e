"""The long table against the outputs that it was made from, by plain formulas.

Each formula looks at one seed's arrays, or at the numbers of all seeds, and knows nothing of the
code under test. Numbers that need more than a few lines are tested with their finding, by hand.
"""

import math
import re
from collections import defaultdict
from importlib import import_module
from itertools import combinations, permutations, product
from pathlib import Path

import numpy as np
import pytest
from long_table import mean, t95
from made_benchmark import CANDIDATES, CHOSEN, CLASSES, SIZES, TRIALS, WHOLE
from recomputed import (
    RECOMPUTED,
    SETS,
    bins_of,
    edges_of,
    is_lost,
    levels_by_holm,
    next_of,
    pair,
    parts_of,
    recomputes,
    recomputes_each,
    rows_of,
    same,
    seeing,
    share,
)
from scipy.special import rel_entr, softmax
from scipy.stats import rankdata, spearmanr, ttest_1samp
from scipy.stats import t as student
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from collateral.metrics.membership import draw
from collateral.plugins.find import FINDING


@pytest.fixture(scope="module")
def see(animals):
    """Return a function: cell, run and seed in, what the outputs are of each set out."""
    return seeing(animals.made)


def test_every_declared_metric_is_recomputed():
    for name in ("atlas", "requests", "shadows", "subclasses", "trust", "verdicts"):
        import_module(f"test_numbers_of_{name}")
    findings = map(FINDING.load, FINDING.names())
    declared = {name for finding in findings for name in getattr(finding, "METRICS", {})}
    assert len(declared) > 220
    assert declared - RECOMPUTED.keys() == set()
    assert RECOMPUTED.keys() - declared == set()


def test_a_test_that_compares_no_number_of_its_metric_is_no_recomputation(animals):
    @recomputes("ua", "ra")
    def compare(metrics, count):
        for row in [row for metric in metrics for row in rows_of(animals, metric)[:count]]:
            same(row, float(row.value or math.nan))

    compare(metrics=("ua", "ra"), count=30)
    for metrics, count in ((("ua", "ra"), 0), (("ua", "ra"), 1), (("ua",), 30)):
        with pytest.raises(AssertionError, match="compares only"):
            compare(metrics=metrics, count=count)


def test_the_page_of_formats_says_where_each_number_with_a_set_or_an_index_is(animals):
    page = Path(__file__).parents[2] / "docs" / "formats.md"
    table = page.read_text().partition("## metrics.csv")[2].partition("## Other arrays")[0]
    links = re.findall(r"\(findings\.md#(\w+)\)", table)
    listed = {*re.findall(r"`(\w+)`", table)}
    listed |= {
        name for link in links for name in import_module(f"collateral.findings.{link}").METRICS
    }
    patterns = [re.escape(name) for name in re.findall(r"`([\w.]+\.\.\.\w*|\w+_)`", table)]
    pattern = "|".join(name.replace(r"\.\.\.", r"\w*") for name in patterns)
    found = {row.metric for row in animals.long.rows if row.set or row.at}
    assert len(found) > 50
    others = {name for name in found - listed if not re.match(pattern, name)}
    assert {re.sub(r"(_examples)?_(low|high|sd)$", "", name) for name in others} - listed == set()


@recomputes_each("ua", "ra", "ta", "ua_affected", "ra_affected", "ta_affected")
def test_an_accuracy_is_the_share_of_right_predictions_of_its_own_set(animals, see, metric):
    name = {"u": "forget", "r": "retain", "t": "test"}[metric[0]]
    for row in rows_of(animals, metric):
        seen = see(row.cell, row.run, int(row.seed))
        right = seen.prediction[name] == seen.label[name]
        if metric.endswith("_affected"):
            right = right[np.isin(seen.label[name], animals.made.split(row.cell).affected)]
        same(row, math.nan if is_lost(animals, row) else share(right))


@recomputes_each("bin_low", "bin_high")
def test_bins_are_of_equal_width_over_all_seeds(animals, see, metric):
    for row in rows_of(animals, metric):
        edges = edges_of(animals, see, row.cell, row.set)
        same(row, edges[int(row.at) + (metric == "bin_high")])


@recomputes("bin_count")
def test_examples_are_counted_in_the_bins_of_their_seed(animals, see):
    for row in rows_of(animals, "bin_count"):
        bins = bins_of(animals, see, row.cell, row.set, int(row.seed))
        same(row, (bins == int(row.at)).sum())


@recomputes_each("near_count", "far_count")
def test_near_and_far_are_counted_once_for_all_seeds(animals, see, metric):
    for row in rows_of(animals, metric):
        assert row.seed == ""
        same(row, parts_of(animals, see, row.cell, row.set)[metric.partition("_")[0]].sum())


@recomputes("near_class")
def test_the_neighbours_are_counted_by_their_own_class(animals, see):
    for row in rows_of(animals, "near_class"):
        seen = see(row.cell, "retrain", animals.made.seeds[0])
        of = seen.label[row.set][parts_of(animals, see, row.cell, row.set)["near"]]
        same(row, (of == list(animals.made.labels.class_names).index(row.at)).sum())


@recomputes_each("near_accuracy", "far_accuracy")
def test_an_accuracy_is_that_of_each_part(animals, see, metric):
    rows = rows_of(animals, metric)
    assert {row.run for row in rows} >= {"retrain", "original", "ga", "ltd"}
    for row in rows:
        seen = see(row.cell, row.run, int(row.seed))
        chosen = parts_of(animals, see, row.cell, row.set)[metric.partition("_")[0]]
        right = share((seen.prediction[row.set] == seen.label[row.set])[chosen])
        same(row, math.nan if is_lost(animals, row) else right)


@recomputes_each("delta_acc", "delta_conf", "near_loss", "far_loss")
def test_a_loss_is_retrains_mean_minus_the_runs_of_the_same_seed_and_examples(animals, see, metric):
    masks = {}
    for row in rows_of(animals, metric):
        key = (row.cell, row.set, int(row.seed))
        if key not in masks:
            masks[key] = bins_of(animals, see, *key) if row.at else parts_of(animals, see, *key[:2])
        chosen = masks[key] == int(row.at) if row.at else masks[key][metric.partition("_")[0]]
        retrained, own = pair(animals, see, row)
        if metric == "delta_conf":
            values = [one.confidence[row.set] for one in (retrained, own)]
        else:
            values = [one.prediction[row.set] == one.label[row.set] for one in (retrained, own)]
        lost = is_lost(animals, row)
        same(row, math.nan if lost else share(values[0][chosen]) - share(values[1][chosen]), 1e-7)


@recomputes_each("epoch_near_loss", "epoch_far_loss")
def test_a_loss_after_an_epoch_is_that_of_its_model(animals, see, metric):
    made = animals.made
    for row in rows_of(animals, metric)[::7]:
        seed = int(row.seed)
        chosen = parts_of(animals, see, row.cell, row.set)[metric.split("_")[1]]
        retrained = see(row.cell, "retrain", seed)
        model = made.course(row.cell, row.run, seed)[int(row.at)]
        train, label = model.train.prediction[made.split(row.cell).retain], retrained.label[row.set]
        own = (train if row.set == "retain" else model.test.prediction) == label
        before = retrained.prediction[row.set] == label
        same(row, share(before[chosen]) - share(own[chosen]))


@recomputes_each("near_loss_sd", "far_loss_sd", "damage_sd")
def test_the_noise_of_a_loss_is_between_two_retrains(animals, see, metric):
    seeds = animals.made.seeds
    for row in rows_of(animals, metric):
        parts = parts_of(animals, see, row.cell, row.set)
        losses = []
        for i, j in combinations(seeds, 2):
            one, other = (see(row.cell, "retrain", seed) for seed in (i, j))
            right = [s.prediction[row.set] == s.label[row.set] for s in (one, other)]
            near, far = (share(right[0][of]) - share(right[1][of]) for of in parts.values())
            losses.append({"near": near, "far": far, "damage": near - far}[metric.split("_")[0]])
        same(row, math.sqrt(np.mean(np.square(losses)) / len(seeds)))


@recomputes_each("delta_acc_sd", "delta_conf_sd")
def test_the_noise_of_a_bin_is_between_two_retrains_in_the_bins_of_either(animals, see, metric):
    seeds = animals.made.seeds
    for row in rows_of(animals, metric):
        squares = []
        for i in seeds:
            chosen = bins_of(animals, see, row.cell, row.set, i) == int(row.at)
            for j in (j for j in seeds if j != i and chosen.any()):
                one, other = (see(row.cell, "retrain", seed) for seed in (i, j))
                if metric == "delta_conf_sd":
                    values = [s.confidence[row.set] for s in (one, other)]
                else:
                    values = [s.prediction[row.set] == s.label[row.set] for s in (one, other)]
                squares.append((share(values[0][chosen]) - share(values[1][chosen])) ** 2)
        num_seeds = len(squares) // (len(seeds) - 1)  # of those, in which the bin has examples
        found = math.sqrt(np.mean(squares) / num_seeds) if num_seeds > 1 else math.nan
        same(row, found, 1e-6)


@recomputes("disagreement")
def test_a_disagreement_is_the_share_predicted_otherwise_than_by_retrain(animals, see):
    for row in rows_of(animals, "disagreement"):
        retrained, own = pair(animals, see, row)
        found = share(retrained.prediction[row.set] != own.prediction[row.set])
        same(row, math.nan if is_lost(animals, row) else found)


@recomputes_each("js_divergence", "kl_divergence", "agreement")
def test_a_divergence_is_the_mean_over_examples_of_a_part(animals, see, metric):
    for row in rows_of(animals, metric)[::3]:
        retrained, own = pair(animals, see, row)
        p, q = retrained.probability[row.set], own.probability[row.set]
        middle = (p + q) / 2
        by_example = {
            "js_divergence": (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=1) / 2,
            "kl_divergence": rel_entr(p, q).sum(axis=1),
            "agreement": retrained.prediction[row.set] == own.prediction[row.set],
        }[metric]
        if row.at:
            by_example = by_example[parts_of(animals, see, row.cell, row.set)[row.at]]
        same(row, math.nan if is_lost(animals, row) else share(by_example), 1e-4)


def entropy_of(p):
    return [-sum(x * math.log(x) for x in row if x > 0) for row in p]


def modified_entropy_of(p, label):
    found = []
    for row, y in zip(p, label, strict=True):
        others = sum(x * math.log(1 - x) for c, x in enumerate(row) if c != y)
        found.append(-(1 - row[y]) * math.log(row[y]) - others)
    return found


# Of each attack: what it sees of a set.
FEATURES = {
    "mia": lambda seen, name: seen.confidence[name],
    "mia_correctness": lambda seen, name: seen.prediction[name] == seen.label[name],
    "mia_entropy": lambda seen, name: entropy_of(seen.probability[name]),
    "mia_modified_entropy": lambda seen, name: modified_entropy_of(
        seen.probability[name], seen.label[name]
    ),
    "mia_probability": lambda seen, name: seen.probability[name],
}


def called_non_members(split, seed, forget, retain, test):
    """Return the share of the forgotten that a plain SVC calls non-members."""
    drawn = draw(split.retain, len(test), split.attack_seed(seed))
    assert not set(drawn.members) & set(split.forget)
    members = retain[np.searchsorted(split.retain, drawn.members)]
    x = np.concatenate([members, test]).astype(np.float64).reshape(len(members) + len(test), -1)
    is_member = np.repeat([1, 0], [len(members), len(test)])
    learned = SVC(C=3, gamma="auto").fit(x, is_member)
    return 1 - learned.predict(np.reshape(forget, (len(forget), -1)).astype(np.float64)).mean()


@recomputes_each(*FEATURES)
def test_an_attack_is_learned_from_retained_and_test_examples_of_the_same_seed(
    animals, see, metric
):
    """Against a plain SVC on the same draw: rounding may turn two of the forgotten."""
    for row in rows_of(animals, metric)[::3]:
        split, seed = animals.made.split(row.cell), int(row.seed)
        seen = see(row.cell, row.run, seed)
        if is_lost(animals, row):
            same(row, math.nan)
            continue
        sets = [np.array(FEATURES[metric](seen, name)) for name in SETS]
        found = called_non_members(split, seed, *sets)
        same(row, found, 2.5 / len(split.forget))


@recomputes("epoch_mia")
def test_after_an_epoch_the_attack_is_on_its_model(animals):
    made = animals.made
    for row in rows_of(animals, "epoch_mia")[::5]:
        split, seed = made.split(row.cell), int(row.seed)
        model = made.course(row.cell, row.run, seed)[int(row.at)]
        train, test = model.train.confidence, model.test.confidence
        found = called_non_members(split, seed, train[split.forget], train[split.retain], test)
        same(row, found, 2.5 / len(split.forget))


RATES = {"ua": "forget", "ra": "retain", "ta": "test"}


@recomputes_each(*(f"epoch_{name}{end}" for name in RATES for end in ("", "_affected")))
def test_an_accuracy_after_an_epoch_is_that_of_its_model(animals, see, metric):
    made, name = animals.made, RATES[metric.split("_")[1]]
    for row in rows_of(animals, metric)[::3]:
        seed, split = int(row.seed), made.split(row.cell)
        model = made.course(row.cell, row.run, seed)[int(row.at)]
        own = model.test if name == "test" else model.train
        rows = {"forget": split.forget, "retain": split.retain, "test": slice(None)}[name]
        label = see(row.cell, "retrain", seed).label[name]
        right = own.prediction[rows] == label
        chosen = np.isin(label, split.affected) if metric.endswith("_affected") else right >= 0
        same(row, share(right[chosen]))


@recomputes("epoch_damage")
def test_a_damage_after_an_epoch_is_the_mean_over_seeds_of_near_minus_far(animals):
    for row in rows_of(animals, "epoch_damage"):
        near, far = (
            animals.long.values(row.cell, row.run, f"epoch_{side}_loss", "retain", row.at)
            for side in ("near", "far")
        )
        same(row, (near - far).mean())


@recomputes("rmia_auc")
def test_rmia_is_the_auc_of_confidence_over_that_of_other_seeds_retrains(animals, see):
    for row in rows_of(animals, "rmia_auc"):
        seed = int(row.seed)
        own = see(row.cell, row.run, seed)
        out = [see(row.cell, "retrain", s) for s in animals.made.seeds if s != seed]
        of = np.isin(own.label["test"], animals.made.split(row.cell).affected)
        scores = [
            own.confidence[name][chosen]
            / np.mean([o.confidence[name][chosen] for o in out], axis=0)
            for name, chosen in (("forget", slice(None)), ("test", of))
        ]
        if is_lost(animals, row):
            assert row.value == ""
        else:
            is_member = np.repeat([1, 0], [len(part) for part in scores])
            same(row, roc_auc_score(is_member, np.concatenate(scores)), 1e-6)


@recomputes("rmia_auc_examples_low", "rmia_auc_examples_high", "rmia_non_members")
def test_delongs_interval_is_of_placements_that_are_averaged_over_seeds(animals, see):
    made = animals.made
    for row in rows_of(animals, "rmia_non_members"):
        same(row, sum(c in made.split(row.cell).affected for c in made.labels.test))
    for row in rows_of(animals, "rmia_auc_examples_low"):
        of = np.isin(made.labels.test, made.split(row.cell).affected)
        above = []
        for seed in made.seeds:
            own = see(row.cell, row.run, seed)
            out = [see(row.cell, "retrain", s) for s in made.seeds if s != seed]
            forget, test = (
                own.confidence[name][chosen]
                / np.mean([o.confidence[name][chosen] for o in out], axis=0)
                for name, chosen in (("forget", slice(None)), ("test", of))
            )
            wins = (forget[:, None] > test) + 0.5 * (forget[:, None] == test)
            above.append(wins)
        wins = np.mean(above, axis=0)
        auc, sides = wins.mean(), [wins.mean(axis=1), wins.mean(axis=0)]
        error = math.sqrt(sum(side.var(ddof=1) / len(side) for side in sides))
        is_lost = any(made.status(row.run, seed) == "diverged" for seed in made.seeds)
        for end, sign in (("low", -1), ("high", 1)):
            z = math.log(auc / (1 - auc)) + sign * 1.96 * error / (auc * (1 - auc))
            [shown] = animals.long.places(row.cell, row.run, f"rmia_auc_examples_{end}")
            same(shown, math.nan if is_lost else 1 / (1 + math.exp(-z)), 1e-6)


@recomputes("nearer", "nearer_bandwidth", "nearer_examples")
def test_relative_mmd_is_by_the_base_and_the_retrain_of_the_same_seed(animals, see):
    made = animals.made
    for row in rows_of(animals, "nearer_examples"):
        same(row, len(made.split(row.cell).forget))
    for row in rows_of(animals, "nearer"):
        retrained, own = pair(animals, see, row)
        base = see(row.cell, "original", int(row.seed))
        x, y, z = (one.probability["forget"] for one in (own, retrained, base))
        both = np.concatenate([y, z])
        squares = np.array([((a - b) ** 2).sum() for a, b in combinations(both, 2)])
        square = np.median(squares[squares > 0]) / 2
        n, found = len(x), 0.0
        for i, j in permutations(range(n), 2):
            for other, sign in ((z, 1), (y, -1)):
                k = [math.exp(-((a - other[j]) ** 2).sum() / 2 / square) for a in (other[i], x[i])]
                found += sign * (k[0] - 2 * k[1]) / (n * (n - 1))
        same(row, math.nan if is_lost(animals, row) else found, 1e-6)
        places = animals.long.places(row.cell, "retrain", "nearer_bandwidth")
        same(places[animals.long.seeds.index(row.seed)], math.sqrt(square), 1e-6)


def margin_of(seen, name):
    """Return log p - log(1 - p) of the true class."""
    p = seen.probability[name][np.arange(len(seen.label[name])), seen.label[name]]
    return np.log(p) - np.log1p(-p)


def klom_of(own, retrained):
    """Return the KLOM of each example: the mean over shifts of the seeds, by halves."""
    n, found = len(own), []
    half = n // 2
    for start in range(n):
        order = [(start + i) % n for i in range(2 * half)]
        laws = []
        for values, chosen in ((own, order[:half]), (retrained, order[half:])):
            prior = np.mean(np.var(values, axis=0, ddof=1))
            some = values[chosen]
            squares = ((some - some.mean(axis=0)) ** 2).sum(axis=0)
            laws.append((some.mean(axis=0), (squares + 4 * prior) / (half - 1 + 4)))
        (mean, variance), (other, of) = laws
        found.append((variance / of - 1 - np.log(variance / of) + (mean - other) ** 2 / of) / 2)
    return np.mean(found, axis=0)


@recomputes_each("klom", "klom_retrain")
def test_klom_is_the_divergence_of_gaussians_of_half_of_the_seeds(animals, see, metric):
    made = animals.made
    for row in rows_of(animals, metric):
        own, retrained = (
            np.array([margin_of(see(row.cell, run, seed), row.set) for seed in made.seeds])
            for run in (row.run, "retrain")
        )
        by_example = klom_of(retrained, retrained)
        if metric == "klom":
            by_example = klom_of(own, retrained) - by_example
        chosen = slice(None)
        if row.at:
            chosen = parts_of(animals, see, row.cell, row.set)[row.at]
        is_lost = any(made.status(row.run, seed) == "diverged" for seed in made.seeds)
        same(row, math.nan if is_lost else by_example[chosen].mean(), 1e-3)


@recomputes_each("tow", "tow_mia")
def test_the_tug_of_war_is_a_product_by_seed(animals, metric):
    terms = ("mia" if metric == "tow_mia" else "ua", "ra", "ta")
    seeds = animals.long.seeds
    for row in rows_of(animals, metric):
        place = seeds.index(row.seed)
        other = (place + 1) % len(seeds) if row.run == "retrain" else place
        kept = [
            1
            - abs(
                animals.long.values(row.cell, row.run, t)[other]
                - animals.long.values(row.cell, "retrain", t)[place]
            )
            for t in terms
        ]
        same(row, math.prod(kept))


@recomputes("class_drop")
def test_a_class_drop_is_of_the_test_examples_of_the_class(animals, see):
    for row in rows_of(animals, "class_drop"):
        assert row.cell == WHOLE
        retrained, own = pair(animals, see, row)
        of = retrained.label["test"] == CLASSES.index(row.at)
        right = [
            share((one.prediction["test"] == one.label["test"])[of]) for one in (retrained, own)
        ]
        same(row, math.nan if is_lost(animals, row) else right[0] - right[1])


def sound_seeds(animals, run):
    return [seed for seed in animals.made.seeds if animals.made.status(run, seed) == "ok"]


@recomputes(
    *("class_similarity", "class_drop_sd", "class_slope", "class_slope_low", "class_slope_high")
)
def test_a_slope_over_classes_is_fitted_in_each_seed(animals, see):
    made, long = animals.made, animals.long
    kept = [c for c in CLASSES if c != WHOLE.partition("-")[0]]
    similarity = made.neighbours(WHOLE).class_similarity.astype(np.float64)
    for row in rows_of(animals, "class_similarity"):
        assert (row.cell, row.at in kept) == (WHOLE, True)
        same(row, similarity[made.seeds.index(int(row.seed)), CLASSES.index(row.at)])
    for row in rows_of(animals, "class_drop_sd"):
        of = made.labels.test == CLASSES.index(row.at)
        seen = [see(WHOLE, "retrain", seed) for seed in made.seeds]
        rates = [share((one.prediction["test"] == one.label["test"])[of]) for one in seen]
        square = np.mean([(a - b) ** 2 for a, b in combinations(rates, 2)])
        same(row, math.sqrt(square / len(rates)))
    for row in rows_of(animals, "class_slope"):
        slopes = []
        for seed in sound_seeds(animals, row.run):
            place = made.seeds.index(seed)
            drops = [long.values(WHOLE, row.run, "class_drop", "", c)[place] for c in kept]
            x = [similarity[place, CLASSES.index(c)] for c in kept]
            slopes.append((drops[1] - drops[0]) / (x[1] - x[0]))  # a line through two classes
        same(row, np.mean(slopes), 1e-6)
        half = t95(len(slopes)) * np.std(slopes, ddof=1) / math.sqrt(len(slopes))
        for end, value in (("low", np.mean(slopes) - half), ("high", np.mean(slopes) + half)):
            same(long.places(WHOLE, row.run, f"class_slope_{end}")[0], value, 1e-6)


@recomputes_each("locality_slope", "locality_rank", "near_far_ratio")
def test_localization_is_of_each_examples_difference_and_similarity(animals, see, metric):
    for row in (row for row in rows_of(animals, metric) if not row.at):
        retrained, own = pair(animals, see, row)
        if is_lost(animals, row):
            assert row.value == ""
            continue
        x = retrained.similarity[row.set].astype(np.float64)
        y = np.abs(retrained.confidence[row.set] - own.confidence[row.set])
        near, far = parts_of(animals, see, row.cell, row.set).values()
        found = {
            "locality_slope": np.polyfit(x, y, 1)[0],
            "locality_rank": spearmanr(x, y).statistic,
            "near_far_ratio": y[near].mean() / y[far].mean(),
        }[metric]
        same(row, found, 1e-5)


@recomputes("nearest_difference")
def test_the_nearest_shares_are_of_the_most_similar_of_each_seed(animals, see):
    shares = [0, 1, 2, 5, 10, 20, 50, 100]
    for row in rows_of(animals, "nearest_difference"):
        retrained, own = pair(animals, see, row)
        order = np.argsort(-retrained.similarity[row.set], kind="stable")
        ends = [len(order) * share // 100 for share in shares]
        place = shares.index(int(row.at))
        chosen = order[ends[place - 1] : ends[place]]
        apart = np.abs(retrained.confidence[row.set] - own.confidence[row.set])[chosen]
        same(row, math.nan if is_lost(animals, row) else share(apart), 1e-6)


@recomputes("locality_excess", "locality_excess_low", "rising_cells")
def test_a_slope_rises_in_a_cell_if_its_excess_over_retrains_is_above_zero(animals):
    long, rising = animals.long, defaultdict(int)
    for row in rows_of(animals, "locality_excess"):
        beyond = {}
        for run in ("ft", "ga", "rl", "ltd"):
            own, floor = (
                long.values(row.cell, one, "locality_slope", row.set, row.at)
                for one in (run, "retrain")
            )
            beyond[run] = own - floor
        same(row, beyond[row.run].mean(), 1e-9)
        whole = {run: values for run, values in beyond.items() if not np.isnan(values).any()}
        levels = levels_by_holm({run: ttest_1samp(v, 0).pvalue for run, v in whole.items()})
        low = math.nan
        if row.run in whole:
            n, values = len(beyond[row.run]), beyond[row.run]
            quantile = student.ppf(1 - levels[row.run] / 2, n - 1)
            low = values.mean() - quantile * values.std(ddof=1) / math.sqrt(n)
        [shown] = long.places(row.cell, row.run, "locality_excess_low", row.set, row.at)
        same(shown, low, 1e-6)
        rising[row.run, row.set, row.at] += low > 0
    for row in rows_of(animals, "rising_cells"):
        same(row, rising[row.run, row.set, row.at])


ENDS_OVER_EXAMPLES = ("locality_slope", "locality_rank", "near_far_ratio")


@recomputes_each(*(f"{name}_examples_{e}" for name in ENDS_OVER_EXAMPLES for e in ("low", "high")))
def test_an_interval_over_examples_is_a_bootstraps(animals, see, metric):
    """Against a plain bootstrap with draws of its own: 15 % of the width is its noise."""
    name, _, end = metric.rsplit("_", 2)
    for row in [row for row in rows_of(animals, metric) if not row.at][:6]:
        found, rng = [], np.random.default_rng(3)
        x, y = [], []
        for seed in animals.made.seeds:
            if is_lost(animals, row._replace(seed=str(seed))):
                break
            retrained, own = pair(animals, see, row._replace(seed=str(seed)))
            x.append(retrained.similarity[row.set].astype(np.float64))
            y.append(np.abs(retrained.confidence[row.set] - own.confidence[row.set]))
        if len(x) < len(animals.made.seeds):
            same(row, math.nan)
            continue
        near, far = parts_of(animals, see, row.cell, row.set).values()
        for _ in range(600):
            drawn = rng.integers(0, len(near), len(near))
            of_seeds = []
            for one, other in zip(x, y, strict=True):
                a, b = one[drawn], other[drawn]
                of_seeds.append(
                    {
                        "locality_slope": lambda: np.polyfit(a, b, 1)[0],  # noqa: B023
                        "locality_rank": lambda: spearmanr(a, b).statistic,  # noqa: B023
                        "near_far_ratio": lambda: math.log(
                            b[near[drawn]].mean() / b[far[drawn]].mean()  # noqa: B023
                        ),
                    }[name]()
                )
            found.append(np.mean(of_seeds))
        low, high = np.quantile(found, [0.025, 0.975])
        width = high - low
        value = {"low": low, "high": high}[end]
        back, width = (
            (math.exp(value), width * math.exp(value)) if "ratio" in name else (value, width)
        )
        same(row, back, 0.15 * width)


@recomputes("damage")
def test_a_damage_is_the_loss_near_minus_the_loss_far(animals):
    for row in rows_of(animals, "damage"):
        place = animals.long.seeds.index(row.seed)
        near, far = (
            animals.long.values(row.cell, row.run, f"{side}_loss", "retain")[place]
            for side in ("near", "far")
        )
        same(row, near - far)


ALL_TERMS = ("ua", "ra", "ta", "mia")
OF_AFFECTED = ("ua_affected", "ra_affected", "ta_affected")
TERMS = {
    "avg_gap": ALL_TERMS,
    "avg_gap_affected": OF_AFFECTED,
    "forgetting_error": ("ua", "mia"),
    "epoch_avg_gap": ALL_TERMS,
    "epoch_avg_gap_affected": OF_AFFECTED,
    "epoch_forgetting_error": ("ua", "mia"),
}


@recomputes_each(*TERMS)
def test_a_gap_is_the_mean_distance_of_the_means_over_seeds(animals, metric):
    before = "epoch_" if metric.startswith("epoch_") else ""
    for row in rows_of(animals, metric):
        gaps = []
        for term in TERMS[metric]:
            own = animals.long.values(row.cell, row.run, f"{before}{term}", "", row.at)
            gaps.append(abs(own.mean() - animals.long.values(row.cell, "retrain", term).mean()))
        same(row, mean(np.array(gaps)))


@recomputes("floor")
def test_a_floor_is_the_distance_to_expect_between_means_of_retrains(animals):
    terms = {
        "avg_gap": ("ua", "ra", "ta", "mia"),
        "avg_gap_affected": ("ua_affected", "ra_affected", "ta_affected"),
    }
    for row in rows_of(animals, "floor"):
        floors = []
        for term in terms.get(row.at, (row.at,)):
            values = animals.long.values(row.cell, "retrain", term)
            apart = [abs(a - b) for a, b in combinations(values, 2)]
            floors.append(np.mean(apart) / math.sqrt(len(values)))
        same(row, mean(np.array(floors)))


def of_retrain(animals, cell, at):
    """Return a measure of Retrain by seed, and the number of examples that it is a rate of."""
    if at in ("ua", "mia"):
        values = animals.long.values(cell, "retrain", at)
        return values, len(animals.made.split(cell).forget)
    places = {"near": ("near", "retain"), "near_test": ("near", "test")}
    places |= {"far": ("far", "retain"), "far_test": ("far", "test")}
    if at == "damage":
        (near, count), (far, _) = (of_retrain(animals, cell, one) for one in ("near", "far"))
        return near - far, count
    part, name = places[at]
    accuracy = animals.long.values(cell, "retrain", f"{part}_accuracy", name)
    return 1 - accuracy, animals.long.mean(cell, "retrain", f"{part}_count", name)


@recomputes("margin")
def test_a_margin_is_what_sets_two_retrainings_apart(animals):
    for row in rows_of(animals, "margin"):
        values, count = of_retrain(animals, row.cell, row.at)
        square = np.mean([(a - b) ** 2 for a, b in combinations(values, 2)])
        same(row, max(1.96 * math.sqrt(square), 1 / count), 1e-4)


@recomputes("difference")
def test_differences_are_means_over_seeds_and_undefined_of_a_run_that_diverged(animals):
    for row in rows_of(animals, "difference"):
        values = {run: animals.long.values(row.cell, run, "ua") for run in (row.run, "retrain")}
        attacks = [animals.long.values(row.cell, run, "mia") for run in (row.run, "retrain")]
        found = {
            "ua": values[row.run] - values["retrain"],
            "mia": attacks[0] - attacks[1],
            "damage": animals.long.values(row.cell, row.run, "damage", "retain"),
            "near": animals.long.values(row.cell, row.run, "near_loss", "retain"),
            "near_test": animals.long.values(row.cell, row.run, "near_loss", "test"),
            "far": animals.long.values(row.cell, row.run, "far_loss", "retain"),
            "far_test": animals.long.values(row.cell, row.run, "far_loss", "test"),
        }[row.at]
        same(row, found.mean())


@recomputes("base_ua", "base_distance")
def test_the_base_is_that_of_the_same_seed(animals, see):
    for row in rows_of(animals, "base_ua"):
        seen = see(row.cell, "original", int(row.seed))
        same(row, share(seen.prediction["forget"] == seen.label["forget"]))
    for row in rows_of(animals, "base_distance"):
        one, other = (see(row.cell, run, int(row.seed)) for run in ("original", "retrain"))
        apart = [np.abs(one.confidence[name] - other.confidence[name]) for name in SETS]
        same(row, share(np.concatenate(apart)), 1e-6)


@recomputes("forget_count", "train_count")
def test_forgotten_examples_are_counted_by_their_class(animals):
    label = animals.made.labels.train
    for metric in ("forget_count", "train_count"):
        for row in rows_of(animals, metric):
            chosen = (
                animals.made.split(row.cell).forget if metric == "forget_count" else slice(None)
            )
            same(row, np.count_nonzero(label[chosen] == CLASSES.index(row.at)))


# Probes, teachers, trials.


@recomputes_each("relearn_accuracy", "relearn_gap", "residual_accuracy", "residual_gap")
def test_a_probe_is_of_the_run_and_seed_that_it_was_made_of(animals, metric):
    made = animals.made
    for row in rows_of(animals, metric):
        seed = int(row.seed)
        other = next_of(animals, seed) if row.run == "retrain" and metric.endswith("gap") else seed
        own, retrained = made.probe(row.cell, other), made.probe(row.cell, seed)
        name = "relearn_accuracy" if "relearn" in metric else "residual_share"
        values = getattr(own, name)[own.row(row.run)].astype(np.float64)
        before = getattr(retrained, name)[retrained.row("retrain")].astype(np.float64)
        first = 1 if metric == "relearn_gap" else 0
        found = {
            "relearn_accuracy": lambda: values[int(row.at)],  # noqa: B023
            "residual_accuracy": lambda: values.mean(),  # noqa: B023
        }.get(metric, lambda: (values - before)[first:].mean())()  # noqa: B023
        same(row, math.nan if is_lost(animals, row) else found, 1e-6)


@recomputes("relearn_even")
def test_a_run_is_even_at_the_first_step_where_it_is_not_below_retrain(animals):
    made = animals.made
    for row in rows_of(animals, "relearn_even"):
        seed = int(row.seed)
        other = next_of(animals, seed) if row.run == "retrain" else seed
        own, retrained = made.probe(row.cell, other), made.probe(row.cell, seed)
        before = retrained.relearn_accuracy[retrained.row("retrain")]
        steps = own.relearn_accuracy[own.row(row.run)]
        even = [step for step, value in enumerate(steps) if value >= before[step]]
        same(row, math.nan if is_lost(animals, row) else [*even, len(steps)][0])


# Of each metric of a probe: the array, and its column.
PROBED_ARRAYS = {
    "linear_accuracy": ("linear_accuracy", lambda row: 0),
    "linear_test_accuracy": ("linear_accuracy", lambda row: 1),
    "patch_accuracy": ("patch_rates", lambda row: 0),
    "patch_success": ("patch_rates", lambda row: 1),
    "cka_base": ("cka_base", lambda row: PLACES.index((row.set, row.at))),
    "cka_retrain": ("cka_retrain", lambda row: PLACES.index((row.set, row.at))),
    **{
        f"resurface_{name}accuracy": (
            f"resurface_{name}accuracy",
            lambda row: (0, 10, 40).index(int(row.at)),
        )
        for name in ("", "near_", "test_")
    },
}
PLACES = [("forget", ""), ("retain", "near"), ("retain", "far"), ("test", "")]


@recomputes_each(*PROBED_ARRAYS)
def test_a_number_of_a_probe_is_that_of_its_run_part_and_step(animals, metric):
    name, column = PROBED_ARRAYS[metric]
    for row in rows_of(animals, metric):
        probe = animals.made.probe(row.cell, int(row.seed))
        if (metric, row.run) == ("cka_retrain", "retrain"):
            other = animals.made.probe(row.cell, next_of(animals, int(row.seed)))
            of = probe.cka_part == column(row)
            found = cka_of(probe.cka_features[of], other.cka_features[of])
        else:
            found = getattr(probe, name)[probe.row(row.run)][column(row)]
        same(row, math.nan if is_lost(animals, row) else found, 1e-6)


def cka_of(x, y):
    """Return the debiased linear CKA, by sums over examples that are unlike."""

    def gram(features):
        centred = features.astype(np.float64) - features.astype(np.float64).mean(axis=0)
        products = centred @ centred.T
        return products - np.diag(np.diag(products))

    def hsic(k, m):
        n, ones = len(k), np.ones(len(k))
        found = np.trace(k @ m) + (ones @ k @ ones) * (ones @ m @ ones) / (n - 1) / (n - 2)
        return (found - 2 / (n - 2) * ones @ k @ m @ ones) / n / (n - 3)

    k, m = gram(x), gram(y)
    return hsic(k, m) / math.sqrt(hsic(k, k) * hsic(m, m))


@recomputes("linear_gap", "resurface_gap")
def test_a_gap_of_a_probe_is_a_difference_from_retrain_of_the_same_seed(animals):
    made = animals.made
    for metric, name in (
        ("linear_gap", "linear_accuracy"),
        ("resurface_gap", "resurface_accuracy"),
    ):
        for row in rows_of(animals, metric):
            seed = int(row.seed)
            other = next_of(animals, seed) if row.run == "retrain" else seed
            own, retrained = made.probe(row.cell, other), made.probe(row.cell, seed)
            values = getattr(own, name)[own.row(row.run)]
            before = getattr(retrained, name)[retrained.row("retrain")]
            apart = {
                "linear_gap": values[0] - before[0],
                "resurface_gap": (values[-1] - values[0]) - (before[-1] - before[0]),
            }[metric]
            same(row, math.nan if is_lost(animals, row) else apart)


@recomputes("zrf")
def test_zrf_is_one_minus_the_divergence_from_an_untrained_net(animals, see):
    for row in rows_of(animals, "zrf"):
        p = see(row.cell, row.run, int(row.seed)).probability["forget"]
        q = softmax(animals.made.probe(row.cell, int(row.seed)).zrf_logits.astype(float), axis=1)
        middle = (p + q) / 2
        found = 1 - ((rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=1) / 2).mean()
        same(row, math.nan if is_lost(animals, row) else found, 1e-6)


OF_TEACHERS = {
    "support_epochs": "epochs",
    "support_accuracy": "support_accuracy",
    "support_least_similarity": "least_similarity",
    "support_num_classes": "num_classes",
    "support_drop": "step_drop",
    "support_bin_count": "step_counts",
    "support_auto": "auto_size",
    "support_step_rate": "step_rate",
}


@recomputes_each(*OF_TEACHERS)
def test_a_teacher_is_that_of_its_seed_and_size(animals, metric):
    for row in rows_of(animals, metric):
        found = getattr(animals.made.teachers(row.cell, int(row.seed)), OF_TEACHERS[metric])
        is_size = found.shape == (len(SIZES),)
        same(
            row,
            found
            if found.ndim == 0
            else found[SIZES.index(int(row.at)) if is_size else int(row.at)],
        )


def histogram_of(probability):
    """Return the mean over examples of the two largest entries, which are made to sum to 1."""
    rows = []
    for row in np.asarray(probability, np.float64):
        largest = set(np.argsort(row)[-2:])
        kept = [value if c in largest else 0.0 for c, value in enumerate(row)]
        rows.append(np.array(kept) / sum(kept))
    return np.mean(rows, axis=0)


def kl_of(p, q, count):
    """Return KL(p, q) after one more example that is equally sure of every class."""
    p, q = ((count * h + 1 / len(h)) / (count + 1) for h in (p, q))
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))


@recomputes("support_top_mass", "support_bin_low", "support_bin_high")
def test_a_teacher_has_the_edges_of_its_bins_and_a_sum_of_its_largest_entries(animals):
    made = animals.made
    for row in rows_of(animals, "support_top_mass"):
        soft = made.teachers(row.cell, int(row.seed)).soft_labels[SIZES.index(int(row.at))]
        same(row, share(np.sort(soft.astype(np.float64), axis=1)[:, -2:].sum(axis=1)), 1e-6)
    for first, metric in enumerate(("support_bin_low", "support_bin_high")):
        for row in rows_of(animals, metric):
            edges = made.teachers(row.cell, int(row.seed)).step_edges
            same(row, edges[int(row.at) + first])


@recomputes("support_kl_previous", "support_kl_retrain", "support_kl_seeds", "support_kl_retrains")
def test_a_teachers_histogram_is_compared_with_the_smaller_supports_and_with_retrains(animals, see):
    made = animals.made
    histograms, retrained = {}, {}
    for cell, seed in product(made.cells, made.seeds):
        soft = made.teachers(cell, seed).soft_labels
        histograms[cell, seed] = [histogram_of(of_size) for of_size in soft]
        retrained[cell, seed] = histogram_of(see(cell, "retrain", seed).probability["forget"])
    for row in rows_of(animals, "support_kl_previous"):
        place, of = SIZES.index(int(row.at)), histograms[row.cell, int(row.seed)]
        count = len(made.split(row.cell).forget)
        same(row, kl_of(of[place], of[place - 1], count) if place else math.nan, 1e-6)
    for row in rows_of(animals, "support_kl_retrain"):
        key, count = (row.cell, int(row.seed)), len(made.split(row.cell).forget)
        own = histograms[key][SIZES.index(int(row.at))]
        same(row, kl_of(own, retrained[key], count), 1e-6)
    for metric in ("support_kl_seeds", "support_kl_retrains"):
        for row in rows_of(animals, metric):
            pairs = permutations(made.seeds, 2)
            count = len(made.split(row.cell).forget)
            of = {
                seed: histograms[row.cell, seed][SIZES.index(int(row.at))]
                if row.at
                else retrained[row.cell, seed]
                for seed in made.seeds
            }
            same(row, np.mean([kl_of(of[a], of[b], count) for a, b in pairs]), 1e-6)


@recomputes("support_teacher_ua")
def test_a_teachers_accuracy_is_on_the_forget_set(animals):
    for row in rows_of(animals, "support_teacher_ua"):
        made = animals.made
        soft = made.teachers(row.cell, int(row.seed)).soft_labels[SIZES.index(int(row.at))]
        same(row, share(soft.argmax(axis=1) == made.labels.train[made.split(row.cell).forget]))


@recomputes("gap_chosen", "gap_nearest", "gap_default", "regret", "trial_chosen", "trial_nearest")
def test_a_regret_is_the_chosen_trials_gap_minus_the_nearest_candidates(animals):
    first = animals.made.seeds[0]
    for cell in animals.made.cells:
        for method in TRIALS:
            gaps = []
            for trial in animals.made.trials(cell, method):
                terms = [
                    abs(trial[t] - animals.long.values(cell, "retrain", t)[0])
                    for t in ("ua", "ra", "ta", "mia")
                ]
                gaps.append(np.mean(terms))
            nearest = int(np.argmin(gaps[: CANDIDATES[method]]))
            wanted = {
                "gap_chosen": gaps[CHOSEN[method]],
                "gap_nearest": gaps[nearest],
                "gap_default": gaps[-1],
                "regret": gaps[CHOSEN[method]] - gaps[nearest],
                "trial_chosen": CHOSEN[method],
                "trial_nearest": nearest,
            }
            for metric, value in wanted.items():
                [row] = animals.long.places(cell, method, metric)
                assert row.seed == str(first)
                same(row, value)


def upper_limit(rate, count):
    """Return the rate at which so few right ones of `count` still come in 5 % of draws."""
    low, high, right = rate, 1.0, round(rate * count)
    for _ in range(60):
        middle = (low + high) / 2
        chance = sum(
            math.comb(count, k) * middle**k * (1 - middle) ** (count - k) for k in range(right + 1)
        )
        low, high = (middle, high) if chance > 0.05 else (low, middle)
    return low


def chosen_by(rule, trials, teacher_ua):
    """Return which trial a rule selects, and how many are accurate enough for it."""

    def is_enough(trial):
        affected = trial["ra_affected"]
        if rule == "interval":
            affected = upper_limit(affected, trial["num_affected"])
        return affected > 0.7 and trial["ra"] > 0.9

    enough = [place for place, trial in enumerate(trials) if is_enough(trial)]
    if rule == "teacher":
        among = enough or range(len(trials))
        return min(among, key=lambda i: abs(trials[i]["ua"] - teacher_ua)), len(enough)
    if enough:
        return min(enough, key=lambda i: trials[i]["ua"]), len(enough)
    return max(range(len(trials)), key=lambda i: trials[i]["ra"]), 0


@recomputes("rule_regret", "rule_trial", "rule_admissible")
def test_a_rules_regret_is_that_of_the_trial_that_it_would_choose(animals):
    made, first = animals.made, animals.made.seeds[0]
    for cell in made.cells:
        teacher_ua = animals.long.values(cell, "ltd", "teacher_ua")[0]
        retrained = {t: animals.long.values(cell, "retrain", t)[0] for t in ALL_TERMS}
        for method in TRIALS:
            trials = [*made.trials(cell, method)][: CANDIDATES[method]]
            gaps = [np.mean([abs(one[t] - retrained[t]) for t in ALL_TERMS]) for one in trials]
            for rule in ("paper", "interval", "teacher"):
                place, count = chosen_by(rule, trials, teacher_ua)
                wanted = {
                    "rule_regret": gaps[place] - min(gaps),
                    "rule_trial": place,
                    "rule_admissible": count,
                }
                for metric, value in wanted.items():
                    [row] = animals.long.places(cell, method, metric, "", rule)
                    assert row.seed == str(first)
                    same(row, value)


@recomputes_each("teacher_ua", "teacher_epochs")
def test_what_a_method_reports_is_in_its_record(animals, metric):
    for row in rows_of(animals, metric):
        record = animals.made.record(animals.root, row.cell, row.run, int(row.seed))
        same(row, record["extra"][metric])


# Costs.


@recomputes_each("rte", "seconds", "peak_rss_mb", "epoch_seconds")
def test_costs_are_those_of_the_runs_own_file(animals, metric):
    for row in rows_of(animals, metric):
        if row.run == "original":
            same(row, 0.0)
            continue
        cost = animals.made.cost(row.cell, row.run, int(row.seed))
        if metric == "epoch_seconds":
            same(row, cost["epoch_seconds"][int(row.at)])
        elif metric == "seconds":
            same(row, cost["seconds"][row.at])
        else:
            same(row, cost["total_seconds" if metric == "rte" else metric])


@recomputes("tuning_seconds", "support_size_seconds", "on_device")
def test_a_job_of_the_cell_has_its_own_seconds_and_a_run_its_device(animals):
    first = animals.made.seeds[0]
    for row in rows_of(animals, "tuning_seconds"):
        assert (row.seed, row.run in TRIALS) == (str(first), True)
        same(row, animals.made.tuning_seconds(row.cell, row.run))
    for row in rows_of(animals, "support_size_seconds"):
        same(row, 3.0 + int(row.seed))
    for row in rows_of(animals, "on_device"):
        assert row.at == "cpu, threads: 1"
        same(row, 1)


@recomputes("rte_share", "rte_share_with_tuning", "paying_deletions")
def test_a_share_of_retrains_time_is_of_means_and_pays_from_tuning_on(animals):
    long = animals.long
    for row in rows_of(animals, "rte_share"):
        retrain = long.mean(row.cell, "retrain", "rte")
        same(row, long.mean(row.cell, row.run, "rte") / retrain)
    tuned = {(cell, run) for cell in animals.made.cells for run in animals.made.tuned}
    shares = [*rows_of(animals, "rte_share_with_tuning")]
    assert {(row.cell, row.run) for row in shares} == tuned
    for row in shares:
        tuning = float(np.nansum(long.values(row.cell, row.run, "tuning_seconds")))
        seconds = long.mean(row.cell, row.run, "rte") + tuning
        same(row, seconds / long.mean(row.cell, "retrain", "rte"))
    for row in rows_of(animals, "paying_deletions"):
        retrain, own = (long.mean(row.cell, run, "rte") for run in ("retrain", row.run))
        tuning = long.values(row.cell, row.run.partition("@")[0], "tuning_seconds")
        seconds = float(np.nansum(tuning)) if len(tuning) else 0.0
        same(row, seconds / (retrain - own))


@recomputes("budget_epoch", "budget_gap")
def test_a_budget_has_the_latest_epoch_that_ended_in_time(animals):
    long = animals.long
    for row in rows_of(animals, "budget_epoch"):
        limit = int(row.at) / 100 * long.mean(row.cell, "retrain", "rte")
        ends = [long.mean(row.cell, row.run, "epoch_seconds", "", epoch) for epoch in (1, 2, 3)]
        epoch = sum(end <= limit for end in ends)
        same(row, epoch or math.nan)
        gap = long.number(row.cell, row.run, "epoch_avg_gap", "", epoch) if epoch else math.nan
        same(long.places(row.cell, row.run, "budget_gap", "", row.at)[0], gap)


# Over all cells.


@recomputes("ranked_cells", "mean_rank", "mean_gap", "lowest_cells", "tied_cells")
def test_ranks_are_of_the_methods_that_ended_well_in_each_cell(animals):
    methods, long = ("ft", "ga", "rl", "ltd"), animals.long
    for gap in ("avg_gap", "avg_gap_affected"):
        found = {run: {"ranks": [], "gaps": [], "lowest": 0, "tied": 0} for run in methods}
        for cell in animals.made.cells:
            own = {r: long.number(cell, r, gap) for r in methods if (cell, r) not in long.troubled}
            floor = long.number(cell, "retrain", "floor", "", gap)
            for run, rank in zip(own, rankdata(list(own.values())), strict=True):
                found[run]["ranks"].append(rank)
                found[run]["gaps"].append(own[run])
                found[run]["lowest"] += own[run] == min(own.values())
                found[run]["tied"] += own[run] - min(own.values()) <= floor
        for run, of in found.items():
            wanted = {
                "ranked_cells": len(of["ranks"]),
                "mean_rank": share(of["ranks"]),
                "mean_gap": share(of["gaps"]),
                "lowest_cells": of["lowest"],
                "tied_cells": of["tied"],
            }
            for metric, value in wanted.items():
                same(long.places("", run, metric, "", gap)[0], value, 1e-9)


# Intervals over seeds: by metric, from and to the scale on which the mean is taken, and its range.
SCALES = {
    "locality_slope": (lambda x: x, lambda x: x, (-math.inf, math.inf)),
    "locality_rank": (lambda x: x, lambda x: x, (-math.inf, math.inf)),
    "near_far_ratio": (np.log, np.exp, (0, math.inf)),
    "rmia_auc": (lambda x: x, lambda x: x, (0, 1)),
    "nearer": (lambda x: x, lambda x: x, (-math.inf, math.inf)),
}


@recomputes_each(*(f"{name}_{end}" for name in SCALES for end in ("low", "high")))
def test_an_interval_over_seeds_is_students(animals, metric):
    name, _, end = metric.rpartition("_")
    scale, back, (least, most) = SCALES[name]
    sign = -1 if end == "low" else 1
    for row in rows_of(animals, metric):
        values = animals.long.values(row.cell, row.run, name, row.set, row.at)
        # Pairs of retrainings share models; the interval of all others needs every seed.
        is_known = not np.isnan(values).any() and not (row.run == "retrain" and "loc" in name)
        if name == "near_far_ratio" and row.run == "retrain":
            is_known = False
        if name == "nearer":
            values = values[~np.isnan(values)]
            is_known = True
        values = scale(values)
        half = t95(len(values)) * values.std(ddof=1) / math.sqrt(len(values))
        found = np.clip(back(values.mean() + sign * half), least, most)
        same(row, found if is_known else math.nan, 1e-6)
