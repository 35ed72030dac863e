"""Products of examples' gradients with directions are those of the gradients themselves."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn

from collateral.contract.data import ImageInfo
from collateral.methods._shared.gradients import per_sample_gradients, trainable
from collateral.methods.iu.products import products, supports
from collateral.models import NAMES
from collateral.models._build import build_model
from collateral.models._classifier import Classifier
from collateral.training.examples import Examples, Images

INFO = ImageInfo(num_classes=5, shape=(8, 8, 3), mean=(0.5,) * 3, std=(0.25,) * 3)


def random_examples(count: int) -> Examples:
    pixels = torch.randint(256, (count, *INFO.shape), dtype=torch.uint8)
    labels = torch.randint(INFO.num_classes, (count,))
    return Examples(Images(pixels, 0, False), torch.arange(count), labels)


def with_statistics(model: nn.Module) -> nn.Module:
    """Give batch norm statistics that are not 0 and 1, and weights that are not 1 and 0."""
    for name, weight in model.named_parameters():
        if weight.dim() == 1:
            nn.init.normal_(weight, 0.5 if name.endswith("weight") else 0)
    model.double().train()(torch.rand(16, 3, 8, 8).double())
    return model


def assert_products(model: nn.Module, count: int, num_directions: int = 2) -> None:
    examples = random_examples(count)
    num_weights = sum(weight.numel() for weight in trainable(model).values())
    directions = torch.randn(num_directions, num_weights, dtype=torch.float64)
    expected = per_sample_gradients(model, examples) @ directions.T
    found = products(model, examples, directions)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_model_of_known_layers_agrees_with_its_gradients(name):
    model = with_statistics(build_model(name, INFO))
    assert supports(model) == (name != "vit_tiny")
    if supports(model) and name != "resnet56":  # the same layers as ResNet-8, seven times
        assert_products(model, 5)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_a_last_batch_may_be_smaller_and_memory_laid_out_either_way(layout):
    assert_products(with_statistics(build_model("resnet8", INFO)).to(memory_format=layout), 70)


def test_any_number_of_directions_will_do():
    model = with_statistics(build_model("small_cnn", INFO))
    for num_directions in (1, 3):
        assert_products(model, 4, num_directions)


def test_strides_paddings_and_biases_of_convolutions_count():
    body = nn.Sequential(
        nn.Conv2d(3, 4, (3, 2), stride=(2, 1), padding=(0, 1)),
        nn.ReLU(inplace=True),
        nn.Conv2d(4, 3, 2, dilation=2, padding="same"),
        nn.Flatten(),
    )
    assert_products(Classifier(INFO, body, nn.Linear(81, 5)).double(), 4)


def test_a_layer_that_is_used_twice_counts_twice():
    layer = nn.Linear(192, 192)
    body = nn.Sequential(nn.Flatten(), layer, nn.Tanh(), layer)
    assert_products(Classifier(INFO, body, nn.Linear(192, 5)).double(), 4)


def test_a_parameter_that_does_not_train_has_no_part():
    model = with_statistics(build_model("resnet8", INFO))
    model.body[0].weight.requires_grad_(False)
    model.body[1].bias.requires_grad_(False)
    assert_products(model, 4)


def test_no_examples_have_no_products():
    model = build_model("resnet8", INFO)
    num_weights = sum(weight.numel() for weight in model.parameters())
    assert products(model, random_examples(0), torch.ones(2, num_weights)).shape == (0, 2)


def test_grouped_convolutions_and_other_layers_are_not_known():
    grouped = nn.Sequential(nn.Conv2d(4, 4, 3, groups=2))
    assert not supports(grouped)
    assert not supports(nn.Sequential(nn.LayerNorm(3)))
    assert supports(nn.Sequential(nn.Conv2d(4, 4, 3), nn.ReLU()))


def test_an_input_that_is_changed_in_place_is_noticed():
    class Changing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(192, 8), nn.Linear(8, 8)

        def forward(self, x):
            x = self.first(x.flatten(1))
            return self.second(x) + x.add_(1)

    model = Classifier(INFO, Changing(), nn.Linear(8, 5))
    directions = torch.ones(1, sum(weight.numel() for weight in model.parameters()))
    with pytest.raises(AssertionError, match="in place"):
        products(model, random_examples(3), directions)


def test_the_model_is_left_as_it_was():
    model = build_model("resnet8", INFO).train()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    num_weights = sum(weight.numel() for weight in model.parameters())
    products(model, random_examples(3), torch.ones(2, num_weights))
    assert all(module.training and not module._forward_hooks for module in model.modules())
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert all(weight.grad is None and weight.requires_grad for weight in model.parameters())
