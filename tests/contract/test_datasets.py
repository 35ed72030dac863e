"""Every data set against its contract, and those that come with the package."""

import gzip
import os
import pickle
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import yaml
from tiny_sets import TINY_LABELS, WRITERS, md5, pixels

from collateral.data._metadata import find_class_names, find_size
from collateral.data._readers.pixels import statistics, to_uint8
from collateral.data._subset import take_subset
from collateral.jobs.data import DataJob
from collateral.plugins.find import DATA, FORGET
from collateral.results.dataset import Dataset, Labels
from collateral.stages._workspace import Workspace
from collateral.stages.run import run_job

DOCS = Path(__file__).parents[2] / "docs" / "your-data.md"
CONFIG = DOCS.with_name("config.md")
REAL = os.environ.get("COLLATERAL_DATA")
needs_real_files = pytest.mark.skipif(
    REAL is None, reason="COLLATERAL_DATA names no folder with the real MNIST and CIFAR-100 files"
)
DIGITS = tuple(f"digit_{digit}" for digit in range(10))
FROM_TORCHVISION = ["cifar100", "mnist", "svhn"]
OF_WHOLE_FILES = [*FROM_TORCHVISION, "torchvision"]  # whose size is that of the real files


@pytest.fixture
def options_of(tmp_path, monkeypatch):
    """Return options under which a data set can be loaded, with tiny files where it needs files."""

    def make(name, **more):
        given = WRITERS[name](tmp_path / name, monkeypatch) if name in WRITERS else {}
        return DATA.load(name).Options(**given, **more)

    return make


@pytest.fixture
def offline(monkeypatch):
    """Fail every download at once."""

    def refuse(*_, **__):
        raise URLError("no network in tests")

    monkeypatch.setattr("urllib.request.urlopen", refuse)


def check_contract(dataset, names):
    """Assert what every data set promises."""
    num_classes = len(dataset.labels.class_names)
    channels = dataset.train_images.shape[3]
    sets = [
        (dataset.train_images, dataset.labels.train),
        (dataset.test_images, dataset.labels.test),
    ]
    for images, labels in sets:
        assert images.dtype == np.uint8, f"images are {images.dtype}; expected uint8, 0 to 255"
        assert images.ndim == 4, f"images are {images.shape}; expected (N, height, width, channels)"
        assert images.flags.c_contiguous, "images are a view: take np.ascontiguousarray of them"
        assert labels.dtype == np.int64, f"labels are {labels.dtype}; expected int64"
        assert labels.shape == (len(images),), f"{labels.shape} labels of {len(images)} images"
        assert len(images) > 0, "there is no train, or no test image"
        ends = labels.min(), labels.max()
        is_within = ends[0] >= 0 and ends[1] < num_classes
        assert is_within, f"labels from {ends[0]} to {ends[1]} of {num_classes} class_names"
    shapes = [images.shape[1:] for images, _ in sets]
    assert shapes[0] == shapes[1], f"train images are {shapes[0]}, test images {shapes[1]}"
    assert channels in (1, 3), f"{channels} channels; expected 1 or 3"
    given = len(dataset.mean), len(dataset.std)
    assert given == (channels, channels), f"{given} numbers in mean and std of {channels} channels"
    assert min(dataset.std) > 0, f"std {dataset.std}: images are divided by it"
    assert num_classes >= 2, f"class_names has {num_classes}; there is nothing to tell apart"
    is_told_apart = len({*dataset.labels.class_names}) == num_classes
    assert is_told_apart, "two classes have one name: configs name classes by it"
    known = names is None or dataset.labels.class_names == names
    assert known, f"INFO.class_names, as options cut them, are {names}; load gives others"


def assert_no_traceback_of_another(error):
    assert error.__cause__ is None
    assert error.__suppress_context__


def same(one, two):
    return (
        np.array_equal(one.train_images, two.train_images)
        and np.array_equal(one.test_images, two.test_images)
        and np.array_equal(one.labels.train, two.labels.train)
        and np.array_equal(one.labels.test, two.labels.test)
    )


