"""Models used once more: gaps and ZRF by hand, what is undefined, table, words, figure."""

import math
from dataclasses import replace

import numpy as np
import pytest
from fake_cell import FORGET, Wrong, counted
from fake_results import FakeCell, full_cell, read_cell
from scipy.spatial.distance import jensenshannon
from table_reading import texts_of

from collateral.findings.probe.numbers import compress_like_outputs, first_even_step
from collateral.findings.probe.numbers import numbers as probe_numbers
from collateral.findings.probe.views import chance, plots, tables, words
from collateral.metrics.divergence import zrf
from collateral.metrics.features import debiased_cka
from collateral.results import layout
from collateral.results.files import InvalidResultError
from collateral.results.outputs import Probe

ALL = ("relearn", "residual", "zrf")
PLAIN = Wrong(forget=(0, 0), near=(0, 0), far=(0, 0), test=(0, 0))
RUNS = {"retrain": PLAIN, "ft": PLAIN}
# By seed, then Retrain and FT: before the first step, and after each of two.
CURVES = [[[0.5, 0.6, 0.7], [0.9, 0.8, 0.9]], [[0.5, 0.4, 0.5], [0.5, 0.4, 0.6]]]
SHARES = [[0.2, 0.5], [0.4, 0.1]]  # of each forgotten example
EVEN = ("ft", "relearn_even")


def write_probes(folder, num_seeds=2, **changes):
    for seed in range(num_seeds):
        arrays = {
            "runs": np.array(["retrain", "ft"]),
            "relearn_accuracy": np.array(CURVES[seed]),
            "residual_share": np.repeat(np.float32(SHARES[seed])[:, None], FORGET, axis=1),
            "zrf_logits": np.zeros((FORGET, 2), np.float32),
        }
        place = folder / layout.PROBE.format(cell="cell", seed=seed) / layout.PROBE_RESULT
        Probe(**arrays | changes).save(place)


@pytest.fixture
def numbers(tmp_path):
    write_probes(tmp_path)
    return counted(RUNS).numbers(tmp_path, probed=ALL)


def test_the_curve_has_a_number_a_step_and_begins_before_the_first(numbers):
    found = [numbers["ft", 0, "relearn_accuracy", step] for step in range(3)]
    assert found == pytest.approx([0.9, 0.8, 0.9])
    assert numbers["retrain", 1, "relearn_accuracy", 2] == 0.5


def test_the_relearning_gap_is_the_mean_over_the_steps_that_were_taken(numbers):
    assert numbers["ft", 0, "relearn_gap"] == pytest.approx((0.2 + 0.2) / 2)
    assert numbers["ft", 1, "relearn_gap"] == pytest.approx((0.0 + 0.1) / 2)


def test_a_curve_is_even_by_the_first_step_at_which_it_is_not_below_retrains():
    assert first_even_step(np.array([-0.4, -0.2, 0.0, 0.1])) == 2
    assert first_even_step(np.array([0.1, -0.2, -0.3])) == 0
    assert first_even_step(np.array([-0.4, -0.1])) == 2  # of one step, by none
    assert math.isnan(first_even_step(np.full(3, np.nan)))


def test_a_run_that_was_never_below_is_even_from_the_start_and_retrain_by_the_next_seeds(numbers):
    assert [numbers["ft", seed, "relearn_even"] for seed in (0, 1)] == [0, 0]
    # Of the first seed 0.5, 0.4, 0.5 of the next against 0.5, 0.6, 0.7; then the other way.
    assert [numbers["retrain", seed, "relearn_even"] for seed in (0, 1)] == [0, 0]


def test_a_run_that_begins_below_retrain_is_even_at_the_step_that_reaches_retrains_accuracy(
    tmp_path,
):
    write_probes(tmp_path, relearn_accuracy=np.array([[0.5, 0.6, 0.7], [0.1, 0.5, 0.7]]))
    cell = counted(RUNS).write(tmp_path, probed=("relearn",))
    even = [row.value for row in probe_numbers(cell) if (row.run, row.metric) == EVEN]
    assert even == [2, 2]


def test_the_residual_gap_is_the_share_minus_retrains(numbers):
    assert numbers["ft", 0, "residual_accuracy"] == pytest.approx(0.5)
    assert numbers["ft", 0, "residual_gap"] == pytest.approx(0.3)
    assert numbers["ft", 1, "residual_gap"] == pytest.approx(-0.3)


def test_retrains_gaps_are_the_next_seeds(numbers):
    assert numbers["retrain", 0, "relearn_gap"] == pytest.approx(-0.2)
    assert numbers["retrain", 1, "relearn_gap"] == pytest.approx(0.2)
    assert numbers["retrain", 0, "residual_gap"] == pytest.approx(0.2)


