"""Groups of 40 near and 160 far examples, and of 100 test examples, worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from fake_cell import FORGET, LABELS, Wrong, counted, table_of
from scipy import stats

from collateral.findings.groups.numbers import numbers
from collateral.findings.groups.views import tables, words
from collateral.metrics import accuracy
from collateral.metrics.accuracy import calibration_errors

# The first half of the near examples are women; ten of the far ones are of a small group.
SEX = np.array(["f"] * FORGET + ["f"] * 20 + ["m"] * 20 + ["f"] * 70 + ["m"] * 80 + ["x"] * 10)
GROUPED = replace(LABELS, columns={"sex": SEX}, test_columns={"sex": np.array(["f", "m"] * 50)})
SAME = (0,) * 4
RETRAIN = Wrong((30,) * 4, (2, 3, 4, 3), SAME, SAME)
RUNS = {
    "retrain": RETRAIN,
    "ga": replace(RETRAIN, near=(12, 13, 15, 12)),
    "ft": replace(RETRAIN, near=(3, 4, 5, 4)),  # one more wrong prediction in every seed
}
NUM_TESTS = 8  # women and men, near and far, retained and test
OPTIONS = {"groups": ("sex",), "positive": ("a",)}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    cell = replace(counted(RUNS), labels=GROUPED)
    return cell.numbers(tmp_path_factory.mktemp("cell"), **OPTIONS)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return table_of(tmp_path_factory.mktemp("table"), RUNS, GROUPED, **OPTIONS)


def test_only_the_group_of_the_wrong_examples_loses(found):
    gap = ("group_error_gap", "retain")
    assert found["ga", None, *gap, "sex=f near"] == pytest.approx(0.5)
    for group in ("sex=m near", "sex=f far", "sex=m far"):
        assert found["ga", None, *gap, group] == 0
    assert found["retrain", 2, "group_error", "retain", "sex=f near"] == 4 / 20
    assert found["ga", 2, "group_error", "retain", "sex=f near"] == 15 / 20


def test_the_interval_is_that_of_a_paired_t_test_at_holms_level(found):
    gaps = np.array([10, 10, 11, 9]) / 20
    half = stats.t.ppf(1 - 0.05 / NUM_TESTS / 2, 3) * gaps.std(ddof=1) / 2
    ends = [
        found["ga", None, f"group_error_gap_{e}", "retain", "sex=f near"] for e in ("low", "high")
    ]
    assert ends == pytest.approx([0.5 - half, 0.5 + half])


def test_the_same_difference_in_every_seed_counts_as_if_one_seed_were_one_example_off(found):
    low = found["ft", None, "group_error_gap_low", "retain", "sex=f near"]
    error = (1 / 20) / 4
    assert low == pytest.approx(0.05 - stats.t.ppf(1 - 0.05 / NUM_TESTS / 2, 3) * error)
    assert low < 0


def test_false_negatives_and_false_alarms_are_counted_over_both_parts(found):
    at = ("retain", "sex=f")  # of class a are the near ones, of class b the far ones
    assert found["ga", None, "group_missed_gap", *at] == pytest.approx(10 / 20)
    assert found["retrain", None, "group_positives", *at] == 20
    assert found["retrain", None, "group_negatives", *at] == 70
    assert found["ga", None, "group_alarm_gap", *at] == 0


def test_the_false_positive_rate_is_undefined_without_negatives(tmp_path):
    labels = replace(GROUPED, train=np.zeros_like(GROUPED.train), test=np.zeros_like(GROUPED.test))
    found = replace(counted(RUNS), labels=labels).numbers(tmp_path, **OPTIONS)
    assert found["retrain", None, "group_negatives", "retain", "sex=f"] == 0
    assert not [key for key in found if key[2].startswith("group_alarm")]


def test_overconfidence_is_confidence_of_the_prediction_minus_accuracy(found):
    # Probabilities are 0.8 where a model is right and 0.7 where it is wrong.
    ours = found["ga", 0, "group_confidence", "retain", "sex=f near"]
    assert ours == pytest.approx((12 * 0.7 + 8 * 0.8) / 20 - 8 / 20, abs=1e-3)
    gap = found["ga", None, "group_confidence_gap", "retain", "sex=f near"]
    assert gap == pytest.approx(0.9 * 0.5, abs=1e-3)


def test_a_small_group_is_counted_and_named_but_not_tested(found, table):
    assert found["retrain", None, "group_examples", "retain", "sex=x far"] == 10
    assert ("ga", None, "group_error_gap", "retain", "sex=x far") not in found
    assert "sex=x far (retained, 10)" in words(table)


def test_the_sentence_says_who_lost_by_which_method(table):
    assert "GA: sex=f near (retained, 50.0 points)" in words(table)
    assert "FT" not in words(table)


def test_a_group_that_retrain_itself_misses_is_named(tmp_path):
    """Of 200 retained examples, 17 are wrong: 17 of the 20 women that are near."""
    missing = replace(RETRAIN, near=(16, 17, 18, 17), test=(0,) * 4)
    runs = {"retrain": missing, "ga": missing}
    said = words(table_of(tmp_path / "missed", runs, GROUPED, **OPTIONS))
    found = said.partition("beyond chance, on: ")[2]
    assert found.startswith("sex=f near (retained, 15 % in place of 92 %).")
    assert "beyond chance, on:" not in words(
        table_of(tmp_path / "known", {"retrain": RETRAIN, "ga": missing}, GROUPED, **OPTIONS)
    )


def test_tables_mark_chance_and_show_retrains_own_value(table):
    shown = {one.name: one for one in tables(table)}
    assert [*shown] == ["groups", "groups-errors", "groups-calibration"]
    near = shown["groups"].grids[0]
    assert near.headings == ["Examples", "Retrain", "GA", "FT"]
    women, men = near.groups[0]
    assert [field.value for field in women.fields] == ["20", "15.0 ± 4.1", "+50.0", "+5.0"]
    assert [field.is_chance for field in women.fields] == [False, False, False, True]
    assert men.label == "sex=m" and men.fields[2].is_chance


def test_without_groups_there_are_no_rows_and_no_tables(tmp_path):
    table = table_of(tmp_path, RUNS, GROUPED)
    assert not any(name.startswith("group_") for name in table.metrics("retrain"))
    assert not [*tables(table)] and words(table) == ""


def test_one_seed_makes_no_claim(tmp_path):
    one = {run: Wrong((30,), wrong.near[:1], (0,), (0,)) for run, wrong in RUNS.items()}
    table = table_of(tmp_path, one, GROUPED, **OPTIONS)
    assert "no claim" in words(table)
    (women, _), *_ = next(iter(tables(table))).grids[0].groups
    assert [field.is_chance for field in women.fields[2:]] == [True, True]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"groups": ("sexes",)}, "groups: no column 'sexes'; known: sex"),
        ({"groups": ("sex",), "positive": ("dog",)}, "positive: no class 'dog'; known: a, b"),
        ({"groups": ("sex",), "positive": ("7",)}, "positive: no class 7; there are 2"),
    ],
)
def test_unknown_names_are_errors(tmp_path, options, message):
    cell = replace(counted(RUNS), labels=GROUPED).write(tmp_path, **options)
    with pytest.raises(ValueError, match=message):
        list(numbers(cell))


@pytest.mark.parametrize("missing", ["", "nan"])
def test_a_missing_value_is_no_group(tmp_path, missing):
    labels = replace(GROUPED, columns={"sex": np.where(SEX == "m", missing, SEX)})
    found = replace(counted(RUNS), labels=labels).numbers(tmp_path, groups=("sex",))
    groups = {key[4] for key in found if key[2] == "group_examples" and key[3] == "retain"}
    assert groups == {f"sex={value} {part}" for value in "fx" for part in ("near", "far")}


def test_a_test_set_without_the_column_is_left_out(tmp_path):
    table = table_of(tmp_path, RUNS, replace(GROUPED, test_columns={}), **OPTIONS)
    assert not table.indices("retrain", "group_examples", "test")
    assert table.indices("retrain", "group_examples", "retain")


def test_calibration_errors_of_five_examples():
    confidence = np.array([0.95, 0.9, 0.85, 0.6, 0.55])
    is_correct = np.array([True, True, False, True, False])
    error, _ = calibration_errors(confidence, is_correct)
    assert error == pytest.approx(0.23)
    assert confidence.mean() - is_correct.mean() == pytest.approx(0.17)


def test_the_debiased_square_subtracts_the_variance_of_each_bin():
    # All in one bin: the gap is 0.95 - 0.75, the variance 0.75 * 0.25 / 3.
    error, square = calibration_errors(np.full(4, 0.95), np.array([True, True, True, False]))
    assert error == pytest.approx(0.2)
    assert square == pytest.approx(0.04 - 0.0625)


def test_a_calibrated_model_has_a_debiased_square_of_zero_and_a_binned_error_above_it():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1, (200, 500))
    found = [calibration_errors(row, rng.random(500) < row) for row in confidence]
    error, square = np.mean(found, axis=0)
    assert abs(square) < 0.001 and error > 0.03


def test_binned_errors_are_of_large_groups_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(accuracy, "LEAST_EXAMPLES", 75)
    found = replace(counted(RUNS), labels=GROUPED).numbers(tmp_path, **OPTIONS)
    assert {key[3:] for key in found if key[2] == "group_ece"} == {("retain", "sex=m far")}
    assert found["ga", 0, "group_ece", "retain", "sex=m far"] == pytest.approx(0.2, abs=1e-3)