def test_the_data_sets_on_disk_are_those_we_know():
    own = {"arrays", "cifar100", "digits", "folder", "mnist", "parquet", "svhn", "synthetic"}
    assert {*DATA.own} == {*own, "torchvision"}
    assert {*DATA.own} <= {*DATA.names()}


@pytest.mark.parametrize("name", DATA.names())
def test_every_data_set_keeps_the_contract(name, options_of):
    options = options_of(name)
    check_contract(DATA.load(name).load(options), find_class_names(name, options))


@pytest.mark.parametrize("name", DATA.names())
def test_every_data_set_is_the_same_when_loaded_again(name, options_of):
    module, options = DATA.load(name), options_of(name)
    assert same(module.load(options), module.load(options)), (
        "loaded twice, images or labels differ: give every random generator a seed, of Options"
    )


@pytest.mark.parametrize("name", DATA.names())
def test_every_option_is_described(name):
    fields = DATA.load(name).Options.model_fields
    inherited = {"classes", "per_class", "test_per_class"} <= {*fields}
    assert inherited, "Options is a subclass of DataOptions (contract/data.py)"
    mute = [field for field, info in fields.items() if not info.description]
    assert not mute, f"Options: {mute}: give Field(..., description=...)"


@pytest.mark.parametrize("name", DATA.names())
def test_every_data_set_refuses_unknown_options(name):
    with pytest.raises(ValueError, match="rotate"):
        DATA.load(name).Options.model_validate({"rotate": 3})


@pytest.mark.parametrize(
    "module",
    ["collateral.data._metadata"]
    + [f"collateral.data.{name}" for name in DATA.names()]
    + [f"collateral.data.forget.{name}" for name in FORGET.names()],
)
def test_modules_that_the_snakefile_imports_are_light(module, pytestconfig):
    code = (
        "import sys; from importlib import import_module; from pathlib import Path\n"
        "from collateral.plugins.find import add_plugins\n"
        "add_plugins([*map(Path, sys.argv[2:])]); import_module(sys.argv[1]); print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code, module, *pytestconfig.getoption("plugin_folders")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ).stdout.split()
    assert module in loaded
    heavy = {"numpy", "scipy", "sklearn", "torch", "torchvision"} & {*loaded}
    assert not heavy, f"{module} imports {sorted(heavy)}: the Snakefile reads it; import in `load`"


def test_an_unknown_data_set_is_named_with_the_nearest_one():
    with pytest.raises(ValueError, match=r"no data set 'CIFAR-100'; .*did you mean cifar100\?"):
        DATA.load("CIFAR-100")


def test_a_servant_of_the_data_sets_is_none():
    with pytest.raises(ValueError, match="no data set 'cut'"):
        DATA.load("cut")


def test_known_classes_are_those_that_are_kept():
    options = DATA.load("digits").Options(classes=("digit_7", 2))
    assert find_class_names("digits", options) == ("digit_7", "digit_2")


def test_known_classes_of_the_users_arrays_are_unknown():
    assert find_class_names("arrays", DATA.load("arrays").Options(path="own.npz")) is None


def test_known_classes_name_an_unknown_one():
    options = DATA.load("cifar100").Options(classes=("couch", "bycicle"))
    with pytest.raises(ValueError, match=r"no class 'bycicle'; .*did you mean bicycle\?"):
        find_class_names("cifar100", options)


def run_stage(folder, name, options, *forget):
    job = DataJob(benchmark=folder.name, name=name, options=options)
    run_job(Workspace(job, folder.parent, beside={"forget": forget}))


@pytest.mark.parametrize("name", DATA.names())
def test_the_stage_writes_what_was_loaded(name, options_of, tmp_path):
    options = options_of(name)
    # As a job gets them: what the config says.
    run_stage(tmp_path / "out", name, options.model_dump(mode="json", exclude_unset=True))
    written = Dataset.load(tmp_path / "out" / "dataset.npz")
    loaded = DATA.load(name).load(options)
    labels = Labels.load(tmp_path / "out" / "labels.npz")
    again = "loaded once more, it is other than what the job wrote: give generators a seed"
    assert same(written, loaded), again
    assert written.info == loaded.info, again
    assert (written.padding, written.flip) == (loaded.padding, loaded.flip), again
    assert labels.train.tolist() == loaded.labels.train.tolist(), again
    assert labels.class_names == loaded.labels.class_names, again


def test_the_stage_cuts(tmp_path):
    options = {"classes": ["digit_3", "digit_8"], "per_class": 5, "test_per_class": 2}
    run_stage(tmp_path, "digits", options)
    labels = Labels.load(tmp_path / "labels.npz")
    assert labels.class_names == ("digit_3", "digit_8")
    assert np.bincount(labels.train).tolist() == [5, 5]
    assert np.bincount(labels.test).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("digit", {}, r"no data set 'digit'; .*did you mean digits\?"),
        ("digits", {"clases": ["digit_3"]}, "clases"),
        ("digits", {"classes": ["digit_3", "digit_x"]}, "no class 'digit_x'"),
        ("digits", {"per_class": 1000}, "data.per_class: 1000, but class 'digit_0' has 134"),
        ("arrays", {"path": "nowhere.npz"}, "data.path: nowhere.npz: no .npz file"),
        ("arrays", {}, "path"),
    ],
)
def test_the_stage_writes_nothing_on_bad_input(tmp_path, name, options, message):
    with pytest.raises(ValueError, match=message):
        run_stage(tmp_path, name, options)
    assert not list(tmp_path.iterdir())


