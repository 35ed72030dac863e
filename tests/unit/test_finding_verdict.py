"""Verdicts on constructed cases: five seeds, of which Retrain knows half of the forgotten."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from counted_cell import FORGET, NEAR, Wrong, counted, table_of
from scipy.stats import ttest_1samp

from collateral.contract.rows import Row
from collateral.findings._shared.compare import noise_floor
from collateral.findings._shared.inference.equivalence import margin_of
from collateral.findings.verdict import VERDICTS
from collateral.findings.verdict.numbers import MEASURES, Held
from collateral.findings.verdict.picture import AREA, LEAST_AREA, limits, points
from collateral.findings.verdict.rule import decide
from collateral.findings.verdict.sentences import SENTENCES, find_verdict, find_verdicts
from collateral.findings.verdict.views import tables, words

RETRAIN = Wrong((25, 24, 26, 25, 23), (4, 5, 4, 3, 4), (2, 3, 2, 2, 1), (10, 11, 9, 10, 12))
ORIGINAL = replace(RETRAIN, forget=(0, 0, 1, 0, 0))
ALIKE = replace(RETRAIN, forget=(25, 25, 26, 25, 23))
CASES = {
    "collapsed": replace(ALIKE, test=(60, 61, 62, 60, 60)),
    "did not forget": replace(ALIKE, forget=(1, 0, 1, 2, 1)),
    "hurt the neighbours": replace(ALIKE, near=(20, 22, 21, 19, 21)),
    "like Retrain": ALIKE,
    "unlike Retrain": replace(ALIKE, forget=(45, 46, 44, 45, 44)),
    "not distinguishable": replace(ALIKE, forget=(15, 35, 20, 30, 25)),
}
ENDS = {"retrain": RETRAIN, "original": ORIGINAL}
PRICE = "rte_share"
METHODS = [f"method_{place}" for place in range(8)]


def first_seeds(wrong: Wrong, count: int) -> Wrong:
    return Wrong(*(part[:count] for part in (wrong.forget, wrong.near, wrong.far, wrong.test)))


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
    runs = {verdict.split()[0].lower(): first_seeds(w, 1) for verdict, w in CASES.items()}
    made = table_of(tmp_path, {run: first_seeds(w, 1) for run, w in ENDS.items()} | runs)
    found = {run: find_verdict(made, run) for run in runs}
    assert found.pop("collapsed") == "collapsed"
    assert set(found.values()) == {"cannot be said"}
    [table] = tables(made)
    assert "only a collapse can be told" in table.caption
    assert any("with one seed nobody knows" in one.sentence for one in find_verdicts(made))


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
    others = {**ENDS, "ft": CASES["unlike Retrain"]}
    made = table_of(tmp_path / "with", {**others, "msg": skipped})
    alone = table_of(tmp_path / "without", others)
    assert (find_verdict(made, "msg"), find_verdict(made, "ft")) == ("", "unlike Retrain")
    assert np.isnan(made.values("msg", "ua")).all()
    assert made.failure_summary("msg") == "skipped (5 of 5 seeds)"
    p = "difference_p"
    assert made.number("ft", p, at="ua") == alone.number("ft", p, at="ua") > 0
    assert "msg" in made.labels and len(list(find_verdicts(made))) == 1


def test_what_was_not_learnt_by_heart_cannot_be_unforgotten(tmp_path):
    # Original is where Retrain is: above their midpoint by a hair, in every seed, is nothing.
    hair = replace(RETRAIN, forget=tuple(count - 1 for count in RETRAIN.forget))
    made = table_of(tmp_path, {"retrain": RETRAIN, "original": RETRAIN, "ft": hair})
    assert made.number("ft", "difference_p", at="midpoint") < 0.005
    assert find_verdict(made, "ft") == "like Retrain"


def test_without_original_nothing_is_find_verdicts_forgetting(tmp_path):
    made = table_of(tmp_path, {"retrain": RETRAIN, "ft": CASES["did not forget"]})
    assert find_verdict(made, "ft") == "unlike Retrain"
    [table] = tables(made)
    assert "Whether a method forgot is not asked" in table.caption


def test_with_original_the_caption_says_nothing_of_it(cell):
    [table] = tables(cell)
    assert "is not asked" not in table.caption


def test_without_original_the_start_of_a_tracked_run_is_the_base_model(tmp_path):
    results = counted({"retrain": RETRAIN, "ft": CASES["did not forget"]}).write(tmp_path)
    starts = [Row("ft", "epoch_ua", ua, seed, at=0) for seed, ua in enumerate([1.0] * 4 + [0.98])]
    results.add(starts)
    assert np.isnan(Held(results).base_ua).all()
    assert Held(replace(results, tracked=("ft",))).base_ua.tolist() == [1.0] * 4 + [0.98]


def test_controls_and_sweeps_get_no_verdict_and_do_not_count(tmp_path, cell):
    assert find_verdict(cell, "original") == ""
    hurt = CASES["hurt the neighbours"]
    apart = table_of(tmp_path, {**ENDS, "ft": hurt, "ft@lr=1": ALIKE})
    alone = table_of(tmp_path / "alone", {**ENDS, "ft": hurt})
    for end in ("low", "high"):
        found = [one.number("ft", f"difference_{end}", at="damage") for one in (apart, alone)]
        assert found[0] == found[1]
    assert np.isnan(apart.number("ft@lr=1", "verdict"))


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
    assert find_verdict(made, "ft") == "unlike Retrain"


def test_the_p_value_of_hurt_neighbours_is_the_larger_of_both_by_holm_over_methods(tmp_path):
    hurt = CASES["hurt the neighbours"]
    less = replace(hurt, near=(14, 22, 11, 19, 16))
    made = table_of(tmp_path, {**ENDS, "ga": hurt, "ft": less})
    plain = {
        run: max(
            ttest_1samp(made.values(run, name, "retain"), 0, alternative="greater").pvalue
            for name in ("near_loss", "damage")
        )
        for run in ("ga", "ft")
    }
    assert plain["ga"] < plain["ft"]
    found = {run: made.number(run, "difference_p", at="near") for run in plain}
    assert found == pytest.approx({"ga": 2 * plain["ga"], "ft": max(plain["ft"], found["ga"])})


def test_no_interval_goes_beyond_what_can_be(tmp_path):
    two = {run: first_seeds(wrong, 2) for run, wrong in ENDS.items()}
    made = table_of(tmp_path, two | {"ft": first_seeds(CASES["not distinguishable"], 2)})
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
    assert cell.number("retrain", "damage_sd", set="retain") == pytest.approx(sd)


def test_the_forgetting_error_is_of_means_of_ua_and_mia(cell):
    for run in ("like_retrain", "unlike_retrain"):
        gaps = [
            abs(cell.values(run, m).mean() - cell.values("retrain", m).mean())
            for m in ("ua", "mia")
        ]
        assert cell.number(run, "forgetting_error") == pytest.approx(np.mean(gaps))


def test_sentences_have_the_numbers(cell):
    said = {one.verdict: one.sentence for one in find_verdicts(cell)}
    assert said["collapsed"] == "TA is 39.4 % where Retrain has 89.6 %."
    assert said["did not forget"].startswith("UA is 98.0 %, 22.8 points above the midpoint of ")
    assert "the base model's 99.6 % and Retrain's 50.8 % (p < 0.001)" in said["did not forget"]
    assert "damage is +41.5 [" in said["hurt the neighbours"]
    assert "points: 90 % intervals within ±6.3 points and ±" in said["like Retrain"]
    assert said["unlike Retrain"].startswith("UA is −40.4 [")


def test_the_sentence_of_what_is_like_retrain_has_the_intervals_that_decide(cell):
    [said] = [one.sentence for one in find_verdicts(cell) if one.verdict == "like Retrain"]
    # One of five seeds is an example, 2 points, off; damage is as if one were, 2.5 points.
    half = 2.131847 * 2 / 5, 2.131847 * 2.5 / 5
    assert said.startswith(
        f"UA is −0.4 [−{0.4 + half[0]:.1f}, +{half[0] - 0.4:.1f}] points from Retrain's; "
        f"damage is 0.0 [−{half[1]:.1f}, +{half[1]:.1f}] points: "
    )
    [table] = tables(cell)
    [line] = [row for row in table.grids[0].groups[0] if row.fields[0].value == "like Retrain"]
    assert "equivalence_low" in {source.metric for source in line.fields[1].also}


def test_the_sentence_of_what_cannot_be_distinguished_says_that_the_seeds_cannot_tell(cell):
    [unsure] = [one.sentence for one in find_verdicts(cell) if one.verdict == "not distinguishable"]
    run = "not_distinguishable"
    low, high = (
        np.array([cell.number(run, f"difference_{end}", at=at) for at in MEASURES])
        for end in ("low", "high")
    )
    ua, damage = (f"{100 * width:.1f} points" for width in high - low)
    assert f"5 seeds cannot tell: the intervals are {ua} and {damage} wide" in unsure
    assert "equal is what is within ±6.3 points and ±" in unsure


def test_where_one_seed_of_several_has_damage_the_sentence_counts_them(tmp_path):
    lost = replace(RETRAIN, status=("diverged",) * 4 + ("ok",))
    made = table_of(tmp_path, {"retrain": lost, "ft": ALIKE})
    assert find_verdict(made, "ft") == "cannot be said"
    said = SENTENCES["cannot be said"](made, "ft")
    assert "with both in 1 of 5 seeds nobody knows" in said
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
    margins = {at: made.number("retrain", "margin", at=at) for at in MEASURES}
    assert margins == pytest.approx({"ua": 1 / FORGET, "damage": 1 / NEAR})
    assert (find_verdict(made, "ltd"), find_verdict(made, "ft")) == (
        "like Retrain",
        "not distinguishable",
    )


NEVER = Wrong((1,) * 5, (0,) * 5, (0,) * 5, (10,) * 5)  # differs between retrainings


@pytest.mark.parametrize(
    ("num_seeds", "wrong", "verdict"),
    [
        (2, 0, "not distinguishable"),  # one example off is on the margin
        (2, 1, "not distinguishable"),  # as Retrain: two seeds do not tell
        (3, 1, "like Retrain"),
        (5, 0, "unlike Retrain"),
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
    assert [line.fields[0].value for line in lines] == list(CASES)
    assert grid.is_prose
    assert len(table.records) == len(CASES) + 1
    assert table.records[0].keys() >= {"forgetting_error", "damage_low", "price", "floor_error"}


def test_words_name_the_methods_of_each_verdict(cell):
    assert words(cell).startswith("Collapsed: COLLAPSED; did not forget: DID_NOT_FORGET; hurt ")


def test_a_cell_without_methods_has_no_table(tmp_path):
    made = table_of(tmp_path, ENDS)
    assert list(tables(made)) == []
    assert words(made) == ""


def test_points_are_in_points_and_a_collapsed_run_does_not_set_the_scale(cell):
    frame = points(cell).set_index("run")
    assert list(frame["kind"].unique()) == ["control", "method"]
    hurt = frame.loc["hurt_the_neighbours"]
    assert hurt["damage"] == hurt["y"] == pytest.approx(41.5)
    assert hurt["damage_low"] < 41.5 < hurt["damage_high"]
    assert (hurt["n"], hurt["price"]) == (5, 1)
    assert frame["is_edge"].sum() == 1


def test_a_mark_has_an_area_where_no_price_is_known(cell):
    costs = {
        key: value for key, value in cell._overall.items() if key[:2] != ("like_retrain", PRICE)
    }
    frame = points(replace(cell, _overall=costs)).set_index("run")
    assert np.isnan(frame.loc["like_retrain", "price"])
    assert frame.loc["like_retrain", "area"] == LEAST_AREA
    assert frame.loc["unlike_retrain", "area"] == AREA


def test_the_box_is_of_ua_alone_where_mia_is_not_known(cell):
    key = ("retrain", "floor", "", "mia")
    floors = {name: value for name, value in cell._overall.items() if name != key}
    found = points(replace(cell, _overall=floors))["floor_error"].iloc[0]
    assert found == pytest.approx(100 * noise_floor(cell, "ua"))


def test_a_box_of_no_size_has_sides_that_can_be_seen(tmp_path):
    by_heart = Wrong((50,) * 5, (0,) * 5, (0,) * 5, (10,) * 5)
    frame = points(table_of(tmp_path, {"retrain": by_heart, "ft": ALIKE}))
    low, high, right = limits(frame)
    row = frame.iloc[0]
    assert row["floor_error"] == row["floor_damage"] == 0
    assert row["box_error"] == pytest.approx(right / 100)
    assert row["box_damage"] == pytest.approx((high - low) / 100)


def test_what_is_at_the_edge_is_drawn_no_further_than_the_others(tmp_path):
    away = replace(ALIKE, forget=(50,) * 5, near=(40,) * 5, test=(90,) * 5)
    frame = points(table_of(tmp_path, {**ENDS, "ga": away, "ft": ALIKE})).set_index("run")
    ga = frame.loc["ga"]
    assert ga["is_edge"] and ga["damage"] == pytest.approx(90)
    assert ga["y"] < 30 < ga["damage"] and ga["x"] <= ga["forgetting_error"]


def test_verdicts_are_counted_from_zero_in_order():
    assert VERDICTS[0] == "collapsed" and VERDICTS[-1] == "cannot be said"


class Drawn:
    """Eight methods whose UA and damage are drawn as Retrain's are, and Original."""

    tracked = ()

    def __init__(
        self, rng: np.random.Generator, n: int, room: float, far: Sequence[float] = (0.0,) * 8
    ) -> None:
        self.seeds = tuple(range(n))
        self.far = dict(zip(METHODS, far, strict=True))  # loss of each method far from it
        self.ua, self.near = (
            {run: rng.normal(size=n) for run in ("retrain", "original", *METHODS)} for _ in range(2)
        )
        self.ua["original"] += room

    def values(self, run: str, metric: str, set: str = "") -> np.ndarray:
        known = {"ua": self.ua[run], "near_loss": self.near[run] - self.near["retrain"]}
        known["far_loss"] = np.full(len(self.seeds), self.far.get(run, 0.0))
        return known.get(metric, np.zeros(len(self.seeds)) if set else np.ones(len(self.seeds)))

    def results(self):
        ended = {"is_diverged": False, "record": {"status": "ok"}}
        return [SimpleNamespace(run=run, kind="method", **ended) for run in self.ua]

    def verdicts(self) -> set[str]:
        held = Held(self)
        # As of two retrainings; there are no outputs to compute it from.
        squares = {
            at: 2 * of["retrain"].var(ddof=1)
            for at, of in zip(MEASURES, (self.ua, self.near), strict=True)
        }
        held.__dict__["margins"] = {at: float(margin_of(of)) for at, of in squares.items()}
        held.__dict__["steps"] = dict.fromkeys(MEASURES, 0.0)
        found = held.differences(METHODS)
        return {decide(held.evidence(run, found[run], held.alike(run))) for run in METHODS}


