"""Parameters of Local Teacher Distillation."""

from typing import Literal

from pydantic import Field, field_validator, model_validator

from collateral.contract.messages import unknown_name
from collateral.contract.params import (
    PAPER_CODE,
    Between,
    Count,
    Epochs,
    MethodParams,
    Seed,
    StudentParams,
    Whole,
)
from collateral.contract.work import Sizes, Work, inference_work, training_work
from collateral.plugins.find import MODEL

# Support size and number of clusters that cost estimates assume if the config gives no number.
UNKNOWN_SIZE, UNKNOWN_CLUSTERS = 1000, 10


def teachers() -> list[str]:
    """Return the names of all models that can be the teacher."""
    return [*MODEL.names(), "mlp_frozen"]


class Prepare(MethodParams):
    """Parameters of the support and of the training of the teacher."""

    label = "LTD"
    paper = "https://arxiv.org/abs/2605.31317"
    touches = frozenset({"retain", "forget images"})

    support: Literal["closest", "random", "farthest"] = Field(
        "closest",
        description="Which retained examples the teacher is trained on (the support). `closest`: "
        "those most similar to the forget set. `random`: random ones. `farthest`: the least "
        "similar ones. Similarity is the cosine similarity of the base model's features. Paper: "
        "closest.",
    )
    support_by: Literal["mean", "example", "cluster"] = Field(
        "mean",
        description="What the similarity of a retained example refers to. `mean`: the mean of the "
        "forget set. `example`: its nearest forget example. `cluster`: its nearest cluster of "
        "forget examples. Paper: mean; the others are in its appendix on heterogeneous forget "
        "sets.",
    )
    k: Count | Literal["auto"] = Field(
        1000,
        description="Size of the support, i.e. the number of retained examples on which the "
        "teacher is trained. `auto`: it is chosen by one gradient-ascent step. With `support_by: "
        "example` every forgotten example contributes equally; with `cluster`, each cluster in "
        "proportion to its size. Paper: 1000; on SVHN 4500 if half of a class is forgotten, 1200 "
        "if 90 % are.",
    )
    k_each: Whole | None = Field(
        None,
        ge=1,
        description="Number of nearest retained examples of each forgotten example or cluster; "
        "their union is the support (the paper's N_k). If given, it replaces `k`.",
    )
    min_similarity: float | None = Field(
        None,
        ge=-1,
        le=1,
        description="Minimum cosine similarity to the forget set, or to the nearest of its "
        "examples or clusters. If given, it replaces `k`: the support has as many examples as "
        "reach it. In the paper, 1000 examples correspond to about 0.75.",
    )
    clusters: Count | Literal["auto"] = Field(
        "auto",
        description="Number of clusters into which k-means divides the forget set, by normalised "
        "features; used with `support_by: cluster`. `auto`: the number from 2 to 10 with the "
        "largest mean silhouette, or one cluster if no silhouette exceeds 0.5.",
    )
    teachers: Literal["one", "per_cluster"] = Field(
        "one",
        description="Number of teachers. `one`: one teacher, trained on the whole support. "
        "`per_cluster`: one teacher per cluster of forget examples, trained on that cluster's "
        "part of the support; it labels the forget examples of this cluster.",
    )
    search: Literal["exact", "approximate"] = Field(
        "exact",
        description="How the nearest retained examples of each forget example are found with "
        "`support_by: example`. `exact`: by comparing all pairs. `approximate`: by an index, "
        "which needs pip install 'collateral[ann]'. The other kinds of `support_by` are always "
        "exact.",
    )
    teacher: str = Field(
        "resnet8",
        description="Architecture of the teacher: the name of a model, or `mlp_frozen`, a "
        "perceptron on the frozen features of the base model. Paper: resnet8.",
        json_schema_extra=lambda schema: schema.update(enum=[*teachers()]),
    )
    teacher_lr: float = Field(
        0.2,
        ge=0,
        description="Learning rate of the teacher at the start. Public code: 0.2, on SVHN 0.005.",
    )
    teacher_schedule: Literal["step", "cosine", "constant"] = Field(
        "step",
        description="Learning rate of the teacher over the epochs. `step`: divided by ten from "
        "epoch `teacher_step` on. `cosine`: falls towards 0 along half a cosine wave. `constant`: "
        "stays at `teacher_lr`. Public code: step, on SVHN cosine.",
    )
    teacher_step: Whole = Field(
        200,
        ge=1,
        description="Epoch from which the teacher's learning rate is divided by ten with "
        "`teacher_schedule: step`. Public code: 200.",
    )
    teacher_batch_size: Whole = Field(
        256,
        ge=1,
        description="Number of examples per step of the teacher's training. Public code: 256.",
    )
    teacher_momentum: float = Field(
        0.9,
        ge=0,
        lt=1,
        description="Momentum of SGD, with which the teacher is trained. Public code: 0.9.",
    )
    teacher_weight_decay: float = Field(
        1e-4,
        ge=0,
        description="Weight decay of SGD, with which the teacher is trained. Public code: 1e-4.",
    )
    teacher_epochs: Epochs = Field(
        250,
        ge=1,
        description="Maximum number of epochs of the teacher's training (budget B in the paper). "
        "Public code: 250.",
    )
    threshold: float | None = Field(
        0.99,
        ge=0,
        le=1,
        description="Training accuracy on the support at which the teacher's training stops "
        "early. null: it never stops early. Paper: 0.99.",
    )
    teacher_augment: bool = Field(
        True,
        description="Whether the teacher's training images are augmented; `augment` decides this "
        "for the student. The public code has one setting for both.",
    )
    teacher_ensemble: Whole = Field(
        1, ge=1, description="Number of teachers whose soft labels are averaged. Paper: 1."
    )
    teacher_seed: Seed | None = Field(
        None,
        description="Seed that changes only the teacher: its initial weights and its batches. "
        "Default: they follow from the seed of the run.",
    )
    targets: Literal["clean", "augmented"] = Field(
        "clean",
        description="Images that the teacher labels. `clean`: each forget image once, without "
        "augmentation. `augmented`: every augmented view that the student is trained on, as in "
        "the public code.",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> "Prepare":
        if self.support_by != "mean" and self.support != "closest":
            raise ValueError(f"support: {self.support} goes with support_by: mean alone")
        if self.support_by != "cluster" and self.teachers == "per_cluster":
            raise ValueError("teachers: per_cluster needs support_by: cluster")
        if self.k_each is not None and self.min_similarity is not None:
            raise ValueError("k_each and min_similarity both replace k; give one of them")
        asks_for_all = self.min_similarity is not None or self._takes_a_step
        if self.support_by == "example" and self.search == "approximate" and asks_for_all:
            raise ValueError("search: approximate needs a number, k or k_each")
        return self

    @field_validator("teacher")
    @classmethod
    def _known_teacher(cls, value: str) -> str:
        if value not in teachers():
            raise ValueError(unknown_name("teacher", value, teachers()))
        return value

    def required_retained(self) -> dict[str, int]:
        """Return the required number of retained examples, by name of the parameter."""
        if self.min_similarity is not None:
            return {}
        required = {"k": self.k} if self.k_each is None else {"k_each": self.k_each}
        return {key: count for key, count in required.items() if isinstance(count, int)}

    def prepare_work(self, sizes: Sizes) -> Work:
        """Return the amount of computation of embedding all examples and training every teacher."""
        epochs = self.teacher_ensemble * self.teacher_epochs
        lessons = epochs * min(self._size(sizes), sizes.retain)
        work = inference_work(sizes.examples)
        if self._takes_a_step:
            work += training_work(sizes.forget) + inference_work(sizes.retain)
        if self.teacher == "mlp_frozen":
            return work + inference_work(lessons) + training_work(lessons, "mlp")
        return work + training_work(lessons, self.teacher)

    def prepared_numbers(self, sizes: Sizes) -> int:
        """Return the number of stored floats: similarities and soft labels, without teachers."""
        return sizes.retain + sizes.forget * sizes.classes

    def _size(self, sizes: Sizes) -> int:
        """Return an upper bound of the support's size; assume a number if the config gives none."""
        if self.k_each is not None:
            clusters = self.clusters if isinstance(self.clusters, int) else UNKNOWN_CLUSTERS
            centres = {"mean": 1, "cluster": clusters, "example": sizes.forget}
            return self.k_each * centres[self.support_by]
        if self.k == "auto" or self.min_similarity is not None:
            return UNKNOWN_SIZE
        return self.k

    @property
    def _takes_a_step(self) -> bool:
        """Whether a step of gradient ascent chooses the size of the support (`k: auto`)."""
        return self.k == "auto" and self.k_each is None and self.min_similarity is None


class Params(StudentParams, Prepare):
    """LTD, Local Teacher Distillation (Dolgova and Stich, 2026, section 4): train the forget set on
    soft labels of a small teacher that knows only its retained neighbours.

    A small teacher is trained on retained examples near the forget set; its predictions replace the
    labels of the forget set, which are used only to report the teacher's accuracy. Deviation:
    features and teacher's predictions are of clean images; the public code augments both.

    Formula: min [sum of CE(y, p) over D_r + beta sum of CE(top(q), p) over D_f] / batch, q the
    teacher's probabilities, of which top(q) keeps the largest few.
    """

    published = {
        "paper": {"epochs": 20, "lr": Between(1e-6, 1e-3), "optimizer": "adamw", "beta": 2}
        | {"top": 3, "support": "closest", "k": 1000, "teacher": "resnet8", "threshold": 0.99},
        "paper, SVHN": {"epochs": 10, "lr": 1e-4, "beta": 3, "k": [4500, 1200]}
        | {"teacher_lr": 0.005, "teacher_schedule": "cosine"},
        "paper's code": {**PAPER_CODE, "weight_decay": 1e-6, "beta": 2, "top": 3, "k": 1000}
        | {"targets": "augmented", "teacher_lr": 0.2, "teacher_schedule": "step"}
        | {"teacher_step": 200, "teacher_epochs": 250, "teacher_batch_size": 256}
        | {"teacher_momentum": 0.9, "teacher_weight_decay": 1e-4, "threshold": 0.99},
    }
