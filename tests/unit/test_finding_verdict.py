"""Verdicts on constructed cases: five seeds, of which Retrain knows half of the forgotten."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import verdict_by_hand as by_hand
from fake_cell import FAR, FORGET, LABELS, NEAR, TEST, FakeRun, Wrong, counted, table_of
from scipy.stats import t as students_t

from collateral.config.load import read
from collateral.contract.rows import Row
from collateral.contract.verdicts import MARGIN_KEYS, MEASURES
from collateral.findings.checks import is_there_anything_to_forget
from collateral.findings.locality.views import words as words_of_locality
from collateral.findings.verdict import OPEN, VERDICTS
from collateral.findings.verdict.numbers import (
    AgainstRetrain,
    compare_by_look,
    declared_looks,
    numbers,
    verdict_rows,
)
from collateral.findings.verdict.rule import Samples, decide, run_tests, seeds_needed
from collateral.findings.verdict.sentences import (
    describe_worst,
    find_verdict,
    find_verdicts,
    list_meanings,
    write_sentence,
)
from collateral.findings.verdict.views import AREA, LEAST_AREA, list_runs, plots, tables, words
from collateral.metrics.differences import Contrast, equivalence_p, holm_levels
from collateral.plugins.find import params_class
from collateral.results.cell import CellResults
from collateral.results.outputs import Outputs
from collateral.results.table import CellTable

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import calibrate_verdicts as calibration

ROOT = Path(__file__).resolve().parents[2]
HALF = TEST // 2  # test examples that are near, and that are far


@dataclass(frozen=True)
class Counts(Wrong):
    """Wrong predictions; of test examples, those of the near ones, and of the far ones apart."""

    far_test: tuple[int, ...] = ()

    def run(self, seed: int) -> FakeRun:
        is_wrong = np.concatenate([np.arange(HALF) < of[seed] for of in (self.test, self.far_test)])
        confidence = np.where(is_wrong, 0.3, 0.8).astype(np.float32)
        of_first = np.where(LABELS.test == 0, confidence, 1 - confidence)
        logits = np.log(np.column_stack([of_first, 1 - of_first])).astype(np.float16)
        said = np.where(is_wrong, 1 - LABELS.test, LABELS.test)
        return replace(super().run(seed), test=Outputs(logits, confidence, said))


RETRAIN = Counts(
    (25, 24, 26, 25, 23),
    (4, 5, 4, 3, 4),
    (2, 3, 2, 2, 1),
    (10, 11, 9, 10, 12),
    far_test=(4, 3, 5, 4, 6),
)
ORIGINAL = replace(RETRAIN, forget=(0, 0, 1, 0, 0))
ALIKE = replace(RETRAIN, forget=(25, 25, 26, 25, 23))
# For each case, its verdict, and what its differences mean.
CASES = {
    "collapsed": replace(ALIKE, test=(46, 45, 47, 48, 46), far_test=(41, 44, 43, 40, 42)),
    "harm shown: hurt the neighbours and everyone else": replace(
        ALIKE, near=(30, 32, 31, 29, 31), far=(30, 31, 32, 29, 30)
    ),
    "harm shown: hurt the neighbours": replace(ALIKE, near=(20, 22, 21, 19, 21)),
    "harm shown: hurt the neighbours, did not forget": replace(
        ALIKE, test=(30, 32, 29, 31, 33), forget=(1, 0, 1, 2, 1)
    ),
    "harm shown: hurt everyone": replace(ALIKE, far_test=(22, 23, 25, 22, 21)),
    "harm shown: hurt everyone, neighbours lose less than others": replace(
        ALIKE, far=(42, 43, 42, 44, 41)
    ),
    "difference shown: did not forget": replace(ALIKE, forget=(1, 0, 1, 2, 1)),
    "difference shown: UA too low, MIA too high": replace(ALIKE, forget=(45, 46, 44, 45, 44)),
    "difference shown: more accurate near": replace(ALIKE, test=(1, 0, 2, 1, 0)),
    "like Retrain": ALIKE,
    "open (5 seeds)": replace(ALIKE, forget=(15, 35, 20, 30, 25)),
}
RUNS = {title: f"m{place}" for place, title in enumerate(CASES)}
ENDS = {"retrain": RETRAIN, "original": ORIGINAL}
STEPS = {
    **dict.fromkeys(("ua", "mia"), 1 / FORGET),
    **dict.fromkeys(("near", "damage"), 1 / NEAR),
    **{"far": 1 / FAR, "near_test": 1 / HALF, "far_test": 1 / HALF},
}
PRICE = "rte_share"


def first_seeds(wrong: Counts, count: int) -> Counts:
    parts = ("forget", "near", "far", "test", "far_test")
    return Counts(**{part: getattr(wrong, part)[:count] for part in parts})


def with_options(cell, **options):
    """Return results with other options, and with the numbers of earlier findings."""
    changed = replace(cell, **options)
    changed._known.update(cell._known)
    return changed


def rates_of(wrong: Counts, mia: np.ndarray) -> dict[str, np.ndarray]:
    """Return the rates of a run from its numbers of wrong predictions."""
    near, far = np.array(wrong.near) / NEAR, np.array(wrong.far) / FAR
    return {
        "ua": 1 - np.array(wrong.forget) / FORGET,
        "mia": mia,
        "near": near,
        "near_test": np.array(wrong.test) / HALF,
        "far": far,
        "far_test": np.array(wrong.far_test) / HALF,
        "damage": near - far,
    }


def judged_by_hand(
    cell: CellTable, runs: Mapping[str, Counts], **more
) -> dict[str, by_hand.ByHand]:
    """Return what the plain formulas say of the methods among these runs."""
    rates = {run: rates_of(wrong, cell.values(run, "mia")) for run, wrong in runs.items()}
    for run, wrong in runs.items():
        if "diverged" in wrong.status:
            rates[run] = {at: np.full(len(wrong.near), np.nan) for at in MEASURES}
    methods = {run: one for run, one in rates.items() if run not in ENDS}
    return by_hand.judge(methods, rates["retrain"], STEPS, **more)


def hold_against(cell: CellTable, found: Mapping[str, by_hand.ByHand]) -> int:
    """Hold every number of the long table against those by hand; return how many there are."""
    count = 0
    for run, one in found.items():
        assert find_verdict(cell, run) == one.verdict, run
        for at in one.mean:
            most = 2 if at == "damage" else 1
            wanted = {
                "difference": one.mean[at],
                "difference_p": one.p[at],
                "difference_low": max(one.low[at], -most),
                "difference_high": min(one.high[at], most),
                "within": float(one.within[at]),
                "shown": one.shown[at],
            }
            numbers = {name: cell.number(run, name, at=at) for name in wanted}
            assert numbers == pytest.approx(wanted, abs=1e-6), (run, at)
            count += len(wanted)
    return count


@pytest.fixture(scope="module")
def cell(tmp_path_factory):
    runs = {RUNS[title]: wrong for title, wrong in CASES.items()}
    return table_of(tmp_path_factory.mktemp("cell"), {**ENDS, **runs})


@pytest.mark.parametrize("title", CASES)
def test_the_verdict_is_the_one_that_the_case_was_made_for(cell, title):
    titles = {one.run: one.title for one in find_verdicts(cell)}
    assert titles[RUNS[title]] == title


@pytest.mark.parametrize("title", CASES)
def test_alone_it_is_the_same(tmp_path, title):
    [found] = find_verdicts(table_of(tmp_path, {**ENDS, "ft": CASES[title]}))
    assert found.title == title


def test_every_number_is_that_of_plain_formulas(cell):
    runs = {"retrain": RETRAIN} | {RUNS[title]: wrong for title, wrong in CASES.items()}
    found = judged_by_hand(cell, runs)
    # A collapse is no matter of tests: the method stays in the family, and its numbers are right.
    found[RUNS["collapsed"]].verdict = "collapsed"
    assert hold_against(cell, found) == 11 * 7 * 6


def drawn_by_hand(rng: np.random.Generator, num_seeds: int, num_methods: int) -> tuple:
    """Return rates of methods, of which some differ and one diverged, and those of Retrain."""
    sizes = dict(zip(MEASURES, (45, 45, 37, 23, 160, 71, 37), strict=True))
    centre = np.array([0.5, 0.4, 0.15, 0.2, 0.04, 0.1])

    def draw(means: np.ndarray, far: np.ndarray | None = None) -> dict[str, np.ndarray]:
        wanted = np.clip(means[:, None] + 0.03 * rng.normal(size=(6, num_seeds)), 0, 1)
        rates = {at: rng.binomial(sizes[at], p) / sizes[at] for at, p in zip(sizes, wanted)}  # noqa: B905
        rates["far"] = rates["far"] if far is None else far
        return rates | {"damage": rates["near"] - rates["far"]}

    retrain, runs = draw(centre), {}
    for place in range(num_methods):
        harm = np.array([0, 0, 1, 1, 0, 0]) * rng.uniform(0, 0.5) * (place % 3 == 1)
        left = np.array([1, 0, 0, 0, 0, 0]) * rng.uniform(0, 0.4) * (place % 3 == 2)
        far = retrain["far"] if place % 4 == 0 else None  # then damage is the near loss
        runs[f"m{place}"] = draw(centre + harm + left, far)
    if num_methods > 2:
        runs["m2"] = {at: np.full(num_seeds, np.nan) for at in MEASURES}
    return runs, retrain, {at: 1 / size for at, size in sizes.items()}


def samples_of(runs, retrain, steps, stated=None) -> Samples:
    rates = [[one[at] for at in MEASURES] for one in (*runs.values(), retrain)]
    margins = np.array([(stated or {}).get(at, np.nan) for at in MEASURES])
    return Samples(
        np.array(rates[:-1]), np.array(rates[-1]), np.array([steps[at] for at in MEASURES]), margins
    )


@pytest.mark.parametrize("place", range(40))
def test_tests_and_answers_are_those_of_plain_formulas(place):
    rng = np.random.default_rng(place)
    runs, retrain, steps = drawn_by_hand(rng, (2, 3, 5, 8)[place % 4], 1 + place % 7)
    stated = {} if place % 3 else {"ua": 0.15, "near": 0.1, "damage": 0.12}
    level = (0.05, 0.01)[place % 2]
    samples = samples_of(runs, retrain, steps, stated)
    tested = run_tests(samples, level)
    is_lost = np.array([np.isnan(one["ua"]).any() for one in runs.values()])
    wanted = by_hand.judge(runs, retrain, steps, stated, level)
    assert decide(tested, is_lost).tolist() == [one.verdict for one in wanted.values()]
    for run, one in enumerate(wanted.values()):
        for name in ("mean", "p", "low", "high", "within", "shown"):
            found = dict(zip(MEASURES, getattr(tested, name)[run].tolist(), strict=True))
            expected = getattr(one, name) or {at: found[at] for at in MEASURES}
            assert found == pytest.approx(expected, abs=1e-9, nan_ok=True), (run, name)


def test_every_verdict_is_found_among_the_draws():
    drawn = [drawn_by_hand(np.random.default_rng(p), (2, 3, 5, 8)[p % 4], 7) for p in range(40)]
    found = {o.verdict for cell in drawn for o in by_hand.judge(*cell).values()}
    assert found == {*VERDICTS}


@pytest.mark.parametrize("order", [*permutations(range(4))])
def test_verdicts_do_not_depend_on_the_order_of_the_methods(order):
    """One of the four diverged: each is the first once, also that one."""
    runs, retrain, steps = drawn_by_hand(np.random.default_rng(8), 5, 4)
    plain = run_tests(samples_of(runs, retrain, steps))
    moved = run_tests(samples_of(dict(list(runs.items())[p] for p in order), retrain, steps))
    assert np.isnan(plain.mean).all(axis=-1).tolist() == [False, False, True, False]
    for name in ("p", "low", "high", "equivalence_p", "within", "shown"):
        found, wanted = getattr(moved, name), getattr(plain, name)[[*order]]
        assert np.array_equal(found, wanted, equal_nan=True), name


def test_a_diverged_method_that_is_listed_first_changes_no_verdict(tmp_path):
    lost = replace(ALIKE, status=("ok", "ok", "diverged", "ok", "ok"))
    weak = replace(ALIKE, near=(8, 9, 9, 8, 10), far_test=(9, 8, 10, 9, 11))
    runs = {"ft": weak, "rl": CASES["open (5 seeds)"], "ltd": ALIKE}
    last = table_of(tmp_path / "last", {**ENDS, **runs, "ga": lost})
    first = table_of(tmp_path / "first", {**ENDS, "ga": lost, **runs})
    wanted = judged_by_hand(first, {"retrain": RETRAIN, "ga": lost, **runs})
    for made in (first, last):
        assert hold_against(made, wanted) == 3 * 7 * 6
        found = {one.run: one.sentence for one in find_verdicts(made)}
        assert found == {one.run: one.sentence for one in find_verdicts(first)}


def test_equal_rates_have_equal_intervals(tmp_path):
    """Two methods are alike; a third differs more, and a fourth does not differ."""
    weak = replace(ALIKE, near=(11, 12, 9, 11, 10), test=(18, 19, 17, 22, 18))
    runs = {"ft": weak, "rl": CASES["difference shown: did not forget"], "ga": weak, "iu": ALIKE}
    made = table_of(tmp_path, {**ENDS, **runs})
    for at in MEASURES:
        for name in ("difference_low", "difference_high", "difference_p", "within", "shown"):
            assert made.number("ft", name, at=at) == made.number("ga", name, at=at)
    assert hold_against(made, judged_by_hand(made, {"retrain": RETRAIN, **runs})) == 4 * 7 * 6


@pytest.mark.parametrize(
    ("p", "levels"),
    [
        ([0.02, 0.5, 0.02], [0.05 / 3] * 3),  # the first is not rejected, nor is any other
        ([0.012, 0.5, 0.012], [0.05 / 3, 0.05, 0.05 / 3]),
        ([0.024, 0.001, 0.024], [0.05 / 2, 0.05 / 3, 0.05 / 2]),
        ([0.03, np.nan, 0.03], [0.05 / 2, np.nan, 0.05 / 2]),
    ],
)
def test_equal_p_values_have_equal_levels(p, levels):
    found = np.where(np.isnan(p), np.nan, holm_levels(np.array(p)))
    assert found == pytest.approx(levels, nan_ok=True)


@pytest.mark.parametrize("num_seeds", [2, 5])
def test_a_difference_has_at_least_the_variance_of_one_example_in_one_seed(num_seeds):
    """All seeds of the method agree, and all of Retrain; damage is tested in points."""
    steps, damage = dict.fromkeys(MEASURES, 0.02), 0.1
    still = {at: np.full(num_seeds, 0.5) for at in MEASURES} | {"damage": np.zeros(num_seeds)}
    run = still | {"damage": np.full(num_seeds, damage), "far": np.full(num_seeds, 0.4)}
    found = run_tests(samples_of({"ft": run}, still, steps))
    one_example = np.arange(num_seeds) == 0
    error = (0.02 * one_example).std(ddof=1) / num_seeds**0.5
    freedom = 2 * (num_seeds - 1)
    plain = 2 * students_t.sf(damage / error, freedom)
    assert by_hand.judge({"ft": run}, still, steps)["ft"].p["damage"] == pytest.approx(
        found.p[0, -1]
    )
    # Two of seven measures differ; the other is more certain or equally so.
    assert found.p[0, -1] == pytest.approx(min(7 * plain, 1), rel=0.2) or num_seeds == 5
    half = students_t.isf(0.05, freedom) * error
    ends = found.equivalence_low[0, -1], found.equivalence_high[0, -1]
    assert ends == pytest.approx((damage - half, damage + half))


def test_where_far_loss_is_0_in_every_seed_damage_is_the_near_loss(tmp_path):
    """One number has one interval, and is tested once: GA hurts the neighbours."""
    ga = replace(ALIKE, near=(9, 8, 12, 8, 10))
    elsewhere = replace(ga, far=(2, 3, 2, 2, 2))  # one example in one seed
    made = table_of(tmp_path, {**ENDS, "ga": ga, "ft": elsewhere})
    assert made.values("ga", "far_loss", "retain").tolist() == [0] * 5
    names = ["difference", "equivalence"]
    names = [f"{name}_{end}" for name in names for end in ("low", "high")]
    ends = {
        (run, at): [made.number(run, name, at=at) for name in (*names, "difference_p")]
        for run in ("ga", "ft")
        for at in ("near", "damage")
    }
    assert ends["ga", "near"] == ends["ga", "damage"] and ends["ga", "near"][0] > 0
    assert ends["ft", "near"] != ends["ft", "damage"]
    [said, other] = find_verdicts(made)
    assert said.title == "harm shown: hurt the neighbours"
    assert said.sentence.count("near retained examples") + said.sentence.count("damage") == 0
    assert said.sentence.startswith("Near retained examples lose 13.5 points, at least ")
    assert "more than far ones" in other.sentence
    wanted = judged_by_hand(made, {"retrain": RETRAIN, "ga": ga, "ft": elsewhere})
    assert hold_against(made, wanted) == 2 * 7 * 6


def test_a_margin_of_damage_is_asked_though_damage_is_the_near_loss(tmp_path):
    results = counted({**ENDS, "ga": replace(ALIKE, near=(9, 8, 12, 8, 10))})
    made = results.write(tmp_path)
    made.add(results.rows(tmp_path))
    stated = {"near": 0.3, "damage": 0.02}
    made = with_options(made, margins={"near": 30.0, "damage": 2.0})
    tested = run_tests(AgainstRetrain(made, 5).samples(["ga"]))
    answers = dict(zip(MEASURES, zip(tested.within[0], tested.shown[0], strict=True), strict=True))
    assert (answers["near"], answers["damage"]) == ((True, 0), (False, 1))
    assert stated.keys() < answers.keys()


def test_loss_on_near_test_examples_is_harm(tmp_path):
    """Retained examples stay as they are: a method that trains on them keeps them."""
    worse = replace(ALIKE, test=(24, 25, 23, 26, 24))
    made = table_of(tmp_path, {**ENDS, "salun": worse, "ft": ALIKE})
    titles = {one.run: one.title for one in find_verdicts(made)}
    assert titles == {"salun": "harm shown: hurt the neighbours", "ft": "like Retrain"}
    lost = np.mean([24, 25, 23, 26, 24]) / HALF - np.mean(RETRAIN.test) / HALF
    assert made.number("salun", "difference", at="near_test") == pytest.approx(lost)
    [said, _] = find_verdicts(made)
    least = 100 * made.number("salun", "difference_low", at="near_test")
    start = f"Near test examples lose {100 * lost:.1f} points, at least {least:.1f} (margin "
    assert said.sentence.startswith(start)


def test_with_one_seed_only_a_collapse_can_be_told(tmp_path):
    runs = {RUNS[title]: first_seeds(wrong, 1) for title, wrong in CASES.items()}
    made = table_of(tmp_path, {run: first_seeds(w, 1) for run, w in ENDS.items()} | runs)
    found = {run: find_verdict(made, run) for run in runs}
    assert found.pop(RUNS["collapsed"]) == "collapsed"
    assert set(found.values()) == {OPEN}
    table, *_ = tables(made)
    assert "only a collapse can be told" in table.caption
    said = [one for one in find_verdicts(made) if one.verdict == OPEN]
    assert {one.title for one in said} == {"open (1 seed)"}
    assert all("One seed: chance is unknown" in one.sentence for one in said)


@pytest.mark.parametrize("status", ["diverged", "collapsed"])
def test_a_run_that_broke_in_one_seed_has_collapsed(tmp_path, status):
    broken = replace(ALIKE, status=("ok", "ok", status, "ok", "ok"))
    made = table_of(
        tmp_path, {**ENDS, "ga": broken, "ft": CASES["harm shown: hurt the neighbours"]}
    )
    assert (find_verdict(made, "ga"), find_verdict(made, "ft")) == ("collapsed", "harm shown")
    [ga] = [one.sentence for one in find_verdicts(made) if one.run == "ga"]
    assert ga.startswith(f"{status.capitalize()} (1 of 5 seeds); TA is ")


def test_a_skipped_method_has_no_numbers_no_verdict_and_no_part_in_the_family(tmp_path):
    skipped = replace(ALIKE, status=("skipped",) * 5)
    others = {**ENDS, "ft": CASES["difference shown: did not forget"]}
    made = table_of(tmp_path / "with", {**others, "msg": skipped})
    alone = table_of(tmp_path / "without", others)
    assert (find_verdict(made, "msg"), find_verdict(made, "ft")) == ("", "difference shown")
    assert np.isnan(made.values("msg", "ua")).all()
    assert made.failure_summary("msg") == "skipped (5 of 5 seeds)"
    p = "difference_p"
    assert made.number("ft", p, at="ua") == alone.number("ft", p, at="ua") > 0
    assert "msg" in made.labels and len(list(find_verdicts(made))) == 1


SEEDS_72 = first_seeds(replace(RETRAIN, forget=(10, 18, 13, 15, 14)), 2)


@pytest.mark.parametrize(
    ("retrain", "original", "answer"),
    [
        (RETRAIN, ORIGINAL, "yes"),
        (RETRAIN, ALIKE, "no"),
        (RETRAIN, replace(ORIGINAL, forget=(10, 30, 5, 25, 20)), "open"),
        (RETRAIN, None, ""),
        # Two seeds, the base at 100 % and Retrain at 72 %: that is not "nothing to forget".
        (SEEDS_72, first_seeds(replace(ORIGINAL, forget=(0,) * 5), 2), "open"),
        (first_seeds(RETRAIN, 1), first_seeds(ORIGINAL, 1), ""),
    ],
)
def test_nothing_to_forget_takes_equivalence_of_base_and_retrain(
    tmp_path, retrain, original, answer
):
    runs = {"retrain": retrain} | ({"original": original} if original else {})
    made = table_of(tmp_path, {**runs, "ft": retrain})
    assert is_there_anything_to_forget(made) == answer
    if retrain is SEEDS_72:
        assert made.values("original", "ua").mean() == 1
        assert made.values("retrain", "ua").mean() == pytest.approx(0.72)


def test_without_original_the_start_of_a_tracked_run_is_the_base_model(tmp_path):
    results = counted({"retrain": RETRAIN, "ft": ALIKE}).write(tmp_path)
    starts = [Row("ft", "epoch_ua", ua, seed, at=0) for seed, ua in enumerate([1.0] * 4 + [0.98])]
    results.add(starts)
    assert np.isnan(AgainstRetrain(results, 5).base_ua).all()
    tracked = with_options(results, tracked=("ft",))
    assert AgainstRetrain(tracked, 5).base_ua.tolist() == [1.0] * 4 + [0.98]


def test_without_original_verdicts_are_the_same_and_no_loss_is_the_bases(tmp_path):
    runs = {RUNS[title]: wrong for title, wrong in CASES.items()}
    made = table_of(tmp_path, {"retrain": RETRAIN, **runs})
    assert [one.title for one in find_verdicts(made)] == list(CASES)
    assert not any("base model" in one.sentence for one in find_verdicts(made))


def test_controls_and_sweeps_get_no_verdict_and_do_not_count(tmp_path, cell):
    assert find_verdict(cell, "original") == ""
    hurt = CASES["harm shown: hurt the neighbours"]
    apart = table_of(tmp_path, {**ENDS, "ft": hurt, "ft@lr=1": ALIKE})
    alone = table_of(tmp_path / "alone", {**ENDS, "ft": hurt})
    for end in ("low", "high"):
        found = [one.number("ft", f"difference_{end}", at="damage") for one in (apart, alone)]
        assert found[0] == found[1]
    assert find_verdict(apart, "ft@lr=1") == ""


def test_damage_is_near_minus_far_loss_on_retained_examples(cell):
    found = cell.values(RUNS["harm shown: hurt the neighbours"], "damage", "retain")
    lost = np.array([20, 22, 21, 19, 21]) - np.array(RETRAIN.near)
    assert found == pytest.approx(lost / NEAR)


def test_neighbours_that_gain_less_than_the_others_are_not_hurt(tmp_path):
    """Retrain is bad at the far ones: against it the near ones gain 5 points, and these 25."""
    bad = replace(RETRAIN, far=(42, 41, 43, 42, 40))
    gained = replace(ALIKE, near=tuple(near - 2 for near in RETRAIN.near))
    made = table_of(tmp_path, {**ENDS, "retrain": bad, "ft": gained})
    assert made.values("ft", "near_loss", "retain").mean() == pytest.approx(-0.05)
    assert made.number("ft", "difference_low", at="damage") > 0.15
    found = list_meanings(made, "ft")
    assert found[0] == "neighbours lose more than others as the base model does"
    assert not any("hurt" in word for word in found)


def test_an_interval_excludes_zero_where_its_p_value_is_below_the_level(cell):
    for run in RUNS.values():
        for at in MEASURES:
            low, mean, high, p = (
                cell.number(run, f"difference{end}", at=at) for end in ("_low", "", "_high", "_p")
            )
            assert low <= mean <= high
            assert (low > 0 or high < 0) == (p < 0.05)


def test_the_verdict_and_the_sentence_on_neighbours_use_the_same_test(cell):
    said = words_of_locality(cell)
    hurt, everyone, like = (
        RUNS[title].upper()
        for title in (
            "harm shown: hurt the neighbours",
            "harm shown: hurt the neighbours and everyone else",
            "like Retrain",
        )
    )
    assert cell.number(hurt.lower(), "difference_low", at="near") > 0
    assert f"{hurt} (" not in said.partition("Within the margin: ")[2]
    assert f"{like} (" in said.partition("Within the margin: ")[2].partition("Open: ")[0]
    assert said.startswith(f"{everyone}: an average gap of ")
    assert f"{hurt} (" in said.partition("Also less accurate there: ")[2]


def test_no_interval_goes_beyond_what_can_be(tmp_path):
    two = {run: first_seeds(wrong, 2) for run, wrong in ENDS.items()}
    made = table_of(tmp_path, two | {"ft": first_seeds(CASES["open (5 seeds)"], 2)})
    ends = [made.number("ft", f"difference_{end}", at="ua") for end in ("low", "high")]
    assert ends == [-1, 1]


def test_the_margins_are_of_two_retrainings(cell):
    ua = np.array(RETRAIN.forget) / FORGET
    assert cell.number("retrain", "margin", at="ua") == pytest.approx(
        1.96 * 2**0.5 * ua.std(ddof=1)
    )
    lost = np.array(RETRAIN.test) / HALF
    assert cell.number("retrain", "margin", at="near_test") == pytest.approx(
        1.96 * 2**0.5 * lost.std(ddof=1)
    )
    excess = np.array(RETRAIN.near) / NEAR - np.array(RETRAIN.far) / FAR
    expected = 1.96 * 2**0.5 * excess.std(ddof=1)
    assert cell.number("retrain", "margin", at="damage") == pytest.approx(expected)
    sd = 2**0.5 * excess.std(ddof=1) / 5**0.5
    assert cell.number("retrain", "damage_sd", "retain") == pytest.approx(sd)


def test_a_stated_margin_comes_first(tmp_path):
    results = counted({**ENDS, "ft": replace(ALIKE, forget=(30, 29, 31, 30, 28))})
    cell = results.write(tmp_path)
    cell.add(results.rows(tmp_path))
    stated = with_options(cell, margins={"ua": 25.0, "mia": 25.0})
    p = {}
    for name, one in (("estimated", cell), ("stated", stated)):
        against = AgainstRetrain(one, 5)
        p[name] = run_tests(against.samples(["ft"])).equivalence_p[0, 0]
    assert against.samples([]).margins[0] == 0.25
    assert p["estimated"] > 0.05 > p["stated"]
    assert set(MARGIN_KEYS.values()) == set(MEASURES)


def test_margins_of_the_config_are_in_points_and_no_other_margin_is_stated():
    margins = {"ua": 25.0, "near_test": 7.0, "damage": 1.5}
    cell = CellResults(folder=Path(), cell="cell", seeds=(), base_seeds=(), margins=margins)
    stated = dict(zip(MEASURES, AgainstRetrain(cell, 0).stated, strict=True))
    known = {at: margin for at, margin in stated.items() if not np.isnan(margin)}
    assert known == {"ua": 0.25, "near_test": 0.07, "damage": 0.015}


def test_rows_are_of_runs_that_are_judged_and_a_quoted_rate_is_the_mean_over_seeds(tmp_path):
    """A run of a sweep, and a method that was skipped, are not judged."""
    two = first_seeds(RETRAIN, 2)
    skipped = replace(two, status=("skipped",) * 2)
    made = counted({"retrain": two, "ft": two, "ft@lr=1": two, "msg": skipped}).write(tmp_path)
    made.add(Row("ft", "ua", ua, seed) for seed, ua in enumerate((0.25, 0.5)))
    rows = list(numbers(made))
    assert {row.run for row in rows} == {"retrain", "ft"}
    [quoted] = [row for row in rows if (row.metric, row.at) == ("judged_rate", "ua")]
    assert (quoted.run, quoted.value) == ("ft", 0.375)


def test_the_forgetting_error_is_of_means_of_ua_and_mia(cell):
    for run in (RUNS["like Retrain"], RUNS["difference shown: did not forget"]):
        gaps = [
            abs(cell.values(run, m).mean() - cell.values("retrain", m).mean())
            for m in ("ua", "mia")
        ]
        assert cell.number(run, "forgetting_error") == pytest.approx(np.mean(gaps))


def test_sentences_have_the_numbers(cell):
    said = {one.title: one.sentence for one in find_verdicts(cell)}
    assert list(said) == list(CASES)
    assert {title.partition(":")[0].partition(" (")[0] for title in said} == {*VERDICTS}
    assert said["collapsed"] == "TA is 11.6 % where Retrain has 85.2 %."
    left = said["difference shown: did not forget"]
    assert left.startswith("UA is 98.0 %, 47.2 points above Retrain's 50.8 %, at least ")
    assert "; MIA is 2.0 %, 47.2 points below Retrain's 49.2 %, at least " in left
    assert left.endswith(
        "Within the margin: near loss; near loss on test examples; far loss; far loss on test "
        "examples."
    )
    everyone = said["harm shown: hurt the neighbours and everyone else"]
    assert everyone.startswith("Near retained examples lose 66.5 points, at least ")
    assert "; far retained examples lose 17.8 points, at least " in everyone
    assert "; near retained examples lose 48.8 points more than far ones, at least " in everyone
    alike = said["like Retrain"]
    assert alike.startswith("Within the margin on every measure: UA −0.4 [−3.0, +2.2] within ±6.3;")
    assert "near loss on test examples 0.0 [" in alike and "damage" not in alike
    large = said["open (5 seeds)"]
    assert large.startswith("Open: UA is 50.0 %, 0.8 points below Retrain's 50.8 % [")


@pytest.mark.parametrize(
    ("near", "said"),
    [
        ((6, 5, 5, 6, 5), "near retained examples lose 3.5 points, at most "),
        ((0, 20, 0, 18, 2), "lose 10.0 points, which is large but not beyond chance, at most "),
        ((3, 6, 1, 5, 2), "near retained examples gain 1.5 points, lose at most "),
    ],
)
def test_what_is_open_is_told_with_the_worst_that_its_interval_allows(tmp_path, near, said):
    made = table_of(tmp_path, {**ENDS, "ft": replace(ALIKE, near=near)})
    [found] = find_verdicts(made)
    high = 100 * made.number("ft", "difference_high", at="near")
    assert f"{said}{high:.1f}" in found.sentence and found.verdict == OPEN


def test_a_gain_beyond_chance_and_inside_the_margin_is_told_with_its_least():
    assert describe_worst(-0.031, -0.012) == "at least 1.2"
    assert describe_worst(-0.031, 0.012) == "lose at most 1.2"


def test_the_sentence_of_what_is_open_says_how_many_seeds_would_decide(cell):
    [unsure] = [one for one in find_verdicts(cell) if one.verdict == OPEN]
    needed = cell.number(unsure.run, "seeds_needed")
    assert unsure.title == "open (5 seeds)" and 5 < needed <= 100
    assert unsure.sentence.endswith(f"Probably about {needed:.0f} seeds would decide.")
    table, *_ = tables(cell)
    line = f"would decide {unsure.label}: `seeds: [0, 1, 2, ..., {needed - 1:.0f}]` in the config"
    assert line in table.caption
    looks = f"`looks: [5, {needed:.0f}]` beside it decides at stricter levels, and keeps 5 % if "
    assert looks in table.caption and "Deciding again after adding" not in table.caption


def test_without_a_proposal_the_caption_warns_of_deciding_again(tmp_path):
    table, *_ = tables(table_of(tmp_path, {**ENDS, "ft": CASES["like Retrain"]}))
    assert "Deciding again after adding seeds raises the error" in table.caption


@pytest.mark.parametrize(
    ("looks", "said"),
    [
        (
            (3, 5, 8),
            "The next look, with 8 seeds, decides again about FT: `seeds: [0, 1, 2, 3, 4, 5, 6, 7]`"
            " in the config; finished runs stay.",
        ),
        ((3, 5), "Looks declared in the config: 3 seeds at 2 %, 5 seeds at 3 %."),
    ],
)
def test_with_declared_looks_the_caption_names_the_next_one(tmp_path, looks, said):
    made = table_of(tmp_path, {**ENDS, "ft": CASES["open (5 seeds)"]}, looks=looks)
    table, *_ = tables(made)
    assert table.caption.endswith(said)
    assert "raises the error" not in table.caption


@pytest.mark.parametrize(
    ("far", "note", "said"),
    [
        ((20, 21, 22, 21, 19), " as the base model does", "the base model loses 32.4 too."),
        ((11, 10, 12, 10, 13), "", "the base model loses 13.6 too."),
        ((5, 3, 5, 4, 6), "", ""),  # one example in one seed, within the margin
        (RETRAIN.far_test, "", ""),
    ],
)
def test_a_loss_of_the_base_model_is_not_blamed_on_the_method(tmp_path, far, note, said):
    """The case *hurt everyone* loses 36.4 points on far test examples."""
    original = replace(ORIGINAL, far_test=far)
    hurt = CASES["harm shown: hurt everyone"]
    runs = {"retrain": RETRAIN, "original": original, "ft": hurt}
    [found] = find_verdicts(table_of(tmp_path, runs))
    assert (found.verdict, found.title) == ("harm shown", f"harm shown: hurt everyone{note}")
    assert said in found.sentence and ("base model" in found.sentence) == bool(said)


def test_of_several_words_the_note_on_the_base_is_at_those_of_loss(tmp_path):
    left = replace(CASES["harm shown: hurt everyone"], forget=(45, 46, 44, 45, 44))
    original = replace(ORIGINAL, far_test=(20, 21, 22, 21, 19))
    made = table_of(tmp_path, {"retrain": RETRAIN, "original": original, "ft": left})
    found = list_meanings(made, "ft")
    assert found == ["hurt everyone as the base model does", "UA too low", "MIA too high"]


def test_damage_has_a_word_beside_a_gain_far_away(tmp_path):
    """Near retained examples lose less than the margin; far ones gain, retained and test."""
    bad = replace(RETRAIN, far=(42, 41, 43, 42, 40), far_test=(20, 21, 19, 20, 22))
    run = replace(RETRAIN, near=(5, 5, 4, 4, 4), far=(2, 2, 3, 2, 2), far_test=(4, 5, 3, 4, 6))
    made = table_of(tmp_path, {"retrain": bad, "ft": run})
    assert find_verdict(made, "ft") == "harm shown"
    assert "neighbours lose more than others" in list_meanings(made, "ft")


NUM = len(MEASURES)


def test_more_seeds_decide_what_was_proposed():
    rng = np.random.default_rng(0)
    away = np.array([0.6, 0.1, 0.05, 0.06, 0.02, 0.05, 0.03])[:, None]
    draw = lambda n, mean: np.clip(mean + 0.02 * rng.normal(size=(NUM, n)), 0, 1)  # noqa: E731
    steps, none = np.full(NUM, 0.01), np.full(NUM, np.nan)
    retrained, run = draw(4, away), draw(4, away + 0.03)
    few = Samples(run[None], retrained, steps, none)
    [count] = seeds_needed(few).astype(int)
    assert 4 < count <= 100
    # The means and spreads so far are now those of the draws.
    spread = [values.std(axis=1, ddof=1, keepdims=True) for values in (run, retrained)]
    means = [values.mean(axis=1, keepdims=True) for values in (run, retrained)]
    drawn_run, drawn_retrained = (
        np.clip(mean + sd * rng.normal(size=(200, NUM, count)), 0, 1)
        for mean, sd in zip(means, spread, strict=True)
    )
    more = Samples(drawn_run[:, None], drawn_retrained, steps, none)
    verdicts = decide(run_tests(more), np.zeros((200, 1), dtype=bool))
    assert (verdicts != OPEN).mean() >= 0.6


def alike(sd: float, step: float, damage: float = 0.0) -> Samples:
    """Return two seeds of a method with Retrain's rates and this sd; its damage may differ."""
    retrained = np.full((NUM, 2), 0.5) + sd / np.sqrt(2) * np.array([-1, 1])
    run = retrained + damage * (np.array(MEASURES) == "damage")[:, None]
    if damage:  # then some far retained examples are lost
        run[MEASURES.index("far")] += 1e-9
    return Samples(run[None], retrained, np.full(NUM, step), np.full(NUM, np.nan))