def forgetting_threes(retained):
    """Return a forget set of 137 digits that must leave so many."""
    params = {"class": "digit_3", "fraction": 1}
    forget = {"cell": "threes", "kind": "class_part", "params": params}
    return {**forget, "asked": {"benchmarks.b.methods.ltd.k": retained}}


def test_the_split_stage_writes_nothing_if_too_few_examples_are_retained(tmp_path):
    said = r"benchmarks.b.methods.ltd.k: 1211: only 1210 examples are retained in threes"
    with pytest.raises(ValueError, match=said):
        run_stage(tmp_path, "digits", {}, forgetting_threes(1211))
    assert not list(tmp_path.iterdir())
    run_stage(tmp_path, "digits", {}, forgetting_threes(1210))
    assert (tmp_path / "labels.npz").exists()


def part_of(cell, label, fraction, *earlier):
    params = {"class": label, "fraction": fraction}
    return {"cell": cell, "kind": "class_part", "params": params, "earlier": earlier}


def test_the_stage_writes_nothing_where_a_round_has_nothing_new(tmp_path):
    """Half of a class after all of it: known from the labels, before any training."""
    whole = part_of("s-01", "digit_3", 1.0)
    other = part_of("s-02", "digit_5", 0.3, "s-01")
    with pytest.raises(ValueError, match=r"cell s-03: .*all of it was requested in earlier"):
        half = part_of("s-03", "digit_3", 0.5, "s-01", "s-02")
        run_stage(tmp_path, "digits", {}, whole, other, half)
    assert not list(tmp_path.iterdir())
    hard = {"cell": "s-03", "kind": "hardest", "params": {"share": 0.01}, "earlier": ["s-01"]}
    run_stage(tmp_path, "digits", {}, whole, other, hard)
    assert (tmp_path / "labels.npz").exists()


@pytest.fixture(scope="module")
def digits():
    module = DATA.load("digits")
    return module.load(module.Options())


def test_digits_are_all_there_each_once(digits):
    sklearn = pytest.importorskip("sklearn.datasets")
    images = np.concatenate([digits.train_images, digits.test_images]).reshape(1797, 64)
    labels = np.concatenate([digits.labels.train, digits.labels.test])
    values, targets = sklearn.load_digits(return_X_y=True)
    # 255 / 16 is 15.94: the grey levels are 0, 16, 32, 48, 64, 80, 96, 112, 128, 143, ...
    levels = [0, 16, 32, 48, 64, 80, 96, 112, 128, 143, 159, 175, 191, 207, 223, 239, 255]
    expected = np.array(levels)[values.astype(int)]
    ours = sorted((*image, label) for image, label in zip(images.tolist(), labels, strict=True))
    theirs = sorted(
        (*image, label) for image, label in zip(expected.tolist(), targets, strict=True)
    )
    assert ours == theirs


