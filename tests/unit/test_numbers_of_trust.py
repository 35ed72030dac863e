"""Every number of the finding `trust`, once more by plain formulas."""

import math
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from fake_results import FakeCell, read_cells
from recomputed import recomputes, recomputes_each, same

from collateral.contract.rows import Row
from collateral.findings.trust import numbers as trust_numbers
from collateral.findings.trust.numbers import across, numbers
from collateral.findings.trust.views import tables_across
from collateral.results.cell import CellResults
from collateral.results.plan import BenchmarkPlan, CellNumbers, CellPlan, TrustPlan

# Seeds are not their places; the cells have other seeds, and other numbers of them.
SEEDS = {
    "part": (5, 2, 11, 8, 30, 21, 4, 17, 9, 6, 40, 33, 28, 14, 50, 47),
    "random": tuple(range(82, 69, -1)),
}
LEAST = {"least_auc": 0.7, "least_dose": 0.7, "passes": 0.6, "most_change": 0.3, "flat": 0.2}
LEAST |= {"least_models": 12}
RUNS = {  # for each run: the share of the forget set that it saw, what its outputs show of it, harm
    "original": (1.0, 1.0, 0.0),
    "retrained": (0.0, 0.0, 0.0),
    "silent": (1.0, 0.0, 0.3),
    "damaged": (1.0, 0.9, 1.0),
    "damaged0": (0.0, 0.0, 1.0),
    "dose-30": (0.3, 0.3, 0.0),
    "dose-80": (0.8, 0.8, 0.0),
    "half-saw": (1.0, 1.0, 0.1),
    "half-not": (0.0, 0.1, 0.1),
    "double-saw": (1.0, 1.0, 0.0),
    "double-not": (0.0, 0.0, 0.2),
    "int8-saw": (1.0, 1.0, 0.0),
    "int8-not": (0.0, 0.0, 0.0),
    "longer-saw": (1.0, 0.9, 0.1),
    "longer-not": (0.0, 0.0, 0.1),
}
FEW = {"dose-30": 10, "dose-80": 8, "half-saw": 7, "half-not": 6, "double-saw": 4, "double-not": 5}
FEW |= {"int8-saw": 9, "int8-not": 7, "longer-saw": 6, "longer-not": 5}
DOSES = {"dose-80": 0.8, "dose-30": 0.3}
RECIPES = {"half": ("half-saw", "half-not"), "double": ("double-saw", "double-not")}
EDITS = {"int8": ("int8-saw", "int8-not"), "longer": ("longer-saw", "longer-not")}
GAPS = {"avg_gap": ("ua", "ra", "ta", "mia"), "forgetting_error": ("ua", "mia")}
TERMS = GAPS["avg_gap"]
LAST_STEP = 20
# For each claim of a number: set, index, sign, subject; and what a model's number is made of:
# weights of what it saw, what it shows and its harm, and its chance.
JUDGED = {
    "ua": ("", None, 1, "outputs", (0.0, 0.2, -0.1), 0.04),
    "mia": ("", None, -1, "outputs", (0.0, -0.1, 0.05), 0.08),
    "ra": ("", None, -1, "harm", (0.0, 0.0, -0.2), 0.02),
    "ta": ("", None, -1, "harm", (0.0, 0.0, -0.3), 0.05),
    "linear_accuracy": ("", None, 1, "inside", (0.5, 0.0, 0.0), 0.06),
    "relearn_accuracy": ("", LAST_STEP, 1, "inside", (0.1, 0.0, 0.0), 0.2),
    "js_divergence": ("forget", None, 1, "distance", (0.1, 0.0, 0.3), 0.02),
    "cka_retrain": ("test", None, -1, "harm", (0.02, 0.0, -0.1), 0.06),
    "near_loss": ("test", None, 1, "harm", (0.1, 0.0, 0.5), 0.04),
    "far_loss": ("retain", None, 1, "harm", (0.0, 0.0, 0.5), 0.03),
    "locality_slope": ("retain", None, 1, "locality", (0.0, 0.0, 0.0), 0.1),
    "locality_rank": ("test", None, 1, "locality", (0.0, 0.0, 0.4), 0.1),
}
# One model diverged; another number of another model is undefined.
UNDEFINED = {("part", "silent", "ua", 9), ("random", "retrained", "mia", 77)}
KEYS = ("auc", "silent", "damaged", "hurt", "recipe")
ENDS = ("", "_low", "_high")


