"""Labels that a method makes up for the forget set."""

import torch
from torch import Tensor

from collateral.training.examples import Task


def random_labels(task: Task, which: str, generator: torch.Generator) -> Tensor:
    """Draw a label for every forget example: of `any` class, or `wrong`: any but the true one."""
    count = len(task.forget)
    if which == "any":
        return torch.randint(task.num_classes, (count,), generator=generator)
    shift = torch.randint(1, task.num_classes, (count,), generator=generator)
    return (task.forget.labels.cpu() + shift) % task.num_classes
