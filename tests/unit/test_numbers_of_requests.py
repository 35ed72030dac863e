"""The second made benchmark by plain formulas: rounds, groups, checks, and without Retrain."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from long_table import t95
from made_requests import CLASSES, POSITIVE, ROUNDS
from recomputed import (
    is_lost,
    levels_by_holm,
    parts_of,
    recomputes,
    recomputes_each,
    rows_of,
    same,
    seeing,
    share,
)
from scipy.stats import binom, chi2, rankdata
from scipy.stats import t as student

METHODS = ("ft", "ga", "rl", "ltd")


@pytest.fixture(scope="module")
def see(farm):
    return seeing(farm.made)


# Rounds.


class Rounds:
    """Rates of the runs of all rounds on any train examples."""

    def __init__(self, made):
        self.made = made
        self.train = {}

    def rate(self, run, seed, r, examples):
        """Return the accuracy of the model of round r (from 1) on train examples."""
        cell = ROUNDS[r - 1]
        if self.made.status(run, seed, cell) == "diverged":
            return math.nan
        if (run, seed, r) not in self.train:
            own = self.made.base_seed(seed) if run == "original" else seed
            outputs = self.made.outputs(cell, run, own)
            self.train[run, seed, r] = outputs.train.prediction == self.made.labels.train
        return self.train[run, seed, r][examples].mean()

    def beyond(self, run, seed, r, examples):
        """Return by how much the rate is above Retrain's; Retrain is compared with the next."""
        seeds = self.made.seeds
        other = seeds[(seeds.index(seed) + 1) % len(seeds)] if run == "retrain" else seed
        return self.rate(run, other, r, examples) - self.rate("retrain", seed, r, examples)


@pytest.fixture(scope="module")
def rounds(farm):
    return Rounds(farm.made)


def request(made, q):
    return made.split(ROUNDS[q - 1]).forget


@recomputes("request_accuracy", "reversal", "erosion", "first_near_loss", "request_examples")
def test_a_round_is_compared_with_the_retrain_of_the_same_round_and_seed(farm, see, rounds):
    made = farm.made
    kept = made.split(ROUNDS[-1]).retain
    near = made.split(ROUNDS[0]).retain[parts_of(farm, see, ROUNDS[0], "retain")["near"]]
    near = [x for x in near if x in kept]
    assert len(near) > 0
    for row in rows_of(farm, "request_examples"):
        same(row, len(request(made, int(row.set[-1]))))
    for row in rows_of(farm, "request_accuracy"):
        examples = request(made, int(row.set[-1]))
        same(row, rounds.rate(row.run, int(row.seed), int(row.at), examples))
    for row in rows_of(farm, "first_near_loss"):
        same(row, -rounds.beyond(row.run, int(row.seed), int(row.at), near))
    for row in rows_of(farm, "erosion"):
        now, first = (rounds.beyond(row.run, int(row.seed), r, kept) for r in (int(row.at), 1))
        same(row, now - first)
    for row in rows_of(farm, "reversal"):
        earlier = [int(row.set[-1])] if row.set else range(1, int(row.at))
        found = [
            rounds.beyond(row.run, int(row.seed), int(row.at), request(made, q))
            - rounds.beyond(row.run, int(row.seed), q, request(made, q))
            for q in earlier
        ]
        same(row, np.mean(found))


def terms_of(made, see, rounds, run, r):
    """Return the accuracies by seed on all requests so far, on retained and on test examples."""
    asked = np.concatenate([request(made, q) for q in range(1, r + 1)])
    kept, found = made.split(ROUNDS[r - 1]).retain, []
    for seed in made.seeds:
        seen = see(ROUNDS[r - 1], run, seed)
        test = share(seen.prediction["test"] == seen.label["test"])
        is_lost = made.status(run, seed, ROUNDS[r - 1]) == "diverged"
        train = [rounds.rate(run, seed, r, examples) for examples in (asked, kept)]
        found.append([math.nan] * 3 if is_lost else [*train, test])
    return np.array(found).T


