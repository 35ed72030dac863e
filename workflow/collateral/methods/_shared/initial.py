"""Draw the weights of layers anew, as PyTorch does for new layers."""

from typing import Any

from torch import nn

# Standard deviation of initial weights that belong to no layer, such as a class token.
BARE_STD = 0.02


def redraw(module: nn.Module) -> None:
    """Re-initialise the weights of one layer in place, without its submodules."""
    reset: Any = getattr(module, "reset_parameters", None)
    if reset:
        reset()
    else:
        for weight in module.parameters(recurse=False):
            nn.init.normal_(weight, std=BARE_STD)