def test_the_interval_of_equivalence_is_around_the_methods_rate_minus_retrains():
    found = run_tests(alike(sd=0.02, step=0.001, damage=0.3))
    measured = found.mean[0]
    assert measured == pytest.approx([0, 0, 0, 0, 0, 0, 0.3], abs=1e-8)
    middle = (found.equivalence_low + found.equivalence_high)[0] / 2
    assert middle == pytest.approx(measured, abs=1e-9)


@pytest.mark.parametrize("damage", [0.06, 0.08, 0.1, 0.12])
def test_the_seeds_that_find_a_difference_are_counted_with_the_t_of_so_many_seeds(damage):
    """Equal spreads have 2 (n - 1) degrees of freedom; Holm's first level is of seven tests."""
    needed = next(
        n
        for n in range(3, 101)
        if damage / (0.02 * (2 / n) ** 0.5)
        >= students_t.ppf(1 - 0.05 / 7 / 2, 2 * (n - 1)) + students_t.ppf(0.8, 1e9)
    )
    assert seeds_needed(alike(0.02, 0.001, damage)).tolist() == [needed]


def test_a_difference_inside_the_margin_is_not_waited_for():
    """The margin is 0.055: a damage of 0.05 is no harm, however many seeds show it."""
    assert seeds_needed(alike(0.02, 0.001, damage=0.05)).tolist() == pytest.approx(
        [np.nan], nan_ok=True
    )


