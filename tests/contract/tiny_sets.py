"""Data sets of a few images, in files as the real ones have them."""

import hashlib
import pickle

import numpy as np
import pytest
from PIL import Image

from collateral.plugins.find import DATA

TINY_LABELS = {"train": np.array([3, 0, 1, 9, 3, 2]), "test": np.array([9, 3, 0])}


def pixels(count, *shape):
    """Return images of which no two are alike, nor their pixels."""
    return np.random.default_rng(count).integers(0, 256, (count, *shape), dtype=np.uint8)


def md5(path):
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()


def idx(array):
    """Write an array as MNIST does: magic number, sizes, bytes."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes()


def write_mnist(root, monkeypatch):
    """Write tiny files in MNIST's format."""
    pytest.importorskip("torchvision")
    folder = root / "MNIST" / "raw"
    folder.mkdir(parents=True)
    for part, prefix in (("train", "train"), ("test", "t10k")):
        labels = TINY_LABELS[part]
        (folder / f"{prefix}-images-idx3-ubyte").write_bytes(idx(pixels(len(labels), 28, 28)))
        (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(idx(labels))
    return {"root": root, "download": False}


def write_cifar100(root, monkeypatch):
    """Write tiny files in CIFAR-100's format, and let torchvision expect their sums."""
    datasets = pytest.importorskip("torchvision").datasets
    folder = root / "cifar-100-python"
    folder.mkdir(parents=True)
    for part, labels in TINY_LABELS.items():
        images = pixels(len(labels), 32, 32, 3).transpose(0, 3, 1, 2).reshape(len(labels), -1)
        content = {"data": images, "fine_labels": labels.tolist()}
        (folder / part).write_bytes(pickle.dumps(content))
        monkeypatch.setattr(datasets.CIFAR100, f"{part}_list", [[part, md5(folder / part)]])
    names = list(DATA.load("cifar100").INFO.class_names)
    (folder / "meta").write_bytes(pickle.dumps({"fine_label_names": names}))
    meta = {"filename": "meta", "key": "fine_label_names", "md5": md5(folder / "meta")}
    monkeypatch.setattr(datasets.CIFAR100, "meta", meta)
    return {"root": root, "download": False}


def write_svhn(root, monkeypatch):
    """Write tiny files in SVHN's format, in which the digit 0 has the label 10."""
    datasets = pytest.importorskip("torchvision").datasets
    savemat = pytest.importorskip("scipy.io").savemat
    root.mkdir(parents=True)
    for part, labels in TINY_LABELS.items():
        path = root / f"{part}_32x32.mat"
        images = pixels(len(labels), 32, 32, 3).transpose(1, 2, 3, 0)
        savemat(path, {"X": images, "y": np.where(labels == 0, 10, labels)[:, None]})
        entry = ["", path.name, md5(path)]
        monkeypatch.setitem(datasets.SVHN.split_list, part, entry)
    return {"root": root, "download": False}


def arrays_content(**changes):
    """Return the arrays of a good file, some of them changed; None leaves one out."""
    content = {
        "train_images": pixels(6, 4, 5, 3),
        "train_labels": np.array([0, 1, 2, 0, 1, 2]),
        "test_images": pixels(3, 4, 5, 3),
        "test_labels": np.array([2, 1, 0]),
        "class_names": np.array(["cat", "dog", "owl"]),
        **changes,
    }
    return {key: value for key, value in content.items() if value is not None}


def write_arrays(root, monkeypatch):
    """Write a good .npz file."""
    root.mkdir(parents=True)
    np.savez(root / "own.npz", **arrays_content())
    return {"path": root / "own.npz"}


def write_folder(root, monkeypatch):
    """Write images of two classes as files."""
    for place, image in enumerate(pixels(12, 8, 8, 3)):
        path = root / ("test" if place >= 8 else "train") / ("cat", "dog")[place % 2]
        path.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path / f"{place}.png")
    return {"path": root, "size": 8}


def write_parquet(root, monkeypatch):
    """Write images of two classes as the hub serves them."""
    pa, pq = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
    write_folder(root / "images", monkeypatch)
    for part in ("train", "test"):
        files = sorted((root / "images" / part).rglob("*.png"))
        images = [{"bytes": file.read_bytes(), "path": file.name} for file in files]
        table = pa.table({"image": images, "label": [file.parent.name for file in files]})
        pq.write_table(table, root / f"{part}-00000-of-00001.parquet")
    return {"path": root, "size": 8}


def write_torchvision(root, monkeypatch):
    """Write MNIST's files once more."""
    return {**write_mnist(root, monkeypatch), "dataset": "MNIST"}


# What is not here needs no files and is tested with `Options()`.
WRITERS = {
    "arrays": write_arrays,
    "cifar100": write_cifar100,
    "folder": write_folder,
    "parquet": write_parquet,
    "torchvision": write_torchvision,
    "mnist": write_mnist,
    "svhn": write_svhn,
}
