"""Verdicts on constructed cases: five seeds, of which Retrain knows half of the forgotten."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fake_cell import FORGET, NEAR, Wrong, counted, table_of
from scipy.stats import t as students_t

from collateral.contract.rows import Row
from collateral.contract.verdicts import MARGIN_KEYS, MEASURES
from collateral.findings.locality.views import words as words_of_locality
from collateral.findings.verdict import UNDECIDED, VERDICTS
from collateral.findings.verdict.numbers import (
    AgainstRetrain,
    declared_looks,
    find_looks,
    numbers,
    verdict_rows,
)
from collateral.findings.verdict.rule import MIDPOINT, Samples, decide, run_tests, seeds_needed
from collateral.findings.verdict.sentences import find_verdict, find_verdicts, write_sentence
from collateral.findings.verdict.views import AREA, LEAST_AREA, list_runs, plots, tables, words
from collateral.metrics.differences import Contrast, equivalence_p
from collateral.results.cell import CellResults

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import calibrate_verdicts as calibration

RETRAIN = Wrong((25, 24, 26, 25, 23), (4, 5, 4, 3, 4), (2, 3, 2, 2, 1), (10, 11, 9, 10, 12))
ORIGINAL = replace(RETRAIN, forget=(0, 0, 1, 0, 0))
ALIKE = replace(RETRAIN, forget=(25, 25, 26, 25, 23))
CASES = {
    "collapsed": replace(ALIKE, test=(60, 61, 62, 60, 60)),
    "did not forget": replace(ALIKE, forget=(1, 0, 1, 2, 1)),
    "hurt the neighbours and everyone else": replace(
        ALIKE, near=(30, 32, 31, 29, 31), far=(30, 31, 30, 29, 30)
    ),
    "hurt the neighbours": replace(ALIKE, near=(20, 22, 21, 19, 21)),
    "hurt everyone": replace(ALIKE, near=(9, 10, 9, 8, 9), far=(22, 23, 22, 22, 21)),
    "like Retrain": ALIKE,
    "differs from Retrain": replace(ALIKE, forget=(45, 46, 44, 45, 44)),
    "cannot tell": replace(ALIKE, forget=(15, 35, 20, 30, 25)),
}
ENDS = {"retrain": RETRAIN, "original": ORIGINAL}
PRICE = "rte_share"
METHODS = [f"method_{place}" for place in range(8)]


def first_seeds(wrong: Wrong, count: int) -> Wrong:
    return Wrong(*(part[:count] for part in (wrong.forget, wrong.near, wrong.far, wrong.test)))


def with_options(cell, **options):
    """Return results with other options, and with the numbers of earlier findings."""
    changed = replace(cell, **options)
    changed._known.update(cell._known)
    return changed


@pytest.fixture(scope="module")
def cell(tmp_path_factory):
    runs = {verdict.replace(" ", "_").lower(): wrong for verdict, wrong in CASES.items()}
    return table_of(tmp_path_factory.mktemp("cell"), {**ENDS, **runs})


@pytest.mark.parametrize("verdict", CASES)
def test_the_verdict_is_the_one_that_the_case_was_made_for(cell, verdict):
    assert find_verdict(cell, verdict.replace(" ", "_").lower()) == verdict


@pytest.mark.parametrize("verdict", CASES)
def test_alone_it_is_the_same(tmp_path, verdict):
    assert find_verdict(table_of(tmp_path, {**ENDS, "ft": CASES[verdict]}), "ft") == verdict


def test_with_one_seed_only_a_collapse_can_be_told(tmp_path):
    runs = {verdict.replace(" ", "_").lower(): first_seeds(w, 1) for verdict, w in CASES.items()}
    made = table_of(tmp_path, {run: first_seeds(w, 1) for run, w in ENDS.items()} | runs)
    found = {run: find_verdict(made, run) for run in runs}
    assert found.pop("collapsed") == "collapsed"
    assert set(found.values()) == {"cannot tell"}
    [table] = tables(made)
    assert "only a collapse can be told" in table.caption
    said = [one for one in find_verdicts(made) if one.verdict == UNDECIDED]
    assert {one.title for one in said} == {"cannot tell (1 seed)"}
    assert all("One seed: chance is unknown" in one.sentence for one in said)


@pytest.mark.parametrize("status", ["diverged", "collapsed"])
def test_a_run_that_broke_in_one_seed_has_collapsed(tmp_path, status):
    broken = replace(ALIKE, status=("ok", "ok", status, "ok", "ok"))
    made = table_of(tmp_path, {**ENDS, "ga": broken, "ft": CASES["hurt the neighbours"]})
    assert (find_verdict(made, "ga"), find_verdict(made, "ft")) == (
        "collapsed",
        "hurt the neighbours",
    )
    [ga] = [one.sentence for one in find_verdicts(made) if one.run == "ga"]
    assert ga.startswith(f"{status.capitalize()} (1 of 5 seeds); TA is ")


def test_a_skipped_method_has_no_numbers_no_verdict_and_no_part_in_the_family(tmp_path):
    skipped = replace(ALIKE, status=("skipped",) * 5)
    others = {**ENDS, "ft": CASES["differs from Retrain"]}
    made = table_of(tmp_path / "with", {**others, "msg": skipped})
    alone = table_of(tmp_path / "without", others)
    assert (find_verdict(made, "msg"), find_verdict(made, "ft")) == ("", "differs from Retrain")
    assert np.isnan(made.values("msg", "ua")).all()
    assert made.failure_summary("msg") == "skipped (5 of 5 seeds)"
    p = "difference_p"
    assert made.number("ft", p, at="ua") == alone.number("ft", p, at="ua") > 0
    assert "msg" in made.labels and len(list(find_verdicts(made))) == 1


def test_what_was_not_learnt_by_heart_cannot_be_unforgotten_by_ua(tmp_path):
    # Original is where Retrain is: above their midpoint by a hair, in every seed, is nothing.
    hair = replace(RETRAIN, forget=tuple(count - 1 for count in RETRAIN.forget))
    made = table_of(tmp_path, {"retrain": RETRAIN, "original": RETRAIN, "ft": hair})
    assert np.isnan(made.number("ft", "difference_p", at="midpoint"))
    assert find_verdict(made, "ft") == "like Retrain"


def test_where_ua_has_no_room_a_method_whose_mia_is_below_retrains_did_not_forget(tmp_path):
    # In the fake outputs an example that is known is taken for a member, so that MIA falls.
    original = replace(RETRAIN, forget=(24, 25, 25, 24, 24))
    runs = {"retrain": RETRAIN, "original": original, "ft": CASES["did not forget"]}
    made = table_of(tmp_path, runs)
    assert find_verdict(made, "ft") == "did not forget"
    [said] = find_verdicts(made)
    low, high = (100 * made.number("ft", f"difference_{end}", at="mia") for end in ("low", "high"))
    assert high < 0
    assert f"[−{-low:.1f}, −{-high:.1f}] points from Retrain's (p" in said.sentence
    assert "UA has no room to fall" in said.sentence


def test_without_original_nothing_is_said_of_forgetting(tmp_path):
    made = table_of(tmp_path, {"retrain": RETRAIN, "ft": CASES["did not forget"]})
    assert find_verdict(made, "ft") == "differs from Retrain"
    [table] = tables(made)
    assert "Whether a method forgot is not asked" in table.caption


def test_with_original_the_caption_says_nothing_of_it(cell):
    [table] = tables(cell)
    assert "is not asked" not in table.caption


def test_without_original_the_start_of_a_tracked_run_is_the_base_model(tmp_path):
    results = counted({"retrain": RETRAIN, "ft": CASES["did not forget"]}).write(tmp_path)
    starts = [Row("ft", "epoch_ua", ua, seed, at=0) for seed, ua in enumerate([1.0] * 4 + [0.98])]
    results.add(starts)
    assert np.isnan(AgainstRetrain(results, 5).base_ua).all()
    tracked = with_options(results, tracked=("ft",))
    assert AgainstRetrain(tracked, 5).base_ua.tolist() == [1.0] * 4 + [0.98]


def test_controls_and_sweeps_get_no_verdict_and_do_not_count(tmp_path, cell):
    assert find_verdict(cell, "original") == ""
    hurt = CASES["hurt the neighbours"]
    apart = table_of(tmp_path, {**ENDS, "ft": hurt, "ft@lr=1": ALIKE})
    alone = table_of(tmp_path / "alone", {**ENDS, "ft": hurt})
    for end in ("low", "high"):
        found = [one.number("ft", f"difference_{end}", at="damage") for one in (apart, alone)]
        assert found[0] == found[1]
    assert find_verdict(apart, "ft@lr=1") == ""


def test_damage_is_near_minus_far_loss_on_retained_examples(cell):
    found = cell.values("hurt_the_neighbours", "damage", "retain")
    lost = np.array([20, 22, 21, 19, 21]) - np.array(RETRAIN.near)
    assert found == pytest.approx(lost / NEAR)


def test_neighbours_that_gain_less_than_the_others_are_not_hurt(tmp_path):
    """Retrain is bad at the far ones: against it the near ones gain 5 points, and these 25."""
    bad = replace(RETRAIN, far=(42, 41, 43, 42, 40))
    gained = replace(ALIKE, near=tuple(near - 2 for near in RETRAIN.near))
    made = table_of(tmp_path, {**ENDS, "retrain": bad, "ft": gained})
    assert made.values("ft", "near_loss", "retain").mean() == pytest.approx(-0.05)
    assert made.number("ft", "difference_low", at="damage") > 0.15
    assert made.number("ft", "difference", at="near") == pytest.approx(-0.05)
    assert find_verdict(made, "ft") == "differs from Retrain"


def test_an_interval_excludes_zero_where_its_p_value_is_below_the_level(cell):
    for run in (verdict.replace(" ", "_").lower() for verdict in CASES):
        for at in MEASURES:
            low, mean, high, p = (
                cell.number(run, f"difference{end}", at=at) for end in ("_low", "", "_high", "_p")
            )
            assert low <= mean <= high
            assert (low > 0 or high < 0) == (p < 0.05)


def test_one_test_serves_the_verdict_and_the_box_of_locality(cell):
    said = words_of_locality(cell)
    assert cell.number("hurt_the_neighbours", "difference_low", at="near") > 0
    within = said.partition("Within chance: ")[2]
    assert "HURT_THE_NEIGHBOURS" not in within and "LIKE_RETRAIN" in within
    assert "HURT_EVERYONE" in said.partition("Also less accurate there: ")[2]


def test_no_interval_goes_beyond_what_can_be(tmp_path):
    two = {run: first_seeds(wrong, 2) for run, wrong in ENDS.items()}
    made = table_of(tmp_path, two | {"ft": first_seeds(CASES["cannot tell"], 2)})
    ends = [made.number("ft", f"difference_{end}", at="ua") for end in ("low", "high")]
    assert ends == [-1, 1]


def test_the_margins_are_of_two_retrainings(cell):
    ua = np.array(RETRAIN.forget) / FORGET
    assert cell.number("retrain", "margin", at="ua") == pytest.approx(
        1.96 * 2**0.5 * ua.std(ddof=1)
    )
    excess = np.array(RETRAIN.near) / NEAR - np.array(RETRAIN.far) / 160
    expected = 1.96 * 2**0.5 * excess.std(ddof=1)
    assert cell.number("retrain", "margin", at="damage") == pytest.approx(expected)
    sd = 2**0.5 * excess.std(ddof=1) / 5**0.5
    assert cell.number("retrain", "damage_sd", "retain") == pytest.approx(sd)


def test_a_stated_margin_comes_first(tmp_path):
    results = counted({**ENDS, "ft": replace(ALIKE, forget=(30, 29, 31, 30, 28))})
    cell = results.write(tmp_path)
    cell.add(results.rows(tmp_path))
    stated = with_options(cell, margins=("ua=25", "mia=25"))
    p = {}
    for name, one in (("estimated", cell), ("stated", stated)):
        against = AgainstRetrain(one, 5)
        p[name] = run_tests(against.samples(["ft"])).equivalence_p[0, 0]
    assert against.samples([]).margins[0] == 0.25
    assert p["estimated"] > 0.05 > p["stated"]
    assert set(MARGIN_KEYS.values()) == set(MEASURES)


def test_margins_of_the_config_are_in_points_and_no_other_margin_is_stated():
    margins = ("ua=25", "damage=1.5")
    cell = CellResults(folder=Path(), cell="cell", seeds=(), base_seeds=(), margins=margins)
    stated = dict(zip(MEASURES, AgainstRetrain(cell, 0).stated, strict=True))
    known = {at: margin for at, margin in stated.items() if not np.isnan(margin)}
    assert known == {"ua": 0.25, "damage": 0.015}


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
    for run in ("like_retrain", "differs_from_retrain"):
        gaps = [
            abs(cell.values(run, m).mean() - cell.values("retrain", m).mean())
            for m in ("ua", "mia")
        ]
        assert cell.number(run, "forgetting_error") == pytest.approx(np.mean(gaps))


def test_sentences_have_the_numbers(cell):
    said = {one.verdict: one.sentence for one in find_verdicts(cell)}
    assert list(said) == list(VERDICTS)
    assert said["collapsed"] == "TA is 39.4 % where Retrain has 89.6 %."
    assert said["did not forget"].startswith("UA is 98.0 %, 22.8 points above the midpoint of ")
    assert "the base model's 99.6 % and Retrain's 50.8 % (p = 0.0" in said["did not forget"]
    assert "examples lose +41.5 [" in said["hurt the neighbours"]
    assert "examples lose +66.5 [" in said["hurt the neighbours and everyone else"]
    assert "+17.5 [" in said["hurt the neighbours and everyone else"]
    assert said["hurt everyone"].startswith("Loss against Retrain far from the forget set: +12.5 [")
    assert "UA −0.4 [−3.0, +2.2] within ±6.3 points; MIA " in said["like Retrain"]
    assert said["differs from Retrain"].startswith("UA is −40.4 [")
    assert "near loss" not in said["differs from Retrain"]


def test_the_sentence_of_what_is_undecided_says_how_many_seeds_would_decide(cell):
    [unsure] = [one for one in find_verdicts(cell) if one.verdict == UNDECIDED]
    needed = cell.number("cannot_tell", "seeds_needed")
    assert unsure.title == "cannot tell (5 seeds)" and 5 < needed <= 100
    assert unsure.sentence.endswith(f"Probably about {needed:.0f} seeds would decide.")
    [table] = tables(cell)
    line = f"would decide CANNOT_TELL: `seeds: [0, 1, 2, ..., {needed - 1:.0f}]` in the config"
    assert line in table.caption
    looks = f"`looks: [5, {needed:.0f}]` beside it decides at stricter levels, and keeps 5 % if "
    assert looks in table.caption and "Deciding again after adding" not in table.caption


def test_without_a_proposal_the_caption_warns_of_deciding_again(tmp_path):
    [table] = tables(table_of(tmp_path, {**ENDS, "ft": CASES["like Retrain"]}))
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
    made = table_of(tmp_path, {**ENDS, "ft": CASES["cannot tell"]}, looks=looks)
    [table] = tables(made)
    assert table.caption.endswith(said)
    assert "raises the error" not in table.caption


@pytest.mark.parametrize(
    ("far", "note", "said"),
    [
        ((21, 22, 22, 22, 21), " (the base model too)", "the base model loses +12.2 too, so "),
        ((8, 9, 8, 8, 7), "", "the base model loses +3.8 too."),
        ((1, 0, 0, 0, 0), "", ""),  # one example in one seed, within the margin
        (RETRAIN.far, "", ""),
    ],
)
def test_a_loss_of_the_base_model_is_not_blamed_on_the_method(tmp_path, far, note, said):
    """The case *hurt everyone* loses 12.5 points on far retained examples."""
    original = replace(ORIGINAL, far=far)
    runs = {"retrain": RETRAIN, "original": original, "ft": CASES["hurt everyone"]}
    [found] = find_verdicts(table_of(tmp_path, runs))
    assert (found.verdict, found.title) == ("hurt everyone", f"hurt everyone{note}")
    assert said in found.sentence and ("base model" in found.sentence) == bool(said)
    assert found.is_of_base == bool(note)


def test_more_seeds_decide_what_was_proposed():
    rng = np.random.default_rng(0)
    away = np.array([0.6, 0.1, 0.05, 0.02, 0.05, 0.03])[:, None]
    draw = lambda n, mean: np.clip(mean + 0.02 * rng.normal(size=(6, n)), 0, 1)  # noqa: E731
    steps, none = np.full(6, 0.01), np.full(6, np.nan)
    retrained, run = draw(4, away), draw(4, away + 0.03)
    few = Samples(run[None], retrained, np.ones(4), steps, none)
    [count] = seeds_needed(few).astype(int)
    assert 4 < count <= 100
    # The means and spreads so far are now those of the draws.
    spread = [values.std(axis=1, ddof=1, keepdims=True) for values in (run, retrained)]
    means = [values.mean(axis=1, keepdims=True) for values in (run, retrained)]
    drawn_run, drawn_retrained = (
        np.clip(mean + sd * rng.normal(size=(200, 6, count)), 0, 1)
        for mean, sd in zip(means, spread, strict=True)
    )
    ones = np.ones((200, count))
    more = Samples(drawn_run[:, None], drawn_retrained, ones, steps, none)
    verdicts = decide(more, run_tests(more), np.zeros((200, 1), dtype=bool))
    assert (verdicts != UNDECIDED).mean() >= 0.6


def alike(sd: float, step: float, damage: float = 0.0) -> Samples:
    """Return two seeds of a method with Retrain's rates and this sd; its damage may differ."""
    retrained = np.full((6, 2), 0.5) + sd / np.sqrt(2) * np.array([-1, 1])
    run = retrained + damage * (np.array(MEASURES) == "damage")[:, None]
    return Samples(run[None], retrained, np.ones(2), np.full(6, step), np.full(6, np.nan))