@pytest.mark.parametrize(
    ("sd", "step"),
    [
        (0.02, 0.001),  # the estimated margin decides
        (0.02, 0.1),  # one example weighs more than the estimated margin
        (0.0, 0.1),  # retrainings are equal, and one example decides at the whole level
    ],
)
def test_with_the_seeds_that_are_proposed_the_test_of_equivalence_passes(sd, step):
    """It passes for a difference of 0.84 standard errors, which chance exceeds in 20 %."""
    spread = max(sd, step / 2)  # With two seeds, half of one example is the least.

    def passes(n: int) -> bool:
        error = np.array(spread * (2 / n) ** 0.5)
        away = Contrast(0.8416 * error, error, np.array(2.0 * (n - 1)))
        return bool(equivalence_p(away, np.array(sd), n - 1, step) < 0.05)

    assert seeds_needed(alike(sd, step)).tolist() == [next(n for n in range(3, 101) if passes(n))]


def test_the_sentence_counts_the_seeds_with_damage(tmp_path):
    lost = replace(RETRAIN, status=("diverged",) * 4 + ("ok",))
    made = table_of(tmp_path, {"retrain": lost, "ft": ALIKE})
    assert find_verdict(made, "ft") == "open"
    assert "Both in 1 of 5 seeds: chance is unknown" in write_sentence(made, "ft", "open")
    assert list(find_verdicts(made)) == []  # Retrain's RA is undefined, which is a red check


