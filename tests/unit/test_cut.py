"""A data set cut to some of its classes and to the first examples of each."""

import numpy as np
import pytest

from collateral.contract.data import DataOptions
from collateral.data._metadata import count_train
from collateral.data._subset import take_subset
from collateral.results.dataset import Dataset, Labels

# Every image is one pixel, its position: train 0..7, test 100..103.
TRAIN = np.array([0, 1, 2, 2, 1, 0, 2, 0])
TEST = np.array([2, 0, 1, 0])
SMALL = Dataset(
    train_images=np.arange(8, dtype=np.uint8).reshape(8, 1, 1, 1),
    test_images=np.arange(100, 104, dtype=np.uint8).reshape(4, 1, 1, 1),
    labels=Labels(TRAIN, TEST, ("cat", "dog", "owl")),
    mean=(0.25,),
    std=(0.5,),
    padding=2,
    flip=True,
)


def pixels(images):
    return images.ravel().tolist()


def test_no_option_keeps_everything():
    result = take_subset(SMALL, DataOptions())
    assert pixels(result.train_images) == list(range(8))
    assert result.labels.train.tolist() == TRAIN.tolist()
    assert result.labels.class_names == ("cat", "dog", "owl")


def test_classes_are_numbered_in_the_order_in_which_they_are_listed():
    result = take_subset(SMALL, DataOptions(classes=("owl", "cat")))
    assert result.labels.class_names == ("owl", "cat")
    assert pixels(result.train_images) == [0, 2, 3, 5, 6, 7]
    assert result.labels.train.tolist() == [1, 0, 0, 1, 0, 1]
    assert pixels(result.test_images) == [100, 101, 103]
    assert result.labels.test.tolist() == [0, 1, 1]


def test_a_class_may_be_given_by_its_index():
    by_index = take_subset(SMALL, DataOptions(classes=(2, "cat")))
    assert by_index.labels.class_names == ("owl", "cat")


def test_per_class_keeps_the_first_train_examples_in_their_order():
    result = take_subset(SMALL, DataOptions(per_class=2))
    assert pixels(result.train_images) == [0, 1, 2, 3, 4, 5]
    assert pixels(result.test_images) == [100, 101, 102, 103]


def test_test_per_class_keeps_the_first_test_examples():
    result = take_subset(SMALL, DataOptions(test_per_class=1))
    assert pixels(result.train_images) == list(range(8))
    assert pixels(result.test_images) == [100, 101, 102]


def test_per_class_counts_only_the_classes_that_stay():
    result = take_subset(SMALL, DataOptions(classes=("owl", "cat"), per_class=3))
    assert pixels(result.train_images) == [0, 2, 3, 5, 6, 7]


def test_a_normalisation_of_ones_own_replaces_the_data_sets():
    result = take_subset(SMALL, DataOptions(mean=(0.5,), std=(0.125,)))
    assert (result.mean, result.std) == ((0.5,), (0.125,))


def test_a_normalisation_has_a_number_for_each_channel():
    with pytest.raises(ValueError, match=r"data\.mean: 3 numbers for 1 channels"):
        take_subset(SMALL, DataOptions(mean=(0.5,) * 3, std=(0.5,) * 3))


def test_statistics_and_augmentation_stay():
    result = take_subset(SMALL, DataOptions(classes=("owl", "cat"), per_class=1))
    assert (result.mean, result.std, result.padding, result.flip) == ((0.25,), (0.5,), 2, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": ["cat", "dgo"]}, r"data.classes: no class 'dgo'; .*did you mean dog\?"),
        ({"classes": ["cat", 3]}, r"data.classes: no class 3; there are 3, 0 to 2"),
        ({"classes": ["cat", -1]}, r"should be greater than or equal to 0"),
        ({"classes": ["cat", 0]}, r"data.classes: class 'cat' is listed twice"),
        ({"per_class": 3}, r"data.per_class: 3, but class 'dog' has 2 train examples"),
        ({"test_per_class": 2}, r"data.test_per_class: 2, but class 'dog' has 1 test examples"),
    ],
)
def test_classes_and_counts_that_cannot_be_kept_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        take_subset(SMALL, DataOptions.model_validate(options))


def test_classes_without_any_test_example_are_refused():
    untested = Labels(TRAIN, np.zeros(4, dtype=np.int64), ("cat", "dog", "owl"))
    dataset = Dataset(SMALL.train_images, SMALL.test_images, untested, (0.0,), (1.0,))
    with pytest.raises(ValueError, match=r"data.classes: .*no test example"):
        take_subset(dataset, DataOptions(classes=("dog", "owl")))


def test_yaml_booleans_are_not_taken_for_classes():
    with pytest.raises(ValueError, match="classes"):
        DataOptions.model_validate({"classes": [True, False]})


@pytest.mark.parametrize(
    ("classes", "each", "imbalance", "total", "counts"),
    [
        # CIFAR-10-LT and CIFAR-100-LT of Cao et al. (LDAM), imbalance 100.
        (10, 5000, 100, 12_406, [5000, 2997, 1796, 1077, 645, 387, 232, 139, 83, 50]),
        (100, 500, 100, 10_847, [500, 477, 455]),
        (10, 5000, 10, 20_431, [5000, 3871, 2997]),
    ],
)
def test_a_long_tail_has_the_published_numbers(classes, each, imbalance, total, counts):
    found = count_train([each] * classes, DataOptions(imbalance=imbalance))
    assert sum(found) == total
    assert found[: len(counts)] == counts
    assert found[-1] == each // imbalance


def test_a_long_tail_keeps_the_first_examples_and_the_whole_test_set():
    result = take_subset(SMALL, DataOptions(imbalance=3))  # of 3, 2 and 3: 3, 1 and 1
    assert pixels(result.train_images) == [0, 1, 2, 5, 7]
    assert pixels(result.test_images) == [100, 101, 102, 103]


def test_a_long_tail_follows_the_order_of_the_classes_and_is_cut_first():
    given = DataOptions(classes=("owl", "cat"), per_class=2, imbalance=2)
    assert take_subset(SMALL, given).labels.train.tolist() == [1, 0, 0]  # 2 owls, 1 cat


def test_every_class_of_a_long_tail_keeps_an_example():
    assert count_train([4, 4, 4], DataOptions(imbalance=1000)) == [4, 1, 1]
