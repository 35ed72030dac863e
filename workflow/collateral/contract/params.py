"""Base classes of the parameters of methods and of training, validated by pydantic."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from collateral.contract.conventions import num_batches
from collateral.contract.work import Sizes, Work, training_work

MOST = 10**9  # largest integer that a config may contain
# Types of pydantic's errors for a number that is too small or too large.
BOUNDS = {"less_than", "less_than_equal", "greater_than", "greater_than_equal"}
# Kinds of data that a method may declare to read.
TOUCHABLE = ("retain", "forget images", "forget labels")


def not_boolean(value: Any) -> Any:
    """Refuse true and false, because Python and pydantic would treat them as 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("should be a number, not true or false")
    return value


def name_or_index(value: Any) -> Any:
    """Refuse true and false as a class, because YAML reads these names as booleans."""
    if isinstance(value, bool):
        raise ValueError("should be a name in quotes, or a number, not true or false")
    return value


def can_be_looked_for(value: Path) -> Path:
    """Refuse a path that cannot be looked for, and a pipe or device, whose reading may not end."""
    try:
        path = value.expanduser()
        is_plain = path.is_file() or path.is_dir() or not path.exists()
    except (RuntimeError, OSError) as error:  # no such user in `~user`, or a name that is too long
        raise ValueError(f"not a path: {error}") from None
    if not is_plain:
        raise ValueError("is a pipe or a device; give a file or a folder")
    return value


def check_increasing(values: tuple[int, ...]) -> tuple[int, ...]:
    """Refuse a list of numbers that does not increase."""
    for smaller, larger in pairwise(values):
        if larger <= smaller:
            raise ValueError(f"should increase, but {larger} follows {smaller}")
    return values


Whole = Annotated[int, Field(le=MOST)]
Count = Annotated[Whole, Field(ge=1)]
ClassLabel = Annotated[
    str | Annotated[int, Field(strict=True, ge=0, le=MOST)], BeforeValidator(name_or_index)
]
Epochs = Annotated[int, Field(le=10**6)]
# numpy and scikit-learn accept only seeds below 2**32.
Seed = Annotated[int, Field(ge=0, lt=2**32), BeforeValidator(not_boolean)]
Share = Annotated[float, Field(gt=0, le=1), BeforeValidator(not_boolean)]
Increasing = Annotated[
    tuple[Annotated[Count, BeforeValidator(not_boolean)], ...], AfterValidator(check_increasing)
]
UserPath = Annotated[Path, AfterValidator(can_be_looked_for)]


def _compare_booleans(found: Any, value: Any) -> None:
    """Raise if a validated value is a boolean and the given one is not, or the reverse.

    Lists and mappings are compared item by item.
    """
    if isinstance(found, Mapping) and isinstance(value, Mapping):
        found, value = [*found.values()], [*value.values()]
    if isinstance(found, list | tuple) and isinstance(value, list | tuple):
        for pair in zip(found, value, strict=False):
            _compare_booleans(*pair)
        return
    if isinstance(found, bool) and not isinstance(value, bool):
        raise ValueError("should be true or false")
    if not isinstance(found, bool):
        not_boolean(value)


