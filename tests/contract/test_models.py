"""Every model against the contract: features, a linear head, and forward their composition."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load, save
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F

from collateral.contract.data import ImageInfo
from collateral.models._build import build_model
from collateral.models._classifier import Classifier
from collateral.models._metadata import find_metadata
from collateral.plugins.find import MODEL

DIGITS = ImageInfo(10, (8, 8, 1), (0.3,), (0.4,))
MNIST = ImageInfo(10, (28, 28, 1), (0.13,), (0.31,))
CIFAR10 = ImageInfo(10, (32, 32, 3), (0.5, 0.25, 0.75), (0.5, 0.25, 0.125))
CIFAR100 = ImageInfo(100, (32, 32, 3), (0.5, 0.25, 0.75), (0.5, 0.25, 0.125))

NUM_FEATURES = {
    "mlp": 256,
    "mnist_cnn": 64,
    "resnet8": 64,
    "resnet14": 64,
    "resnet18": 512,
    "resnet20": 64,
    "resnet56": 64,
    "small_cnn": 128,
    "vit_tiny": 192,
}
EVERY_MODEL = pytest.mark.parametrize("name", MODEL.names())


def model_of(name: str, info: ImageInfo = DIGITS) -> Classifier:
    torch.manual_seed(0)
    return build_model(name, info).eval()


def images_of(info: ImageInfo, count: int = 4) -> torch.Tensor:
    height, width, channels = info.shape
    generator = torch.Generator().manual_seed(1)
    return torch.rand(count, channels, height, width, generator=generator)


def differ_by_rounding(actual: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether both are one float32 sum in two orders: apart by at most 1e-5 of the largest."""
    return bool((actual - expected).abs().max() <= 1e-5 * expected.abs().max())


def test_the_tests_cover_every_model():
    assert set(MODEL.own) == set(NUM_FEATURES) <= set(MODEL.names())


def test_an_unknown_name_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match=r"no model 'resnet9'; .*did you mean resnet\d+\?"):
        build_model("resnet9", DIGITS)