def floor_of(values):
    """Return what 95 % of the distances between two groups of Retrains are below."""
    apart = np.mean([np.mean([abs(a - b) for a, b in combinations(of, 2)]) for of in values])
    n = len(values[0])
    return t95(n) * math.sqrt(math.pi / 2) * apart / math.sqrt(n)


@recomputes(
    *("rounds_gap", "rounds_floor", "requests_lost", "requests_floor"),
    *("retrain_by_gap", "retrain_by_failure"),
)
def test_the_distance_of_a_round_is_over_all_requests_so_far(farm, see, rounds):
    made, first = farm.made, {}
    for row in rows_of(farm, "rounds_floor"):
        r, split = int(row.at), made.split(ROUNDS[int(row.at) - 1])
        values = terms_of(made, see, rounds, "retrain", r)
        counts = len(split.earlier) + len(split.forget), len(split.retain), len(made.labels.test)
        least = np.mean([1 / count for count in counts])
        same(row, max(floor_of(values), least))
        base = terms_of(made, see, rounds, "original", r)
        for metric, value in (
            ("requests_lost", base[0].mean() - values[0].mean()),
            ("requests_floor", max(floor_of(values[:1]), 1 / counts[0])),
        ):
            same(farm.long.places(row.cell, "retrain", metric, "", r)[0], value)
        for run in (*METHODS, "original"):
            gaps = np.abs(terms_of(made, see, rounds, run, r).mean(axis=1) - values.mean(axis=1))
            [shown] = farm.long.places(row.cell, run, "rounds_gap", "", r)
            same(shown, gaps.mean())
            if gaps.mean() > max(floor_of(values), least):
                first.setdefault(run, r)
    for row in rows_of(farm, "retrain_by_gap"):
        same(row, first.get(row.run, math.nan))
    for row in rows_of(farm, "retrain_by_failure"):
        same(row, 3 if row.run == "rl" else math.nan)


@recomputes("rounds_rte", "rounds_share", "retrain_by_cost")
def test_times_of_rounds_are_summed_where_the_devices_are_the_same(farm):
    made = farm.made

    def seconds(run, seed, r):
        total = made.cost(ROUNDS[r], run, seed)["total_seconds"]
        return 0.0 if run == "original" else total

    def total(run, r):
        """Return the mean over seeds; FT is on another device from the second round on."""
        if run == "ft" and r > 1:
            return math.nan
        sums = [sum(seconds(run, seed, k) for k in range(r)) for seed in made.seeds]
        return np.mean(sums)

    for row in rows_of(farm, "rounds_rte"):
        same(row, sum(seconds(row.run, int(row.seed), k) for k in range(int(row.at))))
    for row in rows_of(farm, "rounds_share"):
        same(row, total(row.run, int(row.at)) / total("retrain", int(row.at)))
    for row in rows_of(farm, "retrain_by_cost"):
        dear = [
            r
            for r in (1, 2, 3)
            if total(row.run, r) > np.mean([seconds("retrain", s, r - 1) for s in made.seeds])
        ]
        same(row, [*dear, math.nan][0])


# Groups.


def members_of(farm, see, row):
    """Return which examples of its set a row of a group is about."""
    made = farm.made
    group, _, part = row.at.partition(" ")
    columns = made.labels.test_columns if row.set == "test" else made.labels.columns
    column = columns["farm"]
    column = column if row.set == "test" else column[made.split(row.cell).retain]
    is_member = column == group.removeprefix("farm=")
    if part:
        return is_member & parts_of(farm, see, row.cell, row.set)[part]
    label = see(row.cell, "retrain", made.seeds[0]).label[row.set]
    is_positive = label == CLASSES.index(POSITIVE)
    is_alarm = "alarm" in row.metric or "negatives" in row.metric
    return is_member & (~is_positive if is_alarm else is_positive)