def test_zrf_is_one_minus_the_mean_divergence_in_nats():
    p, q = np.log([[0.7, 0.2, 0.1]]), np.log([[0.1, 0.2, 0.7]])
    assert zrf(p, q) == pytest.approx(1 - 0.2531, abs=5e-5)
    assert zrf(np.vstack([p, q]), np.vstack([q, q])) == pytest.approx(1 - 0.2531 / 2, abs=5e-5)


def test_zrf_is_one_of_equal_laws_and_no_less_than_one_minus_ln_2():
    sure = np.array([[500.0, -500.0]])
    assert zrf(sure, sure) == 1
    assert zrf(sure, -sure) == pytest.approx(1 - math.log(2))


def test_of_many_classes_an_untrained_nets_logits_are_shortened_as_a_models_are():
    rng = np.random.default_rng(0)
    logits, label = rng.normal(size=(3, 300)).astype(np.float32), np.array([0, 1, 299])
    kept = compress_like_outputs(logits, label)
    assert [len(np.unique(row)) for row in kept] == [11, 11, 11]  # ten, and what the others share
    assert kept[2, 299] == np.float16(logits[2, 299])
    few = logits[:, :256]
    assert compress_like_outputs(few, label[:2]) is few


def test_zrf_reads_the_outputs_on_the_forget_set(numbers):
    expected = 1 - jensenshannon([0.8, 0.2], [0.5, 0.5]) ** 2
    for run in ("retrain", "ft"):
        assert numbers[run, 0, "zrf"] == pytest.approx(expected, abs=1e-3)


def test_where_a_run_diverged_it_has_no_numbers_and_where_retrain_did_no_gap(tmp_path):
    for lost in RUNS:
        folder = tmp_path / lost
        write_probes(folder)
        runs = {**RUNS, lost: replace(PLAIN, status=("diverged", "ok"))}
        found = counted(runs).numbers(folder, probed=ALL)
        for metric in ("relearn_gap", "residual_gap"):
            assert math.isnan(found["ft", 0, metric])
            assert not math.isnan(found["ft", 1, metric])
        assert math.isnan(found[lost, 0, "zrf"]) and math.isnan(found[lost, 0, "residual_accuracy"])


def test_only_requested_probes_are_in_the_sentence(tmp_path):
    write_probes(tmp_path, relearn_accuracy=None, residual_share=None)
    found = counted(RUNS).numbers(tmp_path, probed=("zrf",))
    named = {key[2] for key in found}
    assert "zrf" in named
    assert named.isdisjoint({"relearn_accuracy", "relearn_gap", "residual_accuracy"})


def test_without_probes_there_is_nothing(tmp_path):
    named = {key[2] for key in counted(RUNS).numbers(tmp_path)}
    assert named.isdisjoint({"relearn_accuracy", "residual_accuracy", "zrf"})


def test_a_file_that_is_not_what_its_record_says_is_refused(tmp_path):
    write_probes(tmp_path)
    cell = counted(RUNS).write(tmp_path, probed=ALL)
    assert cell.probe(1).row("ft") == 1
    write_probes(tmp_path, residual_share=np.zeros((2, FORGET), np.float32))
    with pytest.raises(InvalidResultError, match=r"probe\.npz: its content is not the one"):
        cell.probe(1)


def test_with_one_seed_retrain_has_no_gap(tmp_path):
    write_probes(tmp_path, num_seeds=1)
    one = Wrong((0,), (0,), (0,), (0,))
    found = counted({"retrain": one, "ft": one}).numbers(tmp_path, probed=ALL)
    assert math.isnan(found["retrain", 0, "relearn_gap"])
    assert found["ft", 0, "relearn_gap"] == pytest.approx(0.2)


def probed_cell(num_seeds: int = 3) -> FakeCell:
    """Return a cell in which Original relearns at once, GA fast, FT as Retrain; RL has a gap."""
    cell = full_cell(num_seeds=num_seeds)
    begins = {"retrain": 0.5, "ft": 0.5, "ga": 0.6, "rl": 0.4, "original": 0.9}
    for run, begin in begins.items():
        for step in range(4):
            values = (begin + 0.02 * step + 0.01 * seed for seed in range(num_seeds))
            cell.add(run, "relearn_accuracy", *values, at=step)
        is_lonely = run == "retrain" and num_seeds == 1
        gap = [math.nan if is_lonely else begin - 0.5] * num_seeds
        cell.add(run, "relearn_gap", *gap)
        cell.add(run, "relearn_even", *[0 if begin >= 0.5 else math.nan] * num_seeds)
        cell.add(run, "residual_accuracy", *[begin / 2] * num_seeds)
        cell.add(run, "residual_gap", *[value / 2 for value in gap])
        cell.add(run, "zrf", *[1 - begin / 10] * num_seeds)
    return cell