def test_the_interval_of_equivalence_is_around_the_methods_rate_minus_retrains():
    found = run_tests(alike(sd=0.02, step=0.001, damage=0.3))
    measured = found.mean[0, : len(MEASURES)]
    assert measured == pytest.approx([0, 0, 0, 0, 0, 0.3])
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


def test_where_one_seed_of_several_has_damage_the_sentence_counts_them(tmp_path):
    lost = replace(RETRAIN, status=("diverged",) * 4 + ("ok",))
    made = table_of(tmp_path, {"retrain": lost, "ft": ALIKE})
    assert find_verdict(made, "ft") == "cannot tell"
    assert "Both in 1 of 5 seeds: chance is unknown" in write_sentence(made, "ft", "cannot tell")
    assert list(find_verdicts(made)) == []  # Retrain's RA is undefined, which is a red check


def test_a_run_without_any_number_has_a_sentence_without_a_dash(tmp_path):
    lost = replace(ALIKE, status=("diverged",) * 5)
    [said] = find_verdicts(table_of(tmp_path, {**ENDS, "ga": lost}))
    assert said.sentence == "Diverged (5 of 5 seeds)."


def test_where_retrainings_never_differ_one_example_counts_as_equal(tmp_path):
    by_heart = Wrong((50,) * 5, (0,) * 5, (0,) * 5, (10,) * 5)
    near = replace(by_heart, forget=(50, 50, 49, 50, 50), near=(0, 1, 0, 0, 0))
    far = replace(near, near=(0, 4, 1, 3, 0))
    made = table_of(tmp_path, {"retrain": by_heart, "ltd": near, "ft": far})
    margins = {at: made.number("retrain", "margin", at=at) for at in ("ua", "damage")}
    assert margins == pytest.approx({"ua": 1 / FORGET, "damage": 1 / NEAR})
    assert (find_verdict(made, "ltd"), find_verdict(made, "ft")) == ("like Retrain", "cannot tell")


