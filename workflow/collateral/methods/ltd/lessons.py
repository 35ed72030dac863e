"""Who teaches whom: one teacher for all forget examples, or one a cluster; or several as one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from collateral.methods._shared.distillation import Online
from collateral.methods.ltd.params import Prepare
from collateral.methods.ltd.teacher import new_teacher
from collateral.training.examples import Examples, Task
from collateral.training.run import Run

Ensemble = Sequence[nn.Module]


@dataclass(frozen=True)
class Lesson:
    """What a teacher learns, and the forget examples that it teaches."""

    support: Examples
    pupils: Tensor  # places in the forget set
    taught: Examples


def lessons_of(prepared: Mapping[str, Tensor], task: Task, params: Prepare) -> list[Lesson]:
    """Return a lesson for each teacher; those of an ensemble have the same one."""
    lessons = _different_lessons(prepared, task, params)
    return [lesson for lesson in lessons for _ in range(params.teacher_ensemble)]


def weights_of(teacher: nn.Module, number: int, count: int) -> dict[str, Tensor]:
    """Return the weights of one of `count` teachers by names that tell it from the others."""
    return {_prefix(number, count) + name: value for name, value in teacher.state_dict().items()}


def asking(
    model: nn.Module, task: Task, params: Prepare, run: Run, prepared: Mapping[str, Tensor]
) -> Online:
    """Return a function that asks the prepared teachers, each for the examples that it teaches."""
    size = params.teacher_ensemble
    count = size * (len(prepared["parts"]) if _per_cluster(params) else 1)
    teachers = []
    for number in range(count):
        teacher, start = new_teacher(params.teacher, model, task.info, run), _prefix(number, count)
        weights = {name: value for name, value in prepared.items() if name.startswith(start)}
        teacher.load_state_dict({name.removeprefix(start): w for name, w in weights.items()})
        teachers.append(teacher.eval())
    ensembles = [teachers[first : first + size] for first in range(0, count, size)]
    if len(ensembles) == 1:
        return lambda x, _index: _soft(teachers, x)
    return _each_for_its_own(ensembles, prepared["cluster"].to(run.device))


def _each_for_its_own(ensembles: Sequence[Ensemble], cluster: Tensor) -> Online:
    def soft_labels(x: Tensor, index: Tensor) -> Tensor:
        asked = cluster[index]
        answers = [_soft(ensembles[c], x[asked == c]) for c in asked.unique().tolist()]
        # Answers come cluster by cluster; back to the order of the batch.
        return torch.cat(answers)[asked.argsort(stable=True).argsort()]

    return soft_labels


@torch.no_grad()
def _soft(teachers: Ensemble, x: Tensor) -> Tensor:
    return torch.stack([teacher(x).softmax(1) for teacher in teachers]).mean(0)


def _different_lessons(prepared: Mapping[str, Tensor], task: Task, params: Prepare) -> list[Lesson]:
    support, everyone = prepared["support"], torch.arange(len(task.forget))
    if not _per_cluster(params):
        return [_lesson(task, support, everyone)]
    parts = prepared["parts"]
    if not parts.any(1).all():
        poor = int((~parts.any(1)).nonzero()[0])
        raise ValueError(
            f"teachers: per_cluster: of the support's {len(support)} examples, none is near "
            f"cluster {poor} of {len(parts)}; make the support larger, or the clusters fewer"
        )
    clusters = prepared["cluster"]
    return [_lesson(task, support[part], everyone[clusters == c]) for c, part in enumerate(parts)]


def _lesson(task: Task, support: Tensor, pupils: Tensor) -> Lesson:
    device = task.forget.rows.device
    return Lesson(
        task.retain.select(support.to(device)), pupils, task.forget.select(pupils.to(device))
    )


def _per_cluster(params: Prepare) -> bool:
    return params.teachers == "per_cluster"


def _prefix(number: int, count: int) -> str:
    return "teacher." if count == 1 else f"teacher-{number}."
