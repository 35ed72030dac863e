"""Teachers: small models that are trained on the support and then label the forget examples.

There is one teacher for all forget examples, one per cluster, or an ensemble.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.contract.data import ImageInfo
from collateral.contract.params import TrainedParams
from collateral.methods._shared.distillation import OnlineTargets
from collateral.methods.ltd.params import Prepare
from collateral.models._build import build_model
from collateral.models._classifier import Classifier
from collateral.training.examples import Examples, Task, Tensors
from collateral.training.optimizers import cosine_rate, descend, set_learning_rate, start_training
from collateral.training.run import Run

Ensemble = Sequence[nn.Module]
# Number of units in the hidden layer; the paper states none, so it is that of the model `mlp`.
HIDDEN_UNITS = 256
# Factor of the learning rate from epoch `teacher_step` on, as in the public code.
STEP_FACTOR = 0.1


class FrozenBody(nn.Module):
    """A perceptron with one hidden layer on the features of a frozen copy of the base model."""

    def __init__(self, base: nn.Module, num_classes: int) -> None:
        """Copy `base` and freeze the copy."""
        super().__init__()
        self.base = cast(Classifier, copy.deepcopy(base).requires_grad_(False))
        self.hidden = nn.Linear(self.base.head.in_features, HIDDEN_UNITS)
        self.head = nn.Linear(HIDDEN_UNITS, num_classes)

    def train(self, mode: bool = True) -> "FrozenBody":
        """Set the mode of the perceptron; the frozen base model stays in eval mode."""
        super().train(mode)
        self.base.eval()
        return self

    def features(self, x: Tensor) -> Tensor:
        """Return the output of the hidden layer, one row per image."""
        return F.relu(self.hidden(self.base.features(x)))

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits, one row per image."""
        return self.head(self.features(x))


def new_teacher(name: str, base: nn.Module, info: ImageInfo, run: Run) -> nn.Module:
    """Return an untrained teacher on the device."""
    with run.seeded():
        frozen = name == "mlp_frozen"
        teacher = FrozenBody(base, info.num_classes) if frozen else build_model(name, info)
    return teacher.to(run.device).to(memory_format=torch.channels_last)


def train_teacher(teacher: nn.Module, support: Examples, params: Prepare, run: Run) -> Tensor:
    """Train until the accuracy reaches `threshold` or epochs end; return each epoch's accuracy."""
    optimizer = start_training(teacher, _training(params))
    others = len(_accuracies(run))
    for epoch in run.epochs(params.teacher_epochs, teacher, optimizer, name="teacher"):
        set_learning_rate(optimizer, params.teacher_lr * _rate_factor(epoch, params))
        correct = torch.zeros((), device=run.device)
        batches = support.batches(
            params.teacher_batch_size, run.generator, augment=params.teacher_augment
        )
        for x, y in batches:
            logits = teacher(x)
            loss = F.cross_entropy(logits, y)
            descend(optimizer, loss)
            correct += (logits.argmax(1) == y).sum()
        accuracy = correct.item() / len(support)
        run.log(epoch=epoch, teacher_loss=loss.item(), teacher_accuracy=accuracy)
        # Numbers are reported in every epoch, because checkpoints store the reported numbers.
        run.report(teacher_epochs=epoch + 1, teacher_support_accuracy=accuracy)
        if params.threshold is not None and accuracy >= params.threshold:
            run.stop()
    return torch.tensor(_accuracies(run)[others:])


def _accuracies(run: Run) -> list[float]:
    """Return the accuracies of all epochs of all teachers so far."""
    return [row["teacher_accuracy"] for row in run.history if "teacher_accuracy" in row]


def _training(params: Prepare) -> TrainedParams:
    """Return the teacher's training parameters, without the prefix `teacher_` in their names."""
    return TrainedParams(
        lr=params.teacher_lr,
        batch_size=params.teacher_batch_size,
        momentum=params.teacher_momentum,
        weight_decay=params.teacher_weight_decay,
    )


