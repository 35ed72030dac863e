"""Random labels, and batches that mix clean examples with generated images."""

from collections.abc import Iterator

import torch
from torch import Tensor

from collateral.contract.conventions import batch_sizes
from collateral.contract.params import TrainedParams
from collateral.training.examples import Batch, Examples, Task, move_to


def mix_batches(
    clean: Examples, made: Batch, params: TrainedParams, generator: torch.Generator
) -> Iterator[Batch]:
    """Yield shuffled batches of `clean` and generated examples; only `clean` ones are augmented."""
    images, labels = made
    order = torch.randperm(len(clean) + len(labels), generator=generator)
    for index in order.split(batch_sizes(len(order), params.batch_size)):
        is_clean = index < len(clean)
        some = clean.select(move_to(index[is_clean], labels.device))
        places = move_to(index[~is_clean] - len(clean), labels.device)
        x = some.augmented(generator) if params.augment else some.pixels()
        yield torch.cat([x, images[places]]), torch.cat([some.labels, labels[places]])


def draw_labels(task: Task, which: str, generator: torch.Generator) -> Tensor:
    """Draw a label for each forget example: of any class (`any`), or of a wrong class (`wrong`)."""
    count = len(task.forget)
    if which == "any":
        return torch.randint(task.num_classes, (count,), generator=generator)
    shift = torch.randint(1, task.num_classes, (count,), generator=generator)
    return (task.forget.labels.cpu() + shift) % task.num_classes
