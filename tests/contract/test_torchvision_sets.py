"""Sets of torchvision by their own names, from tiny files in their real formats."""

import inspect
import json
import pickle
import subprocess
import sys
from urllib.error import URLError

import numpy as np
import pytest
from PIL import Image
from tiny_sets import idx, md5

from collateral.data._metadata import find_class_names, find_size
from collateral.data._readers import pieces
from collateral.data._readers.pixels import statistics
from collateral.data._readers.torchvision_sets import EMNIST, SETS
from collateral.plugins.find import DATA
from collateral.results.dataset import Dataset

datasets = pytest.importorskip("torchvision").datasets
torchvision = DATA.load("torchvision")


def pixels(seed, *shape):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def write_cifar10(root, monkeypatch):
    folder = root / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for part, labels in (("data_batch_1", [0, 9, 3]), ("test_batch", [9, 0])):
        images = pixels(len(labels), len(labels), 32, 32, 3)
        content = {"data": images.transpose(0, 3, 1, 2).reshape(len(labels), -1), "labels": labels}
        (folder / part).write_bytes(pickle.dumps(content))
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": [*"abcdefghij"]}))
    for key, part in (("train_list", "data_batch_1"), ("test_list", "test_batch")):
        monkeypatch.setattr(datasets.CIFAR10, key, [[part, md5(folder / part)]])
    meta = {**datasets.CIFAR10.meta, "md5": md5(folder / "batches.meta")}
    monkeypatch.setattr(datasets.CIFAR10, "meta", meta)
    return [0, 9, 3], [9, 0], pixels(3, 3, 32, 32, 3)[1]


def write_idx(folder, prefixes, labels):
    folder.mkdir(parents=True)
    for prefix, own in zip(prefixes, labels, strict=True):
        images = pixels(len(own), len(own), 28, 28)
        (folder / f"{prefix}-images-idx3-ubyte").write_bytes(idx(images))
        (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(idx(np.array(own)))
    return pixels(len(labels[0]), len(labels[0]), 28, 28)[1][..., None]


def write_kmnist(root, monkeypatch):
    labels = [[5, 0, 9], [1, 2]]
    return *labels, write_idx(root / "KMNIST/raw", ("train", "t10k"), labels)


def write_emnist(root, monkeypatch):
    """Write letters, which are numbered from 1."""
    prefixes = ("emnist-letters-train", "emnist-letters-test")
    second = write_idx(root / "EMNIST/raw", prefixes, [[1, 26, 3], [2, 1]])
    return [0, 25, 2], [1, 0], second


def write_gtsrb(root, monkeypatch):
    folder = root / "gtsrb"
    for label in range(43):
        place = folder / f"GTSRB/Training/{label:05d}"
        place.mkdir(parents=True)
        Image.fromarray(pixels(label, 40, 50, 3)).save(place / "00000.ppm")
    place = folder / "GTSRB/Final_Test/Images"
    place.mkdir(parents=True)
    Image.fromarray(pixels(7, 30, 30, 3)).save(place / "00000.ppm")
    (folder / "GT-final_test.csv").write_text("Filename;ClassId\n00000.ppm;42\n")
    return [*range(43)], [42], None


def write_eurosat(root, monkeypatch):
    for label, name in enumerate(SETS["EuroSAT"].names):
        place = root / "eurosat/2750" / name
        place.mkdir(parents=True)
        for number in range(5):
            Image.fromarray(pixels(label, 64, 64, 3)).save(place / f"{name}_{number}.jpg")
    return [label for label in range(10) for _ in range(4)], [*range(10)], None


def write_food(root, monkeypatch):
    folder = root / "food-101"
    names = [f"dish_{number:03d}" for number in range(101)]
    for part in ("train", "test"):
        listed = {name: [f"{name}/{part}"] for name in names}
        (folder / "meta").mkdir(parents=True, exist_ok=True)
        (folder / f"meta/{part}.json").write_text(json.dumps(listed))
    for name in names:
        for part in ("train", "test"):
            (folder / "images" / name).mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels(1, 20, 30, 3)).save(folder / f"images/{name}/{part}.jpg")
    return [*range(101)], [*range(101)], None


WRITERS = {
    "CIFAR10": write_cifar10,
    "KMNIST": write_kmnist,
    "EMNIST": write_emnist,
    "GTSRB": write_gtsrb,
    "EuroSAT": write_eurosat,
    "Food101": write_food,
}


def options(name, root, **more):
    split = {"split": "letters"} if name == "EMNIST" else {}
    return torchvision.Options(dataset=name, root=root, **{"download": False, **split, **more})


