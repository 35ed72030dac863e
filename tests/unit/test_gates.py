"""Gates: copies among images, the facts of a cell, their colours, and who reads them."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from drive import run_stage
from fake_cell import FakeCell as CellOfOutputs
from fake_cell import FakeRun
from fake_results import RUNS, FakeCell, full_cell, read_cell, write_cells

from collateral.findings.checks import CHECKS, find_edges, run_checks
from collateral.findings.gates.numbers import numbers, unaffected_gap
from collateral.jobs.gather import GatherJob
from collateral.metrics.copies import (
    EXACT,
    LEAST_SIDE,
    MOST_BITS,
    find_copies,
    perceptual_hashes,
)
from collateral.metrics.power import in_words
from collateral.plan import paths, run_hooks
from collateral.plan.run_hooks import last_lines
from collateral.results import layout
from collateral.results.dataset import Labels, Neighbours
from collateral.results.files import InvalidResultError, write_json
from collateral.results.gates import Gate, read_gates, write_gates
from collateral.results.outputs import Outputs
from collateral.results.plan import BenchmarkPlan, CellPlan
from collateral.results.split import Split, ids_hash
from collateral.results.table import BenchmarkTable
from collateral.stages.check import RULES

TRUST = Path(__file__).parents[2] / "docs/trust.md"
TRAIN, TEST = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1])
PLAN = CellPlan(trials={"ga": [{"lr": 0.1}, {"lr": 0.2}, {"lr": 0.3}]})


def pictures(count: int, side: int = LEAST_SIDE) -> np.ndarray:
    """Return smooth random images: noise of 8 x 8, enlarged."""
    coarse = np.random.default_rng(0).integers(0, 256, (count, 8, 8, 3), dtype=np.uint8)
    return coarse.repeat(-(-side // 8), axis=1).repeat(-(-side // 8), axis=2)[:, :side, :side]


def halves(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(count // 2), np.arange(count // 2, count)


def test_images_that_have_nothing_to_do_with_each_other_are_no_copies():
    assert len(find_copies(pictures(200), *halves(200))) == 0


@pytest.mark.parametrize("side", [8, LEAST_SIDE])
def test_an_equal_image_is_an_exact_copy_at_any_size(side):
    images = pictures(20, side)
    images[13] = images[4]
    assert find_copies(images, *halves(20)).tolist() == [[4, 13, EXACT]]


def test_a_brighter_and_noisier_image_is_a_near_copy():
    images = pictures(20)
    noise = np.random.default_rng(1).integers(-3, 4, images[4].shape)
    images[13] = np.clip(0.8 * images[4] + 20 + noise, 0, 255)
    ((forgotten, retained, bits),) = find_copies(images, *halves(20)).tolist()
    assert (forgotten, retained) == (4, 13)
    assert 0 <= bits <= MOST_BITS


def test_near_copies_are_not_looked_for_in_small_images():
    images = pictures(20, LEAST_SIDE - 1)
    images[13] = images[4]
    images[13, 0, 0, 0] ^= 1
    assert len(find_copies(images, *halves(20))) == 0


def test_an_exact_copy_is_no_near_one_too():
    images = pictures(20)
    images[13] = images[14] = images[4]
    assert find_copies(images, *halves(20)).tolist() == [[4, 13, EXACT], [4, 14, EXACT]]


def test_of_equal_forgotten_images_the_first_has_all_copies_and_each_has_one():
    images = pictures(20)
    images[13] = images[14] = images[4] = images[6]
    found = find_copies(images, *halves(20)).tolist()
    assert found == [[4, 13, EXACT], [4, 14, EXACT], [6, 13, EXACT]]


def test_a_hash_does_not_depend_on_who_else_is_hashed():
    images = pictures(5000)
    assert perceptual_hashes(images)[-3:].tolist() == perceptual_hashes(images[-3:]).tolist()


def test_the_hash_of_ids_is_of_which_and_not_of_their_order():
    assert ids_hash(np.array([3, 1, 2])) == ids_hash(np.array([1, 2, 3]))
    assert ids_hash(np.array([1, 2])) != ids_hash(np.array([1, 2, 3]))
    assert ids_hash(np.array([12])) != ids_hash(np.array([1, 2]))


def outputs(confidence: float, wrong=()) -> FakeRun:
    """Return what a model says that is right but for examples of the classes `wrong`."""

    def of(labels: np.ndarray) -> Outputs:
        said = np.where(np.isin(labels, wrong), 1 - labels, labels)
        logits = np.eye(2)[said].astype(np.float16)
        return Outputs(logits, np.full(len(labels), confidence, np.float32), said)

    return FakeRun(of(TRAIN), of(TEST))


def facts(
    folder: Path, *, forget=(0,), base=0.7, copied=None, given=None, chosen=None, **of_retrain
) -> dict:
    """Return what the gates' numbers say of a cell of one seed whose Retrain is sure by 0.9.

    `given`: the base is the user's own, and wrong about these classes. What else is given stands
    in Retrain's record, unless it is None.
    """
    runs = {("retrain", 0): outputs(0.9)}
    if base is not None:
        runs["original", 0] = outputs(base, given or ())
    cell = CellOfOutputs(
        labels=Labels(TRAIN, TEST, ("three", "eight"), {}, {"person": np.array(["017", "23"])}),
        split=Split(np.array(forget), 6, (0,), chosen or {}),
        neighbours=Neighbours(
            seeds=np.array([0]),
            train_similarity=np.zeros((1, 6), np.float32),
            test_similarity=np.zeros((1, 2), np.float32),
            class_similarity=np.ones((1, 2), np.float32),
            shown_set=np.array(["train"]),
            shown_index=np.array([1]),
            copies=copied,
            image_size=np.array([40, 32]),
        ),
        runs=runs,
    ).write(folder)
    cell.retrain(0).record.update({key: v for key, v in of_retrain.items() if v is not None})
    for result in cell.results():
        result.record.update({"weights": {"name": "mine.pt"}} if given is not None else {})
    return {row.metric: row.value for row in numbers(cell)}


def test_an_example_forgotten_twice_is_a_fault_of_the_split(tmp_path):
    assert facts(tmp_path / "a", forget=(0, 2))["split_faults"] == 0
    assert facts(tmp_path / "b", forget=(0, 0))["split_faults"] == 1


def test_a_negative_id_is_a_fault_of_the_split(tmp_path):
    assert facts(tmp_path, forget=(-1,))["split_faults"] == 2  # it, and the last that is in none


@pytest.mark.parametrize(
    ("ids", "expected"), [([1, 2, 3, 4, 5], 1.0), ([0, 1, 2, 3, 4, 5], 0.0), ([2, 3, 4, 5], 0.0)]
)
def test_the_record_of_retrain_is_compared_with_the_split(tmp_path, ids, expected):
    assert facts(tmp_path, trained_on=ids_hash(np.array(ids)))["trained_on_split"] == expected


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"batch_size": 2, "checkpoint": "last"}, 2),  # of five retained: 2 and 3
        ({"batch_size": 4, "checkpoint": "last"}, 5),  # the rest of one joins them
        ({"batch_size": 64, "checkpoint": "last"}, 5),
        ({"batch_size": 64, "checkpoint": "best_validation", "validation_share": 0.4}, 3),
        (None, None),  # weights of the user: nobody knows
    ],
)
def test_the_smallest_batch_follows_from_retrains_record(tmp_path, params, expected):
    assert facts(tmp_path, params=params).get("smallest_batch") == expected


@pytest.mark.parametrize(
    ("sizes", "is_named"), [([31] * 5, True), ([32] * 5, False), ([np.nan] * 5, False)]
)
def test_the_cure_of_a_retrain_that_did_not_learn_names_a_small_batch(tmp_path, sizes, is_named):
    cell = changed("ra", *[0.69] * 5)
    cell.add("retrain", "smallest_batch", *sizes)
    said = asked(tmp_path, cell)["Retrain learned"].text
    assert "train longer" in said
    assert ("smallest batch has 31 examples" in said) == ("batch norm" in said) == is_named


def test_a_retrain_that_learned_needs_no_cure(tmp_path):
    cell = good_cell()
    cell.add("retrain", "smallest_batch", *[9] * 5)
    assert "train longer" not in asked(tmp_path, cell)["Retrain learned"].text


def test_values_missing_in_an_old_record_are_undefined(tmp_path):
    found = facts(tmp_path)
    assert np.isnan([found[name] for name in ("trained_on_split", "exact_copies")]).all()


@pytest.mark.parametrize(("base", "expected"), [(0.7, 0.2), (0.9, 0.0), (None, np.nan)])
def test_the_base_is_as_far_from_retrain_as_their_confidences(tmp_path, base, expected):
    found = facts(tmp_path, base=base)["base_distance"]
    assert found == pytest.approx(expected, abs=1e-6, nan_ok=True)  # float32


def test_only_a_given_base_is_compared_with_retrain(tmp_path):
    assert "base_ta_gap" not in facts(tmp_path / "own")
    # Of the two test examples, the one of the class that is not affected counts: both know it.
    assert facts(tmp_path / "given", given=())["base_ta_gap"] == 0
    assert facts(tmp_path / "wrong", given=(1,))["base_ta_gap"] == 1
    assert facts(tmp_path / "affected", given=(0,))["base_ta_gap"] == 0


def test_the_error_of_the_gap_is_that_of_its_test_examples(tmp_path):
    """Of 25 test images of the class that is not affected, Retrain has one more wrong."""
    label = np.array([0] * 7 + [1] * 25)
    right = label.copy()
    wrong = label.copy()
    wrong[9] = wrong[3] = 1 - label[9]  # of the affected class, none counts
    runs = [
        SimpleNamespace(test=SimpleNamespace(prediction=one), is_diverged=False)
        for one in (wrong, right)
    ]
    labels = SimpleNamespace(test=label)
    cell = SimpleNamespace(labels=labels, split=SimpleNamespace(affected=(0,)))
    gap, error = unaffected_gap(cell, runs[1], runs[0])
    assert gap == pytest.approx(-0.04)
    assert error == pytest.approx(math.sqrt(0.04 - 0.04**2) / 5)


@pytest.mark.parametrize(
    ("gaps", "errors", "colour", "said"),
    [
        # One of 25 images is 4 points, and one such difference has an error of 3.9 points.
        ([-0.04] * 5, [0.039] * 5, "green", "is ± 7.6: that their recipes differ is not shown"),
        ([-0.04] * 5, [0.004] * 5, "amber", "beyond chance: their recipes differ"),
        # The seeds vary more than the examples do.
        ([0.16, -0.02, 0.1, -0.03, -0.01], [0.004] * 5, "green", "is not shown"),
        ([-0.04] * 5, [], "amber", "may differ"),
    ],
)
def test_recipes_differ_only_where_chance_cannot_explain_it(tmp_path, gaps, errors, colour, said):
    cell = changed("base_ta_gap", *gaps)
    if errors:
        cell.add("retrain", "base_ta_error", *errors)
    gate = asked(tmp_path, cell)["Retrain as the base"]
    assert (gate.colour, said in gate.text) == (colour, True), gate.text


def test_a_base_that_was_trained_here_has_no_gate_for_its_recipe(tmp_path):
    assert "Retrain as the base" not in asked(tmp_path, changed("base_ta_gap"))


def test_a_test_set_that_the_users_base_may_have_seen_is_amber(tmp_path):
    found = asked(tmp_path / "drawn", good_cell(), test_drawn=True)
    assert {name for name, gate in found.items() if gate.colour != "green"} == {"test set unseen"}
    assert "TA and MIA cannot be trusted" in found["test set unseen"].text
    assert "test set unseen" not in asked(tmp_path / "here", good_cell(), test_drawn=None)


@pytest.mark.parametrize(
    ("persons", "count"), [(["017"], 1), (["17"], 0), (["017", 23], 2), (["8"], 0)]
)
def test_test_images_of_forgotten_persons_are_counted(tmp_path, persons, count):
    chosen = {"kind": "where", "column": "person", "is": persons}
    assert facts(tmp_path / "where", chosen=chosen)["forgotten_in_test"] == count
    other = {"kind": "where", "column": "site", "is": persons}
    assert "forgotten_in_test" not in facts(tmp_path / "other", chosen=other)
    assert "forgotten_in_test" not in facts(tmp_path / "class")


@pytest.mark.parametrize("drawn", [None, False])
def test_test_images_of_forgotten_persons_are_named(tmp_path, drawn):
    cell = good_cell()
    cell.add_overall("retrain", "forgotten_in_test", 3)
    gate = asked(tmp_path, cell, test_drawn=drawn)["test set unseen"]
    assert gate.colour == "amber"
    assert gate.text.startswith("3 test images have a value that is to be forgotten")
    assert gate.text.endswith("; take them out of the test set")


def test_test_images_of_a_forgotten_subclass_may_stay(tmp_path):
    """Whether a value is a subclass or a person, only the user knows."""
    cell = good_cell()
    cell.add_overall("retrain", "forgotten_in_test", 100)
    cell.add_overall("retrain", "sibling_examples", 100, at="bus")
    gate = asked(tmp_path, cell)["test set unseen"]
    assert gate.colour == "amber"
    assert "right if it is a subclass" in gate.text
    assert gate.text.endswith("if it is a person, take them out of the test set")


def test_without_shadow_models_there_is_no_gate_for_them(tmp_path):
    assert "shadow models learned" not in asked(tmp_path, changed("shadow_sure"))


def test_copies_are_counted_by_kind(tmp_path):
    found = facts(tmp_path, copied=np.array([[0, 1, EXACT], [2, 3, 0], [4, 5, MOST_BITS]]))
    assert (found["exact_copies"], found["near_copies"], found["image_side"]) == (1, 2, 32)


def test_a_forgotten_image_with_several_copies_counts_once(tmp_path):
    found = facts(tmp_path, copied=np.array([[0, 1, EXACT], [0, 3, EXACT], [2, 3, 0]]))
    assert (found["exact_copies"], found["near_copies"]) == (1, 1)


def good_cell(num_seeds: int = 5) -> FakeCell:
    """Return a cell in which every gate is green; the tuned GA took the second of three rates."""
    cell = full_cell(num_seeds=num_seeds)
    known = {"ra": 0.95, "ua": 0.9, "base_ua": 1.0}
    cell.metrics = [
        row for row in cell.metrics if row["run"] != "retrain" or row["metric"] not in known
    ]
    for name, value in known.items():
        cell.add("retrain", name, *[value] * num_seeds)
    cell.metrics = [row for row in cell.metrics if (row["run"], row["metric"]) != ("retrain", "ta")]
    cell.add("retrain", "ta", *[0.9 + seed / 100 for seed in range(num_seeds)])
    cell.add("ga", "regret", 0.05, *[np.nan] * (num_seeds - 1))
    cell.add("ga", "trial_nearest", 2.0, *[np.nan] * (num_seeds - 1))
    cell.add_overall("retrain", "margin", 0.05, at="ua")
    for at, shown in (("ua", 1), ("mia", -1)):
        cell.add_overall("original", "shown", shown, at=at)
        cell.add_overall("original", "within", 0, at=at)
    for name, value in {"split_faults": 0, "exact_copies": 0, "near_copies": 0}.items():
        cell.add_overall("retrain", name, value)
    cell.add_overall("retrain", "image_side", 32)
    cell.add_overall("retrain", "shadow_sure", 0.95)
    cell.add("retrain", "trained_on_split", *[1.0] * num_seeds)
    cell.add("retrain", "base_distance", *[0.02] * num_seeds)
    cell.add("retrain", "base_ta_gap", *[-0.02] * num_seeds)
    cell.add("ga", "trial_chosen", 1.0, *[np.nan] * (num_seeds - 1))
    cell.add_overall("retrain", "forget_count", 5, at="three")
    cell.add_overall("retrain", "train_count", 10, at="three")
    return cell


def changed(metric: str, *values: float, run: str = "retrain") -> FakeCell:
    """Return the good cell with another number, by seed or over seeds; none: without it."""
    cell = good_cell()
    old = [row for row in cell.metrics if (row["run"], row["metric"]) == (run, metric)]
    assert old
    cell.metrics = [row for row in cell.metrics if row not in old]
    if values and old[0]["seed"]:
        cell.add(run, metric, *values)
    elif values:
        cell.add_overall(run, metric, *values, at=old[0]["at"])
    return cell


def benchmark_plan(
    cell: str, plan: CellPlan = PLAN, test_drawn: bool | None = False
) -> BenchmarkPlan:
    """Return a plan whose base is the user's own, with a test set that it never saw."""
    return BenchmarkPlan(RUNS, "matched", {cell: plan}, test_drawn=test_drawn)


