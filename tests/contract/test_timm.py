"""Classifiers of timm: metadata without importing timm, building, and unlearning."""

import csv
import re
from dataclasses import astuple, fields, replace
from functools import cache
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
timm = pytest.importorskip("timm")

from safetensors.torch import load_file, save_file
from torch import nn

from collateral.contract.data import ImageInfo
from collateral.data import synthetic
from collateral.models._build import build_model
from collateral.models._metadata import (
    FILE,
    IMAGENET_MEAN,
    IMAGENET_STD,
    TimmMetadata,
    find_metadata,
    read_timm,
)
from collateral.models._timm import embed, head_path
from collateral.plugins.find import MODEL, params_class
from collateral.results.split import Split
from collateral.training.examples import Task, train_examples
from collateral.training.run_method import Method
from collateral.training.weights import load_initial, load_trained

CPU = torch.device("cpu")
SOME = [
    "resnet18",
    "mobilenetv3_small_100",
    "convnext_atto",
    "efficientnet_b0",
    "vit_tiny_patch16_224",
]
FAST = ("resnet18", "mobilenetv3_small_100", "vit_tiny_patch16_224")
EVERY = pytest.mark.parametrize(
    "name",
    [pytest.param(f"timm/{n}", marks=() if n in FAST else pytest.mark.slow) for n in SOME],
)
NUM_CLASSES, SIZE = 4, 32
INFO = ImageInfo(NUM_CLASSES, (SIZE, SIZE, 3), (0.5, 0.25, 0.75), (0.5, 0.25, 0.125))
METHODS = {
    "ft": {"epochs": 1, "batch_size": 8, "lr": 0.01},
    "iu": {"samples": 4, "alpha": 0.01},
    "salun": {"epochs": 1, "batch_size": 8, "lr": 0.01},
    "ltd": {"k": 8, "epochs": 1, "teacher_epochs": 1, "batch_size": 8, "lr": 0.01},
}


def model_of(name, info=INFO):
    torch.manual_seed(0)
    return build_model(name, info).eval()


def images(info=INFO, count=3):
    height, width, channels = info.shape
    generator = torch.Generator().manual_seed(1)
    return torch.rand(count, channels, height, width, generator=generator)


# Metadata of the models.


def measured(name: str) -> TimmMetadata | None:
    """Return the facts of a model at its own size of images; None where its head will not do."""
    for is_sized in (True, False):
        try:
            return measured_as(name, is_sized)
        except Exception:  # of whatever kind: there are 1,300 of them
            continue
    return None


@torch.no_grad()
def measured_as(name: str, is_sized: bool) -> TimmMetadata:
    """Build a model without memory for its weights, told the size of images or not."""
    channels, height, width = timm.get_pretrained_cfg(name).input_size
    size = {"img_size": (height, width)} if is_sized else {}
    with torch.device("meta"):
        inner = timm.create_model(name, num_classes=10, **size).eval().requires_grad_(False)
        head = inner.get_submodule(head_path(inner))
        features = embed(inner, torch.empty(1, channels, height, width))
    assert isinstance(head, nn.Linear) and features.shape == (1, head.in_features)
    state = [value for value in inner.state_dict().values() if value.is_floating_point()]
    numbers = sum(value.numel() for value in state)
    numbers -= sum(value.numel() for value in head.parameters())
    return TimmMetadata(numbers, head.in_features, is_sized, *normal(name))