@pytest.mark.parametrize("name", WRITERS)
def test_a_set_is_read_by_its_own_name(tmp_path, monkeypatch, name):
    train, test, second = WRITERS[name](tmp_path, monkeypatch)
    given = options(name, tmp_path)
    data, size = torchvision.load(given), find_size("torchvision", given)
    assert (data.labels.train.tolist(), data.labels.test.tolist()) == (train, test)
    assert data.train_images.shape[1:] == size.shape
    assert len(data.labels.class_names) == size.num_classes
    assert find_class_names("torchvision", given) in (None, data.labels.class_names)
    if second is not None:
        assert (data.train_images[1] == second).all()


def test_class_names_come_from_the_files_if_not_known_before(tmp_path, monkeypatch):
    write_food(tmp_path, monkeypatch)
    given = options("Food101", tmp_path)
    assert find_class_names("torchvision", given) is None
    assert torchvision.load(given).labels.class_names[:2] == ("dish_000", "dish_001")


def test_images_of_other_sizes_are_scaled(tmp_path, monkeypatch):
    write_kmnist(tmp_path, monkeypatch)
    data = torchvision.load(options("KMNIST", tmp_path, size=14))
    assert data.train_images.shape[1:] == (14, 14, 1)


@pytest.mark.parametrize("name", ["CIFAR10", "EuroSAT"])
def test_images_are_decoded_a_piece_at_a_time(tmp_path, monkeypatch, name):
    WRITERS[name](tmp_path, monkeypatch)
    given = options(name, tmp_path, size=20)
    whole = torchvision.load(given)
    monkeypatch.setattr(pieces, "PIECE_BYTES", 2 * 20 * 20 * 3)
    opened = torchvision.open_pieces(given)
    assert {len(piece) for piece in opened.train_images} <= {1, 2}
    opened.save(tmp_path / "pieces.npz")
    found = Dataset.load(tmp_path / "pieces.npz")
    assert (found.train_images == whole.train_images).all()
    assert (found.test_images == whole.test_images).all()
    assert (found.mean, found.std) == statistics(whole.train_images)


def test_random_size_crops_take_the_place_of_the_usual_padding(tmp_path, monkeypatch):
    write_cifar10(tmp_path, monkeypatch)
    given = options("CIFAR10", tmp_path, size=40, crop=36)
    data, size = torchvision.load(given), find_size("torchvision", given)
    assert (data.train_images.shape[1:], data.crop, data.padding) == ((40, 40, 3), 36, 0)
    assert (size.shape, size.side) == ((36, 36, 3), 40)
    assert torchvision.load(options("CIFAR10", tmp_path)).padding == 4


@pytest.mark.parametrize(
    ("more", "message"),
    [({"crop": 33}, "have a `size` of 32"), ({"crop": 30, "padding": 2}, "two")],
)
def test_crops_that_cannot_be_are_refused(tmp_path, more, message):
    with pytest.raises(ValueError, match=message):
        options("CIFAR10", tmp_path, **more)


@pytest.mark.parametrize("name", [*SETS])
def test_the_table_fits_torchvision(name):
    kind, facts = getattr(datasets, name), SETS[name]
    asked = {key for part in (facts.parts if facts.test else ()) for key in part}
    known = inspect.signature(kind.__init__).parameters
    assert asked <= {*known} or "kwargs" in known
    assert "download" in known or "kwargs" in known
    assert facts.names is None or len(facts.names) == facts.classes
    own = getattr(kind, "classes", None)
    if own and facts.names and not facts.names[0].startswith("digit") and name != "EMNIST":
        assert list(facts.names) == own


@pytest.mark.parametrize("split", [*EMNIST])
def test_the_letters_are_torchvisions(split):
    own = [name for name in datasets.EMNIST.classes_split_dict[split] if name != "N/A"]
    assert [name.removeprefix("digit_") for name in EMNIST[split].names] == own


def test_an_unknown_data_set_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match=r"no data set of torchvision 'CIFAR-10'.* mean CIFAR10\?"):
        torchvision.Options(dataset="CIFAR-10")


@pytest.mark.parametrize("name", ["CIFAR10", "MNIST", "GTSRB", "EuroSAT", "Flowers102"])
def test_without_files_and_internet_one_line_says_what_is_missing(tmp_path, monkeypatch, name):
    def refuse(*_, **__):
        raise URLError("no network in tests")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    with pytest.raises(ValueError, match=f"data.root: cannot read {name} from") as error:
        torchvision.load(options(name, tmp_path / "root", download=True))
    assert "\n" not in str(error.value)
    assert error.value.__suppress_context__
    with pytest.raises(ValueError, match=r"is missing, and `download` is false .* Put it there"):
        torchvision.load(options(name, tmp_path / "elsewhere"))


def test_reading_a_config_imports_no_torchvision():
    code = (
        "import sys; from collateral.data import torchvision as t\n"
        "t.size(t.Options(dataset='Food101')); t.class_names(t.Options(dataset='CIFAR100'))\n"
        "print('torchvision' in sys.modules or 'torch' in sys.modules or 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
