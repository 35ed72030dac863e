"""A user's own arrays: how they are read, and what is said of files that do not fit."""

import pickle
import re

import numpy as np
import pytest
from tiny_sets import arrays_content, pixels

from collateral.data._metadata import find_size
from collateral.data.forget import where
from collateral.plugins.find import DATA


def one_wrong(shape, place, value):
    """Return images in [0, 1] with one value that is not."""
    images = np.full(shape, 0.5, np.float32)
    images[place] = value
    return images


def load_arrays(folder, content, test_content=None, **options):
    np.savez(folder / "own.npz", **content)
    if test_content is not None:
        np.savez(folder / "own_test.npz", **test_content)
        options["test_path"] = folder / "own_test.npz"
    module = DATA.load("arrays")
    return module.load(module.Options(path=folder / "own.npz", **options))


def test_arrays_come_in_the_order_of_their_file(tmp_path):
    content = arrays_content()
    dataset = load_arrays(tmp_path, content)
    assert np.array_equal(dataset.train_images, content["train_images"])
    assert np.array_equal(dataset.test_images, content["test_images"])
    assert dataset.labels.train.tolist() == [0, 1, 2, 0, 1, 2]
    assert dataset.labels.class_names == ("cat", "dog", "owl")
    assert (dataset.padding, dataset.flip) == (0, False)


def test_arrays_are_augmented_only_with_the_options_flip_and_padding(tmp_path):
    dataset = load_arrays(tmp_path, arrays_content(), padding=2, flip=True)
    assert (dataset.padding, dataset.flip) == (2, True)


def test_arrays_without_names_have_numbered_classes(tmp_path):
    dataset = load_arrays(tmp_path, arrays_content(class_names=None))
    assert dataset.labels.class_names == ("class_0", "class_1", "class_2")


def test_grey_arrays_may_have_no_channel(tmp_path):
    content = arrays_content(train_images=pixels(6, 4, 5), test_images=pixels(3, 4, 5))
    dataset = load_arrays(tmp_path, content)
    assert np.array_equal(dataset.train_images[..., 0], content["train_images"])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_are_rounded_to_the_nearest_of_256_values(tmp_path, dtype):
    train = np.tile([0.0, 0.25, 0.5, 1.0], (6, 1)).reshape(6, 2, 2).astype(dtype)
    content = arrays_content(train_images=train, test_images=train[:3])
    dataset = load_arrays(tmp_path, content)
    # 0.25 * 255 is 63.75; 127.5 lies between two values and goes to the even one.
    assert dataset.train_images[0].ravel().tolist() == [0, 64, 128, 255]


@pytest.mark.parametrize("keys", [("images", "labels"), ("X", "y")])
def test_train_and_test_set_may_be_files_of_their_own(tmp_path, keys):
    content = arrays_content()
    train = dict(zip(keys, (content["train_images"], content["train_labels"]), strict=True))
    test = dict(zip(keys, (content["test_images"], content["test_labels"]), strict=True))
    dataset = load_arrays(tmp_path, {**train, "class_names": content["class_names"]}, test)
    assert np.array_equal(dataset.test_images, content["test_images"])
    assert dataset.labels.class_names == ("cat", "dog", "owl")