def _rate_factor(epoch: int, params: Prepare) -> float:
    if params.teacher_schedule == "cosine":
        return cosine_rate(epoch, params.teacher_epochs)
    is_cut = params.teacher_schedule == "step" and epoch >= params.teacher_step
    return STEP_FACTOR if is_cut else 1.0


@dataclass(frozen=True)
class TeacherAssignment:
    """The support on which a teacher is trained, and the forget examples that it labels."""

    support: Examples
    index: Tensor  # indices of the forget examples that the teacher labels
    forget: Examples


def assign_teachers(prepared: Tensors, task: Task, params: Prepare) -> list[TeacherAssignment]:
    """Return each teacher's support and forget examples; an ensemble's teachers share both."""
    assignments = _distinct_assignments(prepared, task, params)
    return [assignment for assignment in assignments for _ in range(params.teacher_ensemble)]


def prefix_weights(teacher: nn.Module, number: int, count: int) -> dict[str, Tensor]:
    """Return a teacher's weights by name; the prefix of each name identifies the teacher."""
    return {_prefix(number, count) + name: value for name, value in teacher.state_dict().items()}


def online_targets(
    model: nn.Module, task: Task, params: Prepare, run: Run, prepared: Tensors
) -> OnlineTargets:
    """Return a function that computes soft labels of augmented images with the trained teachers."""
    size = params.teacher_ensemble
    count = size * (len(prepared["parts"]) if _is_per_cluster(params) else 1)
    teachers = []
    for number in range(count):
        teacher, start = new_teacher(params.teacher, model, task.info, run), _prefix(number, count)
        weights = {name: value for name, value in prepared.items() if name.startswith(start)}
        teacher.load_state_dict({name.removeprefix(start): w for name, w in weights.items()})
        teachers.append(teacher.eval())
    ensembles = [teachers[first : first + size] for first in range(0, count, size)]
    if len(ensembles) == 1:
        return lambda x, _index: _mean_prediction(teachers, x)
    return _label_by_cluster(ensembles, prepared["cluster"].to(run.device))


def _label_by_cluster(ensembles: Sequence[Ensemble], cluster: Tensor) -> OnlineTargets:
    def soft_labels(x: Tensor, index: Tensor) -> Tensor:
        own = cluster[index]
        labels = [_mean_prediction(ensembles[c], x[own == c]) for c in own.unique().tolist()]
        # Soft labels are grouped by cluster; this restores the order of the batch.
        return torch.cat(labels)[own.argsort(stable=True).argsort()]

    return soft_labels


@torch.no_grad()
def _mean_prediction(teachers: Ensemble, x: Tensor) -> Tensor:
    return torch.stack([teacher(x).softmax(1) for teacher in teachers]).mean(0)


def _distinct_assignments(
    prepared: Tensors, task: Task, params: Prepare
) -> list[TeacherAssignment]:
    support, everyone = prepared["support"], torch.arange(len(task.forget))
    if not _is_per_cluster(params):
        return [_assignment(task, support, everyone)]
    parts = prepared["parts"]
    if not parts.any(1).all():
        empty = int((~parts.any(1)).nonzero()[0])
        raise ValueError(
            f"teachers: per_cluster: of the support's {len(support)} examples, none is near "
            f"cluster {empty} of {len(parts)}; make the support larger, or the clusters fewer"
        )
    clusters = prepared["cluster"]
    return [
        _assignment(task, support[part], everyone[clusters == c]) for c, part in enumerate(parts)
    ]


def _assignment(task: Task, support: Tensor, index: Tensor) -> TeacherAssignment:
    device = task.forget.rows.device
    return TeacherAssignment(
        task.retain.select(support.to(device)), index, task.forget.select(index.to(device))
    )


def _is_per_cluster(params: Prepare) -> bool:
    return params.teachers == "per_cluster"


def _prefix(number: int, count: int) -> str:
    return "teacher." if count == 1 else f"teacher-{number}."
