"""EU-k with one layer: what the last layer knew is gone, the others stay."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from collateral.training.optimizers import descend, start_training


def unlearn(model, task, params, run):
    """Return `model`, updated in place."""
    with run.seeded():  # on the CPU, so that every device gets the same weights
        fresh = nn.Linear(model.head.in_features, model.head.out_features)
    model.head.load_state_dict(fresh.state_dict())
    optimizer = start_training(model, params)
    for epoch in run.epochs(params.epochs, model, optimizer):
        for x, y in task.retain.batches(params.batch_size, run.generator, augment=params.augment):
            with torch.no_grad():
                features = model.features(x)
            loss = cross_entropy(model.head(features), y)
            descend(optimizer, loss)
        run.log(epoch=epoch, loss=loss.item())
    return model
