"""The class of all models: a body that computes features of images, and a linear head."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from collateral.contract.data import ImageInfo
from collateral.contract.messages import unknown_name

BODY = "body.inner."  # prefix of the names of weights in the body of a wrapped model
HEAD = "head."  # prefix of the names of the head's weights

Names = Callable[[str], str]  # function from the name of a weight to its new name
# Function that converts the weights of a file, such as position embeddings of another size.
Adapt = Callable[[dict[str, Tensor]], dict[str, Tensor]]


class Classifier(nn.Module):
    """Classify float images in [0, 1], with channels in axis 1, by `head(features(x))`."""

    mean: Tensor
    std: Tensor

    def __init__(
        self, info: ImageInfo, body: nn.Module, head: nn.Linear, head_path: str = ""
    ) -> None:
        """Store `body`, `head`, and the mean and standard deviation in `info` for normalisation.

        `head_path` is the attribute path of the head in a wrapped model; empty for other models.
        """
        super().__init__()
        # Precision of the body in train mode; None means float32.
        self.precision: torch.dtype | None = None
        self.head_path = head_path
        # Modules with weights that never train; batch norm among them stays in eval mode.
        self._fixed: tuple[nn.Module, ...] = ()
        # Dict from a public repository to a function that translates its names of weights to ours.
        self.layouts: Mapping[str, Names] = {}
        self.adapt: Adapt | None = None
        # Dict from a substring of weights' names to the likely reason why a file lacks them.
        self.missing: Mapping[str, str] = {}
        # Mean and std are constants of the data set and are not saved in the state dict.
        self.register_buffer("mean", torch.tensor(info.mean).view(-1, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(info.std).view(-1, 1, 1), persistent=False)
        self.body = body
        self.head = head

    def names(self, name: str) -> str:
        """Translate the name of a weight in the wrapped model into its name in this class."""
        if not self.head_path:
            return name
        is_head = name.startswith(f"{self.head_path}.")
        return HEAD + name.removeprefix(f"{self.head_path}.") if is_head else BODY + name

    def own_names(self, name: str) -> str:
        """Return the name that a weight of this wrapper has in the wrapped model."""
        if not self.head_path:
            return name
        if name.startswith(HEAD):
            return f"{self.head_path}." + name.removeprefix(HEAD)
        return name.removeprefix(BODY)

    def freeze(self, parts: Sequence[str]) -> None:
        """Let no training change these modules or weights, which have our or the user's names."""
        weights = dict(self.named_parameters())
        for part in parts:
            found = [name for name in weights if self._is_in(name, part)]
            if not found:
                known = sorted({self.own_names(name).rpartition(".")[0] for name in weights})
                raise ValueError(f"freeze: {unknown_name('part of the model', part, known)}")
            for name in found:
                weights[name].requires_grad_(False)
        owners = {name.rpartition(".")[0] for name, w in weights.items() if not w.requires_grad}
        self._fixed = tuple(self.get_submodule(name) for name in sorted(owners))
        self.train(self.training)

    def _is_in(self, name: str, part: str) -> bool:
        names = (f"{name}.", f"{self.own_names(name)}.")
        return any(one.startswith(f"{part.rstrip('.')}.") for one in names)

    def train(self, mode: bool = True) -> Self:
        """Set train or eval mode, except for frozen batch norm, which stays in eval mode."""
        super().train(mode)
        for module in self._fixed:
            if isinstance(module, _BatchNorm):
                module.eval()
        return self

    def features(self, x: Tensor) -> Tensor:
        """Return the float32 penultimate features, one row per image."""
        if not (self.training and self.precision):
            features: Tensor = self.body((x - self.mean) / self.std)
            return features
        with torch.autocast(x.device.type, self.precision):
            features = self.body((x - self.mean) / self.std)
        return features.float()

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits, one row per image."""
        logits: Tensor = self.head(self.features(x))
        return logits


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """Within this context, use eval mode without gradients; then restore all modes."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode
