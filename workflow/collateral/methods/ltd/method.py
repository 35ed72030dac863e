"""LTD: train a small teacher on neighbours of the forget set, and distil its soft labels."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from collateral.contract.conventions import derive_seed
from collateral.methods._shared.distillation import distill
from collateral.methods.ltd.params import Params, Prepare
from collateral.methods.ltd.support import choose_support
from collateral.methods.ltd.teachers import (
    TeacherAssignment,
    assign_teachers,
    new_teacher,
    online_targets,
    prefix_weights,
    train_teacher,
)
from collateral.training.examples import Task, Tensors
from collateral.training.inference import infer
from collateral.training.run import Run


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return support, similarities, soft labels and, for augmented targets, teachers' weights."""
    prepared = choose_support(model, task, params, run)
    if params.teacher_seed is not None:
        run.generator.manual_seed(derive_seed("teacher", params.teacher_seed, run.random_seed()))
    with run.phase("teacher"):
        assignments = assign_teachers(prepared, task, params)
        soft, accuracies = torch.zeros(len(task.forget), task.num_classes), []
        for number, assignment in enumerate(assignments):
            teacher = new_teacher(params.teacher, model, task.info, run)
            accuracies.append(train_teacher(teacher, assignment.support, params, run))
            prediction = infer(teacher, assignment.forget)[1].softmax(1)
            soft[assignment.index] += prediction / params.teacher_ensemble
            if params.targets == "augmented":
                prepared |= prefix_weights(teacher, number, len(assignments))
    prepared |= {"soft_labels": soft, "teacher_accuracy": torch.cat(accuracies)}
    if len(assignments) > 1:
        _report_teachers(assignments, accuracies, run)
    _report(prepared, task, run)
    return prepared


def unlearn(model: nn.Module, task: Task, params: Params, run: Run, prepared: Tensors) -> nn.Module:
    """Return `model`, updated in place."""
    online = None
    if params.targets == "augmented":
        online = online_targets(model, task, params, run, prepared)
    return distill(model, task, prepared["soft_labels"], params, run, online)


def _report_teachers(
    assignments: Sequence[TeacherAssignment], accuracies: Sequence[Tensor], run: Run
) -> None:
    """Report the total number of epochs of all teachers, and their mean accuracy on the support."""
    sizes = [len(assignment.support) for assignment in assignments]
    correct = [size * own[-1].item() for size, own in zip(sizes, accuracies, strict=True)]
    run.report(
        teacher_epochs=sum(map(len, accuracies)),
        teacher_support_accuracy=sum(correct) / sum(sizes),
    )


def _report(prepared: Tensors, task: Task, run: Run) -> None:
    """Report numbers for the tables; LTD reads labels of the forget set only in this function."""
    support = prepared["support"]
    is_right = prepared["soft_labels"].argmax(1) == task.forget.labels.cpu()
    run.report(
        support_size=len(support),
        support_classes=len(task.retain.labels.cpu()[support].unique()),
        support_similarity_min=prepared["similarity"][support].min().item(),
        teacher_ua=is_right.double().mean().item(),
    )