class Strict(BaseModel):
    """Base of all config models: unknown keys are errors; values cannot change after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="wrap")
    @classmethod
    def _booleans_are_true_and_false(cls, value: Any, handler: Any) -> Any:
        """Refuse true and false for a number, and refuse 1 or `yes` for true."""
        try:
            found = handler(value)
        except ValidationError as error:
            if BOUNDS.issuperset(one["type"] for one in error.errors()):
                not_boolean(value)  # pydantic compared 1 or 0 with the bounds
            raise
        _compare_booleans(found, value)
        return found


class Between(NamedTuple):
    """The range in which a publication tunes a parameter."""

    low: float
    high: float


# Dict from publication to its parameters: a dict from name to one value, a list or a range.
Published = Mapping[str, Mapping[str, Any]]

# Values that GA, FT, RL, SalUn and AMUN share in Dolgova and Stich, appendix B.2.
PAPER_SGD: Mapping[str, Any] = {"optimizer": "sgd", "momentum": 0.9, "weight_decay": 1e-6}
# Default command-line options of the public code of Dolgova and Stich.
PAPER_CODE: Mapping[str, Any] = {"epochs": 10, "lr": 1e-4, "batch_size": 256, "augment": True}
# Training parameters that the public code of Unlearn-Saliency and of Unlearn-Sparse shares.
OPTML: Mapping[str, Any] = {"epochs": 10, "lr": 0.01, "weight_decay": 5e-4, "batch_size": 256}


class MethodParams(Strict):
    """Parameters of a method; a subclass describes the method and cites its source."""

    label: ClassVar[str]  # name of the method in tables and figures
    paper: ClassVar[str] = ""  # web address of the publication
    touches: ClassVar[frozenset[str]]  # items of TOUCHABLE (kinds of data) that the method reads
    published: ClassVar[Published] = {}  # values of the parameters in publications
    # Whether the method reinitialises weights of the base model before its first step.
    starts_anew: ClassVar[bool] = False
    needs_retrain: ClassVar[bool] = False  # whether a control reads Retrain's soft labels
    inherits: ClassVar[str | None] = None  # method whose parameters a control takes
    made_by: ClassVar[str] = ""  # key of the config that makes the runs of a control, if one does

    @property
    def parts(self) -> Sequence[tuple[str, "MethodParams"]]:
        """Other methods that this method runs: names of their folders, and their parameters."""
        return ()

    def with_parts(self) -> Iterator["MethodParams"]:
        """Yield these parameters, and those of all methods that this method runs."""
        yield self
        for _, params in self.parts:
            yield from params.with_parts()

    def required_retained(self) -> Mapping[str, int]:
        """Return a dict from parameter to the minimum number of retained examples that it needs.

        A value of the config is refused if fewer examples are retained.
        """
        return {}

    @property
    def is_paced(self) -> bool:
        """Tell whether the steps of an epoch depend on the total number of epochs.

        If not, epoch 3 of a run of 12 equals the run of 3. By default, this is decided by
        `schedule` and `warmup`; a method with several phases must override it.
        """
        schedule, warmup = getattr(self, "schedule", None), getattr(self, "warmup", None)
        return schedule not in (None, "constant") or bool(warmup)

    def prepare_work(self, sizes: Sizes) -> Work:
        """Return the estimated amount of computation of `prepare`.

        By default, it is one epoch on all examples that the method reads.
        """
        return training_work(self._count_touched(sizes))

    def prepared_numbers(self, sizes: Sizes) -> int:
        """Return the number of float32 values that `prepare` saves; by default, one per weight."""
        return sizes.weights

    def unlearn_work(self, sizes: Sizes) -> Work:
        """Return the estimated amount of computation of `unlearn`.

        By default, it is all epochs on all examples that the method reads. Time limits and
        `collateral estimate` follow from this.
        """
        touched = self._count_touched(sizes)
        if (steps := self._count_steps()) is not None:
            return training_work(steps * min(touched, getattr(self, "batch_size", touched)))
        return training_work(getattr(self, "epochs", 0) * touched)

    def count_epochs(self, sizes: Sizes) -> int:
        """Return the number of epochs of `unlearn`; a number of steps is converted to epochs."""
        steps, touched = self._count_steps(), self._count_touched(sizes)
        if steps is None:
            return getattr(self, "epochs", 1)
        return ceil(steps / max(1, num_batches(touched, getattr(self, "batch_size", touched))))

    def _count_touched(self, sizes: Sizes) -> int:
        """Return the number of examples that the method reads per epoch."""
        uses_retain = "retain" in self.touches and getattr(self, "retain", True)
        uses_forget = "forget images" in self.touches
        return sizes.retain * uses_retain + sizes.forget * uses_forget

    def _count_steps(self) -> int | None:
        """Return the number of optimiser steps, or None if the length is given in epochs.

        It is the parameter `steps` if its default is null or if there is no `epochs`. In AMUN,
        `steps` counts the steps of the attack.
        """
        fields = type(self).model_fields
        is_meant = "steps" in fields and ("epochs" not in fields or fields["steps"].default is None)
        return getattr(self, "steps", None) if is_meant else None


class TrainedParams(MethodParams):
    """Parameters that all methods with an optimiser share."""

    lr: float = Field(ge=0, description="Learning rate, constant during training.")
    batch_size: Whole = Field(
        256, ge=1, description="Number of examples per step. Paper's public code: 256."
    )
    optimizer: Literal["sgd", "adam", "adamw"] = Field(
        "sgd", description="Optimiser that trains the model. Paper: SGD."
    )
    momentum: float = Field(
        0.9,
        ge=0,
        lt=1,
        description="Momentum of SGD; Adam and AdamW ignore it. Paper, appendix B.2: 0.9.",
    )
    weight_decay: float = Field(
        1e-6, ge=0, description="Weight decay of the optimiser. Paper, appendix B.2: 1e-6."
    )
    augment: bool = Field(
        True,
        description="Whether training images are augmented by the random crops and flips of the "
        "data set. Paper's public code: yes.",
    )
    batchnorm: Literal["train", "frozen"] = Field(
        "train",
        description="Statistics of batch norm during training. `train`: those of each batch, "
        "which also update the running statistics, as in published methods. `frozen`: the running "
        "statistics of the base model, which stay unchanged.",
    )
    precision: Literal["float32", "bfloat16"] = Field(
        "float32",
        description="Number format of forward passes during training; evaluation and LTD's "
        "teacher always use float32. bfloat16 needs a GPU, or a CPU with avx512_bf16 or amx_bf16.",
    )


class WarmedParams(TrainedParams):
    """Parameters of methods whose public code first runs the model on an image of noise."""

    warm_pass: bool = Field(
        False,
        description="Whether the model processes one image of noise in train mode before the "
        "first step, as public code does on GPUs. This moves the running statistics of batch norm "
        "a tenth of the way to those of the noise.",
    )


class TrainingParams(Strict):
    """Training of base and retrained models; defaults follow the paper's CIFAR-100 protocol."""

    epochs: Epochs = Field(
        200, ge=1, description="Number of epochs, i.e. passes over the training data. Paper: 200."
    )
    batch_size: Whole = Field(256, ge=1, description="Number of examples per step. Paper: 256.")
    optimizer: Literal["sgd", "adam", "adamw"] = Field(
        "sgd", description="Optimiser that trains the model. Paper: SGD, on SVHN AdamW."
    )
    lr: float = Field(
        0.1,
        gt=0,
        description="Learning rate at the start, before the schedule lowers it. Paper: 0.1.",
    )
    momentum: float = Field(
        0.9, ge=0, lt=1, description="Momentum of SGD; Adam and AdamW ignore it. Paper: 0.9."
    )
    nesterov: bool = Field(True, description="Whether SGD uses Nesterov momentum. Paper: yes.")
    weight_decay: float = Field(
        5e-4, ge=0, description="Weight decay of the optimiser. Paper: 5e-4."
    )
    schedule: Literal["cosine", "constant", "step"] = Field(
        "cosine",
        description="Learning rate over the epochs. `cosine`: falls from `lr` towards 0 along "
        "half a cosine wave. `constant`: stays at `lr`. `step`: multiplied by `factor` after each "
        "number of epochs in `milestones`. Paper: cosine.",
    )
    milestones: Increasing = Field(
        (),
        description="Numbers of finished epochs after which the learning rate is multiplied by "
        "`factor`, such as [91, 136]; used with `schedule: step`. If other code numbers its "
        "epochs from 1, subtract 1 from its numbers.",
    )
    factor: float = Field(
        0.1,
        gt=0,
        lt=1,
        description="Factor by which the learning rate is multiplied at each of the `milestones`; "
        "used with `schedule: step`.",
    )
    warmup: Epochs = Field(
        0,
        ge=0,
        description="Number of warm-up epochs: the learning rate rises linearly from 0 to its "
        "scheduled value. Paper: 0. A ViT trained on few images needs some.",
    )
    augment: bool = Field(
        True,
        description="Whether training images are augmented by the random crops and flips of the "
        "data set, if it has any.",
    )
    checkpoint: Literal["last", "best_validation", "best_test"] = Field(
        "last",
        description="Which weights are kept. `last`: those of the last epoch. `best_validation`: "
        "those of the epoch with the highest accuracy on held-out training data. `best_test`: "
        "those of the epoch with the highest test accuracy, as in the paper; this uses the test "
        "set for selection, which the record states.",
    )
    validation_share: float = Field(
        0.1,
        gt=0,
        lt=1,
        description="Share of the training data that is held out to select the epoch with "
        "`checkpoint: best_validation`; unused otherwise.",
    )
    precision: Literal["float32", "bfloat16", "float16"] = Field(
        "float32",
        description="Number format of forward passes during training; evaluation always uses "
        "float32. float16 needs a GPU; bfloat16 needs a GPU, or a CPU with avx512_bf16 or "
        "amx_bf16. Elsewhere the job stops with an error.",
    )
    compile: bool = Field(
        False,
        description="Whether training uses torch.compile. It needs a C++ compiler, and its "
        "results differ by rounding from those without it.",
    )

    @model_validator(mode="after")
    def _warms_up_within_its_epochs(self) -> "TrainingParams":
        if self.warmup > self.epochs:
            raise ValueError(f"warmup: {self.warmup} is more than epochs: {self.epochs}")
        return self

    @model_validator(mode="after")
    def _check_milestones(self) -> "TrainingParams":
        if self.schedule == "step" and not self.milestones:
            raise ValueError("schedule: step: needs `milestones`, such as [91, 136]")
        if self.milestones and self.milestones[-1] >= self.epochs:
            last = self.milestones[-1]
            raise ValueError(f"milestones: {last}: should be below epochs: {self.epochs}")
        return self


