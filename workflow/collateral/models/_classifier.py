"""What every model is: a body that embeds normalised images, and a linear head."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from collateral.contract.data import ImageInfo

Names = Callable[[str], str]


def as_they_are(name: str) -> str:
    """Return the name of a weight of a model that has the names of its file."""
    return name


class Classifier(nn.Module):
    """Classify float images in [0, 1], (B, C, H, W), by `head(features(x))`."""

    mean: Tensor
    std: Tensor

    def __init__(
        self,
        info: ImageInfo,
        body: nn.Module,
        head: nn.Linear,
        names: Names = as_they_are,
        own_names: Names = as_they_are,
    ) -> None:
        """Put the normalisation of `info` before `body`, and `head` after it."""
        super().__init__()
        self.names = names  # from a weight's name in a model that was taken apart to its name here
        self.own_names = own_names  # the inverse
        # Constants of the data set, which every build sets from `info`: kept out of the state
        # dict, so that it holds the learned state alone and nothing that edits weights meets them.
        self.register_buffer("mean", torch.tensor(info.mean).view(-1, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(info.std).view(-1, 1, 1), persistent=False)
        self.body = body
        self.head = head

    def features(self, x: Tensor) -> Tensor:
        """Return the penultimate features, (B, D)."""
        features: Tensor = self.body((x - self.mean) / self.std)
        return features

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits, (B, number of classes)."""
        logits: Tensor = self.head(self.features(x))
        return logits
