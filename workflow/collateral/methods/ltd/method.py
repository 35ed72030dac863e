"""LTD: retained neighbours of the forget set teach a small model, which teaches the base model."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from collateral.contract.seeds import seed_of
from collateral.methods._shared.distillation import distil
from collateral.methods.ltd.lessons import Lesson, asking, lessons_of, weights_of
from collateral.methods.ltd.params import Params, Prepare
from collateral.methods.ltd.support import choose_support
from collateral.methods.ltd.teacher import new_teacher, train_teacher
from collateral.training.examples import Task
from collateral.training.inference import infer
from collateral.training.run import Run


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return support, similarity and soft labels; the teachers' weights if `unlearn` needs them."""
    prepared = choose_support(model, task, params, run)
    if params.teacher_seed is not None:
        run.generator.manual_seed(seed_of("teacher", params.teacher_seed, run.random_seed()))
    with run.phase("teacher"):
        lessons = lessons_of(prepared, task, params)
        soft, accuracies = torch.zeros(len(task.forget), task.num_classes), []
        for number, lesson in enumerate(lessons):
            teacher = new_teacher(params.teacher, model, task.info, run)
            accuracies.append(train_teacher(teacher, lesson.support, params, run))
            said = infer(teacher, lesson.taught)[1].softmax(1)
            soft[lesson.pupils] += said / params.teacher_ensemble
            if params.targets == "augmented":
                prepared |= weights_of(teacher, number, len(lessons))
    prepared |= {"soft_labels": soft, "teacher_accuracy": torch.cat(accuracies)}
    if len(lessons) > 1:
        _report_teachers(lessons, accuracies, run)
    _report(prepared, task, run)
    return prepared


def unlearn(
    model: nn.Module, task: Task, params: Params, run: Run, prepared: Mapping[str, Tensor]
) -> nn.Module:
    """Return `model`, updated in place."""
    online = None
    if params.targets == "augmented":
        online = asking(model, task, params, run, prepared)
    return distil(model, task, prepared["soft_labels"], params, run, online)


def _report_teachers(lessons: Sequence[Lesson], accuracies: Sequence[Tensor], run: Run) -> None:
    """Add up what each teacher has reported of itself: their epochs, and the mean accuracy."""
    sizes = [len(lesson.support) for lesson in lessons]
    right = [size * own[-1].item() for size, own in zip(sizes, accuracies, strict=True)]
    run.report(
        teacher_epochs=sum(map(len, accuracies)),
        teacher_support_accuracy=sum(right) / sum(sizes),
    )


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