class LastBlocksParams(TrainedParams):
    """Training of the last blocks of a model, on the retained examples."""

    k: Count | Literal["all"] = Field(
        3,
        description="Number of blocks that are trained, counted from the end of the model; all "
        "other blocks stay unchanged. A block is a residual block, an attention block, or a "
        "single layer outside of such blocks. The head is the last block. `all`: the whole model. "
        "SCRUB's code and DeepUnlearn: 3, which are the two blocks of `layer4` and the head in "
        "`resnet18`.",
    )
    head: bool = Field(
        True,
        description="Whether the head (the last linear layer) is trained. If not, it stays "
        "unchanged. In both cases it is counted as the last one of the `k` blocks from "
        "which on the model is trained. DeepUnlearn: yes; SCRUB's code on ResNets: no.",
    )
    lr: float = Field(
        0.01,
        ge=0,
        description="Learning rate, constant during training. SCRUB's code and DeepUnlearn: 0.01.",
    )
    epochs: Epochs = Field(
        10, ge=0, description="Number of epochs, i.e. passes over the retained examples."
    )
    proximal: float = Field(
        0.0,
        ge=0,
        description="Strength w of a penalty that is added to the loss: w / 2 times the squared "
        "distance of the weights from those before the first step. 0: no penalty, as in the "
        "publication. SCRUB's code: 0.1.",
    )
    weight_decay: float = Field(
        5e-4,
        ge=0,
        description="Weight decay of the optimiser. Ours: 5e-4, as in the training of the base "
        "model.",
    )

    @model_validator(mode="after")
    def _check_that_something_trains(self) -> "LastBlocksParams":
        if self.k == 1 and not self.head:
            raise ValueError("head: false: with k: 1, nothing would train")
        return self


class StudentParams(WarmedParams):
    """Training of the base model on soft labels of the forget set and on retained examples."""

    epochs: Epochs = Field(
        20,
        ge=0,
        description="Number of epochs, i.e. passes over retained and forget examples together. "
        "Paper: 20, on SVHN 10.",
    )
    lr: float = Field(
        1e-4,
        ge=0,
        description="Learning rate, constant during training. Paper: tuned in [1e-6, 1e-3], on "
        "SVHN 1e-4.",
    )
    optimizer: Literal["sgd", "adam", "adamw"] = Field(
        "adamw", description="Optimiser that trains the model. Paper: AdamW."
    )
    beta: float = Field(
        2.0,
        ge=0,
        description="Weight of the loss of a forget example; that of a retained example is 1. "
        "Paper: 2, from the range [1, 5]; on SVHN 3.",
    )
    top: Count | Literal["all"] = Field(
        3,
        description="Number of classes that each soft label keeps: those with the largest "
        "probabilities, rescaled to sum to 1. `all`: every class. Paper: 3.",
    )
