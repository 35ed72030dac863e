"""A forgotten subclass and its siblings, by plain counts of wrong predictions."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from fake_cell import FORGET, LABELS, NUM_TRAIN, Wrong, counted, table_of
from recomputed import recomputes_each, same
from table_reading import field_at

from collateral.findings.siblings.numbers import find_siblings
from collateral.findings.siblings.views import tables
from collateral.results.split import Split

# Of class a: 50 forgotten rockets, 25 tanks and 15 tractors; 20 test rockets, 18 tanks and 12
# tractors. All of class b are trouts.
TRAIN = np.array(["rocket"] * FORGET + ["tank"] * 25 + ["tractor"] * 15 + ["trout"] * 160)
TEST = np.array(["rocket"] * 20 + ["tank"] * 18 + ["tractor"] * 12 + ["trout"] * 50)
FINE = replace(LABELS, columns={"fine": TRAIN}, test_columns={"fine": TEST})
CHOSEN = {"kind": "where", "column": "fine", "is": ["rocket"]}
ROCKETS = Split(np.arange(FORGET), NUM_TRAIN, (0,), CHOSEN)
# The first so many of a set are predicted wrong: test rockets first, then tanks, tractors, trouts.
RUNS = {
    "retrain": Wrong((40, 41), (2, 5), (3, 3), (17, 19)),
    "ft": Wrong((10, 11), (1, 30), (3, 3), (5, 33)),
    "ga": Wrong((50, 50), (35, 38), (9, 9), (41, 60), ("ok", "diverged")),
}
PLACES = {"subclass_ta": (0, 20), "siblings_ta": (20, 50), "siblings_ra": (0, 40)}
SIBLINGS = {"tank": (20, 38), "tractor": (38, 50)}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    cell = replace(counted(RUNS), labels=FINE, split=ROCKETS)
    return cell.rows(tmp_path_factory.mktemp("cell"))


def expected(run, seed, metric, at):
    """Return the share of right predictions among these places of a set."""
    if RUNS[run].status and RUNS[run].status[seed] == "diverged":
        return np.nan
    wrong = (RUNS[run].near if metric == "siblings_ra" else RUNS[run].test)[seed]
    start, end = SIBLINGS[at] if metric == "sibling_ta" else PLACES[metric]
    return 1 - min(max(wrong - start, 0), end - start) / (end - start)


@recomputes_each("subclass_ta", "siblings_ra", "siblings_ta", "sibling_ta")
def test_an_accuracy_is_of_the_subclass_or_of_its_siblings_alone(rows, metric):
    found = [row for row in rows if row.metric == metric]
    assert len(found) == 6 * (2 if metric == "sibling_ta" else 1)
    for row in found:
        shown = SimpleNamespace(metric=metric, value="" if np.isnan(row.value) else str(row.value))
        same(shown, expected(row.run, row.seed, metric, row.at))


@recomputes_each("sibling_examples")
def test_the_test_images_of_a_sibling_are_counted(rows, metric):
    found = {row.at: row for row in rows if row.metric == metric}
    assert {*found} == {*SIBLINGS}
    for name, (start, end) in SIBLINGS.items():
        same(SimpleNamespace(metric=metric, value=str(found[name].value)), end - start)


def siblings_of(tmp_path, labels=FINE, **chosen):
    split = replace(ROCKETS, chosen={**CHOSEN, **chosen})
    return find_siblings(replace(counted(RUNS), labels=labels, split=split).write(tmp_path))


def test_a_column_that_does_not_divide_the_classes_has_no_siblings(tmp_path):
    """A person who is in images of two classes is no subclass."""
    mixed = TRAIN.copy()
    mixed[-1] = "rocket"
    assert siblings_of(tmp_path, replace(FINE, columns={"fine": mixed})) is None


def test_without_test_images_of_the_subclass_there_is_nothing_to_compare(tmp_path):
    lone = np.where(TEST == "rocket", "tank", TEST)
    assert siblings_of(tmp_path, replace(FINE, test_columns={"fine": lone})) is None


def test_two_forgotten_subclasses_are_not_their_own_siblings(tmp_path):
    found = siblings_of(tmp_path, **{"is": ["rocket", "tank"]})
    assert {*found.by_name} == {"tractor"}
    assert (found.forgotten_test.sum(), found.test.sum()) == (38, 12)


def test_another_kind_of_forget_set_has_no_siblings(tmp_path):
    assert siblings_of(tmp_path, kind="class_part") is None


def test_the_table_has_a_column_for_every_sibling(tmp_path):
    (table,) = tables(table_of(tmp_path, RUNS, FINE, ROCKETS))
    assert table.grids[0].headings[-2:] == ["TA tank (%)", "TA tractor (%)"]
    assert field_at(table, "FT", "TA subclass (%)").value.startswith(
        "37.5"
    )  # 15 of 20 right, and none
    assert field_at(table, "FT", "TA tank (%)").value.startswith("63.9")  # 18 of 18, and 5
