"""The long table against the outputs that it was made from, by plain formulas.

Each formula looks at one seed's arrays, or at the numbers of all seeds, and knows nothing of the
code under test. Numbers that need more than a few lines are tested with their finding, by hand.
"""

import math
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from long_table import mean, t95
from made_benchmark import CANDIDATES, CHOSEN, CLASSES, SIZES, TRIALS, WHOLE
from scipy.special import rel_entr, softmax
from scipy.stats import rankdata, spearmanr
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from collateral.metrics.membership import draw

SETS = ("forget", "retain", "test")
BINS = 10


@dataclass(frozen=True)
class Seen:
    """One seed of a run: outputs, labels and similarity of each set."""

    confidence: dict
    prediction: dict
    probability: dict
    label: dict
    similarity: dict


@pytest.fixture(scope="module")
def see(animals):
    """Return a function: cell, run and seed in, what the outputs are of each set out."""
    made = animals.made

    @cache
    def seen(cell, run, seed):
        outputs, split, labels = made.outputs(cell, run, seed), made.split(cell), made.labels
        place, similarity = made.seeds.index(seed), made.similarity(cell)

        def by_set(train, test):
            return {"forget": train[split.forget], "retain": train[split.retain], "test": test}

        def of(name):
            return by_set(getattr(outputs.train, name), getattr(outputs.test, name))

        logits = {name: part.astype(np.float64) for name, part in of("logits").items()}
        return Seen(
            {name: part.astype(np.float64) for name, part in of("confidence").items()},
            of("prediction"),
            {name: softmax(part, axis=1) for name, part in logits.items()},
            by_set(labels.train, labels.test),
            by_set(similarity["train"][place], similarity["test"][place]),
        )

    return seen


def rows_of(animals, metric):
    found = [row for row in animals.long.rows if row.metric == metric]
    assert len(found) > 2, metric
    return found


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


def same(row, value, tolerance=1e-9):
    shown = float(row.value) if row.value else math.nan
    assert shown == pytest.approx(value, rel=tolerance, abs=tolerance, nan_ok=True), row


def is_lost(animals, row):
    return animals.made.status(row.run, int(row.seed)) == "diverged"


def next_of(animals, seed):
    seeds = animals.made.seeds
    return seeds[(seeds.index(seed) + 1) % len(seeds)]


def pair(animals, see, row):
    """Return Retrain of a seed and the run; Retrain's own numbers are of its next seed."""
    seed = int(row.seed)
    other = next_of(animals, seed) if row.run == "retrain" else seed
    return see(row.cell, "retrain", seed), see(row.cell, row.run, other)


def share(values):
    return float(np.mean(values)) if len(values) else math.nan


@pytest.mark.parametrize("metric", ["ua", "ra", "ta", "ua_affected", "ra_affected", "ta_affected"])
def test_an_accuracy_is_the_share_of_right_predictions_of_its_own_set(animals, see, metric):
    name = {"u": "forget", "r": "retain", "t": "test"}[metric[0]]
    for row in rows_of(animals, metric):
        seen = see(row.cell, row.run, int(row.seed))
        right = seen.prediction[name] == seen.label[name]
        if metric.endswith("_affected"):
            right = right[np.isin(seen.label[name], animals.made.split(row.cell).affected)]
        same(row, math.nan if is_lost(animals, row) else share(right))


def edges_of(animals, see, cell, name):
    """Return the edges of ten equal widths over the similarities of all seeds."""
    values = np.concatenate([see(cell, "retrain", s).similarity[name] for s in animals.made.seeds])
    return np.linspace(float(values.min()), float(values.max()), BINS + 1)


def bins_of(animals, see, cell, name, seed):
    edges = edges_of(animals, see, cell, name)
    values = see(cell, "retrain", seed).similarity[name]
    return np.array([min(sum(value >= edges[1:]), BINS - 1) for value in values])


