"""Gradients in eval mode: of a sum of examples, and of each of them."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn
from torch.nn import functional as F

from collateral.contract.data import ImageInfo
from collateral.methods._shared.gradients import (
    by_parameter,
    per_sample_gradients,
    summed_gradient,
    trainable,
)
from collateral.models._build import build_model
from collateral.models._classifier import Classifier
from collateral.training.examples import Examples, Images


def linear_on_two_pixels() -> Classifier:
    """Build a model of two classes whose weights are zero: both have probability 1/2."""
    info = ImageInfo(num_classes=2, shape=(1, 2, 1), mean=(0.0,), std=(1.0,))
    head = nn.Linear(2, 2)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    return Classifier(info, nn.Flatten(), head)


def two_examples() -> Examples:
    """Make the images (1, 0) of class 0 and (0, 1) of class 1."""
    images = torch.tensor([[255, 0], [0, 255]], dtype=torch.uint8).view(2, 1, 2, 1)
    return Examples(Images(images, 0, False), torch.arange(2), torch.tensor([0, 1]))


def one_by_one(model: nn.Module, examples: Examples) -> torch.Tensor:
    """Return every example's gradient by a pass of its own."""
    model.eval()
    weights, rows = list(model.parameters()), []
    for x, y in examples.in_order(1):
        parts = torch.autograd.grad(F.cross_entropy(model(x), y), weights)
        rows.append(torch.cat([part.flatten() for part in parts]))
    return torch.stack(rows)


# A gradient is (p - one-hot) x: for the first example ((-1/2, 0), (1/2, 0)) and bias (-1/2, 1/2).
FIRST = [-0.5, 0.0, 0.5, 0.0, -0.5, 0.5]
SECOND = [0.0, 0.5, 0.0, -0.5, 0.5, -0.5]


def test_gradients_of_a_linear_model_are_those_worked_out_by_hand():
    gradients = per_sample_gradients(linear_on_two_pixels(), two_examples())
    assert gradients.tolist() == [FIRST, SECOND]


def test_the_sum_adds_the_gradients_up():
    total = summed_gradient(linear_on_two_pixels(), two_examples())
    assert total.tolist() == [a + b for a, b in zip(FIRST, SECOND, strict=True)]


def test_a_factor_scales_only_the_gradient_of_its_example():
    factors = torch.tensor([2.0, -4.0])
    total = summed_gradient(linear_on_two_pixels(), two_examples(), factors)
    assert total.tolist() == [2 * a - 4 * b for a, b in zip(FIRST, SECOND, strict=True)]


def test_a_frozen_parameter_is_left_out():
    model = linear_on_two_pixels()
    model.head.bias.requires_grad_(False)
    assert list(trainable(model)) == ["head.weight"]
    assert summed_gradient(model, two_examples()).shape == (4,)
    assert per_sample_gradients(model, two_examples()).tolist() == [FIRST[:4], SECOND[:4]]


@pytest.fixture
def double(small):
    """Return the base model in float64, where sums in another order agree to 1e-12."""
    method = small.method("ft")
    return method.load_base().double()


# 41 examples: a last chunk smaller than the others.
@pytest.mark.parametrize("chunk_size", [1, 16, 64])
def test_per_sample_gradients_are_those_of_batches_of_one(small, double, chunk_size):
    examples = small.task([0]).retain.select(torch.arange(41))
    gradients = per_sample_gradients(double, examples, chunk_size)
    torch.testing.assert_close(gradients, one_by_one(double, examples), rtol=1e-9, atol=1e-12)


def test_a_sum_over_more_than_a_batch_is_the_sum_of_all(small, double):
    retain = small.task([0]).retain
    examples = retain.joined(retain)  # 318 examples: two batches
    expected = one_by_one(double, examples).sum(0)
    torch.testing.assert_close(summed_gradient(double, examples), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("error:There is a performance drop")
def test_attention_is_computed_for_all_examples_at_once():
    info = ImageInfo(num_classes=2, shape=(8, 8, 1), mean=(0.5,), std=(0.5,))
    pixels = torch.arange(192, dtype=torch.uint8).view(3, 8, 8, 1)
    examples = Examples(Images(pixels, 0, False), torch.arange(3), torch.tensor([0, 1, 0]))
    model = build_model("vit_tiny", info).double()
    gradients = per_sample_gradients(model, examples)
    torch.testing.assert_close(gradients, one_by_one(model, examples), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("gradient_of", [summed_gradient, per_sample_gradients])
def test_the_model_is_left_as_it_was(small, gradient_of):
    model = small.method("ft").load_base().train()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    gradient_of(model, small.task([0]).forget)
    assert all(module.training for module in model.modules())
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert all(weight.grad is None for weight in model.parameters())


def test_a_flat_vector_is_cut_in_the_order_of_flattened_parameters(small):
    model = small.method("ft").load_base().to(memory_format=torch.channels_last)
    flat = torch.cat([weight.detach().flatten() for weight in model.parameters()])
    pieces = by_parameter(model, flat)
    assert all(torch.equal(pieces[name], weight) for name, weight in model.named_parameters())
