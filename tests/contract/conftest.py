"""A tiny task on synthetic classes in families, and a base model that has learnt it."""

import copy
from dataclasses import dataclass

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from collateral.contract.params import TrainingParams
from collateral.data import synthetic
from collateral.models._build import build_model
from collateral.results.dataset import Dataset
from collateral.results.split import Split
from collateral.training import optimizers
from collateral.training.examples import Task, test_examples, train_examples
from collateral.training.fit import fit
from collateral.training.run import Run
from collateral.training.run_method import Method

CPU = torch.device("cpu")
torch.set_num_threads(1)


def pytest_collection_modifyitems(items):
    """Mark all tests of a file as `trains` if one of them uses the trained base model."""
    training = {item.path for item in items if "small" in getattr(item, "fixturenames", ())}
    for item in items:
        if item.path in training:
            item.add_marker(pytest.mark.trains)


@pytest.fixture(scope="session", autouse=True)
def cpu_with_bfloat16():
    """Let every CPU compute in bfloat16: slowly where it has no instructions for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimizers, "cpu_flags", lambda: {"avx512_bf16"})
        yield


@dataclass(frozen=True)
class Small:
    """A data set of two families of two classes, and a model trained on it."""

    data: Dataset
    base: torch.nn.Module

    def split(self, forget: list[int]) -> Split:
        labels = self.data.labels.train
        affected = tuple(sorted(set(labels[forget].tolist())))
        return Split(np.array(forget), len(labels), affected, {"kind": "test"})

    def task(self, forget: list[int]) -> Task:
        split, train = self.split(forget), train_examples(self.data, CPU)
        parts = (train.select(torch.from_numpy(rows)) for rows in (split.retain, split.forget))
        return Task(*parts, self.data.info)

    def test(self):
        return test_examples(self.data, CPU)

    def half_a_class(self) -> list[int]:
        members = np.flatnonzero(self.data.labels.train == 0)
        return members[: len(members) // 2].tolist()

    def method(self, name: str, forget: list[int] | None = None, seed: int = 0) -> Method:
        """Return a method that unlearns `forget` (half a class) from the base model."""
        forget = self.half_a_class() if forget is None else forget
        hash_of_split = self.split(forget).hash
        return Method(
            name, self.task(forget), lambda: copy.deepcopy(self.base), seed, hash_of_split, CPU
        )


@pytest.fixture(scope="session")
def small() -> Small:
    options = synthetic.Options(families=2, classes_per_family=2, num_train=40, num_test=20)
    data = synthetic.load(options)
    run = Run(CPU, seed=0)
    params = TrainingParams(epochs=15, batch_size=32, lr=0.05)
    train = train_examples(data, CPU)
    base = fit(build_model("resnet8", data.info), train, train, params, run)
    return Small(data, base)