def normal(name: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the normalisation that timm states for its weights."""
    facts = timm.get_pretrained_cfg(name)
    return tuple(facts.mean), tuple(facts.std)


def written(found: dict[str, TimmMetadata | None]) -> None:
    """Write the file anew."""
    with FILE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["name", *(field.name for field in fields(TimmMetadata))])
        for name, facts in sorted(found.items()):
            usual = [IMAGENET_MEAN, IMAGENET_STD]
            own = [facts.mean, facts.std] if facts else usual
            shown = [
                "" if value == other else join(value)
                for value, other in zip(own, usual, strict=True)
            ]
            numbers = map(int, astuple(facts)[:3]) if facts else [""] * 3
            writer.writerow([name, *numbers, *shown])
    read_timm.cache_clear()


def join(values: tuple[float, ...]) -> str:
    return " ".join(map(str, values))


def test_the_file_has_what_timm_has(request):
    names = timm.list_models()
    if request.config.getoption("--fix"):
        known = read_timm()
        found = {name: known[name] if name in known else measured(name) for name in names}
        normals = {name: dict(zip(("mean", "std"), normal(name), strict=True)) for name in names}
        written({name: facts and replace(facts, **normals[name]) for name, facts in found.items()})
    assert len(names) > 1000
    assert sorted(read_timm()) == sorted(names), "run pytest tests/contract/test_timm.py --fix"


def test_the_file_has_timms_normalisation_of_every_model():
    known = {name: facts for name, facts in read_timm().items() if facts}
    assert len(known) > 1000
    stated = {name: (facts.mean, facts.std) for name, facts in known.items()}
    assert stated == {name: normal(name) for name in known}
    assert len({*stated.values()}) == 4


@pytest.mark.parametrize("name", [*SOME, "levit_128", "vgg11", "swin_tiny_patch4_window7_224"])
def test_the_file_has_the_facts(name):
    assert read_timm()[name] == measured(name)


@EVERY
def test_the_facts_are_those_of_the_model_at_another_size(name):
    facts, model = find_metadata(name, INFO.shape), model_of(name)
    state = [value for value in model.state_dict().values() if value.is_floating_point()]
    assert facts.features == model.head.in_features
    # The places of a ViT are embedded one by one, and smaller images have fewer.
    assert facts.bytes(NUM_CLASSES) == pytest.approx(4 * sum(v.numel() for v in state), rel=0.01)


# What is built.


@EVERY
def test_forward_is_exactly_the_head_on_the_features(name):
    model, x = model_of(name), images()
    assert isinstance(model.head, nn.Linear)
    assert model(x).shape == (3, NUM_CLASSES)
    assert torch.equal(model(x), model.head(model.features(x)))


@EVERY
def test_it_is_the_model_that_timm_makes(name):
    model, x = model_of(name), images()
    size = {"img_size": SIZE} if "vit" in name else {}
    plain = timm.create_model(name.removeprefix("timm/"), num_classes=NUM_CLASSES, **size).eval()
    plain.load_state_dict({key: model.state_dict()[model.names(key)] for key in plain.state_dict()})
    mean, std = (torch.tensor(values).view(3, 1, 1) for values in (INFO.mean, INFO.std))
    assert torch.equal(model(x), plain((x - mean) / std))


@EVERY
def test_the_same_seed_gives_the_same_weights_and_another_others(name):
    first, second = model_of(name).state_dict(), model_of(name).state_dict()
    assert all(torch.equal(first[key], second[key]) for key in first)
    torch.manual_seed(1)
    assert not torch.equal(build_model(name, INFO).head.weight, first["head.weight"])


@EVERY
def test_grey_images_have_one_channel(name):
    info = ImageInfo(NUM_CLASSES, (SIZE, SIZE, 1), (0.5,), (0.5,))
    assert model_of(name, info)(images(info)).shape == (3, NUM_CLASSES)


def test_images_that_are_too_small_are_named():
    info = ImageInfo(NUM_CLASSES, (8, 8, 3), (0.5,) * 3, (0.5,) * 3)
    with pytest.raises(ValueError, match="model: timm/inception_v4 cannot look at 8x8x3 images"):
        model_of("timm/inception_v4", info)


def test_a_model_with_two_heads_is_refused_without_timm():
    with pytest.raises(ValueError, match="levit_128': its head is not one linear layer"):
        MODEL.module("timm/levit_128")


# What is done with them.


@pytest.fixture(scope="module")
def data():
    return synthetic.load(
        synthetic.Options(
            families=2, classes_per_family=2, num_train=10, num_test=2, size=SIZE, channels=3
        )
    )


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # attention under vmap
@EVERY
@pytest.mark.parametrize("method", METHODS)
def test_methods_run_on_them(method, name, data):
    split = Split((data.labels.train == 0).nonzero()[0][:6], 40, (0,), {"kind": "test"})
    train = train_examples(data, CPU)
    task = Task(*(train.select(torch.from_numpy(i)) for i in (split.retain, split.forget)), INFO)
    params = params_class(method).model_validate(METHODS[method])
    this = Method(method, task, lambda: model_of(name), 0, split.hash, CPU)
    prepared = [this.prepare(params, None).tensors] if this.has_prepare else []
    model, _ = this.unlearn(params, *prepared)
    before = model_of(name).state_dict()
    after = model.state_dict()
    assert after.keys() == before.keys()
    assert all(torch.isfinite(value).all() for value in after.values())
    assert not torch.equal(after["head.weight"], before["head.weight"])


# Weights of other sizes of images.

RESAMPLED = ("vit_tiny_patch16_224", "swin_tiny_patch4_window7_224")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a function: the file of made weights of a timm model for images of 224 pixels."""
    folder = tmp_path_factory.mktemp("made")

    @cache
    def write(name: str) -> Path:
        torch.manual_seed(3)
        state = timm.create_model(name, num_classes=NUM_CLASSES).state_dict()
        # Tables of position biases are alike in a new model, so that a wrong crop would not show.
        made = {key: torch.randn_like(v) if "bias_table" in key else v for key, v in state.items()}
        save_file(made, folder / f"{name}.safetensors")
        return folder / f"{name}.safetensors"

    return write


def sized(size: int) -> ImageInfo:
    return ImageInfo(NUM_CLASSES, (size, size, 3), INFO.mean, INFO.std)


def by_timm(name: str, size: int, file: Path) -> nn.Module:
    """Return the model that timm itself makes of a file, at another size of images."""
    overlay = {"file": str(file), "custom_load": False, "num_classes": NUM_CLASSES}
    return timm.create_model(
        name,
        pretrained=True,
        pretrained_cfg_overlay=overlay,
        num_classes=NUM_CLASSES,
        img_size=size,
    ).eval()


@pytest.mark.filterwarnings("ignore:torch.searchsorted", "ignore:Using a non-tuple")
@pytest.mark.parametrize("name", RESAMPLED)
@pytest.mark.parametrize("size", [32, 64, 224])
def test_weights_for_224_pixels_are_resampled_as_timm_does(made, name, size):
    info, file = sized(size), made(name)
    model, x = model_of(f"timm/{name}", info), images(sized(size), count=2)
    load_trained(model, file, {})
    plain = by_timm(name, size, file)
    given, changed = load_file(file), 0
    for key, value in plain.state_dict().items():
        assert torch.equal(model.state_dict()[model.names(key)], value), key
        changed += value.shape != given[key].shape
    # ViT has one embedding of positions; of Swin's 12 tables, those of whole windows stay.
    few = {32: 1, 64: 1, 224: 0} if name.startswith("vit") else {32: 10, 64: 8, 224: 0}
    assert changed == few[size]
    mean, std = (torch.tensor(values).view(3, 1, 1) for values in (info.mean, info.std))
    assert torch.equal(model(x), plain((x - mean) / std))


def test_swins_tables_are_cropped_about_their_centre(made):
    """By hand: where windows shrink from 7 to 1 patch, only the bias of the distance 0 is left."""
    file = made(RESAMPLED[1])
    model = model_of(f"timm/{RESAMPLED[1]}", sized(32))
    load_trained(model, file, {})
    last = "layers.3.blocks.1.attn.relative_position_bias_table"
    found, given = model.state_dict()[model.names(last)], load_file(file)[last]
    assert found.shape == (1, 24) and given.shape == (169, 24)
    assert torch.allclose(found, given[84:85], atol=1e-5)


def test_a_file_without_a_head_is_still_read_as_timms(made, tmp_path):
    """Swin's filter takes a file without `head.fc.weight` for Microsoft's, and renumbers it."""
    name = RESAMPLED[1]
    weights = {k: v for k, v in load_file(made(name)).items() if not k.startswith("head.")}
    save_file(weights, tmp_path / "body.safetensors")
    model, whole = (model_of(f"timm/{name}", sized(64)) for _ in range(2))
    load_initial(model, tmp_path / "body.safetensors", {})
    load_trained(whole, made(name), {})
    new = model_of(f"timm/{name}", sized(64)).head.weight
    assert torch.equal(model.head.weight, new)
    for key, value in whole.body.state_dict().items():
        assert torch.equal(model.body.state_dict()[key], value), key


def test_microsofts_names_of_swin_are_understood(made, tmp_path):
    """They have masks and indices, count `downsample` from the layer before, and a bare head."""
    name, weights = RESAMPLED[1], {}
    for key, value in load_file(made(name)).items():
        key = re.sub(r"layers\.(\d)\.down", lambda m: f"layers.{int(m[1]) - 1}.down", key)
        weights[key.replace("head.fc.", "head.")] = value
    weights["layers.0.blocks.1.attn_mask"] = torch.zeros(64, 49, 49)
    weights["layers.0.blocks.0.attn.relative_position_index"] = torch.zeros(49, 49)
    torch.save({"model": weights}, tmp_path / "swin.pth")
    model, other = (model_of(f"timm/{name}", sized(64)) for _ in range(2))
    load_trained(model, tmp_path / "swin.pth", {})
    load_trained(other, made(name), {})
    assert all(torch.equal(v, other.state_dict()[k]) for k, v in model.state_dict().items())


def test_a_file_of_another_model_is_refused_by_what_differs(made, tmp_path):
    small = {k: v for k, v in load_file(made(RESAMPLED[0])).items() if ".11." not in k}
    save_file(small, tmp_path / "eleven.safetensors")
    model = model_of(f"timm/{RESAMPLED[0]}", sized(64))
    with pytest.raises(ValueError, match=r"does not fit the model; missing: blocks\.11\."):
        load_trained(model, tmp_path / "eleven.safetensors", {})
    with pytest.raises(ValueError, match="does not fit the model; missing: "):
        load_trained(model_of(f"timm/{RESAMPLED[1]}", sized(64)), made(RESAMPLED[0]), {})
