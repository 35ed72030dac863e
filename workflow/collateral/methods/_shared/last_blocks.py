"""Train the last blocks of a model, on the retained examples; all before them stay as they are.

A block is what stands on the way from the image to the head: a residual or an attention block, a
stage of a network that keeps its blocks apart from other code (Swin), or a single layer outside of
blocks. Norm layers belong to the block before them, and the head is the last block. Weights outside
of blocks, such as position embeddings, train where all blocks do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import cast

from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from collateral.contract.params import LastBlocksParams
from collateral.methods._shared.training import squared_distance
from collateral.models._build import Body
from collateral.models._classifier import Classifier
from collateral.training.examples import Task
from collateral.training.optimizers import descend, start_training
from collateral.training.run import Run

NORMS = (_BatchNorm, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)


def list_blocks(model: nn.Module) -> list[list[nn.Module]]:
    """Return the blocks of a model in order, each as a list of modules; the head is the last."""
    classifier = cast(Classifier, model)
    body = classifier.body.inner if isinstance(classifier.body, Body) else classifier.body
    blocks: list[list[nn.Module]] = []
    for module in _list_units(body, is_top=True):
        if isinstance(module, NORMS) and blocks:
            blocks[-1].append(module)
        else:
            blocks.append([module])
    return [*blocks, [classifier.head]]


def _list_units(module: nn.Module, *, is_top: bool = False) -> Iterator[nn.Module]:
    """Yield the modules with weights that a container contains, in order."""
    children = list(module.children())
    if children and (is_top or isinstance(module, nn.Sequential | nn.ModuleList)):
        for child in children:
            yield from _list_units(child)
    elif next(module.parameters(), None) is not None:
        yield module


def select_last(model: nn.Module, k: int | str, *, head: bool) -> list[nn.Module]:
    """Return the modules that train: those of the last `k` blocks, with the head or without it.

    If everything trains, it is the model itself.
    """
    *blocks, last = list_blocks(model)
    if k == "all" or int(k) > len(blocks):
        return [model] if head else [cast(Classifier, model).body]
    chosen = blocks[len(blocks) + 1 - int(k) :]
    return [module for block in [*chosen, *([last] if head else [])] for module in block]


def train_last(
    model: nn.Module,
    task: Task,
    params: LastBlocksParams,
    run: Run,
    chosen: Sequence[nn.Module],
) -> nn.Module:
    """Fine-tune the chosen modules in place on the retained examples; return the model."""
    start = [weight.detach().clone() for weight in model.parameters()] if params.proximal else []
    with frozen_but(model, chosen) as frozen:
        optimizer = start_training(model, params)
        for module in frozen:
            module.eval()
        for epoch in run.epochs(params.epochs, model, optimizer):
            retain = task.retain.batches(params.batch_size, run.generator, augment=params.augment)
            for x, y in retain:
                loss = F.cross_entropy(model(x), y)
                descend(optimizer, _add_pull(loss, model, start, params.proximal))
            run.log(epoch=epoch, loss=loss.item())
    return model


def _add_pull(loss: Tensor, model: nn.Module, start: Sequence[Tensor], strength: float) -> Tensor:
    """Add half the squared distance from the weights at the start, times `strength`."""
    return loss + 0.5 * strength * squared_distance(model, start) if strength else loss


@contextmanager
def frozen_but(model: nn.Module, chosen: Sequence[nn.Module]) -> Iterator[list[nn.Module]]:
    """Within this context, only the chosen modules have gradients; yield all other modules."""
    free = {id(module) for part in chosen for module in part.modules()}
    frozen = [module for module in model.modules() if id(module) not in free]
    bare = [weight for module in frozen for weight in module.parameters(recurse=False)]
    changed = [weight for weight in bare if weight.requires_grad]
    for weight in changed:
        weight.requires_grad_(False)
    try:
        # Parents of chosen modules have no state of their own that the mode would change.
        yield [module for module in frozen if not any(module.children())]
    finally:
        for weight in changed:
            weight.requires_grad_(True)
