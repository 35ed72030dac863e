"""The bases of parameters, of methods and of training: validated, documented, free of torch."""

import types
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from collateral.contract.messages import IN_QUOTES, printable
from collateral.contract.published import Published
from collateral.contract.work import Sizes, Work, count_cycled_images, training_work

MOST = 10**9  # of whole numbers: far above what is meant, far below where arithmetic ends
TOUCHABLE = ("retain", "forget images", "forget labels")  # what a method may say that it reads


def not_boolean(value: Any) -> Any:
    """Refuse true and false, which Python, and so pydantic, takes for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("should be a number, not true or false")
    return value


def name_or_index(value: Any) -> Any:
    """Refuse true and false, where a class of that name is meant."""
    if isinstance(value, bool):
        raise ValueError(f"should be a name or an index; {IN_QUOTES}")
    return value


def can_be_looked_for(value: Path) -> Path:
    """Refuse a path of which the system cannot even say whether something is there."""
    try:
        value.expanduser().exists()
    except RuntimeError:
        raise ValueError(f"there is no home folder {printable(value.parts[0])}") from None
    except OSError as error:
        raise ValueError(str(error.strerror)) from None
    return value


Whole = Annotated[int, Field(le=MOST)]
ClassLabel = Annotated[
    str | Annotated[int, Field(strict=True, ge=0, le=MOST)], BeforeValidator(name_or_index)
]
Epochs = Annotated[int, Field(le=10**6)]
# As numpy and scikit-learn take them; files of results hold no larger ones.
Seed = Annotated[int, Field(ge=0, lt=2**32), BeforeValidator(not_boolean)]
Share = Annotated[float, Field(gt=0, le=1), BeforeValidator(not_boolean)]
UserPath = Annotated[Path, AfterValidator(can_be_looked_for)]


class Strict(BaseModel):
    """Unknown keys are errors, and nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _booleans_are_true_and_false(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse true for a number, and 1 or `yes`, which pydantic would take, for true."""
        known = _types(cls, str(info.field_name))
        if known & {int, float} and not known & {bool, str}:
            return not_boolean(value)
        if known <= {bool, types.NoneType} and type(value) not in known:
            raise ValueError("should be true or false")
        return value

    @field_validator("*")
    @classmethod
    def _could_be_meant(cls, value: Any) -> Any:
        """Apply a general limit to fields without a limit of their own."""
        if isinstance(value, int) and abs(value) > MOST:
            raise ValueError(f"should be at most {MOST}")
        return value


@cache
def _types(model: type[BaseModel], field: str) -> frozenset[Any]:
    """Return the types that a field may have."""
    waiting, found = [model.model_fields[field].annotation], []
    while waiting:
        annotation: Any = waiting.pop()
        if hasattr(annotation, "__metadata__"):
            waiting.append(annotation.__origin__)
        elif get_origin(annotation) in {Union, types.UnionType}:
            waiting += get_args(annotation)
        else:
            found.append(annotation)
    return frozenset(found)


class MethodParams(Strict):
    """Parameters of a method; the subclass's docstring cites the source and says what it does."""

    label: ClassVar[str]  # as tables and figures print it
    touches: ClassVar[frozenset[str]]  # of TOUCHABLE
    published: ClassVar[Published] = {}  # what sources say of the parameters
    # Whether it draws weights of the base anew before its first step: without a step, its model is
    # then not the base.
    starts_anew: ClassVar[bool] = False
    # Controls only: whether they are given Retrain's soft labels, and whose parameters they take.
    needs_retrain: ClassVar[bool] = False
    inherits: ClassVar[str | None] = None

    def asked_of_retained(self) -> Mapping[str, int]:
        """Return the parameters that ask for retained examples, and for how many of them.

        One that a config gives is refused where fewer are retained.
        """
        return {}

    @property
    def is_paced(self) -> bool:
        """Tell whether what an epoch does depends on how many there are.

        If not, epoch 3 of a run of 12 is the run of 3. Unless told, a `schedule` that is not
        constant and a `warmup` make it so; a method of several phases has to say so itself.
        """
        schedule, warmup = getattr(self, "schedule", None), getattr(self, "warmup", None)
        return schedule not in (None, "constant") or bool(warmup)

    def prepare_work(self, sizes: Sizes) -> Work:
        """Return what `prepare` computes; unless told, a pass over all that the method touches.

        Time limits and `collateral estimate` follow from this and from `unlearn_work`.
        """
        return training_work(self._touched(sizes))

    def prepared_numbers(self, sizes: Sizes) -> int:
        """Return how many float32 numbers `prepare` keeps; unless told, one for each weight."""
        return sizes.weights

    def unlearn_work(self, sizes: Sizes) -> Work:
        """Return what `unlearn` computes; unless told, its epochs over all that it touches."""
        return training_work(getattr(self, "epochs", 0) * self._touched(sizes))

    def _touched(self, sizes: Sizes) -> int:
        retain = sizes.retain if "retain" in self.touches else 0
        return retain + (sizes.forget if "forget images" in self.touches else 0)


class TrainedParams(MethodParams):
    """What all methods that train with an optimiser share."""

    lr: float = Field(ge=0, description="Learning rate, constant.")
    batch_size: Whole = Field(256, ge=1, description="Examples a step; public code: 256.")
    optimizer: Literal["sgd", "adam", "adamw"] = Field("sgd", description="Paper: SGD.")
    momentum: float = Field(0.9, ge=0, lt=1, description="Of SGD; paper, appendix B.2.")
    weight_decay: float = Field(1e-6, ge=0, description="Paper, appendix B.2.")
    augment: bool = Field(True, description="Augment as the data set does; public code: yes.")
    batchnorm: Literal["train", "frozen"] = Field(
        "train", description="`frozen` keeps the running statistics; published methods train them."
    )

    def images_in(self, examples: int, epochs: int, steps: int | None) -> int:
        """Return how many images there are in so many steps or, where they are None, epochs."""
        if steps is None:
            return epochs * examples
        return count_cycled_images(steps, examples, self.batch_size)


class WarmedParams(TrainedParams):
    """What the methods share before which the public code shows the model an image of noise."""

    warm_pass: bool = Field(
        False,
        description="Show the model one image of noise before the first step, as public code does "
        "on GPUs: in train mode it moves batch norm's statistics by a tenth of the way to it.",
    )


class TrainingParams(Strict):
    """How base and retrained models are trained; defaults: the paper's CIFAR-100 protocol."""

    epochs: Epochs = Field(200, ge=1, description="Passes over the training data; paper: 200.")
    batch_size: Whole = Field(256, ge=1, description="Examples a step; paper: 256.")
    optimizer: Literal["sgd", "adam", "adamw"] = Field(
        "sgd", description="Paper: SGD; SVHN: AdamW."
    )
    lr: float = Field(0.1, gt=0, description="Initial learning rate; paper: 0.1.")
    momentum: float = Field(0.9, ge=0, lt=1, description="Of SGD; paper: 0.9.")
    nesterov: bool = Field(True, description="Nesterov momentum, with SGD; paper: yes.")
    weight_decay: float = Field(5e-4, ge=0, description="Paper: 5e-4.")
    schedule: Literal["cosine", "constant"] = Field("cosine", description="Paper: cosine to 0.")
    warmup: Epochs = Field(
        0,
        ge=0,
        description="In so many of the epochs, the first, the schedule's rate is multiplied by "
        "what grows, step by step, from near 0 to 1; paper: 0. A ViT on few images needs some.",
    )
    augment: bool = Field(True, description="Random crops and flips, where the data set has them.")
    checkpoint: Literal["last", "best_validation", "best_test"] = Field(
        "last",
        description="Which epoch is kept. `best_test` looks at the test set: it is here only "
        "because the paper does it, and the record says so.",
    )
    validation_share: float = Field(
        0.1, gt=0, lt=1, description="Share of the training data held out for best_validation."
    )
    precision: Literal["float32", "bfloat16", "float16"] = Field(
        "float32", description="Mixed precision, on GPUs only; on a CPU, the log says float32."
    )
    compile: bool = Field(
        False, description="Train by torch.compile; it needs a C++ compiler, and rounds otherwise."
    )

    @model_validator(mode="after")
    def _warms_up_within_its_epochs(self) -> "TrainingParams":
        if self.warmup > self.epochs:
            raise ValueError(f"warmup: {self.warmup} is more than epochs: {self.epochs}")
        return self


Count = Annotated[Whole, Field(ge=1)]


def count_or(word: str) -> BeforeValidator:
    """Return a validator that takes a whole number from 1, or `word`."""

    def check(value: Any) -> Any:
        is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        if not is_count and value != word:
            raise ValueError(f"should be a whole number from 1, or {word}")
        return value

    return BeforeValidator(check)


class StudentParams(WarmedParams):
    """How the base model learns soft labels on the forget set beside the retained examples."""

    epochs: Epochs = Field(20, ge=0, description="Passes over all examples; paper: 20, SVHN: 10.")
    lr: float = Field(1e-4, ge=0, description="Paper tunes it in [1e-6, 1e-3]; SVHN: 1e-4.")
    optimizer: Literal["sgd", "adam", "adamw"] = Field("adamw", description="Paper: AdamW.")
    beta: float = Field(
        2.0, ge=0, description="Weight of the forget set's loss; paper: 2, of [1, 5]; SVHN: 3."
    )
    top: Annotated[Count | Literal["all"], count_or("all")] = Field(
        3, description="Classes that a soft label keeps, renormalised; paper: 3."
    )