# Original is far above Retrain, or as Retrain is: then there is nothing to forget.
@pytest.mark.parametrize(("n", "room"), [(3, 20), (5, 20), (10, 20), (3, 0)])
def test_of_experiments_without_an_effect_at_most_5_percent_have_a_finding(n, room):
    rng, repeats = np.random.default_rng(n), 150
    findings = {"did not forget", "hurt the neighbours", "unlike Retrain"}
    drawn = [Drawn(rng, n, room).verdicts() for _ in range(repeats)]
    rate = np.mean([not findings.isdisjoint(verdicts) for verdicts in drawn])
    assert rate <= 0.05 + 2 * (0.05 * 0.95 / repeats) ** 0.5
    assert any("like Retrain" in verdicts for verdicts in drawn)


# Of some methods, or of all, the far ones gain much, so that damage is above zero by itself.
@pytest.mark.parametrize("num_gaining", [8, 4])
def test_of_experiments_without_a_near_loss_at_most_5_percent_have_hurt_neighbours(num_gaining):
    rng, repeats = np.random.default_rng(num_gaining), 150
    far = [-30.0] * num_gaining + [0.0] * (8 - num_gaining)
    drawn = [Drawn(rng, 5, 20, far).verdicts() for _ in range(repeats)]
    assert all("unlike Retrain" in verdicts for verdicts in drawn)
    rate = np.mean(["hurt the neighbours" in verdicts for verdicts in drawn])
    assert rate <= 0.05 + 2 * (0.05 * 0.95 / repeats) ** 0.5
