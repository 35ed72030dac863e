"""One evaluation of a model, all metrics: one pass over each image against a pass for each number.

    python benchmarks/bench_evaluation.py [--quick]

ResNet-20 on random images, one thread each. The plain flow looks at the forget, retained and test
examples and at the affected classes one after the other, at members, non-members and targets for
the attack, and at everything again, with the base model too, for the bins of similarity. Ours has
the base model's features and the retrained model's outputs from the jobs that made these models;
the second row gives the plain flow what it knows of the base model.
"""

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from measure import Row, in_turns, ratio, run
from plain.evaluation import base_looks, evaluate
from plain.task import PlainTask
from randoms import INFO, PADDING, random_pixels
from torch import nn

from collateral.cli import main as collateral
from collateral.models._build import build_model
from collateral.results.cell import (
    Cell,
    Reference,
    Result,
    edges_of,
    numbers_against,
    own_numbers,
    reference_of,
)
from collateral.results.dataset import Dataset, Labels
from collateral.results.neighbours import Neighbours
from collateral.results.outputs import Embeddings
from collateral.results.split import Split
from collateral.training.examples import test_examples, train_examples
from collateral.training.inference import outputs_of

CPU = torch.device("cpu")
NUM_CLASSES = 10


@dataclass(frozen=True)
class Scene:
    """A data set, a model to evaluate, and what is known before."""

    data: Dataset
    split: Split
    base: nn.Module
    model: nn.Module
    cell: Cell
    reference: Reference


def scene_of(num_train: int, num_test: int) -> Scene:
    """Draw images and models; half of the first class is forgotten."""
    train, test = (np.arange(count) % NUM_CLASSES for count in (num_train, num_test))
    labels = Labels(train, test, tuple(f"class_{c}" for c in range(NUM_CLASSES)))
    pixels = [random_pixels(count).numpy() for count in (num_train, num_test)]
    data = Dataset(*pixels, labels, INFO.mean, INFO.std, PADDING, flip=True)
    members = np.flatnonzero(train == 0)
    split = Split(members[: len(members) // 2], num_train, (0,), {})
    base, model, retrained = (build_model("resnet20", data.info) for _ in range(3))
    _, embeddings = outputs_of(base, train_examples(data, CPU), test_examples(data, CPU))
    cell = Cell("bench", labels, split, _neighbours(data, split, embeddings))
    reference = reference_of(cell, _result(retrained, data), edges_of(cell))
    return Scene(data, split, base, model, cell, reference)


def _neighbours(data: Dataset, split: Split, embeddings: Embeddings) -> Neighbours:
    """Return what the stage of that name makes of the base model's features."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data.save(folder / "data.npz")
        split.save(folder / "split.json", data.labels)
        embeddings.save(folder / "embeddings.npz")
        files = {"data": "data.npz", "split": "split.json", "embeddings": "embeddings.npz"}
        words = [word for key, file in files.items() for word in (f"--{key}", str(folder / file))]
        collateral(["neighbours", *words, "--seeds", "0", "--out", str(folder / "out.npz")])
        return Neighbours.load(folder / "out.npz")


def _result(model: nn.Module, data: Dataset) -> Result:
    outputs, _ = outputs_of(model, train_examples(data, CPU), test_examples(data, CPU))
    return Result("bench", "method", 0, "ok", outputs, {})


def measure(quick: bool) -> list[Row]:
    """Compare both on the same models."""
    (num_train, num_test), repeats = ((60, 20), 1) if quick else ((1500, 500), 3)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    scene = scene_of(num_train, num_test)
    task = PlainTask.of(scene.data, scene.split)
    ours_model = scene.model.to(memory_format=torch.channels_last)

    def ours() -> None:
        result = _result(ours_model, scene.data)
        own_numbers(scene.cell, result, scene.reference)
        numbers_against(scene.cell, result, scene.reference)

    plain_model = build_model("resnet20", scene.data.info)
    plain_model.load_state_dict(scene.model.state_dict())
    before = base_looks(scene.base, task)
    contestants = {
        "plain": lambda: evaluate(plain_model, base_looks(scene.base, task), task),
        "ours": ours,
        "model alone": partial(evaluate, plain_model, before, task),
    }
    seconds = in_turns(contestants, repeats)
    what, note = (
        "evaluation of a model, all metrics: plain flow",
        f"{num_train} + {num_test} images",
    )
    alone = f"{what} without the base model's passes / ours"
    return [
        ratio(f"{what} / ours", seconds["plain"], seconds["ours"], at_least=3, note=note),
        ratio(alone, seconds["model alone"], seconds["ours"], note=note),
    ]


if __name__ == "__main__":
    run(measure, __doc__)