def asked(
    folder: Path, cell: FakeCell, plan: CellPlan = PLAN, test_drawn: bool | None = False
) -> dict[str, Gate]:
    table = read_cell(folder, cell, benchmark_plan(cell.name, plan, test_drawn))
    gates, problems = run_checks(BenchmarkTable(table.benchmark, (table,)))
    assert problems == []
    return {gate.name: gate for gate in gates}


def test_the_page_on_trust_has_all_gates_in_their_order():
    _, rows = TRUST.read_text().split("| gate | green | else |\n| --- | --- | --- |\n")
    listed = rows.partition("\n\n")[0].splitlines()
    assert [row.split(" | ")[0].removeprefix("| ") for row in listed] == [*CHECKS]


def test_all_gates_of_a_sound_cell_are_green(tmp_path):
    found = asked(tmp_path, good_cell())
    assert {name: gate.colour for name, gate in found.items()} == dict.fromkeys(CHECKS, "green")
    assert {gate.cell for gate in found.values()} == {"digit_3-50"}


@pytest.mark.parametrize(
    ("name", "colour", "metric", "values", "said"),
    [
        ("disjoint sets", "red", "split_faults", [2], "2 train examples"),
        ("disjoint sets", "amber", "split_faults", [], "cannot be said"),
        ("trained on the split", "red", "trained_on_split", [1, 0, np.nan, 1, 1], "seed 1"),
        (
            "trained on the split",
            "amber",
            "trained_on_split",
            [np.nan, 1, np.nan, 1, 1],
            "seeds 0, 2",
        ),
        ("Retrain learned", "red", "ra", [0.95, 0.89, 0.95, 0.95, 0.95], "89.0 %"),
        ("Retrain learned", "red", "ra", [0.95, np.nan, 0.95, 0.95, 0.95], "undefined: seed 1"),
        ("base differs", "red", "base_distance", [0.1, 0.1, 0, 0.1, 0.1], "seed 2"),
        ("base differs", "amber", "base_distance", [0.1, 0.1, np.nan, 0.1, 0.1], "`original`"),
        ("something to forget", "green", "margin", [0.0999], "Retrain's, the margin is 10.0"),
        ("something to forget", "green", "margin", [], "UA is +10.0 points from Retrain's"),
        ("something to forget", "amber", "base_ua", [], "add the control `original`"),
        (
            "Retrain as the base",
            "amber",
            "base_ta_gap",
            [-0.04, -0.02, -0.04, -0.04, -0.03],
            "−3.4 points",
        ),
        ("Retrain as the base", "amber", "base_ta_gap", [0.05, 0.05, np.nan, 0.05, 0.05], "5.0 p"),
        ("shadow models learned", "amber", "shadow_sure", [0.62], "at least 62.0 %"),
        ("exact copies", "red", "exact_copies", [3], "3 forgotten images"),
        ("exact copies", "amber", "exact_copies", [], "cannot be said"),
        ("near copies", "amber", "near_copies", [7], "7 forgotten images"),
        ("near copies", "amber", "near_copies", [], "cannot be said"),
        ("near copies", "grey", "image_side", [8], "not looked for in images of 8 pixels"),
        (
            "retrainings vary",
            "amber",
            "ta",
            [0.9] * 5,
            "TA is the same in all 5 retrainings (standard deviations over 5 retrainings, in "
            "points: UA 0.0, RA 0.0, TA 0.0",
        ),
        ("Retrain learned", "green", "ra", [0.95, 0.9, 0.95, 0.95, 0.95], "90.0 %"),
    ],
)
def test_a_number_of_retrain_changes_the_colour_of_its_gate_alone(
    tmp_path, name, colour, metric, values, said
):
    found = asked(tmp_path, changed(metric, *values))
    assert found[name].colour == colour
    assert said in found[name].text
    others = {gate.colour for gate in found.values() if gate.name != name}
    assert others == {"green"}


