"""Gates on the data: test labels numbered otherwise, copies in the test set, ruined pixels."""

from math import comb

import numpy as np
import pytest
from fake_cell import FakeCell as CellOfOutputs
from fake_cell import FakeRun, fake_neighbours
from fake_results import full_cell, read_cell

from collateral.findings.checks import run_checks
from collateral.findings.gates.numbers import numbers
from collateral.metrics import copies
from collateral.metrics.accuracy import guessing
from collateral.metrics.copies import find_test_copies
from collateral.metrics.pixel_values import distance_from_class_mean, summarize_pixels
from collateral.results.dataset import Labels
from collateral.results.outputs import Outputs
from collateral.results.split import Split
from collateral.results.table import BenchmarkTable

# Three classes, of which all of the last is forgotten: its ten test examples do not count.
TRAIN = np.repeat([0, 1, 2], [5, 4, 3])
TEST = np.repeat([0, 1, 2], [20, 12, 10])
FORGET = np.flatnonzero(TRAIN == 2)


def outputs(shift: int, status: str = "ok") -> FakeRun:
    """Return a model that is right on the train set and wrong on the test set by `shift`."""

    def of(said: np.ndarray) -> Outputs:
        return Outputs(
            np.eye(3)[said].astype(np.float16), np.full(len(said), 0.9, np.float32), said
        )

    return FakeRun(of(TRAIN), of((TEST + shift) % 3), status)


def facts(folder, *, shifts=(0, 1), test=TEST, base="ok", **neighbours) -> dict:
    """Return the gates' numbers by run, metric and seed; Retrain's seeds are 3 and 7."""
    runs = {("retrain", seed): outputs(shift) for seed, shift in zip((3, 7), shifts, strict=True)}
    runs |= {("original", seed): outputs(0, base) for seed in (3, 7)}
    cell = CellOfOutputs(
        labels=Labels(TRAIN, test, ("1", "2", "3")),
        split=Split(FORGET, len(TRAIN), (2,), {}),
        neighbours=fake_neighbours(
            (3, 7), np.zeros(len(TRAIN)), np.zeros(len(test)), 3, **neighbours
        ),
        runs=runs,
    ).write(folder)
    return {(row.run, row.metric, row.seed): row.value for row in numbers(cell)}


def ask(folder, **values) -> dict:
    """Return the gates of a cell of three seeds, of which some numbers of Retrain are replaced."""
    cell = full_cell(num_seeds=3)
    names = {name.partition("/")[2] or name for name in values}
    cell.metrics = [row for row in cell.metrics if row["metric"] not in names]
    for name, value in values.items():
        run, _, metric = name.rpartition("/")
        if isinstance(value, tuple):
            cell.add(run, metric, *value)
        else:
            cell.add_overall("retrain", metric, value)
    table = read_cell(folder, cell)
    gates, _ = run_checks(BenchmarkTable(table.benchmark, (table,)))
    return {gate.name: gate for gate in gates}


# Test accuracy and guessing.


def test_guessing_is_the_share_of_the_largest_class_and_what_it_reaches_by_chance():
    share, by_chance = guessing(np.repeat([4, 0, 9], [6, 3, 1]))
    assert share == 0.6
    within = [sum(comb(10, i) * 0.6**i * 0.4 ** (10 - i) for i in range(k + 1)) for k in range(11)]
    assert by_chance == next(k for k in range(11) if within[k] >= 0.975) / 10


def test_accuracy_on_kept_classes_is_counted_for_retrain_and_the_base(tmp_path):
    found = facts(tmp_path)
    assert found["retrain", "guessing", None] == 20 / 32
    assert found["retrain", "known_ta", 3] == 1
    assert found["retrain", "known_ta", 7] == 0  # labels off by one
    assert [found["original", "known_ta", seed] for seed in (3, 7)] == [1, 1]


def test_a_base_that_diverged_and_a_test_set_of_one_class_have_no_number(tmp_path):
    assert ("original", "known_ta", 3) not in facts(tmp_path / "base", base="diverged")
    only = np.where(TEST == 1, 0, TEST)
    found = facts(tmp_path / "one", test=only)
    assert not {metric for _, metric, _ in found} & {"known_ta", "guessing"}


@pytest.mark.parametrize(
    ("retrain", "base", "colour"),
    [
        ((0.9, 0.8, 0.7), (0.9, 0.8, 0.7), "green"),
        ((0.9, 0.067, 0.8), (0.9, 0.8, 0.7), "red"),
        ((0.9, 0.8, 0.7), (0.9, 0.8, 0.1), "red"),
        ((0.9, 0.8, 0.11), (0.9, 0.8, 0.7), "amber"),
    ],
)
def test_a_model_that_is_no_better_than_guessing_is_named(tmp_path, retrain, base, colour):
    values = {"retrain/known_ta": retrain, "original/known_ta": base}
    gate = ask(tmp_path, guessing=0.1, guessing_by_chance=0.12, **values)["above guessing"]
    assert gate.colour == colour
    assert f"{100 * min(retrain):.1f} % (Retrain)" in gate.text
    assert f"{100 * min(base):.1f} % (the base)" in gate.text
    assert ("numbered as the train labels" in gate.text) == (colour != "green")


