"""Write the files that the tutorial starts from: pictures, a request, a model trained elsewhere.

    python docs/tutorial_files.py           # here
    python docs/tutorial_files.py FOLDER    # there

The pictures are scikit-learn's digits as PNG files; training is plain torch. Nothing of Collateral
is used, because the tutorial shows how to bring files that were made without it.
"""

import argparse
import runpy
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save_file
from sklearn.datasets import load_digits
from torch import Tensor, nn

IMAGES, LIST, MODEL = "my digits", "withdrawn.txt", "mine/models/net.py"
CLASSES = {8: "eight", 5: "five", 9: "nine", 3: "three"}  # as a folder sorts them
NUM_TRAIN, NUM_TEST, NUM_WITHDRAWN = 60, 30, 24
MEAN, STD = 0.3, 0.4
STEPS, STEPS_OF_THEIRS = 100, 10
NET = """\
from collections import OrderedDict

from torch import nn

HEAD = "head"


def build(info):
    layers = {"flat": nn.Flatten(), "hidden": nn.Linear(64, 32), "relu": nn.ReLU()}
    return nn.Sequential(OrderedDict(layers, head=nn.Linear(32, info.num_classes)))
"""


def make(folder: Path) -> None:
    """Write the pictures, the request and the models."""
    write_pictures(folder / IMAGES)
    withdrawn = least_alike(folder / IMAGES, "train/three")
    (folder / LIST).write_text("\n".join(["# by their writers", *withdrawn]) + "\n")
    (folder / MODEL).parent.mkdir(parents=True, exist_ok=True)
    (folder / MODEL).write_text(NET)
    write_models(folder, withdrawn)


def write_pictures(root: Path) -> None:
    """Write the first digits of each class as train images, and the next as test images."""
    images, labels = load_digits(return_X_y=True)
    for digit, name in CLASSES.items():
        places = np.flatnonzero(labels == digit)[: NUM_TRAIN + NUM_TEST]
        for number, place in enumerate(places):
            folder = root / ("train" if number < NUM_TRAIN else "test") / name
            folder.mkdir(parents=True, exist_ok=True)
            pixels = (images[place].reshape(8, 8) * 255 / 16).astype(np.uint8)
            Image.fromarray(pixels).save(folder / f"{place:04}.png")


def least_alike(root: Path, folder: str) -> list[str]:
    """Return the pictures of a folder that differ most from its mean picture."""
    files = sorted((root / folder).iterdir())
    pixels = np.stack([np.asarray(Image.open(file), np.float64) for file in files])
    distances = ((pixels - pixels.mean(0)) ** 2).sum((1, 2))
    furthest = np.argsort(-distances)[:NUM_WITHDRAWN]
    return [f"{folder}/{files[place].name}" for place in sorted(furthest)]


def write_models(folder: Path, withdrawn: list[str]) -> None:
    """Train a model on all pictures, and unlearn by training on without the listed ones."""
    root = folder / IMAGES
    names = [str(file.relative_to(root)) for file in sorted(root.glob("train/*/*.png"))]
    kept = [name for name in names if name not in withdrawn]
    torch.manual_seed(0)
    info = type("Info", (), {"num_classes": len(CLASSES)})
    model = runpy.run_path(str(folder / MODEL))["build"](info)
    train(model, *read(root, names), STEPS)
    save_file(model.state_dict(), folder / "my-model.safetensors")
    train(model, *read(root, kept), STEPS_OF_THEIRS)
    save_file(model.state_dict(), folder / "theirs.safetensors")


def read(root: Path, names: list[str]) -> tuple[Tensor, Tensor]:
    """Return the pictures and labels of a folder."""
    arrays = [np.asarray(Image.open(root / name), np.float32) / 255 for name in names]
    classes = [*CLASSES.values()]
    labels = torch.tensor([classes.index(name.split("/")[1]) for name in names])
    return (torch.from_numpy(np.stack(arrays)).unsqueeze(1) - MEAN) / STD, labels


def train(model: nn.Module, x: Tensor, y: Tensor, steps: int) -> None:
    """Train a model in plain torch."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=Path())
    make(parser.parse_args().folder)