@pytest.mark.parametrize(
    ("shown", "within", "colour", "said"),
    [
        ((1, 0), (0, 0), "green", "the base model's UA is +10.0 points from Retrain's, the margin"),
        ((0, -1), (1, 0), "green", "the base model's UA is +10.0 points"),
        ((-1, 0), (0, 1), "green", "the base model's UA is +10.0 points"),
        ((0, 0), (1, 1), "amber", "nothing: the base model's UA is +10.0 points"),
        ((0, 0), (1, 0), "amber", "5 seeds are too few to say: the base model's UA is +10.0"),
        ((0, 0), (0, 1), "amber", "5 seeds are too few to say"),
        ((), (), "amber", "tested only with the control `original` and two seeds or more"),
    ],
)
def test_whether_there_is_anything_to_forget_is_told_by_tests(
    tmp_path, shown, within, colour, said
):
    """A base that looks like Retrain is no proof that it is: that takes a test of equivalence."""
    cell = good_cell()
    tested = {"shown": shown, "within": within}
    cell.metrics = [
        row for row in cell.metrics if row["run"] != "original" or row["metric"] not in tested
    ]
    for metric, values in tested.items():
        for at, value in zip(("ua", "mia"), values, strict=False):
            cell.add_overall("original", metric, value, at=at)
    found = asked(tmp_path, cell)["something to forget"]
    assert (found.colour, said in found.text) == (colour, True)