def test_a_run_without_any_number_has_a_sentence_without_a_dash(tmp_path):
    lost = replace(ALIKE, status=("diverged",) * 5)
    [said] = find_verdicts(table_of(tmp_path, {**ENDS, "ga": lost}))
    assert said.sentence == "Diverged (5 of 5 seeds)."


def test_where_retrainings_never_differ_one_example_counts_as_equal(tmp_path):
    by_heart = Counts((50,) * 5, (0,) * 5, (0,) * 5, (10,) * 5, far_test=(2,) * 5)
    near = replace(by_heart, forget=(50, 50, 49, 50, 50), near=(0, 1, 0, 0, 0))
    far = replace(near, near=(0, 4, 1, 3, 0))
    made = table_of(tmp_path, {"retrain": by_heart, "ltd": near, "ft": far})
    margins = {at: made.number("retrain", "margin", at=at) for at in MEASURES}
    assert margins == pytest.approx(STEPS)
    assert (find_verdict(made, "ltd"), find_verdict(made, "ft")) == ("like Retrain", "open")


NEVER = Counts((1,) * 5, (0,) * 5, (0,) * 5, (10,) * 5, far_test=(2,) * 5)  # always the same


@pytest.mark.parametrize(
    ("num_seeds", "wrong", "verdict"),
    [
        (2, 0, "open"),  # one example off is on the margin
        (2, 1, "open"),  # as Retrain: two seeds do not tell
        (3, 1, "like Retrain"),
        (5, 0, "open"),  # beyond chance, but not beyond the margin of one example: no difference
        (5, 1, "like Retrain"),
        (5, 3, "difference shown"),
    ],
)
def test_where_seeds_do_not_differ_an_example_off_is_never_like_retrain(
    tmp_path, num_seeds, wrong, verdict
):
    ft = replace(NEVER, forget=(wrong,) * 5)
    runs = {run: first_seeds(w, num_seeds) for run, w in {"retrain": NEVER, "ft": ft}.items()}
    made = table_of(tmp_path, runs)
    assert find_verdict(made, "ft") == verdict
    assert (made.number("ft", "difference_p", at="ua") < 0.05) == (num_seeds == 5 and wrong != 1)


