"""Shadow models: draw their training sets, and compute margins of a model's predictions."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from collateral.contract.conventions import count_share, derive_seed
from collateral.training.examples import Examples
from collateral.training.inference import infer


def draw_membership(num_examples: int, count: int, share: float) -> NDArray[np.bool_]:
    """Draw the training sets of `count` models as a mask, (models, examples).

    Every example is in the training sets of exactly `share` of the models, as in the experiments of
    LiRA, so that the number of models with and without an example is the same for all examples.
    """
    rng = np.random.default_rng(derive_seed("shadows", num_examples, count))
    places = rng.random((count, num_examples)).argsort(axis=0)
    is_in: NDArray[np.bool_] = places < count_share(count, share)
    return is_in


def compute_margins(model: nn.Module, examples: Examples) -> NDArray[np.float32]:
    """Return log p - log(1 - p) of the true class: its logit minus log-sum-exp of other logits."""
    _, logits = infer(model, examples)
    labels = examples.labels.cpu()[:, None]
    own = logits.gather(1, labels).squeeze(1)
    others = logits.scatter(1, labels, -torch.inf).logsumexp(1)
    margins: NDArray[np.float32] = (own - others).numpy()
    return margins
