"""What a method and a finding are given; the classes themselves are in training/ and results/."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from collateral.contract.data import ImageInfo
    from collateral.contract.rows import At

Batch: TypeAlias = "tuple[Tensor, Tensor]"  # images (B, C, H, W) and labels


class Examples(Protocol):
    """Images with labels: a class index each, or a distribution over the classes."""

    @property
    def rows(self) -> Tensor:
        """Which images of the data set, (n,)."""

    @property
    def labels(self) -> Tensor:
        """Their labels, (n,) int64 or (n, C) float."""

    def __len__(self) -> int:
        """Return how many examples there are."""

    def select(self, index: Tensor) -> Self:
        """Return the examples at these positions."""

    def relabelled(self, labels: Tensor) -> Self:
        """Return the same images with other labels."""

    def joined(self, other: Self) -> Self:
        """Return these examples followed by `other`, which come from the same images."""

    def pixels(self) -> Tensor:
        """Return all images as they are, in [0, 1], (n, C, H, W)."""

    def augmented(self, generator: torch.Generator) -> Tensor:
        """Return all images augmented as the data set says, in [0, 1], (n, C, H, W)."""

    def viewed(self, generator: torch.Generator) -> Self:
        """Return the examples with one augmented view of each as their images from now on."""

    def batches(
        self, size: int, generator: torch.Generator, *, augment: bool = True
    ) -> Iterator[Batch]:
        """Yield shuffled batches, each example once; a small rest joins the batch before it."""

    def in_order(self, size: int) -> Iterator[Batch]:
        """Yield clean batches in the given order."""

    def cycle(
        self, size: int, generator: torch.Generator, *, augment: bool = True
    ) -> Iterator[Batch]:
        """Yield shuffled batches without end."""


class Task(Protocol):
    """All that a method may see: what to forget, what to keep, and what the images are like."""

    @property
    def retain(self) -> Examples:
        """The examples to keep."""

    @property
    def forget(self) -> Examples:
        """The examples to forget."""

    @property
    def info(self) -> ImageInfo:
        """What a model must know of the images."""

    @property
    def num_classes(self) -> int:
        """Number of classes."""


class Stateful(Protocol):
    """A model, an optimiser, or anything else that a checkpoint must hold."""

    def state_dict(self) -> Any:
        """Return the state."""

    def load_state_dict(self, state: Any) -> Any:
        """Take the state on."""


class Run(Protocol):
    """What a method is given besides the data; `generator` is its one source of randomness."""

    device: torch.device
    generator: torch.Generator
    history: list[dict[str, Any]]

    def epochs(
        self, count: int, model: nn.Module, *stateful: Stateful, name: str = ""
    ) -> Iterator[int]:
        """Yield the numbers, from 0, of the epochs still to do; between them save and track.

        Leave a loop early by `stop`, not by `break`. A loop with a `name` trains something else
        than the unlearned model.
        """

    def stop(self) -> None:
        """End the running loop after this epoch."""

    def log(self, **values: float | None) -> None:
        """Add to the history; values of one epoch and loop share a row."""

    def report(self, **numbers: float) -> None:
        """Name numbers that belong into the tables."""

    def phase(self, name: str | None) -> AbstractContextManager[None]:
        """Count the seconds inside for the phase `name`; None is off the clock."""

    def random_seed(self) -> int:
        """Draw a seed for what wants one, such as scikit-learn."""

    def seeded(self) -> AbstractContextManager[None]:
        """Seed torch's global generator from ours inside: a new model's weights are drawn there."""


class EpochAnswers(Protocol):
    """What is kept of a model of the train or of the test set, in data-set order."""

    @property
    def confidence(self) -> NDArray[np.float32]:
        """Probability of the true class, (N,)."""

    @property
    def prediction(self) -> NDArray[np.int64]:
        """Class of the largest logit, (N,)."""


class Answers(EpochAnswers, Protocol):
    """What a model says of the train or of the test set, in data-set order."""

    @property
    def logits(self) -> NDArray[np.float16]:
        """Read the logits, (N, C); they are large, and kept by nobody."""


class Epoch(Protocol):
    """A model after an epoch."""

    @property
    def train(self) -> EpochAnswers:
        """Its answers on the train set."""

    @property
    def test(self) -> EpochAnswers:
        """Its answers on the test set."""


class Result(Protocol):
    """A run of one seed: what it is, how it ended, and what its model says of every example."""

    @property
    def run(self) -> str:
        """Its name; `retrain` is the reference."""

    @property
    def kind(self) -> str:
        """Whether it is the reference, a method or a control."""

    @property
    def seed(self) -> int:
        """Its seed."""

    @property
    def is_diverged(self) -> bool:
        """Whether its answers mean nothing, because it diverged or was skipped."""

    @property
    def record(self) -> dict[str, Any]:
        """What record.json says."""

    @property
    def train(self) -> Answers:
        """Its answers on the train set."""

    @property
    def test(self) -> Answers:
        """Its answers on the test set."""

    def history(self) -> list[dict[str, str]]:
        """Read what was logged in every epoch: the rows of history.csv."""

    def epochs(self) -> Sequence[Epoch]:
        """Read what a tracked model says after every epoch; the first is the base model."""

    def cost(self) -> dict[str, Any]:
        """Read what cost.json says; of Original, the base model's."""