NEVER = Wrong((1,) * 5, (0,) * 5, (0,) * 5, (10,) * 5)  # differs between retrainings


@pytest.mark.parametrize(
    ("num_seeds", "wrong", "verdict"),
    [
        (2, 0, "cannot tell"),  # one example off is on the margin
        (2, 1, "cannot tell"),  # as Retrain: two seeds do not tell
        (3, 1, "like Retrain"),
        (5, 0, "differs from Retrain"),
        (5, 1, "like Retrain"),
    ],
)
def test_where_seeds_do_not_differ_an_example_off_is_never_like_retrain(
    tmp_path, num_seeds, wrong, verdict
):
    ft = replace(NEVER, forget=(wrong,) * 5)
    runs = {run: first_seeds(w, num_seeds) for run, w in {"retrain": NEVER, "ft": ft}.items()}
    assert find_verdict(table_of(tmp_path, runs), "ft") == verdict


def test_the_table_has_a_line_a_method_and_records_of_all_runs(cell):
    [table] = tables(cell)
    [grid] = table.grids
    lines = [line for group in grid.groups for line in group]
    assert [line.fields[0].value.partition(" (")[0] for line in lines] == list(CASES)
    assert grid.is_prose
    assert len(table.records) == len(CASES) + 1
    assert table.records[0].keys() >= {"forgetting_error", "damage_low", "price", "margin_error"}