def name_of(metric):
    return f"{metric} last" if metric == "relearn_accuracy" else metric


def drawn(cell, run, metric, seed):
    """Return a number of a model: bases and Retrains of a seed have some of their luck in common"""
    *_, weights, chance = JUDGED[metric]
    names = [*JUDGED], [*RUNS, "retrain"]
    place = names[0].index(metric), names[1].index(run), len(SEEDS[cell])
    luck = np.random.default_rng([seed, *place]).normal()
    common = np.random.default_rng([seed, place[0]]).normal()
    about = RUNS.get(run, (0.0, 0.0, 0.0))
    value = 0.5 + np.dot(weights, about) + chance * (0.8 * luck + 0.6 * common)
    return round(float(value), 2)  # with ties


@pytest.fixture(scope="module")
def values():
    """Return the numbers of all models: by cell, run and metric, one per seed."""
    found = {}
    for cell, run, metric in product(SEEDS, [*RUNS, "retrain"], JUDGED):
        seeds = SEEDS[cell]
        own = seeds[: FEW.get(run, len(seeds))]
        found[cell, run, metric] = np.array(
            [
                drawn(cell, run, metric, seed)
                if seed in own and (cell, run, metric, seed) not in UNDEFINED
                else np.nan
                for seed in seeds
            ]
        )
    return found


def trust_of(cell):
    return TrustPlan(
        references=tuple(100 + seed for seed in SEEDS[cell]),
        seeds={run: SEEDS[cell][:count] for run, count in FEW.items()},
        doses=DOSES, recipes=RECIPES, edits=EDITS, thresholds=LEAST,
    )  # fmt: skip


def moved_by(metric, run):
    """Return how far a number moves with another reference; probes are not compared again."""
    if metric in ("linear_accuracy", "relearn_accuracy", "cka_retrain"):
        return math.nan
    return round(0.01 * len(metric) * (1 if run == "original" else 0.4), 3)


def other_references(cell, trust):
    other = replace(cell)
    for run, metric in product(("original", "retrained"), JUDGED):
        subset, at, *_ = JUDGED[metric]
        moved = cell.values(run, metric, subset, at) + moved_by(metric, run)
        other.add(
            Row(run, metric, v, s, subset, at) for s, v in zip(cell.seeds, moved, strict=True)
        )
    for metric in TERMS:
        known = zip(cell.seeds, cell.values("retrain", metric), strict=True)
        other.add(Row("retrain", metric, value, seed) for seed, value in known)
    return other