def values_of(see, row, run, seed):
    """Return the measure of every example of the set, of one model."""
    seen = see(row.cell, run, seed)
    prediction, label = seen.prediction[row.set], seen.label[row.set]
    surest = seen.probability[row.set].max(axis=1)
    name = row.metric.split("_")[1]
    return {
        "error": lambda: prediction != label,
        "missed": lambda: prediction != CLASSES.index(POSITIVE),
        "alarm": lambda: prediction == CLASSES.index(POSITIVE),
        "confidence": lambda: surest - (prediction == label),
    }[name]()


MEASURES = ("group_error", "group_missed", "group_alarm", "group_confidence")


@recomputes_each("group_examples", "group_positives", "group_negatives")
def test_the_examples_of_a_group_are_counted(farm, see, metric):
    for row in rows_of(farm, metric):
        same(row, members_of(farm, see, row).sum())
    assert any(0 < float(row.value) < 20 for row in rows_of(farm, "group_examples"))


@recomputes_each(*MEASURES)
def test_a_measure_of_a_group_is_its_mean_over_the_groups_examples(farm, see, metric):
    for row in rows_of(farm, metric)[::3]:
        members = members_of(farm, see, row)
        assert members.sum() >= 20
        value = values_of(see, row, row.run, int(row.seed))[members].mean()
        same(row, math.nan if is_lost(farm, row) else value, 1e-6)


def gaps_of(farm, see, row):
    """Return the differences from Retrain by seed, without those that diverged."""
    members, found = members_of(farm, see, row), []
    for seed in farm.made.seeds:
        if not is_lost(farm, row._replace(seed=str(seed))):
            own, retrained = (
                values_of(see, row, run, seed)[members].mean() for run in (row.run, "retrain")
            )
            found.append(own - retrained)
    return np.array(found), members.sum()


@recomputes_each(*(f"{name}_gap{end}" for name in MEASURES for end in ("", "_low", "_high")))
def test_a_gap_of_a_group_is_tested_by_pairs_with_all_groups_of_the_run(farm, see, metric):
    name = metric.removesuffix("_low").removesuffix("_high")
    for run, cell in (("ga", ROUNDS[0]), ("rl", ROUNDS[2])):
        rows = [r for r in rows_of(farm, metric) if (r.run, r.cell) == (run, cell)]
        means, errors, counts = {}, {}, {}
        for row in rows:
            gaps, size = gaps_of(farm, see, row)
            key, n = (row.set, row.at), len(gaps)
            least = 0 if "confidence" in name else 1 / size**2 / n
            means[key], counts[key] = gaps.mean(), n
            errors[key] = math.sqrt(max(gaps.var(ddof=1), least) / n)
        p = {
            key: 2 * student.sf(abs(mean) / errors[key], counts[key] - 1)
            for key, mean in means.items()
        }
        levels = levels_by_holm(p)
        for row in rows:
            key = (row.set, row.at)
            half = student.ppf(1 - levels[key] / 2, counts[key] - 1) * errors[key]
            sign = {"_low": -1, "_high": 1}.get(metric.removeprefix(name), 0)
            same(row, means[key] + sign * half, 1e-6)


@recomputes("group_ece", "group_squared_ece")
def test_calibration_errors_are_over_fifteen_bins_of_confidence(farm, see):
    for metric in ("group_ece", "group_squared_ece"):
        for row in rows_of(farm, metric):
            members = members_of(farm, see, row)
            assert members.sum() >= 500
            seen = see(row.cell, row.run, int(row.seed))
            surest = seen.probability[row.set].max(axis=1)[members]
            right = (seen.prediction[row.set] == seen.label[row.set])[members]
            found = 0.0
            for b in range(15):
                of = (surest > b / 15) & (surest <= (b + 1) / 15)
                if not of.any():
                    continue
                gap, weight, rate = (
                    surest[of].mean() - right[of].mean(),
                    of.mean(),
                    right[of].mean(),
                )
                if metric == "group_ece":
                    found += weight * abs(gap)
                elif of.sum() > 1:
                    found += weight * (gap**2 - rate * (1 - rate) / (of.sum() - 1))
            same(row, found, 1e-6)


# Checks, costs, what methods report.


