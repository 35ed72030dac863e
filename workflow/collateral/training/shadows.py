"""The shadow pool: which examples each model sees, and how sure a model is of an example."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from collateral.contract.seeds import seed_of
from collateral.contract.shares import share_of
from collateral.training.examples import Examples
from collateral.training.inference import infer


def membership(num_examples: int, count: int, share: float) -> NDArray[np.bool_]:
    """Return which examples each of `count` models sees, (models, examples).

    Every example is seen by exactly `share` of the models, as in LiRA's own experiments, so that
    both of its laws are fitted to as many models as any other's; which, chance decides.
    """
    rng = np.random.default_rng(seed_of("shadows", num_examples, count))
    places = rng.random((count, num_examples)).argsort(axis=0)
    is_in: NDArray[np.bool_] = places < share_of(count, share)
    return is_in


def margins_of(model: nn.Module, examples: Examples) -> NDArray[np.float32]:
    """Return log p - log(1 - p) of the true class: its logit minus the others' log-sum-exp."""
    _, logits = infer(model, examples)
    labels = examples.labels.cpu()[:, None]
    own = logits.gather(1, labels).squeeze(1)
    others = logits.scatter(1, labels, -torch.inf).logsumexp(1)
    margins: NDArray[np.float32] = (own - others).numpy()
    return margins