def test_names_can_be_read_without_torch():
    code = "import sys; sys.modules['torch'] = None; import collateral.models"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_model_but_vit_needs_timm_or_torchvision():
    code = (
        "import sys; sys.modules['timm'] = sys.modules['torchvision'] = None\n"
        "from collateral.plugins.find import MODEL\n"
        "[MODEL.load(name) for name in MODEL.own if name != 'vit_tiny']"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@EVERY_MODEL
@pytest.mark.parametrize("info", [DIGITS, MNIST, CIFAR100], ids=["8x8x1", "28x28x1", "32x32x3"])
def test_features_and_logits_have_their_shapes(name, info):
    model, x = model_of(name, info), images_of(info, 2)
    wide = model.head.in_features
    assert wide == NUM_FEATURES.get(name, wide), f"{wide} features, where it is known for others"
    found = tuple(model.features(x).shape)
    assert found == (2, wide), f"features of two images are {found}; the head takes (2, {wide})"
    logits, expected = tuple(model(x).shape), (2, info.num_classes)
    assert logits == expected, f"logits of two images are {logits}; expected {expected}"


@EVERY_MODEL
def test_forward_is_exactly_the_head_on_the_features(name):
    model, x = model_of(name), images_of(DIGITS)
    assert isinstance(model.head, nn.Linear), "the last layer is one nn.Linear, called the head"
    assert torch.equal(model(x), model.head(model.features(x))), (
        "model(x) is not model.head(model.features(x)), to the bit: methods train on features"
    )


@EVERY_MODEL
def test_the_same_seed_gives_the_same_weights(name):
    first, second = model_of(name).state_dict(), model_of(name).state_dict()
    other = [key for key in first if not torch.equal(first[key], second[key])]
    assert not other, f"{other} differ under one seed: draw weights from torch's global generator"


@EVERY_MODEL
def test_another_seed_gives_other_weights(name):
    first = model_of(name)
    torch.manual_seed(1)
    same = torch.equal(first.head.weight, build_model(name, DIGITS).head.weight)
    assert not same, "the head has the same weights under every seed: set no seed in `build`"


@pytest.mark.parametrize(
    ("name", "info", "count"),
    [
        ("mlp", DIGITS, 64 * 256 + 256 + 2570),
        ("mnist_cnn", MNIST, 105_866),
        ("resnet8", CIFAR10, 78_042),
        ("resnet8", CIFAR100, 83_892),
        # One more block a stage than resnet8: 4,672 + 18,560 + 73,984.
        ("resnet14", CIFAR100, 181_108),
        # torchvision's with a 3x3 stem: 11,181,642 of timm/resnet18, minus 64 * 3 * (49 - 9).
        ("resnet18", CIFAR10, 11_173_962),
        ("resnet20", CIFAR10, 272_474),
        ("resnet20", CIFAR100, 278_324),
        ("resnet56", CIFAR10, 855_770),
        ("resnet56", CIFAR100, 861_620),
        ("small_cnn", CIFAR100, 106_372),
        ("vit_tiny", CIFAR10, 5_362_762),
    ],
)
def test_parameters_are_as_many_as_published(name, info, count):
    assert sum(p.numel() for p in model_of(name, info).parameters() if p.requires_grad) == count


@EVERY_MODEL
def test_channels_last_gives_the_same_logits(name):
    model, x = model_of(name, CIFAR100), images_of(CIFAR100)
    expected = model(x)
    model = model.to(memory_format=torch.channels_last)
    actual = model(x.to(memory_format=torch.channels_last))
    # An untrained resnet56 has logits of 1e4, because its batch norms have seen no data.
    assert differ_by_rounding(actual, expected), (
        "in channels_last order, as jobs have it, the logits are others: do not depend on strides "
        "(`view`, `as_strided`); take `flatten` or `reshape`"
    )


@EVERY_MODEL
def test_weights_survive_a_file(name):
    model, x = model_of(name), images_of(DIGITS)
    torch.manual_seed(1)
    other = build_model(name, DIGITS).eval()
    other.load_state_dict(load(save(model.state_dict())))
    assert torch.equal(other(x), model(x)), (
        "with its state_dict, another one answers otherwise: all that `build` draws has to be a "
        "parameter or a buffer"
    )


@EVERY_MODEL
def test_the_state_dict_holds_no_constants_of_the_data_set(name):
    kept = {"mean", "std"} & {*model_of(name).state_dict()}
    assert not kept, f"{kept} in the state_dict: register constants with persistent=False"


@EVERY_MODEL
def test_images_are_normalised_inside(name):
    model, x = model_of(name, CIFAR10), images_of(CIFAR10)
    plain = model_of(name, ImageInfo(10, (32, 32, 3), (0.0,) * 3, (1.0,) * 3))
    per_channel = zip(x.unbind(1), CIFAR10.mean, CIFAR10.std, strict=True)
    normalised = torch.stack([(channel - m) / s for channel, m, s in per_channel], dim=1)
    # To the bit: one rounded subtraction, then divisions by powers of two.
    assert torch.equal(model(x), plain(normalised)), (
        "images arrive in [0, 1]: the model normalises them itself by `info.mean` and `info.std`, "
        "which a Classifier does before `body`"
    )


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # attention under vmap
@EVERY_MODEL
def test_per_sample_gradients_add_up_to_the_gradient_of_the_batch(name):
    model, x, y = model_of(name), images_of(DIGITS), torch.tensor([0, 1, 2, 3])
    weights = dict(model.named_parameters())

    def loss(weights, x, y):
        return F.cross_entropy(functional_call(model, weights, (x[None],)), y[None])

    per_sample = vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, y)
    F.cross_entropy(model(x), y, reduction="sum").backward()
    wrong = [k for k, w in weights.items() if not differ_by_rounding(per_sample[k].sum(0), w.grad)]
    assert not wrong, (
        f"{wrong}: gradients of single images, which IU and others take by torch.func.vmap, do not "
        "add up to the batch's: in eval mode no image may depend on another"
    )


def test_resnet_convolutions_start_as_kaiming_normal_by_fan_out():
    weights = [p for p in model_of("resnet8").parameters() if p.shape == (64, 32, 3, 3)]
    assert len(weights) == 1
    # fan_out is 64 * 9. The std of 18,432 draws is known to 1 / sqrt(2 * 18,432) = 0.5 %, so that
    # 3 % are six standard errors; fan_in would be off by 41 %.
    assert weights[0].std().item() == pytest.approx((2 / 576) ** 0.5, rel=0.03)


def test_vit_features_are_the_class_token_after_the_norm():
    model, x = model_of("vit_tiny"), images_of(DIGITS)
    tokens = model.body.forward_features((x - 0.3) / 0.4)  # (B, 1 + 2 * 2, 192)
    assert tokens.shape == (4, 5, 192)
    assert differ_by_rounding(model.features(x), tokens[:, 0])


def test_vit_refuses_images_that_are_not_whole_patches():
    with pytest.raises(ValueError, match="vit_tiny cuts images into 4x4 patches, which 30x32"):
        build_model("vit_tiny", ImageInfo(10, (30, 32, 3), (0.5,) * 3, (0.5,) * 3))


@pytest.mark.parametrize("name", NUM_FEATURES)
@pytest.mark.parametrize("info", [DIGITS, MNIST, CIFAR100], ids=["digits", "mnist", "cifar100"])
def test_the_facts_are_those_of_the_model(name, info):
    facts, model = find_metadata(name, info.shape), model_of(name, info)
    state = {key: value for key, value in model.state_dict().items() if value.is_floating_point()}
    assert facts.features == model.head.in_features
    assert facts.bytes(info.num_classes) == 4 * sum(value.numel() for value in state.values())