@recomputes("split_faults", "trained_on_split", "smallest_batch", "base_ta_gap", "base_ta_error")
def test_checks_of_the_split_and_of_retrain_are_of_its_own_record(farm, see):
    made = farm.made
    for row in rows_of(farm, "split_faults"):
        split = made.split(row.cell)
        places = [*split.forget, *split.earlier, *split.retain]
        same(row, len(made.labels.train) - len(set(places)) + len(places) - len(set(places)))
    for row in rows_of(farm, "trained_on_split"):
        same(row, float(made.seeds.index(int(row.seed)) != 2))
    for row in rows_of(farm, "smallest_batch"):
        place, count = made.seeds.index(int(row.seed)), len(made.split(row.cell).retain)
        count -= round(0.1 * count) if place == 1 else 0
        size = 100 + 13 * place
        rest = count % size  # fewer than eight examples join the batch before them
        same(row, rest if rest >= 8 else size)
    for row in [*rows_of(farm, "base_ta_gap"), *rows_of(farm, "base_ta_error")]:
        of = ~np.isin(made.labels.test, made.split(row.cell).affected)
        right = []
        for run in ("retrain", "original"):
            seen = see(row.cell, run, int(row.seed))
            right.append((seen.prediction["test"] == seen.label["test"])[of])
        more, fewer = (share(a & ~b) for a, b in (right, right[::-1]))
        error = math.sqrt((more + fewer - (more - fewer) ** 2) / of.sum())
        same(row, more - fewer if row.metric == "base_ta_gap" else error)


@recomputes("forgotten_in_test", "exact_copies", "near_copies", "image_side")
def test_copies_and_test_examples_of_the_same_owner_are_counted(animals, farm):
    for row in rows_of(farm, "forgotten_in_test"):
        owners = farm.made.split(row.cell).chosen["is"]
        same(row, sum(owner in owners for owner in farm.made.labels.test_columns["owner"]))
    for bench in (animals, farm):
        for row in rows_of(bench, "exact_copies"):
            found = bench.made.neighbours(row.cell)
            exact = {original for original, _, bits in found.copies if bits < 0}
            same(row, len(exact))
            side = min(found.image_size)
            near = sum(bits >= 0 for *_, bits in found.copies)
            [shown] = bench.long.places(row.cell, "retrain", "near_copies")
            same(shown, near if side >= 32 else math.nan)
            same(bench.long.places(row.cell, "retrain", "image_side")[0], side)


@recomputes("test_copies", "test_copies_forgotten", "pixel_range", "constant_images")
def test_copies_in_the_test_set_and_pixel_values_are_of_the_images(animals, farm):
    for bench in (animals, farm):
        for row in rows_of(bench, "test_copies"):
            found, forget = bench.made.neighbours(row.cell), {*bench.made.split(row.cell).forget}
            same(row, len({image for image, _ in found.test_copies}))
            low, high, constant = found.pixels
            for metric, value in {
                "test_copies_forgotten": sum(j in forget for _, j in found.test_copies),
                "pixel_range": high - low,
                "constant_images": constant,
            }.items():
                [other] = [
                    one for one in bench.long.rows if (one.cell, one.metric) == (row.cell, metric)
                ]
                same(other, value)


@recomputes("known_ta", "guessing", "guessing_by_chance")
def test_guessing_names_the_largest_of_the_kept_classes(animals, farm, see):
    for bench, seen in ((animals, seeing(animals.made)), (farm, see)):
        labels = bench.made.labels.test
        for metric in ("known_ta", "guessing", "guessing_by_chance"):
            for row in rows_of(bench, metric):
                split = bench.made.split(row.cell)
                kept = {*bench.made.labels.train[split.retain].tolist()}
                of = np.array([label in kept for label in labels])
                if metric == "known_ta":
                    prediction = seen(row.cell, row.run, int(row.seed)).prediction["test"]
                    same(row, share((prediction == labels)[of]))
                    continue
                most = max(Counter(labels[of].tolist()).values()) / of.sum()
                if metric == "guessing":
                    same(row, most)
                    continue
                count = round(float(row.value) * of.sum())
                assert binom.cdf(count - 1, of.sum(), most) < 0.975
                assert binom.cdf(count, of.sum(), most) >= 0.975
                same(row, count / of.sum())