def took(trial: int) -> FakeCell:
    """Return the good cell with another choice of GA's tuning."""
    return changed("trial_chosen", trial, *[np.nan] * 4, run="ga")


@pytest.mark.parametrize(("trial", "colour"), [(0, "amber"), (1, "green"), (2, "amber")])
def test_a_tuned_value_at_an_end_of_its_grid_is_amber(tmp_path, trial, colour):
    found = asked(tmp_path, took(trial))["tuning"]
    assert found.colour == colour
    assert ("GA lr" in found.text) == (colour == "amber")


def test_what_tuning_chose_may_be_unknown(tmp_path):
    found = asked(tmp_path, changed("trial_chosen", run="ga"))["tuning"]
    assert (found.colour, found.text.endswith(": ga")) == ("amber", True)


def test_words_and_single_values_have_no_ends():
    first = {"variant": "standard", "lr": 1, "flag": True}
    trials = [first, {"variant": "advonly", "lr": 1, "flag": False}]
    assert list(find_edges(trials, 0)) == []


RATES = [{"lr": 0.2}, {"lr": 0.3}, {"lr": 0.4}]


def test_the_defaults_that_are_tried_beside_a_grid_are_no_end_of_it(tmp_path):
    plan = CellPlan(trials={"ga": [*RATES, {"lr": 0.1}]}, candidates={"ga": 3})
    found = asked(tmp_path / "a", took(0), plan)["tuning"]
    assert (found.colour, "GA lr 0.2 of 0.2 to 0.4" in found.text) == ("amber", True)
    inside = CellPlan(trials={"ga": [*RATES, {"lr": 0.9}]}, candidates={"ga": 3})
    assert asked(tmp_path / "b", took(1), inside)["tuning"].colour == "green"