IMAGES = "expected uint8, or floats from 0 to 1, of shape"
BAD_CONTENTS = {
    "no train images": (
        {"train_images": None},
        "own.npz: arrays: train_labels, .*expected train_images and train_labels",
    ),
    "no test labels": ({"test_labels": None}, "expected test_images and test_labels"),
    "channels first": (
        {"train_images": pixels(6, 3, 32, 32)},
        rf"train_images: uint8 of shape \(6, 3, 32, 32\); {IMAGES}",
    ),
    "text for images": ({"train_images": np.full((6, 4, 5), "a")}, "train_images: <U1 of shape"),
    "flat images": ({"train_images": pixels(6, 784)}, r"train_images: uint8 of shape \(6, 784\)"),
    "integers for images": (
        {"train_images": pixels(6, 4, 5, 3).astype(np.int64)},
        f"train_images: int64 of shape .*; {IMAGES}",
    ),
    "normalised floats": (
        {"test_images": np.linspace(-2, 2, 180).reshape(3, 4, 5, 3)},
        f"test_images: .*, from -2 to 2; {IMAGES}",
    ),
    "floats to 255": (
        {"train_images": pixels(6, 4, 5, 3).astype(np.float32)},
        f"train_images: .*, from 0 to 25.*; {IMAGES}",
    ),
    "floats that were divided by 255 twice": (
        {"test_images": pixels(3, 4, 5, 3) / np.float64(255**2)},
        f"test_images: .*, from .* to 0.00.*; {IMAGES}",
    ),
    "a value that is no number": (
        {"test_images": one_wrong((3, 4, 5, 3), (2, 3, 1, 0), np.nan)},
        f"test_images: .*, from nan to nan; {IMAGES}",
    ),
    "an infinite value": (
        {"train_images": one_wrong((6, 4, 5, 3), (5, 0, 0, 2), -np.inf)},
        f"train_images: .*, from -inf to 0.5; {IMAGES}",
    ),
    "other test shape": (
        {"test_images": pixels(3, 5, 5, 3)},
        r"test_images: \(3, 5, 5, 3\); expected \(N, H, W, C\) as \(6, 4, 5, 3\)",
    ),
    "fewer labels than images": (
        {"train_labels": np.array([0, 1, 2])},
        r"train_labels: int64 of shape \(3,\); expected integers of shape \(6,\), one per image",
    ),
    "one-hot labels": (
        {"train_labels": np.eye(6, 3, dtype=int)},
        r"train_labels: int64 of shape \(6, 3\); expected integers of shape \(6,\)",
    ),
    "float labels": (
        {"test_labels": np.array([0.0, 1.0, 2.0])},
        "test_labels: float64 of shape .*; expected integers",
    ),
    "negative label": (
        {"train_labels": np.array([0, 1, 2, -1, 1, 2])},
        "train_labels: -1; expected 0 to 2",
    ),
    "train label beyond the names": (
        {"train_labels": np.array([0, 1, 2, 3, 1, 2])},
        "train_labels: 3; expected 0 to 2, as there are 3 classes",
    ),
    "test label beyond the names": (
        {"test_labels": np.array([0, 1, 7])},
        "test_labels: 7; expected 0 to 2",
    ),
    "huge labels": (
        {"train_labels": np.array([0, 1, 2, 0, 1, 2**60]), "class_names": None},
        "train_labels: 1152921504606846976; expected 0 to 3",
    ),
    "a name twice": (
        {"class_names": np.array(["cat", "dog", "cat"])},
        r"class_names: \['cat', 'dog', 'cat'\]; expected a list of different strings",
    ),
    "names that are numbers": (
        {"class_names": np.arange(3)},
        "class_names: .*expected a list of different strings",
    ),
    "names in a column": (
        {"class_names": np.array([["cat"], ["dog"], ["owl"]])},
        r"class_names: \[\['cat'\], \['dog'\], \['owl'\]\]; expected a list of different strings",
    ),
    "one text for names": (
        {"class_names": np.array("cat")},
        "class_names: 'cat'; expected a list of different strings",
    ),
    "one number for names": ({"class_names": np.array(3)}, "class_names: 3; expected a list"),
    "no train example": (
        {"train_images": pixels(0, 4, 5, 3), "train_labels": np.zeros(0, int)},
        r"train_images: uint8 of shape \(0, 4, 5, 3\); .* at least one image",
    ),
    "pickled objects": (
        {"train_labels": np.array([0, 1, 2, None, 1, 2], dtype=object)},
        "cannot read .*own.npz: .*allow_pickle=False",
    ),
}


@pytest.mark.parametrize(("changes", "message"), BAD_CONTENTS.values(), ids=BAD_CONTENTS)
def test_bad_arrays_are_named_with_file_key_and_what_is_expected(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message) as caught:
        load_arrays(tmp_path, arrays_content(**changes))
    assert str(caught.value).startswith("data.path: ")
    assert str(tmp_path / "own.npz") in str(caught.value)
    assert "\n" not in str(caught.value)


AT_THE_PLAN = ["channels first", "text for images", "flat images", "names in a column"]