@pytest.fixture(scope="module")
def rows(values):
    """Return the rows of the finding, by cell."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trust_numbers, "with_other_references", other_references)
        return rows_by_cell(values)


def rows_by_cell(values):
    found = {}
    for name, seeds in SEEDS.items():
        cell = CellResults(
            folder=Path("nowhere"), cell=name, seeds=seeds, base_seeds=seeds,
            controls=tuple(RUNS), trust=trust_of(name),
        )  # fmt: skip
        for (where, run, metric), by_seed in values.items():
            subset, at, *_ = JUDGED[metric]
            if where == name:
                known = zip(seeds, by_seed, strict=True)
                cell.add(Row(run, metric, v, s, subset, at) for s, v in known if not np.isnan(v))
                # An earlier step of a curve, and another set, which are not judged.
                cell.add(Row(run, "relearn_accuracy", 0.1, seed, "", 3) for seed in seeds)
                cell.add(Row(run, metric, 0.3, seed, "elsewhere", at) for seed in seeds)
        found[name] = list(numbers(cell))
    return found


def text(row):
    """Return a row as it is in the long table."""
    value = "" if np.isnan(row.value) else repr(float(row.value))
    return SimpleNamespace(**{**vars(row), "value": value})


def rows_of(rows, *metrics):
    found = [(c, text(row)) for c, own in rows.items() for row in own if row.metric in metrics]
    # Too few groups of five seeds have other recipes.
    gaps = set() if metrics[0].startswith("trust_recipe") else {*GAPS}
    assert {row.at for _, row in found} == {*map(name_of, JUDGED)} | gaps
    assert {cell for cell, _ in found} == {*SEEDS}
    return found


def claimed(values, cell, run, name):
    """Return a run's values by seed, of which larger ones claim more."""
    if name in GAPS:
        own = np.array([values[cell, run, m] - values[cell, "retrain", m] for m in GAPS[name]])
        found = np.full(own.shape[1], np.nan)
        for first in range(0, len(found) - 4, 5):
            found[first] = sum(abs(sum(one[first : first + 5]) / 5) for one in own) / len(own)
        return found
    metric = name.removesuffix(" last")
    return JUDGED[metric][2] * values[cell, run, metric]


def area(high, low):
    won = [(a > b) + (a == b) / 2 for a in high for b in low]
    return sum(won) / len(won)


def interval(high, low):
    """Return AUC and limits; value i of both groups is of one seed."""
    pairs = [(a, b) for a, b in zip(high, low, strict=True) if not math.isnan(a + b)]
    if len(pairs) < 2:
        return math.nan, math.nan, math.nan
    high, low = zip(*pairs, strict=True)
    n, found = len(pairs), area(high, low)
    if found in (0, 1):
        limit = newcombe(n)
        return (1, limit, 1) if found else (0, 0, 1 - limit)
    v10 = [area([a], low) - found for a in high]
    v01 = [area(high, [b]) - found for b in low]
    total = sum((a + b) ** 2 for a, b in zip(v10, v01, strict=True)) / (n - 1)
    half = 1.96 * math.sqrt(total / n) / (found * (1 - found))
    odds = math.log(found / (1 - found))
    return found, *(1 / (1 + math.exp(-(odds + sign * half))) for sign in (-1, 1))


def newcombe(n):
    """Return the smallest AUC whose score interval still reaches 1, by bisection."""
    low, high = 0.0, 1 - 1e-9
    for _ in range(100):
        t = (low + high) / 2
        spread = math.sqrt(t * (1 - t) * (1 + (n - 1) * ((1 - t) / (2 - t) + t / (1 + t)))) / n
        low, high = (t, high) if 1 - t > 1.96 * spread else (low, t)
    return low


def compared(values, cell, key, name):
    """Return AUC and limits of a comparison."""

    def of(run):
        return claimed(values, cell, run, name)

    if key == "recipe":
        found = [interval(of(never), of("retrained")) for _, never in RECIPES.values()]
        return max((one for one in found if not math.isnan(one[1])), key=lambda one: one[1])
    groups = {"auc": ("original", "retrained"), "silent": ("silent", "retrained")}
    groups |= {"damaged": ("damaged", "damaged0"), "hurt": ("damaged0", "retrained")}
    return interval(*map(of, groups[key]))


@recomputes_each(*(f"trust_{key}{end}" for key in KEYS for end in ENDS))
def test_a_comparison_is_an_auc_with_limits_for_pairs(rows, values, metric):
    key, place = metric.removeprefix("trust_"), 0
    if key not in KEYS:
        key, end = key.rsplit("_", 1)
        place = ENDS.index(f"_{end}")
    for cell, row in rows_of(rows, metric):
        same(row, compared(values, cell, key, row.at)[place])