@pytest.mark.parametrize("trial", [0, 1])
def test_of_two_values_none_is_inside_and_this_is_said(tmp_path, trial):
    plan = CellPlan(trials={"ga": [*RATES[:2], {"lr": 0.1}]}, candidates={"ga": 2})
    found = asked(tmp_path / "a", took(trial), plan)["tuning"]
    assert found.colour == "grey"  # nothing was checked, so that nothing has passed
    assert found.text.endswith("end of its grid was chosen: only two values were tried of GA lr")
    pair = [{"lr": rate, "alpha": alpha} for rate in (1, 2, 3) for alpha in (5, 6)]
    found = asked(tmp_path / "b", took(2), CellPlan(trials={"ga": pair}))["tuning"]
    assert found.colour == "green"
    assert found.text.endswith("not checked, because only two values were tried: GA alpha")


@pytest.mark.parametrize(("regret", "colour"), [(0.0501, "amber"), (0.0499, "green")])
def test_a_chosen_trial_far_from_the_nearest_is_amber(tmp_path, regret, colour):
    found = asked(tmp_path, changed("regret", regret, *[np.nan] * 4, run="ga"))["selection"]
    assert found.colour == colour
    assert ("GA by 5.0 points (lr 0.2 in place of lr 0.3)" in found.text) == (colour == "amber")