def test_words_name_the_methods_of_each_verdict(cell):
    assert words(cell).startswith("Collapsed: COLLAPSED; did not forget: DID_NOT_FORGET; hurt ")


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
    hurt = records["hurt_the_neighbours"]
    assert hurt["damage"] == pytest.approx(41.5)
    assert hurt["damage_low"] < 41.5 < hurt["damage_high"]
    assert (hurt["n"], hurt["price"]) == (5, 1)
    hollow = [one.run for one in plot_of(cell).series if not one.sets_scale]
    assert hollow == ["collapsed"]


def test_a_mark_has_the_area_of_its_price_and_the_least_where_none_is_known(cell):
    prices = {"like_retrain": np.nan, "differs_from_retrain": 1.0, "did_not_forget": 0.5}
    prices |= {"hurt_everyone": 100.0, "cannot_tell": 1.5}
    costs = {(run, PRICE, "", ""): price for run, price in prices.items()}
    panel = plot_of(replace(cell, _overall=cell._overall | costs))
    areas = {one.run: one.areas[0] for one in panel.series}
    assert [areas[run] for run in list(prices)[:3]] == [LEAST_AREA, AREA, AREA / 2]
    assert areas["hurt_everyone"] == areas["cannot_tell"]


def test_the_grey_box_is_that_of_the_margins_of_the_verdict(cell):
    [band] = plot_of(cell).bands
    ua, mia, damage = (cell.number("retrain", "margin", at=at) for at in ("ua", "mia", "damage"))
    expected = (0, 50 * (ua + mia), -100 * damage, 100 * damage)
    assert (band.left, band.right, band.low, band.high) == pytest.approx(expected)
    # What is like Retrain is inside: its intervals are within the margins.
    [like] = [one for one in plot_of(cell).series if one.run == "like_retrain"]
    assert like.x[0] < band.right and band.low < like.y[0] < band.high