def test_where_nobody_can_guess_there_is_no_such_gate(tmp_path):
    nothing = (np.nan,) * 3
    found = ask(tmp_path, **{"retrain/known_ta": nothing, "original/known_ta": nothing})
    assert "above guessing" not in found


# Copies in the test set.


def pictures(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 3, 5, 1), dtype=np.uint8)


def test_a_test_image_that_is_a_train_image_is_found_and_a_forgotten_original_comes_first():
    train, test = pictures(7, 0), pictures(4, 1)
    test[1] = train[5] = train[2]
    test[3] = train[6]
    assert find_test_copies(train, test, np.array([5])).tolist() == [[1, 5], [3, 6]]
    assert find_test_copies(train, test, np.array([0])).tolist() == [[1, 2], [3, 6]]
    test[1, 0, 0, 0] ^= 1
    assert find_test_copies(train, test, np.array([5])).tolist() == [[3, 6]]


def test_copies_in_the_test_set_are_counted_and_those_of_forgotten_ones(tmp_path):
    copies = np.array([[0, FORGET[1]], [4, 0], [9, FORGET[0]]])
    found = facts(tmp_path / "some", test_copies=copies)
    assert found["retrain", "test_copies", None] == 3
    assert found["retrain", "test_copies_forgotten", None] == 2
    assert ("retrain", "test_copies", None) not in facts(tmp_path / "old")


@pytest.mark.parametrize(
    ("copies", "forgotten", "colour"), [(0, 0, "green"), (6, 0, "amber"), (6, 2, "amber")]
)
def test_copies_in_the_test_set_are_named(tmp_path, copies, forgotten, colour):
    values = {"test_copies": copies, "test_copies_forgotten": forgotten}
    gate = ask(tmp_path, **values)["copies in the test set"]
    assert gate.colour == colour
    if copies:
        assert gate.text.startswith(f"6 test images are exact copies of train images, {forgotten} ")


# Pixel values.


def test_the_range_of_pixels_and_constant_images_are_counted():
    train, test = 40 + pictures(5, 2) // 4, 30 + pictures(3, 3) // 8
    train[3], test[0], test[2] = 97, 31, 33
    low, high, constant = summarize_pixels(train, test)
    assert (low, high, constant) == (min(train.min(), test.min()), train.max(), 3)


def test_an_image_of_one_colour_is_constant_though_its_channels_differ():
    images = np.zeros((2, 4, 4, 3), np.uint8) + np.array([9, 200, 31], np.uint8)
    images[1, 2, 2, 1] = 199
    assert summarize_pixels(images).tolist() == [9, 200, 1]


def test_the_distance_of_an_image_is_that_from_the_mean_of_its_class():
    black, white, grey = (np.full((1, 2, 3), value, np.uint8) for value in (0, 255, 51))
    images = np.stack([black, grey, white, black])
    # The mean of the first class is half of white; the other class has one image.
    found = distance_from_class_mean(images, np.array([4, 1, 4, 4]))
    assert found == pytest.approx([6**0.5 / 3, 0, 6**0.5 * 2 / 3, 6**0.5 / 3])


def test_distances_do_not_depend_on_how_many_images_are_read_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    images, label = rng.integers(0, 256, (23, 5, 4, 3), dtype=np.uint8), rng.integers(0, 3, 23)
    means = [images[label == c].astype(float).mean(axis=0) for c in range(3)]
    expected = [np.linalg.norm(x - means[c]) / 255 for x, c in zip(images, label, strict=True)]
    for chunk in (3, 2048):
        monkeypatch.setattr(copies, "CHUNK_BYTES", chunk * images[0].nbytes)
        assert distance_from_class_mean(images, label) == pytest.approx(expected)


def test_pixels_of_a_cell_are_in_its_numbers(tmp_path):
    found = facts(tmp_path, pixels=np.array([3, 17, 2]))
    assert found["retrain", "pixel_range", None] == 14
    assert found["retrain", "constant_images", None] == 2


@pytest.mark.parametrize(
    ("values", "constant", "colour"),
    [(255, 0, "green"), (64, 0, "green"), (14, 0, "amber"), (255, 3, "amber"), (0, 480, "red")],
)
def test_ruined_pixels_are_named(tmp_path, values, constant, colour):
    gate = ask(tmp_path, pixel_range=values, constant_images=constant)["pixel values"]
    assert gate.colour == colour
    assert f"by up to {values} of 255, {constant} images are constant" in gate.text


@pytest.mark.parametrize("name", ["copies in the test set", "pixel values"])
def test_values_missing_in_old_results_are_amber(tmp_path, name):
    gate = ask(tmp_path, test_copies=np.nan, pixel_range=np.nan)[name]
    assert (gate.colour, "cannot be said" in gate.text) == ("amber", True)