@pytest.mark.parametrize("case", AT_THE_PLAN)
def test_arrays_that_do_not_fit_are_named_before_an_image_is_read(tmp_path, case):
    changes, message = BAD_CONTENTS[case]
    np.savez(tmp_path / "own.npz", **arrays_content(**changes))
    with pytest.raises(ValueError, match=f"^data.path: .*{message}"):
        find_size("arrays", DATA.load("arrays").Options(path=tmp_path / "own.npz"))


def test_unsigned_numbers_of_64_bits_stay_different_and_can_be_forgotten(tmp_path):
    ids = [2**63 + 1, 2**63 + 2, 1, 2, 3, 4]
    labels = load_arrays(tmp_path, arrays_content(id=np.array(ids, np.uint64))).labels
    forget = where.Params.model_validate({"column": "id", "is": [2**63 + 2, 3]})
    assert where.select(labels, forget).tolist() == [1, 4]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"class_names": np.array(["cat", "dog", "owl", "elk"])}, "without train examples: elk"),
        (
            {
                "train_labels": np.zeros(6, int),
                "test_labels": np.zeros(3, int),
                "class_names": None,
            },
            "1 classes",
        ),
    ],
    ids=["too many names", "one class"],
)
def test_a_class_without_examples_and_one_class_alone_are_refused(tmp_path, changes, message):
    with pytest.raises(ValueError, match=f"^data.path: .*{message}"):
        load_arrays(tmp_path, arrays_content(**changes))


def test_an_error_in_the_test_file_names_the_test_file(tmp_path):
    train = {"X": pixels(2, 4, 5), "y": np.array([0, 1])}
    with pytest.raises(ValueError, match=r"data.test_path: .*own_test.npz: y: 2"):
        load_arrays(tmp_path, train, {"X": pixels(1, 4, 5), "y": np.array([2])})


def test_files_of_their_own_must_have_a_pair_of_keys(tmp_path):
    with pytest.raises(
        ValueError, match=r"own.npz: arrays: X; expected images and labels or X and y"
    ):
        load_arrays(tmp_path, {"X": pixels(2, 4, 5)}, {"X": pixels(1, 4, 5)})


@pytest.mark.parametrize("content", [b"", b"label,pixel\n0,255\n", pickle.dumps([1, 2, 3])])
def test_another_kind_of_file_is_refused(tmp_path, content):
    path = tmp_path / "own.npz"
    path.write_bytes(content)
    module = DATA.load("arrays")
    with pytest.raises(ValueError, match=r"no \.npz file of numpy\.savez there"):
        module.load(module.Options(path=path))


@pytest.mark.parametrize("damage", ["cut off", "changed"])
def test_a_damaged_npz_is_refused(tmp_path, damage):
    path = tmp_path / "own.npz"
    np.savez(path, **arrays_content())
    content = bytearray(path.read_bytes())
    content[400] ^= 255  # inside the train images: the checksum of the archive tells
    path.write_bytes(content[:600] if damage == "cut off" else content)
    module = DATA.load("arrays")
    with pytest.raises(ValueError, match=rf"data.path: .*{re.escape(str(path))}"):
        module.load(module.Options(path=path))


def test_a_folder_is_no_npz(tmp_path):
    module = DATA.load("arrays")
    with pytest.raises(ValueError, match=r"data.path: .*: no .npz file"):
        module.load(module.Options(path=tmp_path))


def test_the_size_of_two_files_of_grey_images_is_known(tmp_path):
    np.savez(tmp_path / "train.npz", X=pixels(5, 4, 6), y=np.array([0, 1, 1, 0, 1]))
    np.savez(tmp_path / "test.npz", X=pixels(2, 4, 6), y=np.array([1, 1]))
    options = {"path": tmp_path / "train.npz", "test_path": tmp_path / "test.npz"}
    size = find_size("arrays", DATA.load("arrays").Options(**options))
    assert (size.train, size.test, size.shape) == ((2, 3), (0, 2), (4, 6, 1))


def test_the_size_of_a_missing_file_is_an_error(tmp_path):
    options = DATA.load("arrays").Options(path=tmp_path / "no.npz")
    with pytest.raises(ValueError, match=r"data\.path: .*no\.npz: no .npz file"):
        find_size("arrays", options)
