"""Measures outside the verdict: they are named where they are shown to differ from Retrain's."""

from dataclasses import replace

import numpy as np
import pytest
from fake_results import FakeCell, read_cell, read_cells
from scipy.stats import ttest_ind
from test_page_headline import LIKE, decide

from collateral.report.page import write
from collateral.report.untested import UNTESTED, Untested, find_untested, list_compared

RETRAINED = {
    "rmia_auc": (0.41, 0.52, 0.44, 0.47, 0.49),
    "ta_affected": (0.93, 0.95, 0.94, 0.92, 0.96),
    "ra_affected": (1.0, 0.98, 0.99, 1.0, 0.97),
}
OWN = {
    "rmia_auc": (0.73, 0.68, 0.81, 0.77, 0.70),
    "ta_affected": (0.94, 0.93, 0.96, 0.91, 0.95),
    "ra_affected": (0.99, 0.98, 0.97, 1.0, 0.98),
}


def cell_with(own=OWN, name: str = "digit_3-50") -> FakeCell:
    cell = FakeCell(name)
    for run, of_run in (("retrain", RETRAINED), ("ga", own)):
        for metric, values in of_run.items():
            cell.add(run, metric, *values)
    cell.add_overall("retrain", "rmia_non_members", 40)
    cell.add_overall("retrain", "forget_count", 24, at="three")
    cell.add_overall("retrain", "train_count", 60, at="three")
    return cell


def test_only_what_is_shown_to_differ_is_named(tmp_path):
    [found] = find_untested([read_cell(tmp_path, cell_with())], ["ga"])
    assert (found.label, found.name) == ("GA", "RMIA AUC")
    assert (found.value, found.retrained, found.num_compared) == ("0.738", "0.466", 3)
    test = ttest_ind(OWN["rmia_auc"], RETRAINED["rmia_auc"], equal_var=False)
    low, high = test.confidence_interval(1 - 0.05 / 3)
    assert found.interval == f"[{low:+.3f}, {high:+.3f}]"


def test_all_comparisons_share_one_level(tmp_path):
    """A difference at 5 % alone, in one measure of twelve, is not named."""
    own = OWN | {"rmia_auc": (0.52, 0.51, 0.56, 0.54, 0.53)}
    p = ttest_ind(own["rmia_auc"], RETRAINED["rmia_auc"], equal_var=False).pvalue
    assert 0.05 / 12 < p < 0.05
    cells = [cell_with(own, f"digit_{place}-50") for place in range(4)]
    table = read_cells(tmp_path, *cells)
    assert find_untested(table.cells, ["ga"]) == []


def test_a_percentage_has_its_unit_and_the_interval_points(tmp_path):
    own = OWN | {"ta_affected": tuple(np.array(OWN["ta_affected"]) - 0.2)}
    found = find_untested([read_cell(tmp_path, cell_with(own))], ["ga"])
    [by_class] = [one for one in found if one.name == UNTESTED["ta_affected"]]
    assert (by_class.value, by_class.retrained) == ("73.8 %", "94.0 %")
    assert by_class.interval.startswith("[−") and by_class.interval.endswith("] points")


def test_equal_values_are_not_known_better_than_to_one_example(tmp_path):
    """Five equal seeds, half an image from five other equal ones, show no difference."""
    cell = cell_with(OWN | {"ta_affected": (0.9375,) * 5})
    cell.metrics = [
        row for row in cell.metrics if (row["run"], row["metric"]) != ("retrain", "ta_affected")
    ]
    cell.add("retrain", "ta_affected", *(0.95,) * 5)
    names = [one.name for one in find_untested([read_cell(tmp_path, cell)], ["ga"])]
    assert UNTESTED["ta_affected"] not in names


@pytest.mark.parametrize(("near", "is_compared"), [(36, False), (35, True)])
def test_examples_of_the_affected_classes_that_are_the_neighbours_are_left_out(
    tmp_path, near, is_compared
):
    """The verdict tests them as near loss: 36 of 60 are retained."""
    cell = cell_with()
    cell.add_overall("retrain", "near_count", 36, set="retain")
    cell.add_overall("retrain", "near_class", near, set="retain", at="three")
    compared = list_compared([read_cell(tmp_path, cell)], ["ga"])
    assert (UNTESTED["ra_affected"] in compared) == is_compared
    assert UNTESTED["ta_affected"] in compared


def test_with_one_seed_untested_measures_are_not_compared(tmp_path):
    cell = FakeCell()
    for run in ("retrain", "ga"):
        cell.add(run, "rmia_auc", 0.5)
    table = read_cell(tmp_path, cell)
    assert (find_untested([table], ["ga"]), list_compared([table], ["ga"])) == ([], [])


def untested(label: str, name: str) -> Untested:
    return Untested(label, "Cell 0", name, "0.744", "0.459", "[+0.2, +0.4]", 3)


def test_below_the_headline_they_are_named_and_how_sure_has_their_intervals():
    decision = replace(
        decide(A=[LIKE]),
        untested=[untested("A", "RMIA AUC"), untested("A", "TA of the affected classes")],
    )
    assert write(decision, "details").startswith(
        "Every tested measure of A is within its margin. Outside the "
        "verdict, shown to differ: RMIA AUC (0.744, Retrain’s 0.459) and TA of the affected "
        "classes (0.744, Retrain’s 0.459)."
    )
    assert (
        "Outside the verdict, the difference from Retrain is: A, RMIA AUC [+0.2, +0.4]; A, TA of "
        "the affected classes [+0.2, +0.4] (intervals that hold together in 95 % of cases, for 3 "
        "comparisons)."
    ) in write(decision, "certainty")


def test_without_a_difference_it_says_what_was_compared():
    decision = replace(decide(A=[LIKE]), compared=["RMIA AUC"])
    assert "Outside the verdict" not in write(decision, "details")
    assert "no difference is shown in RMIA AUC; that they are equal is not shown" in write(
        decision, "certainty"
    )


def test_of_several_methods_each_measure_names_its_own():
    found = [untested("A", "RMIA AUC"), *(untested("B", name) for name in UNTESTED.values())]
    said = write(replace(decide(A=[LIKE], B=[LIKE]), untested=found), "details")
    assert "A’s RMIA AUC (" in said and "B’s RMIA AUC (" in said
    assert "and 1 more." in said
