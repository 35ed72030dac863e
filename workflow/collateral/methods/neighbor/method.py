"""Neighbor: soft labels of the forget set are the label frequencies of retained neighbours."""

import torch
from torch import Tensor, nn

from collateral.methods._shared.distillation import distill
from collateral.methods._shared.nearest import nearest, select, similarity
from collateral.methods.neighbor.params import Params, Prepare
from collateral.training.examples import Task, Tensors
from collateral.training.inference import infer
from collateral.training.run import Run


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return the soft labels of the forget set."""
    with run.phase("embedding"):
        retain, forget = (infer(model, examples)[0] for examples in (task.retain, task.forget))
    labels = task.retain.labels.cpu()
    with run.phase("support"):
        if params.within == "support":
            size = params.candidates or params.k
            support = select(similarity(retain, forget), size, "closest", run.generator)
            retain, labels = retain[support], labels[support]
        found = nearest(forget, retain, params.k)
        soft = torch.cat([histograms(labels[places], task.num_classes) for places in found])
    # Labels of the forget set are used only for this number in the tables, not for unlearning.
    is_right = soft.argmax(1) == task.forget.labels.cpu()
    run.report(target_ua=is_right.double().mean().item())
    return {"soft_labels": soft}


def unlearn(model: nn.Module, task: Task, params: Params, run: Run, prepared: Tensors) -> nn.Module:
    """Return `model`, updated in place."""
    return distill(model, task, prepared["soft_labels"], params, run)


def histograms(labels: Tensor, num_classes: int) -> Tensor:
    """Return the frequency of every class (column) in each row of labels."""
    counts = torch.zeros(len(labels), num_classes)
    counts.scatter_add_(1, labels, torch.ones(labels.shape))
    return counts / labels.shape[1]
