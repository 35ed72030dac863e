"""LTD: retained neighbours of the forget set teach a small model, which teaches the base model."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from collateral.methods.ltd.params import Params, Prepare
from collateral.methods.ltd.support import choose_support
from collateral.methods.ltd.teacher import new_teacher, train_teacher
from collateral.training.distillation import Online, distil
from collateral.training.examples import Task
from collateral.training.inference import infer
from collateral.training.run import Run

TEACHER = "teacher."  # before the names of the teacher's weights among the prepared tensors


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return support, similarity and soft labels; the teacher's weights if `unlearn` needs them."""
    prepared = choose_support(model, task, params, run)
    with run.phase("teacher"):
        support = task.retain.select(prepared["support"].to(run.device))
        teacher = new_teacher(params.teacher, model, task.info, run)
        prepared["teacher_accuracy"] = train_teacher(teacher, support, params, run)
        prepared["soft_labels"] = infer(teacher, task.forget)[1].softmax(1)
    if params.targets == "augmented":
        prepared |= {f"{TEACHER}{name}": value for name, value in teacher.state_dict().items()}
    _report(prepared, task, run)
    return prepared


def unlearn(
    model: nn.Module, task: Task, params: Params, run: Run, prepared: Mapping[str, Tensor]
) -> nn.Module:
    """Return `model`, updated in place."""
    online = None
    if params.targets == "augmented":
        online = _asking(_restored_teacher(model, task, params, run, prepared))
    return distil(model, task, prepared["soft_labels"], params, run, online)


def _restored_teacher(
    model: nn.Module, task: Task, params: Params, run: Run, prepared: Mapping[str, Tensor]
) -> nn.Module:
    teacher = new_teacher(params.teacher, model, task.info, run)
    weights = {name: value for name, value in prepared.items() if name.startswith(TEACHER)}
    teacher.load_state_dict({name.removeprefix(TEACHER): w for name, w in weights.items()})
    return teacher.eval()


def _asking(teacher: nn.Module) -> Online:
    @torch.no_grad()
    def soft_labels(x: Tensor, _index: Tensor) -> Tensor:
        return teacher(x).softmax(1)

    return soft_labels


def _report(prepared: Mapping[str, Tensor], task: Task, run: Run) -> None:
    """Name the numbers for the tables; this is where, and why, the forget set's labels are read."""
    support = prepared["support"]
    is_right = prepared["soft_labels"].argmax(1) == task.forget.labels.cpu()
    run.report(
        support_size=len(support),
        support_classes=len(task.retain.labels.cpu()[support].unique()),
        support_similarity_min=prepared["similarity"][support].min().item(),
        teacher_ua=is_right.double().mean().item(),
    )
