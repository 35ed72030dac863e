"""The class of all models: a body that embeds normalised images, and a linear head."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from collateral.contract.data import ImageInfo

Names = Callable[[str], str]


def keep_name(name: str) -> str:
    """Return the name of a weight unchanged."""
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
        names: Names = keep_name,
        own_names: Names = keep_name,
    ) -> None:
        """Apply the normalisation of `info`, then `body`, then `head`."""
        super().__init__()
        self.names = names  # maps the name of a weight in the wrapped model to its name here
        self.own_names = own_names  # the inverse mapping
        # Constants of the data set are not persistent: the state dict has the learned state only,
        # and code that edits weights does not see them.
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