# Linear probe, CKA and resurfacing: two seeds, of each Retrain, FT and the base.
FEATURES = np.random.default_rng(0).normal(size=(2, 20, 3)).astype(np.float32)
MORE = ("linear", "cka", "resurface")


def write_more(folder) -> None:
    for seed in range(2):
        probe = Probe(
            runs=np.array(["retrain", "ft"]),
            linear_accuracy=np.array([[0.5, 0.6], [0.8 - 0.1 * seed, 0.6]]),
            cka_retrain=np.array([[1.0] * 4, [0.9, 0.8, 0.7, 0.6]]),
            cka_base=np.array([[0.2] * 4, [0.1, 0.2, 0.3, 0.4]]),
            cka_features=FEATURES[seed],
            cka_part=np.repeat(np.arange(4), 5),
            resurface_steps=np.array([0, 10, 50]),
            resurface_accuracy=np.array([[0.48, 0.49, 0.5], [0.5, 0.7, 0.9 - 0.1 * seed]]),
            resurface_near_accuracy=np.full((2, 3), 0.9),
            resurface_test_accuracy=np.full((2, 3), 0.7),
        )
        probe.save(folder / layout.PROBE.format(cell="cell", seed=seed) / layout.PROBE_RESULT)


@pytest.fixture
def more(tmp_path):
    write_more(tmp_path)
    return counted(RUNS).numbers(tmp_path, probed=MORE)


def test_the_linear_gap_is_the_new_heads_accuracy_minus_retrains(more):
    assert more["ft", 0, "linear_accuracy"] == pytest.approx(0.8)
    assert more["ft", 0, "linear_test_accuracy"] == pytest.approx(0.6)
    assert [more["ft", seed, "linear_gap"] for seed in (0, 1)] == pytest.approx([0.3, 0.2])
    assert more["retrain", 0, "linear_gap"] == 0


def test_cka_has_its_part_and_retrains_is_that_with_the_next_seed(more):
    places = [("forget",), ("retain", "near"), ("retain", "far"), ("test",)]
    found = [more["ft", 1, "cka_retrain", *place] for place in places]
    assert found == pytest.approx([0.9, 0.8, 0.7, 0.6])
    assert more["ft", 0, "cka_base", "retain", "near"] == pytest.approx(0.2)
    own = debiased_cka(FEATURES[0][:5], FEATURES[1][:5])
    assert more["retrain", 0, "cka_retrain", "forget"] == pytest.approx(own)
    assert more["retrain", 1, "cka_retrain", "forget"] == pytest.approx(own)
    assert more["retrain", 0, "cka_base", "test"] == pytest.approx(0.2)


def test_resurfacing_is_the_rise_minus_retrains_rise(more):
    # From 50 to 90 against 48 to 50.
    assert more["ft", 0, "resurface_gap"] == pytest.approx(0.38)
    assert more["ft", 1, "resurface_gap"] == pytest.approx(0.28)
    assert more["retrain", 0, "resurface_gap"] == 0
    assert more["ft", 0, "resurface_accuracy", 10] == pytest.approx(0.7)
    assert more["ft", 0, "resurface_test_accuracy", 50] == pytest.approx(0.7)


def test_a_diverged_run_has_none_of_these_and_a_diverged_retrain_no_comparison(tmp_path):
    for lost in RUNS:
        write_more(tmp_path / lost)
        runs = {**RUNS, lost: replace(PLAIN, status=("diverged", "ok"))}
        found = counted(runs).numbers(tmp_path / lost, probed=MORE)
        for place in (("linear_gap",), ("resurface_gap",), ("cka_retrain", "forget")):
            assert math.isnan(found["ft", 0, *place])
            assert not math.isnan(found["ft", 1, *place])
        assert math.isnan(found["ft", 0, "cka_base", "test"]) == (lost == "ft")


