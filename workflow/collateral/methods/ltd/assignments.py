"""Assign teachers to forget examples: one teacher for all, one per cluster, or an ensemble."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from collateral.methods._shared.distillation import OnlineTargets
from collateral.methods.ltd.params import Prepare
from collateral.methods.ltd.teacher import new_teacher
from collateral.training.examples import Examples, Task
from collateral.training.run import Run

Ensemble = Sequence[nn.Module]


@dataclass(frozen=True)
class TeacherAssignment:
    """The support on which a teacher is trained, and the forget examples that it labels."""

    support: Examples
    index: Tensor  # indices of the labelled examples within the forget set
    forget: Examples


def assign_teachers(
    prepared: Mapping[str, Tensor], task: Task, params: Prepare
) -> list[TeacherAssignment]:
    """Return one assignment per teacher; all teachers of an ensemble have the same assignment."""
    assignments = _distinct_assignments(prepared, task, params)
    return [assignment for assignment in assignments for _ in range(params.teacher_ensemble)]


def prefix_weights(teacher: nn.Module, number: int, count: int) -> dict[str, Tensor]:
    """Return the weights of one of `count` teachers, with the teacher's prefix in their names."""
    return {_prefix(number, count) + name: value for name, value in teacher.state_dict().items()}


def online_targets(
    model: nn.Module, task: Task, params: Prepare, run: Run, prepared: Mapping[str, Tensor]
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
    prepared: Mapping[str, Tensor], task: Task, params: Prepare
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
