"""Inner products of every example's gradient with some directions, without per-example gradients.

For a layer that is linear in its parameters, the inner product of an example's gradient with a
direction equals the inner product of the gradient of the layer's output with the output that the
layer would have if the direction were its parameters. So one forward and one backward pass serve a
whole batch. Images are clean and the model is in eval mode, as in `gradients`.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from collateral.methods._shared.gradients import by_parameter
from collateral.models._classifier import eval_mode
from collateral.training.examples import Batch, Examples

BATCH_SIZE = 64  # number of examples per batch, chosen by benchmarks/bench_iu.py

Directions = dict[str, Tensor]  # dict from parameter name to directions, one per row
Hook = Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]


def supports(model: nn.Module) -> bool:
    """Return whether `products` can process every layer of the model that has parameters."""
    return all(_is_supported(layer) for layer in model.modules() if _own_names(layer))


def products(model: nn.Module, examples: Examples, directions: Tensor) -> Tensor:
    """Return the inner product of every example's gradient with every row of `directions`."""
    pieces = [by_parameter(model, direction) for direction in directions]
    by_name = {name: torch.stack([piece[name] for piece in pieces]) for name in pieces[0]}
    # Directions have no entries for frozen parameters; zeros take their place.
    for name, weight in model.named_parameters():
        by_name.setdefault(name, weight.new_zeros(len(directions), *weight.shape))
    result = directions.new_zeros(len(examples), len(directions))
    with eval_mode(model):
        for rows, batch in zip(
            result.split(BATCH_SIZE), examples.in_order(BATCH_SIZE), strict=True
        ):
            _add_products(model, batch, by_name, rows)
    return result


def _add_products(model: nn.Module, batch: Batch, directions: Directions, total: Tensor) -> None:
    """Add each layer's part of the inner products to `total`, (examples, directions)."""
    handles = []
    for name, layer in model.named_modules():
        if own := _own_names(layer):
            parts = {parameter: directions[f"{name}.{parameter}"] for parameter in own}
            handles.append(layer.register_forward_hook(_make_hook(parts, total)))
    try:
        _backward(model, *batch)
    finally:
        for handle in handles:
            handle.remove()


def _make_hook(directions: Directions, total: Tensor) -> Hook:
    """Return a forward hook of a layer; later, the backward pass adds inner products to `total`."""

    def register(layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        x = inputs[0].detach()
        version = x._version

        def add(delta: Tensor) -> None:
            assert x._version == version, "the input of a layer was changed in place"
            total.add_(PRODUCTS[type(layer)](layer, x, delta, directions))

        # The hook is registered now, before an in-place ReLU changes the output of the layer.
        output.register_hook(add)

    return register


def _backward(model: nn.Module, x: Tensor, y: Tensor) -> None:
    """Run forward and backward passes; compute gradients of activations but not of weights."""
    fixed = {name: weight.detach() for name, weight in model.named_parameters()}
    with torch.enable_grad():
        x = x.requires_grad_()
        loss = F.cross_entropy(functional_call(model, fixed, (x,)), y, reduction="sum")
        torch.autograd.grad(loss, x)


def _conv_products(layer: nn.Conv2d, x: Tensor, delta: Tensor, directions: Directions) -> Tensor:
    # The K directions become the weights of one convolution with K x C_out output channels.
    weights = directions["weight"].flatten(0, 1)
    weights = weights.contiguous(memory_format=torch.channels_last)
    output = F.conv2d(x, weights, None, layer.stride, layer.padding, layer.dilation)
    # The output is reshaped to (examples, pixels, directions, output channels).
    output = _by_pixel(output).unflatten(2, (-1, delta.shape[1]))
    result = output.mul_(_by_pixel(delta)[:, :, None]).sum(1).sum(2)
    if layer.bias is not None:
        result += delta.sum((2, 3)) @ directions["bias"].T
    return result


def _linear_products(layer: nn.Linear, x: Tensor, delta: Tensor, directions: Directions) -> Tensor:
    result = torch.einsum("bi,koi,bo->bk", x, directions["weight"], delta)
    if layer.bias is not None:
        result += delta @ directions["bias"].T
    return result


def _batch_norm_products(
    layer: nn.BatchNorm2d, x: Tensor, delta: Tensor, directions: Directions
) -> Tensor:
    """Return the inner products of gradients and directions for a batch norm layer in eval mode."""
    mean, variance = layer.running_mean, layer.running_var
    assert mean is not None and variance is not None, "batch norm without running statistics"
    total = delta.sum((2, 3))
    normalised = ((delta * x).sum((2, 3)) - mean * total) * (variance + layer.eps).rsqrt()
    return normalised @ directions["weight"].T + total @ directions["bias"].T


PRODUCTS: dict[type[nn.Module], Callable[..., Tensor]] = {
    nn.Conv2d: _conv_products,
    nn.Linear: _linear_products,
    nn.BatchNorm2d: _batch_norm_products,
}


def _by_pixel(images: Tensor) -> Tensor:
    """Reshape (b, C, height, width) to (b, height * width, C); no copy if channels come last."""
    return images.permute(0, 2, 3, 1).flatten(1, 2)


def _own_names(module: nn.Module) -> list[str]:
    return [name for name, _ in module.named_parameters(recurse=False)]


def _is_supported(layer: nn.Module) -> bool:
    if isinstance(layer, nn.Conv2d) and (layer.groups, layer.padding_mode) != (1, "zeros"):
        return False
    return type(layer) in PRODUCTS