def parts_of(animals, see, cell, name):
    """Return who is near and who is far: near are the most similar, as many as a class has."""
    made = animals.made
    seen = [see(cell, "retrain", seed) for seed in made.seeds]
    label = seen[0].label[name].tolist()
    kept = [place for place, c in enumerate(label) if c in seen[0].label["retain"]]
    affected = [place for place in kept if label[place] in made.split(cell).affected]
    count = len(affected) or len(kept) // len({label[place] for place in kept})
    count = min(max(count, 10), len(kept) // 4)
    similarity = np.mean([one.similarity[name] for one in seen], axis=0)
    nearest = sorted(kept, key=lambda place: -similarity[place])
    chosen = {"near": nearest[:count], "far": nearest[count:]}
    return {part: np.isin(range(len(label)), places) for part, places in chosen.items()}


@pytest.mark.parametrize("metric", ["bin_low", "bin_high"])
def test_bins_are_of_equal_width_over_all_seeds(animals, see, metric):
    for row in rows_of(animals, metric):
        edges = edges_of(animals, see, row.cell, row.set)
        same(row, edges[int(row.at) + (metric == "bin_high")])


def test_examples_are_counted_in_the_bins_of_their_seed(animals, see):
    for row in rows_of(animals, "bin_count"):
        bins = bins_of(animals, see, row.cell, row.set, int(row.seed))
        same(row, (bins == int(row.at)).sum())


@pytest.mark.parametrize("metric", ["near_count", "far_count"])
def test_near_and_far_are_counted_once_for_all_seeds(animals, see, metric):
    for row in rows_of(animals, metric):
        assert row.seed == ""
        same(row, parts_of(animals, see, row.cell, row.set)[metric.partition("_")[0]].sum())


@pytest.mark.parametrize("metric", ["near_accuracy", "far_accuracy"])
def test_retrains_accuracy_is_that_of_each_part(animals, see, metric):
    for row in rows_of(animals, metric):
        seen = see(row.cell, "retrain", int(row.seed))
        chosen = parts_of(animals, see, row.cell, row.set)[metric.partition("_")[0]]
        same(row, share((seen.prediction[row.set] == seen.label[row.set])[chosen]))


@pytest.mark.parametrize("metric", ["delta_acc", "delta_conf", "near_loss", "far_loss"])
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


@pytest.mark.parametrize("metric", ["epoch_near_loss", "epoch_far_loss"])
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


@pytest.mark.parametrize("metric", ["near_loss_sd", "far_loss_sd", "damage_sd"])
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


@pytest.mark.parametrize("metric", ["delta_acc_sd", "delta_conf_sd"])
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


def test_a_disagreement_is_the_share_predicted_otherwise_than_by_retrain(animals, see):
    for row in rows_of(animals, "disagreement"):
        retrained, own = pair(animals, see, row)
        found = share(retrained.prediction[row.set] != own.prediction[row.set])
        same(row, math.nan if is_lost(animals, row) else found)


@pytest.mark.parametrize("metric", ["js_divergence", "kl_divergence", "agreement"])
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


def test_the_attack_is_learned_from_retained_and_test_examples_of_the_same_seed(animals, see):
    """Against a plain SVC on the same draw: rounding may turn two of the forgotten."""
    made = animals.made
    for row in rows_of(animals, "mia")[::4]:
        if is_lost(animals, row):
            assert row.value == ""
            continue
        split, seed = made.split(row.cell), int(row.seed)
        outputs = made.outputs(row.cell, row.run, seed)
        drawn = draw(split.retain, 100, split.attack_seed(seed))
        assert not set(drawn.members) & set(split.forget)
        members, others = outputs.train.confidence[drawn.members], outputs.test.confidence
        x = np.concatenate([members, others])[:, None].astype(np.float64)
        learned = SVC(C=3, gamma="auto").fit(x, np.repeat([1, 0], [len(members), len(others)]))
        called = learned.predict(outputs.train.confidence[split.forget][:, None].astype(np.float64))
        assert float(row.value) == pytest.approx(1 - called.mean(), abs=2.5 / len(split.forget))


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


@pytest.mark.parametrize("metric", ["tow", "tow_mia"])
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


def test_a_class_drop_is_of_the_test_examples_of_the_class(animals, see):
    for row in rows_of(animals, "class_drop"):
        assert row.cell == WHOLE
        retrained, own = pair(animals, see, row)
        of = retrained.label["test"] == CLASSES.index(row.at)
        right = [
            share((one.prediction["test"] == one.label["test"])[of]) for one in (retrained, own)
        ]
        same(row, math.nan if is_lost(animals, row) else right[0] - right[1])


@pytest.mark.parametrize("metric", ["locality_slope", "locality_rank", "near_far_ratio"])
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


def test_a_damage_is_the_loss_near_minus_the_loss_far(animals):
    for row in rows_of(animals, "damage"):
        place = animals.long.seeds.index(row.seed)
        near, far = (
            animals.long.values(row.cell, row.run, f"{side}_loss", "retain")[place]
            for side in ("near", "far")
        )
        same(row, near - far)


@pytest.mark.parametrize(
    ("metric", "terms"),
    [
        ("avg_gap", ("ua", "ra", "ta", "mia")),
        ("avg_gap_affected", ("ua_affected", "ra_affected", "ta_affected")),
        ("forgetting_error", ("ua", "mia")),
        ("epoch_avg_gap", ("ua", "ra", "ta", "mia")),
        ("epoch_forgetting_error", ("ua", "mia")),
    ],
)
def test_a_gap_is_the_mean_distance_of_the_means_over_seeds(animals, metric, terms):
    before = "epoch_" if metric.startswith("epoch_") else ""
    for row in rows_of(animals, metric):
        gaps = []
        for term in terms:
            own = animals.long.values(row.cell, row.run, f"{before}{term}", "", row.at)
            gaps.append(abs(own.mean() - animals.long.values(row.cell, "retrain", term).mean()))
        same(row, mean(np.array(gaps)))


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


def test_a_margin_is_what_sets_two_retrainings_apart(animals):
    for row in rows_of(animals, "margin"):
        values, count = of_retrain(animals, row.cell, row.at)
        square = np.mean([(a - b) ** 2 for a, b in combinations(values, 2)])
        same(row, max(1.96 * math.sqrt(square), 1 / count), 1e-4)


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


def test_the_base_is_that_of_the_same_seed(animals, see):
    for row in rows_of(animals, "base_ua"):
        seen = see(row.cell, "original", int(row.seed))
        same(row, share(seen.prediction["forget"] == seen.label["forget"]))
    for row in rows_of(animals, "base_distance"):
        one, other = (see(row.cell, run, int(row.seed)) for run in ("original", "retrain"))
        apart = [np.abs(one.confidence[name] - other.confidence[name]) for name in SETS]
        same(row, share(np.concatenate(apart)), 1e-6)


def test_forgotten_examples_are_counted_by_their_class(animals):
    label = animals.made.labels.train
    for metric in ("forget_count", "train_count"):
        for row in rows_of(animals, metric):
            chosen = (
                animals.made.split(row.cell).forget if metric == "forget_count" else slice(None)
            )
            same(row, np.count_nonzero(label[chosen] == CLASSES.index(row.at)))


# Probes, teachers, trials.


@pytest.mark.parametrize(
    "metric", ["relearn_accuracy", "relearn_gap", "residual_accuracy", "residual_gap"]
)
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


def test_zrf_is_one_minus_the_divergence_from_an_untrained_net(animals, see):
    for row in rows_of(animals, "zrf"):
        p = see(row.cell, row.run, int(row.seed)).probability["forget"]
        q = softmax(animals.made.probe(row.cell, int(row.seed)).zrf_logits.astype(float), axis=1)
        middle = (p + q) / 2
        found = 1 - ((rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=1) / 2).mean()
        same(row, math.nan if is_lost(animals, row) else found, 1e-6)


@pytest.mark.parametrize(
    ("metric", "field"),
    [
        ("support_epochs", "epochs"),
        ("support_accuracy", "support_accuracy"),
        ("support_least_similarity", "least_similarity"),
        ("support_num_classes", "num_classes"),
        ("support_drop", "step_drop"),
        ("support_bin_count", "step_counts"),
        ("support_auto", "auto_size"),
        ("support_step_rate", "step_rate"),
    ],
)
def test_a_teacher_is_that_of_its_seed_and_size(animals, metric, field):
    for row in rows_of(animals, metric):
        found = getattr(animals.made.teachers(row.cell, int(row.seed)), field)
        is_size = found.shape == (len(SIZES),)
        same(
            row,
            found
            if found.ndim == 0
            else found[SIZES.index(int(row.at)) if is_size else int(row.at)],
        )


def test_a_teachers_accuracy_is_on_the_forget_set(animals):
    for row in rows_of(animals, "support_teacher_ua"):
        made = animals.made
        soft = made.teachers(row.cell, int(row.seed)).soft_labels[SIZES.index(int(row.at))]
        same(row, share(soft.argmax(axis=1) == made.labels.train[made.split(row.cell).forget]))


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


# Costs.


def test_costs_are_those_of_the_runs_own_file(animals):
    made = animals.made
    for row in animals.long.rows:
        if (
            row.metric not in ("rte", "seconds", "peak_rss_mb", "epoch_seconds")
            or row.run == "original"
        ):
            continue
        cost = made.cost(row.cell, row.run, int(row.seed))
        found = {
            "rte": cost["total_seconds"],
            "peak_rss_mb": cost["peak_rss_mb"],
            "seconds": cost["seconds"].get(row.at),
            "epoch_seconds": cost.get("epoch_seconds", [])[
                int(row.at) if row.at.isdecimal() else 0 :
            ][:1],
        }[row.metric]
        same(row, found[0] if isinstance(found, list) else found)


def test_a_share_of_retrains_time_is_of_means_and_pays_from_tuning_on(animals):
    long = animals.long
    for row in rows_of(animals, "rte_share"):
        retrain = long.mean(row.cell, "retrain", "rte")
        same(row, long.mean(row.cell, row.run, "rte") / retrain)
    tuned = {(cell, run) for cell in animals.made.cells for run in animals.made.tuned}
    shares = [*rows_of(animals, "rte_share_with_tuning")]
    assert {(row.cell, row.run) for row in shares} == tuned
    for row in shares:
        seconds = long.mean(row.cell, row.run, "rte") + 11.0 + len(row.run)
        same(row, seconds / long.mean(row.cell, "retrain", "rte"))
    for row in rows_of(animals, "paying_deletions"):
        retrain, own = (long.mean(row.cell, run, "rte") for run in ("retrain", row.run))
        tuning = long.values(row.cell, row.run.partition("@")[0], "tuning_seconds")
        seconds = float(np.nansum(tuning)) if len(tuning) else 0.0
        same(row, seconds / (retrain - own))


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


def test_an_interval_over_seeds_is_students(animals):
    long, count = animals.long, 0
    for metric in ("locality_slope", "rmia_auc"):
        for row in rows_of(animals, f"{metric}_low"):
            values = long.values(row.cell, row.run, metric, row.set, row.at)
            values = values[~np.isnan(values)]
            if not row.value:
                continue
            half = t95(len(values)) * values.std(ddof=1) / math.sqrt(len(values))
            ends = [values.mean() - half, values.mean() + half]
            ends = np.clip(ends, 0, 1) if metric == "rmia_auc" else ends
            shown = [
                long.number(row.cell, row.run, f"{metric}_{e}", row.set, row.at)
                for e in ("low", "high")
            ]
            assert shown == pytest.approx(list(ends), abs=1e-6)
            count += 1
    assert count > 40
