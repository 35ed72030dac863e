"""Batches of a data set's examples and of images that a method has made, shuffled together."""

from collections.abc import Iterator

import torch

from collateral.contract.batches import batch_sizes
from collateral.contract.params import TrainedParams
from collateral.contract.protocols import Batch, Examples
from collateral.training.examples import moved


def mixed(
    clean: Examples, made: Batch, params: TrainedParams, generator: torch.Generator
) -> Iterator[Batch]:
    """Yield batches shuffled over both, each example once; what was made is not augmented."""
    images, labels = made
    order = torch.randperm(len(clean) + len(labels), generator=generator)
    for index in order.split(batch_sizes(len(order), params.batch_size)):
        is_clean = index < len(clean)
        some = clean.select(moved(index[is_clean], labels.device))
        places = moved(index[~is_clean] - len(clean), labels.device)
        x = some.augmented(generator) if params.augment else some.pixels()
        yield torch.cat([x, images[places]]), torch.cat([some.labels, labels[places]])
