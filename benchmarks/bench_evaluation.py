"""Time of all metrics of a model: one pass over each image against one pass for each number.

    python benchmarks/bench_evaluation.py [--quick]

ResNet-20 on random images, one thread each. The plain flow makes separate passes over the forget,
retained and test examples, over the affected classes, over the members, non-members and targets of
the attack, and over all examples (with the base model too) for the bins of similarity. Ours reads
the base model's features and the retrained model's outputs, which other jobs have computed; in the
second row, the plain flow reads the base model's outputs too.
"""

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measure import Row, in_turns, ratio, run
from plain.data import INFO, PADDING, PlainTask, random_pixels
from plain.evaluation import base_looks, evaluate
from torch import nn

from collateral.contract.rows import ATTACKS
from collateral.findings.accuracy import numbers as accuracy
from collateral.findings.locality import numbers as locality
from collateral.findings.membership import numbers as membership
from collateral.jobs.neighbours import NeighboursJob
from collateral.models._build import build_model
from collateral.results import layout
from collateral.results.cell import CellResults
from collateral.results.dataset import Dataset, Labels
from collateral.results.outputs import Embeddings, ModelOutputs
from collateral.results.provenance import write_record
from collateral.results.split import Split
from collateral.stages._workspace import Workspace
from collateral.stages.run import run_job
from collateral.training.examples import test_examples, train_examples
from collateral.training.inference import compute_outputs

CPU = torch.device("cpu")
NUM_CLASSES = 10
CELL, RUN = "cell", "run"


@dataclass(frozen=True)
class Scene:
    """A folder with a data set, a split, and the outputs of the base model and of Retrain."""

    folder: Path
    data: Dataset
    split: Split

    def look(self, model: nn.Module) -> tuple[ModelOutputs, Embeddings]:
        """Compute the outputs of a model in one pass over the data set."""
        return compute_outputs(model, train_examples(self.data, CPU), test_examples(self.data, CPU))

    def write(self, model: nn.Module, name: str) -> None:
        """Write the outputs of a model as the run `name`."""
        folder = self.folder / layout.RUN.format(cell=CELL, seed=0, run=name)
        self.look(model)[0].save(folder / layout.OUTPUTS)
        self.record(folder / layout.OUTPUTS, status="ok")

    def record(self, *files: Path, **about: Any) -> None:
        """Write the record of files of one job."""
        write_record(layout.record_path(files[0]), about, root=self.folder, files=files)

    def evaluate(self, model: nn.Module) -> None:
        """Write the outputs of a model, and compute all its metrics."""
        self.write(model, RUN)
        runs = {"seeds": [0], "base_seeds": [0], "methods": [RUN], "attacks": ATTACKS}
        cell = CellResults(folder=self.folder, cell=CELL, **runs)
        for finding in (accuracy, membership):
            list(finding.of_run(cell, cell.result(RUN, 0)))
        list(locality.numbers(cell))


def scene_of(folder: Path, num_train: int, num_test: int, base: nn.Module) -> Scene:
    """Draw random images and a random Retrain; half of the first class is forgotten."""
    train, test = (np.arange(count) % NUM_CLASSES for count in (num_train, num_test))
    labels = Labels(train, test, tuple(f"class_{c}" for c in range(NUM_CLASSES)))
    pixels = [random_pixels(count).numpy() for count in (num_train, num_test)]
    data = Dataset(*pixels, labels, INFO.mean, INFO.std, PADDING, flip=True)
    members = np.flatnonzero(train == 0)
    scene = Scene(folder, data, Split(members[: len(members) // 2], num_train, (0,), {}))
    data.save(folder / layout.DATA)
    labels.save(folder / layout.LABELS)
    scene.record(folder / layout.DATA, folder / layout.LABELS)
    scene.split.save(folder / layout.SPLIT.format(cell=CELL), labels, folder / layout.LABELS)
    embeddings = folder / layout.BASE.format(seed=0) / layout.EMBEDDINGS
    scene.look(base)[1].save(embeddings)
    scene.record(embeddings)
    job = NeighboursJob(benchmark=folder.name, cell=CELL, seeds=(0,), base_seeds=(0,))
    run_job(Workspace(job, folder.parent))
    scene.write(new_model(), layout.RETRAIN)
    return scene


def new_model() -> nn.Module:
    """Return an untrained ResNet-20."""
    return build_model("resnet20", INFO)


def measure(quick: bool) -> list[Row]:
    """Compare both ways of evaluation on the same models."""
    (num_train, num_test), repeats = ((60, 20), 1) if quick else ((1500, 500), 3)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    base, ours, plain = new_model(), new_model(), new_model()
    plain.load_state_dict(ours.state_dict())
    ours = ours.to(memory_format=torch.channels_last)
    with tempfile.TemporaryDirectory() as name:
        scene = scene_of(Path(name), num_train, num_test, base)
        task = PlainTask.of(scene.data, scene.split)
        before = base_looks(base, task)
        contestants = {
            "plain": lambda: evaluate(plain, base_looks(base, task), task),
            "ours": partial(scene.evaluate, ours),
            "model alone": partial(evaluate, plain, before, task),
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