@recomputes("peak_device_mb", "target_ua")
def test_memory_and_what_a_method_reports_are_in_its_files(farm):
    for row in rows_of(farm, "peak_device_mb"):
        found = farm.made.cost(row.cell, row.run, int(row.seed))["peak_device_mb"]
        same(row, math.nan if found is None else found)
    for row in rows_of(farm, "target_ua"):
        record = farm.made.record(farm.root, row.cell, row.run, int(row.seed))
        same(row, record["extra"]["target_ua"])


@recomputes("rmia_tpr")
def test_rmias_tpr_is_at_one_percent_false_alarms(farm, see):
    made = farm.made
    for row in rows_of(farm, "rmia_tpr"):
        seed, of = int(row.seed), np.isin(made.labels.test, made.split(row.cell).affected)
        own = see(row.cell, row.run, seed)
        out = [see(row.cell, "retrain", s) for s in made.seeds if s != seed]
        forget, test = (
            own.confidence[name][chosen]
            / np.mean([o.confidence[name][chosen] for o in out], axis=0)
            for name, chosen in (("forget", slice(None)), ("test", of))
        )
        if len(test) < 1000 or is_lost(farm, row):
            same(row, math.nan)
        else:
            same(row, (forget > np.sort(test)[::-1][len(test) // 100]).mean())


# Over all cells.


@recomputes("complete_rank", "complete_cells", "friedman_p", "critical_difference")
def test_ranks_are_compared_over_the_cells_where_all_methods_are_ranked(animals, farm):
    for bench in (animals, farm):
        for gap in ("avg_gap", "avg_gap_affected"):
            long = bench.long
            whole = [
                cell
                for cell in bench.made.cells
                if not any((cell, run) in long.troubled for run in METHODS)
            ]
            gaps = [[round(long.number(c, run, gap), 12) for run in METHODS] for c in whole]
            ranks = np.array([rankdata(of) for of in gaps]).reshape(-1, len(METHODS))
            n, k = ranks.shape
            same(long.places("", "retrain", "complete_cells", "", gap)[0], n)
            for run, of in zip(METHODS, ranks.T, strict=True):
                same(long.places("", run, "complete_rank", "", gap)[0], share(of))
            p, least = math.nan, math.nan
            if n > 1:
                square = 12 * (ranks.sum(axis=0) ** 2).sum() / (n * k * (k + 1)) - 3 * n * (k + 1)
                p, least = chi2.sf(square, k - 1), 2.569 * math.sqrt(k * (k + 1) / 6 / n)
            same(long.places("", "retrain", "friedman_p", "", gap)[0], p)
            # 2.569 is the number for four classifiers in table 5 of Demšar (2006).
            same(long.places("", "retrain", "critical_difference", "", gap)[0], least, 1e-3)


# Without Retrain.


@recomputes("rf_js")
def test_rf_js_is_between_forgotten_examples_and_the_bases_test_examples_of_a_class(farm, see):
    made, cell = farm.made, ROUNDS[0]
    for row in [row for row in farm.without.rows if row.metric == "rf_js"]:
        seen, base = (see(cell, run, int(row.seed)) for run in (row.run, "original"))
        found = []
        for c in made.split(cell).affected:
            p = seen.probability["forget"][seen.label["forget"] == c].mean(axis=0)
            q = base.probability["test"][base.label["test"] == c].mean(axis=0)
            m = (p + q) / 2
            found.append(sum((x * np.log(x / m)).sum() for x in (p, q)) / 2)
        same(row, np.mean(found), 1e-6)


@recomputes("estimated_ua")
def test_retrains_ua_is_estimated_by_the_teachers_of_all_seeds(farm):
    made = farm.made
    records = [made.record(farm.root, ROUNDS[0], "ltd", seed) for seed in made.seeds]
    [row] = farm.without.places(ROUNDS[0], "original", "estimated_ua")
    same(row, np.mean([record["extra"]["teacher_ua"] for record in records]))
