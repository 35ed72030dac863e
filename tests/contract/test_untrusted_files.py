"""Files from others that would run something if they were unpickled: they are refused unread."""

import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from collateral.plugins.find import DATA
from collateral.results.dataset import Labels
from collateral.results.outputs import StoredOutputs


class Mine:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self):
        return Path.mkdir, (self.folder,)


@pytest.fixture
def made(tmp_path):
    """The folder that must not be made; that it would be is tried first."""
    folder = tmp_path / "made"
    pickle.loads(pickle.dumps(Mine(folder)))
    folder.rmdir()
    return folder


def test_a_cifar100_that_is_not_the_published_one_is_not_unpickled(tmp_path, made):
    pytest.importorskip("torchvision")
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    for name in ("train", "test", "meta"):
        (folder / name).write_bytes(pickle.dumps(Mine(made)))
    cifar100 = DATA.load("cifar100")
    with pytest.raises(ValueError, match=r"data\.root: cannot read CIFAR100"):
        cifar100.load(cifar100.Options(root=tmp_path, download=False))
    assert not made.exists()


def pickled_arrays(path, made, *names):
    """Write an .npz whose arrays are pickled objects."""
    array = np.empty(1, dtype=object)
    array[0] = Mine(made)
    np.savez(path, **dict.fromkeys(names, array))
    assert zipfile.is_zipfile(path)


def test_no_array_of_a_users_own_is_unpickled(tmp_path, made):
    names = ("train_images", "train_labels", "test_images", "test_labels", "class_names")
    pickled_arrays(tmp_path / "own.npz", made, *names)
    arrays = DATA.load("arrays")
    options = arrays.Options(path=tmp_path / "own.npz")
    for read in (arrays.load, arrays.size):
        with pytest.raises(ValueError, match=r"data\.path: cannot read"):
            read(options)
    assert not made.exists()


def test_no_result_is_unpickled(tmp_path, made):
    pickled_arrays(tmp_path / "labels.npz", made, "train", "test", "class_names")
    with pytest.raises(ValueError, match=r"."):
        Labels.load(tmp_path / "labels.npz")
    pickled_arrays(tmp_path / "outputs.npz", made, "train_confidence", "test_confidence")
    with pytest.raises(ValueError, match=r"."):
        _ = StoredOutputs(tmp_path / "outputs.npz", "test").confidence
    assert not made.exists()