def test_the_table_has_a_line_a_method_and_records_of_all_runs(cell):
    table, *_ = tables(cell)
    [grid] = table.grids
    lines = [line for group in grid.groups for line in group]
    assert [line.fields[0].value for line in lines] == list(CASES)
    assert grid.is_prose
    assert len(table.records) == len(CASES) + 1
    assert table.records[0].keys() >= {"forgetting_error", "damage_low", "price", "margin_error"}


def test_words_name_the_methods_of_each_verdict(cell):
    assert words(cell) == (
        "Collapsed: M0; harm shown: M1 (hurt the neighbours and everyone else), M2 (hurt the "
        "neighbours), M3 (hurt the neighbours, did not forget), M4 (hurt everyone), M5 (hurt "
        "everyone, neighbours lose less than others); difference shown: M6 (did not forget), M7 "
        "(UA too low, MIA too high), M8 (more accurate near); like Retrain: M9; open: M10."
    )


def test_a_cell_without_methods_has_no_table(tmp_path):
    made = table_of(tmp_path, ENDS)
    assert list(tables(made)) == []
    assert words(made) == ""


def plot_of(cell):
    [plot] = plots(cell)
    return plot.panels[0]


def test_records_are_in_points_and_a_collapsed_run_does_not_set_the_scale(cell):
    records = {one["run"]: one for one in list_runs(cell)}
    assert {one["kind"] for one in records.values()} == {"control", "method"}
    hurt = records[RUNS["harm shown: hurt the neighbours"]]
    assert hurt["damage"] == pytest.approx(41.5)
    assert hurt["damage_low"] < 41.5 < hurt["damage_high"]
    assert (hurt["n"], hurt["price"]) == (5, 1)
    hollow = [one.run for one in plot_of(cell).series if not one.sets_scale]
    assert hollow == [RUNS["collapsed"]]