@recomputes("trust_seeds")
def test_seeds_are_those_of_complete_pairs(rows, values):
    for cell, row in rows_of(rows, "trust_seeds"):
        pairs = [claimed(values, cell, run, row.at) for run in ("original", "retrained")]
        same(row, sum(not math.isnan(a + b) for a, b in zip(*pairs, strict=True)))


@recomputes("trust_dose", "trust_adjacent")
def test_doses_are_compared_on_the_seeds_that_have_all(rows, values):
    runs = ("retrained", "dose-30", "dose-80", "original")
    compared_seeds = set()
    for cell, row in rows_of(rows, "trust_dose", "trust_adjacent"):
        groups = np.array([claimed(values, cell, run, row.at) for run in runs])
        groups = [list(one) for one in groups[:, ~np.isnan(groups.sum(axis=0))]]
        compared_seeds.add(len(groups[0]))
        if row.metric == "trust_adjacent":
            same(row, np.mean([area(more, less) for less, more in pairwise(groups)]))
            continue
        shares = (0, DOSES["dose-30"], DOSES["dose-80"], 1)
        models = [(s, v) for s, own in zip(shares, groups, strict=True) for v in own]
        pairs = [(v, w) for (s, v), (t, w) in product(models, models) if s > t]
        same(row, sum((v > w) + (v == w) / 2 for v, w in pairs) / len(pairs))
    assert {7, 8} <= compared_seeds


@recomputes("trust_change")
def test_a_change_is_relative_to_the_distance_of_both_groups(rows, values):
    for cell, row in rows_of(rows, "trust_change"):
        saw, never = (claimed(values, cell, run, row.at) for run in ("original", "retrained"))
        middles = [sorted(one[~np.isnan(one)]) for one in (saw, never)]
        distance = abs(np.subtract(*map(np.median, middles)))
        changes = []
        for of_saw, of_never in EDITS.values():
            moved = [*(claimed(values, cell, of_saw, row.at) - saw)]
            moved += [*(claimed(values, cell, of_never, row.at) - never)]
            known = [abs(one) for one in moved if not math.isnan(one)]
            changes.append(np.median(known) / distance)
        same(row, max(changes))


@recomputes("trust_edited")
def test_after_an_edit_the_worst_auc_counts(rows, values):
    found = [(c, text(r)) for c, own in rows.items() for r in own if r.metric == "trust_edited"]
    assert {row.at for _, row in found} >= {*map(name_of, JUDGED)}
    for cell, row in found:
        areas = [
            interval(*(claimed(values, cell, run, row.at) for run in runs))[0]
            for runs in EDITS.values()
        ]
        same(row, min(area for area in areas if not math.isnan(area)))


@recomputes("trust_reference")
def test_another_reference_moves_a_number_by_a_share_of_the_distance(rows, values):
    found = [(c, text(r)) for c, own in rows.items() for r in own if r.metric == "trust_reference"]
    probed = {"linear_accuracy", "relearn_accuracy last", "cka_retrain"}
    assert {row.at for _, row in found} == {*map(name_of, JUDGED), *GAPS} - probed
    runs = ("original", "retrained")
    for cell, row in found:
        before = [claimed(values, cell, run, row.at) for run in runs]
        shifted = values | {
            (cell, run, m): values[cell, run, m] + moved_by(m, run) for run in runs for m in JUDGED
        }
        after = [claimed(shifted, cell, run, row.at) for run in runs]
        moved = abs(np.concatenate(after) - np.concatenate(before))
        middles = [np.median(one[~np.isnan(one)]) for one in before]
        same(row, np.median(moved[~np.isnan(moved)]) / abs(middles[0] - middles[1]))