def test_the_plot_covers_the_margins_and_all_runs_but_the_collapsed_ones(tmp_path):
    away = replace(ALIKE, forget=(50,) * 5, near=(40,) * 5, test=(90,) * 5)
    panel = plot_of(table_of(tmp_path, {**ENDS, "ga": away, "ft": ALIKE}))
    [ga] = [one for one in panel.series if one.run == "ga"]
    assert ga.y[0] == pytest.approx(90) and not ga.sets_scale
    assert panel.bands[0].high < panel.y.limits[1] < 30 and panel.bands[0].right < panel.x.limits[1]


def test_the_long_table_has_the_word(cell):
    assert cell.indices("like_retrain", "verdict") == ["like Retrain"]
    assert cell.number("like_retrain", "verdict", at="like Retrain") == 1


def cell_with_looks(folder, runs, looks):
    """Return the results of a cell whose config declares looks, and what verdicts say of them."""
    results = counted(runs)
    cell = results.write(folder)
    cell.add(results.rows(folder))
    return with_options(cell, looks=looks)


def test_a_look_that_decided_stays_and_later_looks_have_their_own_level(tmp_path):
    early = replace(CASES["differs from Retrain"], forget=(45, 46, 44, 15, 35))
    runs = {**ENDS, "ga": early, "ft": CASES["cannot tell"]}
    cell = cell_with_looks(tmp_path, runs, (3, 5, 8))
    assert [count for count, _ in declared_looks(cell)] == [3, 5, 8]
    assert [level for _, level in declared_looks(cell)] == pytest.approx([0.01, 0.01, 0.03])
    rows = {(row.run, row.metric): row for row in verdict_rows(find_looks(cell), ["ga", "ft"])}
    assert rows["ga", "verdict"].at == "differs from Retrain"
    assert rows["ga", "decided_at"].value == 3
    assert (rows["ft", "verdict"].at, rows["ft", "decided_at"].value) == ("cannot tell", 5)