def test_a_mark_has_the_area_of_its_price_and_the_least_where_none_is_known(cell):
    prices = {"m9": np.nan, "m6": 1.0, "m7": 0.5, "m4": 100.0, "m10": 1.5}
    costs = {(run, PRICE, "", ""): price for run, price in prices.items()}
    panel = plot_of(replace(cell, _overall=cell._overall | costs))
    areas = {one.run: one.areas[0] for one in panel.series}
    assert [areas[run] for run in list(prices)[:3]] == [LEAST_AREA, AREA, AREA / 2]
    assert areas["m4"] == areas["m10"]


def test_the_grey_box_is_that_of_the_margins_of_the_verdict(cell):
    [band] = plot_of(cell).bands
    ua, mia, damage = (cell.number("retrain", "margin", at=at) for at in ("ua", "mia", "damage"))
    expected = (0, 50 * (ua + mia), -100 * damage, 100 * damage)
    assert (band.left, band.right, band.low, band.high) == pytest.approx(expected)
    # What is like Retrain is inside: its intervals are within the margins.
    [like] = [one for one in plot_of(cell).series if one.run == RUNS["like Retrain"]]
    assert like.x[0] < band.right and band.low < like.y[0] < band.high


def test_what_is_in_the_grey_box_and_open_is_not_called_equal(tmp_path):
    """UA is beyond its margin; that of MIA is large, so that the mean of both is inside."""
    made = table_of(tmp_path, {**ENDS, "ga": replace(ALIKE, forget=(2, 8, 20, 22, 45))})
    made = replace(made, _overall=made._overall | {("retrain", "margin", "", "mia"): 0.5})
    assert find_verdict(made, "ga") == OPEN
    away, margin = (abs(made.number("ga", name, at="ua")) for name in ("difference", "margin"))
    assert away > margin
    [plot] = plots(made)
    [band] = plot.panels[0].bands
    [ga] = [one for one in plot.panels[0].series if one.run == "ga"]
    assert ga.x[0] < band.right and band.low < ga.y[0] < band.high
    assert "equal" not in band.label
    assert "what lies inside may still be open or differ" in plot.caption