class CellResults(Protocol):
    """The cached outputs of all runs of a forget set, and the numbers made of them so far."""

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds."""

    @property
    def reference(self) -> str:
        """The run that others are held against: `retrain`, or `original` where there is none."""

    @property
    def runs(self) -> tuple[str, ...]:
        """All runs but the reference."""

    @property
    def attacks(self) -> tuple[str, ...]:
        """The membership attacks that the config asks for."""

    @property
    def tuned(self) -> tuple[str, ...]:
        """The methods that were tuned, on the first seed."""

    @property
    def tracked(self) -> tuple[str, ...]:
        """The runs that were evaluated after every epoch."""

    @property
    def support_sized(self) -> tuple[str, ...]:
        """The method whose teacher was trained on supports of several sizes, if one was."""

    @property
    def probed(self) -> tuple[str, ...]:
        """What the models were asked once more: of `relearn`, `residual` and `zrf`."""

    @property
    def exposed(self) -> tuple[str, ...]:
        """The methods that unlearned from shadow models, if there are some."""

    @property
    def labels(self) -> Any:
        """True labels: `train`, `test`, `class_names` (results/dataset.py)."""

    @property
    def split(self) -> Any:
        """Who is forgotten: `forget`, `retain`, `affected` (results/split.py)."""

    @property
    def similarity(self) -> dict[str, NDArray[np.float32]]:
        """Similarity to the forget set by seed and example: of `retain`, `forget` and `test`."""

    @property
    def neighbours(self) -> Any:
        """The same in data-set order, and that of each class (results/neighbours.py)."""

    def retrained(self) -> Sequence[Result]:
        """Return Retrain's results, one a seed."""

    def results(self) -> Iterator[Result]:
        """Yield the results of all runs but the reference."""

    def everyone(self) -> Iterator[Result]:
        """Yield the reference's results, and then those of all other runs."""

    def retrain(self, seed: int) -> Result:
        """Return Retrain of a seed; a finding that asks for it has NEEDS = "retrain"."""

    def referred(self, seed: int) -> Result:
        """Return the reference of a seed: Retrain, or the base where there is none."""

    def teacher_ua(self) -> float:
        """Read what the teacher that tuning asks knows of the forget set; NaN: none is asked."""

    def sets(self, train: NDArray[Any], test: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Part what is known of the train and the test examples (last axis) by set."""

    def values(self, run: str, metric: str, set: str = "", at: At = None) -> NDArray[np.float64]:
        """Return a number of a finding before this one, one a seed; NaN where undefined."""

    def number(self, run: str, metric: str, set: str = "", at: At = None) -> float:
        """Return a number of a finding before this one, over all seeds; NaN where undefined."""

    def exposure(self, run: str) -> Any:
        """Read the margins of shadow models before and after a method (results/shadows.py)."""

    def trials(self, method: str) -> list[dict[str, str]]:
        """Read the trials of a tuned method: the rows of trials.csv."""

    def tuning_cost(self, method: str) -> dict[str, Any]:
        """Read what its tuning cost."""

    def teacher_costs(self, method: str) -> list[dict[str, Any]]:
        """Read what the teacher cost that its tuning asks; nothing where it asks none."""

    def support_sizes(self, seed: int) -> Any:
        """Read what teachers on supports of every size say (results/support_sizes.py)."""

    def support_sizes_cost(self, seed: int) -> dict[str, Any]:
        """Read what these teachers cost."""

    def probe(self, seed: int) -> Any:
        """Read what the models of a seed show when they are used once more (results/probe.py)."""