def test_what_was_not_tuned_or_repeated_is_not_checked(tmp_path):
    untuned = asked(tmp_path / "a", good_cell(), CellPlan())
    assert {untuned[name].colour for name in ("tuning", "selection")} == {"grey"}
    assert asked(tmp_path / "b", good_cell(num_seeds=1))["retrainings vary"].colour == "grey"


@pytest.mark.parametrize(
    ("num_seeds", "colour", "said"),
    [
        (3, "amber", "with 3 seeds and 3 methods, a difference from Retrain of 7 standard"),
        (4, "amber", "a smaller one may stay open; five seeds are fair"),
        (5, "green", "a smaller one may stay open"),
    ],
)
def test_fewer_than_five_seeds_are_amber_and_what_they_show_is_said(
    tmp_path, num_seeds, colour, said
):
    found = asked(tmp_path, good_cell(num_seeds))["seeds"]
    assert (found.colour, said in found.text) == (colour, True)
    assert found.text == in_words(num_seeds, 3)


def test_a_share_that_was_held_out_of_training_is_not_called_trained_on(tmp_path):
    found = asked(tmp_path, good_cell())["trained on the split"]
    assert "trained on, or validated by, exactly the retained: 5 seeds" in found.text


def broken(cell):
    raise ZeroDivisionError("by\nzero")