def test_the_plot_covers_the_margins_and_all_runs_but_the_collapsed_ones(tmp_path):
    away = replace(ALIKE, forget=(50,) * 5, near=(40,) * 5, test=(48,) * 5, far_test=(45,) * 5)
    panel = plot_of(table_of(tmp_path, {**ENDS, "ga": away, "ft": ALIKE}))
    [ga] = [one for one in panel.series if one.run == "ga"]
    assert ga.y[0] == pytest.approx(90) and not ga.sets_scale
    assert panel.bands[0].high < panel.y.limits[1] < 30 and panel.bands[0].right < panel.x.limits[1]


def test_metrics_csv_contains_the_verdict(cell):
    like = RUNS["like Retrain"]
    assert cell.indices(like, "verdict") == ["like Retrain"]
    assert cell.number(like, "verdict", at="like Retrain") == 1


def cell_with_looks(folder, runs, looks):
    """Return the results of a cell whose config declares looks, and what verdicts say of them."""
    results = counted(runs)
    cell = results.write(folder)
    cell.add(results.rows(folder))
    return with_options(cell, looks=looks)


def test_a_look_that_decided_stays_and_later_looks_have_their_own_level(tmp_path):
    early = replace(ALIKE, forget=(45, 46, 44, 15, 35))
    runs = {**ENDS, "ga": early, "ft": CASES["open (5 seeds)"]}
    cell = cell_with_looks(tmp_path, runs, (3, 5, 8))
    assert [count for count, _ in declared_looks(cell)] == [3, 5, 8]
    assert [level for _, level in declared_looks(cell)] == pytest.approx([0.01, 0.01, 0.03])
    rows = {(row.run, row.metric): row for row in verdict_rows(compare_by_look(cell), ["ga", "ft"])}
    assert rows["ga", "verdict"].at == "difference shown"
    assert rows["ga", "decided_at"].value == 3
    assert (rows["ft", "verdict"].at, rows["ft", "decided_at"].value) == ("open", 5)