def test_a_quarter_of_every_digit_is_for_testing(digits):
    train, test = np.bincount(digits.labels.train), np.bincount(digits.labels.test)
    assert test.tolist() == [44, 46, 44, 46, 45, 46, 45, 45, 44, 45]
    assert (train + test).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_the_writers_of_the_digits_are_mixed(digits):
    sklearn = pytest.importorskip("sklearn.datasets")
    images = to_uint8(sklearn.load_digits().images / 16)
    position = {image.tobytes(): place for place, image in enumerate(images)}
    places = [position[image.tobytes()] for image in digits.train_images]
    # Correlation of a random order of 1,347 has a standard deviation of 0.027; file order gives 1.
    assert abs(np.corrcoef(places, np.arange(len(places)))[0, 1]) < 4 * 0.027


def test_digits_are_not_augmented(digits):
    assert (digits.padding, digits.flip) == (0, False)


def synthetic(**options):
    module = DATA.load("synthetic")
    return module.load(module.Options(**options))


def test_synthetic_classes_of_one_family_are_nearer_than_any_others():
    dataset = synthetic(families=4, classes_per_family=3)
    images = dataset.test_images.reshape(len(dataset.test_images), -1).astype(float)
    means = np.stack([images[dataset.labels.test == label].mean(axis=0) for label in range(12)])
    correlation = np.corrcoef(means)
    relatives = np.equal.outer(np.arange(12) // 3, np.arange(12) // 3)
    assert correlation[relatives].min() > correlation[~relatives].max() + 0.2


def test_synthetic_closeness_is_the_correlation_of_a_familys_prototypes():
    dataset = synthetic(closeness=0.6, noise=0, size=64, num_train=1, num_test=1)
    images = dataset.train_images.reshape(9, -1).astype(float)
    correlation = np.corrcoef(images)
    # 4,096 pixels: a correlation's standard deviation is at most 1 / 64; clipping costs less.
    assert correlation[0, 1] == pytest.approx(0.6, abs=4 / 64)
    assert correlation[0, 3] == pytest.approx(0.0, abs=4 / 64)


def test_synthetic_counts_sizes_and_names_follow_the_options():
    dataset = synthetic(
        families=2, classes_per_family=2, size=12, channels=3, num_train=5, num_test=2
    )
    assert dataset.train_images.shape == (20, 12, 12, 3)
    assert dataset.test_images.shape == (8, 12, 12, 3)
    assert np.bincount(dataset.labels.train).tolist() == [5, 5, 5, 5]
    assert dataset.labels.class_names == (
        "family_0_class_0",
        "family_0_class_1",
        "family_1_class_0",
        "family_1_class_1",
    )


def test_synthetic_images_change_with_the_seed():
    assert not same(synthetic(seed=0), synthetic(seed=1))


@pytest.mark.parametrize(
    ("name", "shape", "augmentation"),
    [
        ("mnist", (28, 28, 1), (0, False)),
        ("cifar100", (32, 32, 3), (4, True)),
        ("svhn", (32, 32, 3), (0, False)),
    ],
)
def test_torchvisions_images_come_as_they_were_written(name, shape, augmentation, options_of):
    dataset = DATA.load(name).load(options_of(name))
    assert np.array_equal(dataset.train_images, pixels(6, *shape))
    assert np.array_equal(dataset.test_images, pixels(3, *shape))
    assert dataset.labels.train.tolist() == TINY_LABELS["train"].tolist()
    assert dataset.labels.test.tolist() == TINY_LABELS["test"].tolist()
    assert (dataset.padding, dataset.flip) == augmentation


@pytest.mark.parametrize("name", FROM_TORCHVISION)
def test_files_that_are_there_need_no_network(name, options_of, offline):
    options = options_of(name).model_copy(update={"download": True})
    assert len(DATA.load(name).load(options).train_images) == 6


def test_mnist_is_unpacked_where_only_the_packed_files_are_there(options_of, offline, monkeypatch):
    options = options_of("mnist").model_copy(update={"download": True})
    resources = []
    for path in sorted((options.root / "MNIST" / "raw").iterdir()):
        packed = path.with_name(path.name + ".gz")
        packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()
        resources.append((packed.name, md5(packed)))
    monkeypatch.setattr("torchvision.datasets.MNIST.resources", resources)
    assert len(DATA.load("mnist").load(options).train_images) == 6


@pytest.mark.parametrize("download", [True, False])
@pytest.mark.parametrize("name", FROM_TORCHVISION)
def test_missing_files_give_one_message_with_download_instructions(
    name, download, tmp_path, offline
):
    pytest.importorskip("torchvision")
    module = DATA.load(name)
    with pytest.raises(ValueError, match=f"(?i)data.root: cannot read {name} from") as caught:
        module.load(module.Options(root=tmp_path / "none", download=download))
    message = str(caught.value)
    assert "\n" not in message
    assert str(tmp_path / "none") in message
    assert ("no network in tests" if download else "`download` is false") in message
    assert "://" in module.HOW
    assert message.endswith(module.HOW)
    assert_no_traceback_of_another(caught.value)


@pytest.mark.parametrize("download", [True, False])
@pytest.mark.parametrize("name", FROM_TORCHVISION)
def test_a_damaged_file_is_called_damaged(name, download, options_of, offline):
    options = options_of(name).model_copy(update={"download": download})
    module = DATA.load(name)
    damaged = next(path for path in sorted(options.root.rglob("*t*")) if path.is_file())
    damaged.write_bytes(damaged.read_bytes()[:-5])
    with pytest.raises(ValueError, match="damaged") as caught:
        module.load(options)
    assert_no_traceback_of_another(caught.value)


@pytest.mark.parametrize("download", [True, False])
def test_a_good_file_is_not_blamed_for_one_that_is_missing(download, options_of, offline):
    options = options_of("svhn").model_copy(update={"download": download})
    (options.root / "test_32x32.mat").unlink()
    with pytest.raises(ValueError, match=r"32x32\.mat or a file beside it is missing or damaged"):
        DATA.load("svhn").load(options)


@pytest.mark.parametrize("name", ["mnist", "svhn"])
def test_digit_data_sets_share_their_class_names(name):
    assert DATA.load(name).INFO.class_names == DIGITS


def test_couch_is_cifar100s_class_25():
    assert DATA.load("cifar100").INFO.class_names[25] == "couch"


@needs_real_files
@pytest.mark.parametrize(
    ("name", "train_counts", "test_count"),
    [
        ("mnist", [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949], 10000),
        ("cifar100", [500] * 100, 10000),
    ],
)
def test_the_real_files_are_read(name, train_counts, test_count):
    pytest.importorskip("torchvision")
    module = DATA.load(name)
    options = module.Options(root=REAL, download=False)
    dataset = module.load(options)
    check_contract(dataset, find_class_names(name, options))
    assert np.bincount(dataset.labels.train).tolist() == train_counts
    assert len(dataset.labels.test) == test_count


@needs_real_files
def test_cifar100s_class_names_are_those_of_its_files():
    with (Path(REAL) / "cifar-100-python" / "meta").open("rb") as file:
        names = pickle.load(file, encoding="latin1")["fine_label_names"]
    assert DATA.load("cifar100").INFO.class_names == tuple(names)


@needs_real_files
def test_the_part_of_svhn_is_read_as_arrays():
    paths = {
        "path": Path(REAL, "svhn_part_train.npz"),
        "test_path": Path(REAL, "svhn_part_test.npz"),
    }
    if not all(path.is_file() for path in paths.values()):
        pytest.skip("COLLATERAL_DATA has no svhn_part_train.npz and svhn_part_test.npz")
    module = DATA.load("arrays")
    dataset = module.load(module.Options(**paths))
    check_contract(dataset, None)
    assert len(dataset.train_images) == 20000
    assert len(dataset.test_images) == 5000


def test_mean_and_deviation_are_per_channel_and_of_images_in_0_1():
    images = np.zeros((2, 1, 1, 3), dtype=np.uint8)
    images[:, 0, 0, 0] = 0, 255  # mean 1/2, deviation 1/2
    images[:, 0, 0, 1] = 51, 153  # 0.2 and 0.6: mean 0.4, deviation 0.2
    images[:, 0, 0, 2] = 255  # constant: nothing to scale
    mean, std = statistics(images)
    assert mean == pytest.approx((0.5, 0.4, 1.0))
    assert std == pytest.approx((0.5, 0.2, 1.0))


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", DOCS.read_text(), flags=re.DOTALL)


def test_the_documented_data_set_keeps_the_contract(tmp_path):
    path = tmp_path / "stripes.py"
    path.write_text(next(block for block in blocks("python") if "INFO" in block))
    spec = spec_from_file_location("stripes", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    check_contract(module.load(module.Options()), module.INFO.class_names)


def test_the_documented_config_lines_are_valid():
    data = blocks("yaml")[0]
    options = yaml.safe_load(data)["benchmarks"]["mine"]["data"]
    assert options.pop("name") == "arrays"
    DATA.load("arrays").Options.model_validate(options)


def test_the_documented_forget_sets_are_valid():
    blocks = re.findall(r"```yaml\n(.*?)```", CONFIG.read_text(), flags=re.DOTALL)
    shown = [yaml.safe_load(block).get("cells", {}) for block in blocks]
    cells = [cell for cells in shown for cell in cells.values() if "forget" in cell]
    documented = [cell["forget"] for cell in cells]
    assert {forget["kind"] for forget in documented} == {*FORGET.own}
    for forget in documented:
        kind = forget.pop("kind")
        FORGET.load(kind).Params.model_validate(forget)


def check_size(size, dataset):
    """Assert that a size is that of the data."""
    names, shape = dataset.labels.class_names, dataset.train_images.shape[1:]
    said = "INFO.size, or `size(options)`, is not that of the data: "
    assert size.class_names == names, f"{said}classes {size.class_names}, there are {names}"
    for counts, labels in ((size.train, dataset.labels.train), (size.test, dataset.labels.test)):
        found = tuple(np.bincount(labels, minlength=len(names)).tolist())
        assert counts == found, f"{said}{counts} examples by class, there are {found}"
    assert size.shape == shape, f"{said}images of {size.shape}, they are {shape}"
    count = len(dataset.train_images)
    assert size.num_train == count, f"{said}{size.num_train} train examples, there are {count}"
    count += len(dataset.test_images)
    assert size.num_examples == count, f"{said}{size.num_examples} examples, there are {count}"


@pytest.mark.parametrize("name", [name for name in DATA.names() if name not in OF_WHOLE_FILES])
def test_the_size_is_known_without_the_images(name, options_of):
    options = options_of(name)
    check_size(find_size(name, options), DATA.load(name).load(options))


@pytest.mark.parametrize(
    "cuts",
    [{"classes": [7, "digit_2"]}, {"per_class": 20}, {"classes": [1, 0], "test_per_class": 5}],
)
def test_the_size_of_a_cut_is_known(cuts):
    module = DATA.load("digits")
    options = module.Options(**cuts)
    check_size(find_size("digits", options), take_subset(module.load(options), options))


@needs_real_files
@pytest.mark.parametrize("name", ["cifar100", "mnist"])
def test_the_size_of_the_real_files_is_known(name):
    options = DATA.load(name).Options(root=REAL, download=False)
    check_size(find_size(name, options), DATA.load(name).load(options))


def test_the_sizes_of_what_is_not_here_are_the_published_ones():
    assert {name: DATA.load(name).INFO.size.num_examples for name in FROM_TORCHVISION} == {
        "cifar100": 60_000,
        "mnist": 70_000,
        "svhn": 73_257 + 26_032,
    }
    # Class 9 has 4,659 images in the paper's splits of SVHN.
    assert DATA.load("svhn").INFO.size.train[9] == 4659