@pytest.fixture(scope="module")
def table(rows, tmp_path_factory):
    """Return the long table of all cells."""
    cells, plans = [], {}
    for name, own in rows.items():
        cell = FakeCell(name, seeds=SEEDS[name])
        cell.add("retrain", "ta", *(0.9 for _ in SEEDS[name]))
        for row in own:
            cell.add_overall(row.run, row.metric, row.value, row.set, row.at)
        cells.append(cell)
        numbers_of_cell = CellNumbers(
            seeds=SEEDS[name], base_seeds=SEEDS[name], trust=trust_of(name)
        )
        plans[name] = CellPlan(numbers=numbers_of_cell)
    plan = BenchmarkPlan({"original": "Original"}, "matched", plans)
    return read_cells(tmp_path_factory.mktemp("trust"), *cells, plan=plan)


@pytest.fixture(scope="module")
def verdicts(table):
    """Return the verdicts that the finding gives from the long table."""
    return {row.at: text(row) for row in across(table)}


def test_a_number_without_a_verdict_is_in_the_table_with_its_aucs(table, verdicts):
    (found,) = tables_across(table)
    records = {(one["metric"], one["cell"]): one for one in found.records}
    assert {metric for metric, _ in records} == {*verdicts, *GAPS}
    gap = records["avg_gap", "part"]
    assert (gap["verdict"], gap["code"], gap["seeds"]) == ("", "", 3)
    assert 0 <= gap["auc_low"] <= gap["auc"] <= gap["auc_high"] <= 1
    assert records["ua", "random"]["code"] == float(verdicts["ua"].value)


def is_alike(values, cell):
    _, low, high = compared(values, cell, "auc", "ta")
    return low <= 0.5 <= high


def judged(values, rows, name):
    """Return the names of the tests that a number fails in some cell, from its description."""
    metric = name.removesuffix(" last")
    about = JUDGED[metric][3]
    failed = set()
    for cell in SEEDS:
        auc, silent, damaged, hurt, recipe = (compared(values, cell, key, name) for key in KEYS)
        by_metric = {row.metric: row.value for row in rows[cell] if row.at == name}
        moves = is_alike(values, cell) and abs(auc[0] - 0.5) > LEAST["flat"]
        if about == "locality":
            failed |= {"moves"} if moves else set()
            failed |= {"anywhere"} if abs(hurt[0] - 0.5) > LEAST["flat"] else set()
            continue
        if about == "harm":
            failed |= {"moves"} if moves else set()
            failed |= {"blind"} if hurt[1] < LEAST["least_auc"] else set()
            continue
        hidden = about == "inside" and silent[1] >= LEAST["least_auc"]
        tells = auc[1] >= LEAST["least_auc"]
        wrong = {
            "tells": not tells and not hidden,
            "dose": by_metric["trust_dose"] < LEAST["least_dose"] and (tells or not hidden),
            "silent": silent[1] < LEAST["passes"],
            "damaged": damaged[1] < LEAST["passes"],
            "hurt": hurt[1] > 0.5,
            "recipe": recipe[1] > 0.5,
            "change": not auc[1] <= 0.5 <= auc[2]
            and by_metric["trust_change"] > LEAST["most_change"],
            "reference": not auc[1] <= 0.5 <= auc[2]
            and by_metric.get("trust_reference", 0) > LEAST["most_change"],
        }
        failed |= {test for test, is_wrong in wrong.items() if is_wrong}
    return failed


@recomputes("trust_verdict")
def test_a_verdict_is_the_worst_of_all_cells(rows, values, verdicts):
    assert verdicts.keys() == {*map(name_of, JUDGED)}  # the average gap has too few groups
    failed = {name: judged(values, rows, name) for name in verdicts}
    subject = {name: JUDGED[name.removesuffix(" last")][3] for name in verdicts}
    trusted = {name for name, own in failed.items() if not own and subject[name] != "locality"}
    can_help = any(subject[name] in ("outputs", "inside", "distance") for name in trusted)
    for name, row in verdicts.items():
        if name in trusted:
            same(row, 2)
        elif subject[name] == "locality":
            same(row, int(not failed[name] and "near_loss" in trusted))
        else:
            same(row, int(can_help and failed[name] in ({"silent"}, {"damaged"})))
    assert {float(row.value) for row in verdicts.values()} == {0, 1, 2}