def feature_cell() -> FakeCell:
    cell = full_cell()
    for run, gap in {"retrain": 0.0, "ft": 0.01, "ga": 0.3, "rl": 0.0, "original": 0.5}.items():
        gaps = [0.0, 0.01, -0.01] if run == "retrain" else [gap] * 3
        for name in ("linear", "resurface"):
            cell.add(run, f"{name}_gap", *gaps)
        cell.add(run, "linear_accuracy", *[0.4 + gap] * 3)
        cell.add(run, "linear_test_accuracy", *[0.4] * 3)
        for part in ("resurface_accuracy", "resurface_near_accuracy", "resurface_test_accuracy"):
            for step in (0, 50):
                cell.add(run, part, *[0.4 + gap * step / 50] * 3, at=step)
        for metric in ("cka_retrain", "cka_base"):
            cell.add(run, metric, *[0.5] * 3, set="forget")
            cell.add(run, metric, *[0.6] * 3, set="retain", at="near")
            cell.add(run, metric, *[0.7] * 3, set="retain", at="far")
            cell.add(run, metric, *[0.8] * 3, set="test")
    return cell


def test_features_and_resurfacing_have_their_tables(tmp_path):
    found = {table.name: table for table in tables(read_cell(tmp_path, feature_cell()))}
    assert list(found) == ["probe-linear", "probe-resurface", "probe-cka"]
    assert found["probe-linear"].grids[0].headings == [
        *("UA (%)", "Linear probe (%)", "Linear probe, test (%)", "Linear gap")
    ]
    assert found["probe-resurface"].grids[0].headings[0] == "Resurfaced by step 50 (%)"
    assert texts_of(found["probe-resurface"].grids[0])["GA"][3] == "30.0 ± 0.0"
    for grid in found["probe-cka"].grids:
        assert grid.headings == ["Forgotten", "Near, retained", "Far, retained", "Test"]
        assert texts_of(grid)["FT"] == [f"0.{digit}0 ± 0.00" for digit in (5, 6, 7, 8)]


def test_a_class_of_which_few_examples_are_retained_is_named(tmp_path):
    cell = feature_cell()
    for name, kept in {"digit_3": 73, "digit_8": 13, "digit_9": 0}.items():
        cell.add_overall("retrain", "train_count", 140, at=name)
        cell.add_overall("retrain", "forget_count", 140 - kept, at=name)
    linear, *others = tables(read_cell(tmp_path, cell))
    assert "low for every model: digit_8 (13)." in linear.conventions
    assert not any("digit_8 (13)" in table.conventions for table in others)


def test_words_and_the_plot_name_what_comes_back(tmp_path):
    cell = read_cell(tmp_path, feature_cell())
    assert "linear head on the forget set: furthest above Retrain with GA (+30.0" in words(cell)
    assert "on retained examples: furthest above Retrain with GA (+30.0 points" in words(cell)
    [plot] = plots(cell)
    assert plot.name == "resurface"
    assert {one.label: one.y for one in plot.panels[1].series}["GA"] == pytest.approx([0, 30])


def test_the_table_has_retrain_first_and_the_last_step_of_the_curve(tmp_path):
    [table] = tables(read_cell(tmp_path, probed_cell()))
    [grid] = table.grids
    assert grid.headings == [
        "Relearned by step 3 (%)",
        "Relearning gap",
        "Even by step",
        "Residual (%)",
        "Residual gap",
        "ZRF",
    ]
    found = texts_of(grid)
    assert list(found) == ["Retrain", "FT", "GA", "RL", "Original"]
    assert found["GA"] == [
        "67.0 ± 1.0",
        "10.0 ± 0.0",
        "0.0 ± 0.0",
        "30.0 ± 0.0",
        "5.0 ± 0.0",
        "0.940 ± 0.000",
    ]
    assert "next seed" in table.conventions
    assert found["RL"][2] == "–"
    assert len(table.records) == 5 * 6


def test_of_one_probe_the_table_has_its_columns_alone(tmp_path):
    cell = full_cell()
    for run in ("retrain", "ft", "ga", "rl", "original"):
        cell.add(run, "zrf", 0.9, 0.9, 0.9)
    table_cell = read_cell(tmp_path, cell)
    [table] = tables(table_cell)
    assert table.grids[0].headings == ["ZRF"]
    assert not list(plots(table_cell))


def test_without_probes_there_is_no_table_no_figure_and_no_word(tmp_path):
    cell = read_cell(tmp_path, full_cell())
    assert not list(tables(cell)) and not list(plots(cell))
    assert words(cell) == ""


def test_words_name_who_has_most_left_and_what_retraining_again_gives(tmp_path):
    said = words(read_cell(tmp_path, probed_cell()))
    assert "other half: furthest above Retrain with GA (+10.0 points; retraining again" in said
    assert "under noise: furthest above Retrain with GA (+5.0 points; " in said
    assert "ZRF: Retrain's is 0.950, and FT comes nearest (0.950)." in said
    assert "Original" not in said and "One seed" not in said