def test_a_gate_that_raises_is_amber_and_a_problem_and_stops_no_other(tmp_path, monkeypatch):
    monkeypatch.setitem(CHECKS, "seeds", broken)
    table = read_cell(tmp_path, good_cell(), benchmark_plan("digit_3-50"))
    gates, (problem,) = run_checks(BenchmarkTable(table.benchmark, (table,)))
    of_seeds = Gate(
        "seeds", "digit_3-50", "amber", "could not be asked: ZeroDivisionError: by zero"
    )
    assert [gate for gate in gates if gate.colour != "green"] == [of_seeds]
    assert [gate.name for gate in gates] == [*CHECKS]
    assert str(problem).startswith("finding gates: its checks in digit_3-50 could not be made: ")
    assert problem.part in RULES


def test_a_run_that_diverged_is_amber_and_named(tmp_path):
    cell = good_cell()
    cell.metrics = [row for row in cell.metrics if row["run"] != "rl"]
    cell.metrics += [
        row for row in full_cell(num_seeds=5, diverged=("rl",)).metrics if row["run"] == "rl"
    ]
    found = asked(tmp_path, cell)["runs ended well"]
    assert found.colour == "amber"
    assert "RL diverged (4 of 5 seeds)" in found.text


def gathered(folder: Path, cell: FakeCell) -> None:
    """Write a benchmark of one cell as `gather` leaves it."""
    write_cells(folder, benchmark_plan(cell.name), cell)
    (folder / layout.PROBLEMS).unlink()
    run_stage(GatherJob, folder, cells=[cell.name])
    (folder / layout.DATA_RECORD).write_text("{}")


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """Return a project whose results have a benchmark with a forget set of a copied image."""
    monkeypatch.chdir(tmp_path)
    gathered(tmp_path / "results" / "b", changed("exact_copies", 3))
    return tmp_path