def test_rates_margins_and_collapse_are_those_of_the_seeds_that_decided(tmp_path):
    late = replace(CASES["did not forget"], forget=(1, 0, 1, 40, 40))
    broken = replace(ALIKE, status=("ok", "ok", "ok", "ok", "diverged"))
    unsure = replace(CASES["cannot tell"], status=broken.status)
    runs = {**ENDS, "ga": late, "ft": replace(ALIKE, forget=(45, 46, 44, 45, 44)), "rl": unsure}
    runs["ft"] = replace(runs["ft"], status=broken.status)
    cell = cell_with_looks(tmp_path, runs, (3, 5))
    rows = list(verdict_rows(find_looks(cell), ["ga", "ft", "rl"]))
    number = {(row.run, row.metric, row.at): row.value for row in rows}
    verdicts = {
        row.run: (row.at, number[row.run, "decided_at", None])
        for row in rows
        if row.metric == "verdict"
    }
    # A seed that breaks after the decision changes nothing; before it, the method collapsed.
    assert verdicts == {
        "ga": ("differs from Retrain", 3),
        "ft": ("differs from Retrain", 3),
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


def drawn(rng: np.random.Generator, n: int, away: float = 0.0, count: int = 400) -> Samples:
    """Return experiments of eight methods whose rates are drawn as Retrain's are; UA may differ."""
    means = np.array([0.6, 0.2, 0.1, 0.05, 0.1])[:, None]
    rates = [np.clip(means + 0.03 * rng.normal(size=(count, k, 5, n)), 0, 1) for k in (1, 8)]
    retrained, runs = (np.concatenate([r, r[..., 2:3, :] - r[..., 3:4, :]], axis=-2) for r in rates)
    runs[..., 0, :] += away
    return Samples(runs, retrained[:, 0], np.ones((count, n)), np.full(6, 0.01), np.full(6, np.nan))


@pytest.mark.parametrize("n", [3, 5, 10])
def test_of_experiments_without_an_effect_at_most_5_percent_have_a_finding(n):
    samples = drawn(np.random.default_rng(n), n)
    verdicts = decide(samples, run_tests(samples), np.zeros((400, 8), dtype=bool))
    is_wrong = ~np.isin(verdicts, ["like Retrain", "cannot tell"])
    assert is_wrong.any(axis=1).mean() <= 0.05 + 2 * (0.05 * 0.95 / 400) ** 0.5


@pytest.mark.parametrize("n", [3, 5, 10])
def test_of_methods_at_the_midpoint_at_most_5_percent_of_cells_have_one_that_did_not_forget(n):
    samples = drawn(np.random.default_rng(n), n, away=0.2)
    assert samples.is_forgettable.mean() > 0.9
    found = run_tests(samples).p[..., MIDPOINT] < 0.05
    assert found.any(axis=1).mean() <= 0.05 + 2 * (0.05 * 0.95 / 400) ** 0.5


def test_the_calibration_draws_with_the_test_that_verdicts_use():
    samples = drawn(np.random.default_rng(0), 5, count=50)
    p = calibration.Estimates.of(samples, "angle").p("unpaired", "typical")
    assert p == pytest.approx(run_tests(samples).p, nan_ok=True)


def test_moderated_variances_are_those_of_limma():
    variances, freedom = calibration.moderate(np.array([0.5, 1, 2, 4, 0.25, 8]), 4.0, 1.0)
    expected = [0.803469, 1.098567, 1.688764, 2.869158, 0.655920, 5.229946]
    assert variances == pytest.approx(expected, abs=1e-5)
    assert freedom == pytest.approx(4 + 2.777399, abs=1e-5)
    alike = np.array([1, 1.2, 0.8, 0.9, 1.1, 1.05])
    assert calibration.moderate(alike, 4.0, 1.0)[0] == pytest.approx(np.full(6, 1.008333), abs=1e-5)


def test_the_population_of_the_calibration_moves_to_a_mean_on_the_logit_scale():
    rates = pd.read_csv(Path(__file__).parents[2] / "docs/data/calibration/rates.csv")
    population = calibration.Population.read(rates[rates["cell"] == "digit_8-90"])
    moved = population.shifted(population.retrained)
    expected = np.broadcast_to(population.retrained.mean(axis=0), (8, 5))
    assert moved.mean(axis=1) == pytest.approx(expected, abs=1e-3)
    assert moved.min() >= 0 and moved.max() <= 1