def test_words_name_who_starts_below_retrain_and_comes_level_first(tmp_path):
    assert "first level" not in words(read_cell(tmp_path / "a", probed_cell()))
    cell = FakeCell()
    for run, begin, step in (("retrain", 0.5, 0), ("ft", 0.3, 4), ("ga", 0.2, 2), ("rl", 0.9, 0)):
        cell.add(run, "relearn_accuracy", begin, begin, at=0)
        cell.add(run, "relearn_accuracy", begin, begin, at=6)
        cell.add(run, "relearn_even", step, step + 1)
    said = words(read_cell(tmp_path / "b", cell))
    assert said == (
        "Of those that start below Retrain, first level: GA (mean step 2.5; a seed that never is "
        "counts as 7; level in 2 of 2 seeds)."
    )


def said_of_level(folder, **steps: tuple[float, ...]) -> str:
    """Return what is said of methods that start below Retrain and have six steps."""
    cell = FakeCell()
    for run, even in {"retrain": (0.0,) * 5, **steps}.items():
        begin = 0.5 if run == "retrain" else 0.2
        for at in (0, 6):
            cell.add(run, "relearn_accuracy", *[begin] * 5, at=at)
        cell.add(run, "relearn_even", *even)
    return words(read_cell(folder, cell))


def test_seeds_that_never_come_level_count_and_words_say_in_how_many_it_did(tmp_path):
    rare, never = (1.0, 7.0, 7.0, 7.0, 7.0), (7.0,) * 5
    said = said_of_level(tmp_path / "slow", ga=rare, ft=(5.0,) * 5)
    assert "first level: FT (mean step 5.0; " in said and said.endswith("level in 5 of 5 seeds).")
    said = said_of_level(tmp_path / "rare", ga=rare, ft=never)
    assert "first level: GA (mean step 5.8; " in said and said.endswith("level in 1 of 5 seeds).")
    assert said_of_level(tmp_path / "never", ft=never) == ""


def with_gaps(folder, retrain: tuple[float, ...], ga: tuple[float, ...]):
    cell = FakeCell()
    for run, values in (("retrain", retrain), ("ga", ga)):
        cell.add(run, "residual_gap", *values)
    return read_cell(folder, cell)


def test_a_gap_that_retraining_again_gives_is_marked_and_not_claimed(tmp_path):
    # By hand: Student's t of three seeds 4.303, root of the mean square 0.1, so 0.248.
    by_chance = with_gaps(tmp_path / "a", (0.1, -0.1, 0.1), (0.24, 0.24, 0.24))
    assert chance(by_chance, "residual_gap") == pytest.approx(0.248, abs=1e-3)
    assert words(by_chance) == (
        "Accuracy on the forget set under noise: no method is further above Retrain than "
        "retraining again gives."
    )
    found = with_gaps(tmp_path / "b", (0.1, -0.1, 0.1), (0.26, 0.26, 0.26))
    assert "furthest above Retrain with GA (+26.0 points" in words(found)
    marked = [
        {line.label: line.fields[0].is_chance for group in grid.groups for line in group}
        for grid in (next(tables(cell)).grids[0] for cell in (by_chance, found))
    ]
    assert marked == [{"Retrain": False, "GA": True}, {"Retrain": False, "GA": False}]


def test_of_two_with_equal_gaps_words_name_both(tmp_path):
    cell = FakeCell()
    for run in ("retrain", "ft", "ga"):
        cell.add(run, "residual_gap", *[0.0 if run == "retrain" else 0.2] * 2)
    assert "with FT and GA (+20.0 points" in words(read_cell(tmp_path, cell))


def test_of_one_seed_words_claim_nothing(tmp_path):
    said = words(read_cell(tmp_path, probed_cell(1)))
    assert said.endswith("One seed, so no claim.")
    assert "retraining again" not in said


def test_the_plot_has_all_curves_and_their_distance_from_retrains(tmp_path):
    [plot] = plots(read_cell(tmp_path, probed_cell()))
    left, right = ({one.label: one for one in panel.series} for panel in plot.panels)
    assert plot.name == "relearn"
    assert list(left) == ["FT", "GA", "RL", "Original", "Retrain"]
    assert list(left["Original"].x) == [0, 1, 2, 3]
    assert left["Original"].y == pytest.approx([91, 93, 95, 97])
    assert left["Retrain"].y == pytest.approx([51, 53, 55, 57])
    assert right["GA"].y == pytest.approx([10] * 4)
    assert plot.title.endswith("relearning")
    assert "95 %, over 3 seeds" in plot.notes[0]