def test_rates_margins_and_collapse_are_those_of_the_seeds_that_decided(tmp_path):
    late = replace(ALIKE, forget=(1, 0, 1, 40, 40))
    broken = ("ok", "ok", "ok", "ok", "diverged")
    runs = {
        **ENDS,
        "ga": late,
        "ft": replace(ALIKE, forget=(45, 46, 44, 45, 44), status=broken),
        "rl": replace(CASES["open (5 seeds)"], status=broken),
    }
    cell = cell_with_looks(tmp_path, runs, (3, 5))
    rows = list(verdict_rows(compare_by_look(cell), ["ga", "ft", "rl"]))
    number = {(row.run, row.metric, row.at): row.value for row in rows}
    verdicts = {
        row.run: (row.at, number[row.run, "decided_at", None])
        for row in rows
        if row.metric == "verdict"
    }
    # A seed that breaks after the decision changes nothing; before it, the method collapsed.
    assert verdicts == {
        "ga": ("difference shown", 3),
        "ft": ("difference shown", 3),
        "rl": ("collapsed", 5),
    }
    three = np.array(RETRAIN.forget[:3]) / FORGET
    assert number["ga", "judged_rate", "ua"] == pytest.approx(1 - 2 / 3 / FORGET)
    assert number["ga", "judged_rate", "retrain_ua"] == pytest.approx(1 - three.mean())
    assert number["ga", "margin", "ua"] == pytest.approx(1.96 * 2**0.5 * three.std(ddof=1))
    assert (number["ft", "judged_rate", "diverged"], number["rl", "judged_rate", "diverged"]) == (
        0,
        0.2,
    )


MEANS = np.array([0.6, 0.2, 0.1, 0.15, 0.05, 0.1])


def drawn(rng: np.random.Generator, n: int, away: np.ndarray, count: int = 400) -> Samples:
    """Return experiments of eight methods whose rates are Retrain's plus `away` (methods, 6)."""
    retrained = np.clip(MEANS[:, None] + 0.03 * rng.normal(size=(count, 6, n)), 0, 1)
    middle = (MEANS + away)[..., None]
    runs = np.clip(middle + 0.03 * rng.normal(size=(count, 8, 6, n)), 0, 1)
    retrained, runs = (
        np.concatenate([r, r[..., 2:3, :] - r[..., 4:5, :]], axis=-2) for r in (retrained, runs)
    )
    return Samples(runs, retrained, np.full(7, 0.01), np.full(7, np.nan))


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_of_experiments_without_an_effect_at_most_5_percent_have_a_finding(n):
    samples = drawn(np.random.default_rng(n), n, np.zeros((8, 6)))
    tested = run_tests(samples)
    is_found = (tested.low > 0) | (tested.high < 0)
    assert is_found.any(axis=(1, 2)).mean() <= 0.05 + 2 * (0.05 * 0.95 / 400) ** 0.5


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_of_the_methods_that_are_blamed_at_most_5_percent_are_without_a_loss(n):
    """Two of eight methods lose 20 points on near test examples; the others lose nothing."""
    away = np.zeros((8, 6))
    away[[1, 6], MEASURES.index("near_test")] = 0.2
    samples = drawn(np.random.default_rng(n), n, away)
    is_blamed = decide(run_tests(samples), np.zeros((400, 8), dtype=bool)) == "harm shown"
    wrongly = is_blamed.sum(axis=1) - is_blamed[:, [1, 6]].sum(axis=1)
    share = wrongly / np.maximum(is_blamed.sum(axis=1), 1)
    assert share.mean() <= 0.05
    if n == 10:
        assert is_blamed[:, [1, 6]].mean() > 0.9


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_what_is_one_margin_away_is_like_retrain_in_at_most_5_percent(n):
    """Two retrainings of a spread of 0.03 differ by less than 0.083 in 95 %."""
    away = np.zeros((8, 6))
    away[:, MEASURES.index("near")] = 1.96 * 2**0.5 * 0.03
    samples = drawn(np.random.default_rng(n), n, away)
    is_like = decide(run_tests(samples), np.zeros((400, 8), dtype=bool)) == "like Retrain"
    assert is_like.mean() <= 0.05


def test_the_population_of_the_calibration_moves_to_a_mean_on_the_logit_scale():
    rng = np.random.default_rng(0)
    counts = np.array([45, 45, 68, 39, 1200, 360, 1300, 400])
    rates = {
        run: rng.binomial(counts, centre, (60, 8)) / counts
        for run, centre in {"retrain": 0.3, "original": 0.1, "m": 0.55}.items()
    }
    methods = np.repeat(rates["m"][None], 8, axis=0)
    methods[3, :, 2] = rng.random(60) < 0.04  # a rate without a spread of its own
    population = calibration.Population(methods, rates["retrain"], rates["original"], counts)
    moved = population.shifted(population.retrained)
    expected = np.broadcast_to(population.retrained.mean(axis=0), (8, 8))
    assert moved.mean(axis=1) == pytest.approx(expected, abs=1e-3)
    assert moved.min() >= 0 and moved.max() <= 1


def test_a_population_is_judged_by_the_margins_of_its_config(monkeypatch):
    monkeypatch.chdir(ROOT)
    stated = calibration.stated_margins("untypical")
    assert dict(zip(MEASURES, stated, strict=True)) == {
        MARGIN_KEYS[key]: points / 100
        for key, points in read(Path("config.yaml")).benchmarks["digits"].margin.items()
    }
    assert np.isnan(calibration.stated_margins("calibration")).all()
    rates = np.random.default_rng(0).binomial(50, 0.3, (20, 8)) / 50
    stated[2] = np.nan  # the margin of the near loss is estimated then
    population = calibration.Population(
        np.repeat(rates[None], 8, axis=0), rates, rates, np.full(8, 50), stated
    )
    margins = population.truth.margin
    assert margins[2] == pytest.approx(1.96 * 2**0.5 * rates[:, 2].std(ddof=1), rel=1e-3)
    assert np.delete(margins, 2).tolist() == np.delete(stated, 2).tolist()
    samples = calibration.Draws(population, 3, count=2).samples(population.methods)
    assert np.isnan(samples.stated).tolist() == (np.arange(7) == 2).tolist()


def test_the_population_of_the_default_is_the_default_with_selected_values():
    default = read(ROOT / "config.yaml").benchmarks["digits"]
    population = read(ROOT / "configs/calibration.yaml").benchmarks["untypical"]
    for key in ("data", "model", "base", "cells", "margin"):
        assert getattr(population, key) == getattr(default, key), key
    assert population.methods.keys() == default.methods.keys()
    for name, values in population.methods.items():
        stated = default.methods[name]
        grids = {key: value for key, value in stated.items() if isinstance(value, list)}
        assert len(grids) == (name not in ("rl", "salun"))  # these two have their default rate
        assert all(values[key] in grid for key, grid in grids.items())
        assert {key: values[key] for key in stated.keys() - grids} == {
            key: value for key, value in stated.items() if key not in grids
        }
        for key in values.keys() - stated.keys():
            assert values[key] == params_class(name).model_fields[key].default