def test_gather_writes_the_gates_of_all_cells(project):
    path = project / paths.GATES.format(benchmark="b")
    assert [gate.name for gate in read_gates(path)] == [*CHECKS]
    record = json.loads((path.parent / layout.METRICS_RECORD).read_text())
    assert layout.GATES in record["files"]


def test_a_run_ends_with_its_red_gates(project):
    line, last = last_lines(["b", "none"])
    assert line.startswith("results/b/gates.json: red: digit_3-50: exact copies: 3 forgotten")
    assert "do not mean" in last


def test_a_run_ends_with_its_finding_its_warnings_and_its_page(project, monkeypatch):
    glance = project / paths.GLANCE.format(benchmark="b")
    page = (project / "results" / "b" / "report.html").as_uri()
    write_json(glance, {"cells": []})
    assert last_lines(["b", "none"])[0] == f"b: warnings: 0. {page}"
    monkeypatch.setattr(run_hooks, "count_amber_gates", lambda path: 2)
    write_json(glance, {"headline": "LTD comes nearest to retraining."})
    first, second, *_ = last_lines(["b"])
    assert [first, second] == ["b: LTD comes nearest to retraining.", f"b: warnings: 2. {page}"]


def test_a_damaged_summary_is_named(project):
    (project / paths.GLANCE.format(benchmark="b")).write_text("{")
    assert last_lines(["b"])[0].startswith("results/b/glance.json: broken")


def test_a_run_without_red_gates_ends_with_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gathered(tmp_path / "results" / "b", good_cell())
    assert read_gates(Path(paths.GATES.format(benchmark="b")))
    assert last_lines(["b"]) == []


def test_gates_that_were_edited_are_not_believed_at_the_end_of_a_run(project):
    path = project / paths.GATES.format(benchmark="b")
    write_gates(path, [gate for gate in read_gates(path) if gate.colour != "red"])
    (line,) = last_lines(["b"])
    assert line.startswith("results/b/gates.json: its content is not the one that metrics.json")


@pytest.mark.parametrize("text", ["{", "{}", '{"gates": [{"name": "seeds"}]}', "[]"])
def test_gates_that_cannot_be_read_are_named_and_stop_nothing(project, text):
    path = project / paths.GATES.format(benchmark="b")
    path.write_text(text)
    with pytest.raises(InvalidResultError, match=r"gates\.json: broken"):
        read_gates(path)
    gathered(project / "results" / "good", changed("exact_copies", 1))
    broken, red, _ = last_lines(["b", "good"])
    assert broken.startswith("results/b/gates.json: ")
    assert red.startswith("results/good/gates.json: red: ")
