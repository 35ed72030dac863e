"""Weights of a user's own: files that are read, names that are found, and what does not fit."""

import logging
import os
import pickle
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F
from workshop import Workshop, main, own_file

from collateral.contract.data import ImageInfo
from collateral.models._build import build_model, wrap_model
from collateral.models._classifier import Classifier
from collateral.results import layout
from collateral.results.provenance import content_hash, read_record, read_signed
from collateral.stages._workspace import Workspace
from collateral.training.weights import load_initial, load_trained, read_weights

INFO = ImageInfo(3, (8, 8, 1), (0.5,), (0.25,))
MORE_CLASSES = ImageInfo(5, (8, 8, 1), (0.5,), (0.25,))


def small(info=INFO, seed=0) -> Classifier:
    torch.manual_seed(seed)
    return build_model("small_cnn", info)


def whole() -> nn.Sequential:
    """Return a model of somebody else's."""
    body = [nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*body, nn.Linear(4, 3))


def taken_apart(seed=0) -> Classifier:
    torch.manual_seed(seed)
    return wrap_model(whole(), "4", lambda inner, x: inner(x), INFO)


def same_weights(one, other) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[k], other[k]) for k in one)


def same(first: nn.Module, second: nn.Module) -> bool:
    return same_weights(first.state_dict(), second.state_dict())


# Files.


@pytest.mark.parametrize("name", ["a.safetensors", "a.pt", "a.pth"])
def test_a_file_gives_the_weights_back(tmp_path, name):
    weights = small().state_dict()
    save = save_file if name.endswith("safetensors") else torch.save
    save(weights, tmp_path / name)
    found = read_weights(tmp_path / name)
    assert all(torch.equal(found[key], value) for key, value in weights.items())


@pytest.mark.parametrize("key", ["state_dict", "model_state_dict", "model"])
def test_a_state_dict_among_more_is_found(tmp_path, key):
    torch.save({"epoch": 3, key: small().state_dict()}, tmp_path / "a.pt")
    assert read_weights(tmp_path / "a.pt").keys() == small().state_dict().keys()


def test_a_file_with_two_state_dicts_is_refused(tmp_path):
    one, other = small().state_dict(), small(seed=1).state_dict()
    torch.save({"model": one, "state_dict": other, "epoch": 3}, tmp_path / "a.pt")
    with pytest.raises(ValueError, match=r"but has 2 \(keys of the file: model"):
        read_weights(tmp_path / "a.pt")
    torch.save({"model": "small_cnn", "state_dict": other}, tmp_path / "a.pt")
    assert same_weights(read_weights(tmp_path / "a.pt"), other)


class Mine:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self):
        return Path.mkdir, (self.folder,)


def test_a_file_with_code_in_it_is_refused_and_does_not_run(tmp_path):
    made = tmp_path / "made"
    pickle.loads(pickle.dumps(Mine(made)))
    made.rmdir()  # so it would be made
    torch.save({"head.weight": Mine(made)}, tmp_path / "a.pt")
    with pytest.raises(ValueError, match=r"a\.pt': cannot be read as tensors alone"):
        read_weights(tmp_path / "a.pt")
    assert not made.exists()


def test_a_whole_model_that_was_pickled_is_refused(tmp_path):
    torch.save(nn.Linear(2, 2), tmp_path / "a.pt")
    with pytest.raises(ValueError, match=r"save model\.state_dict\(\)"):
        read_weights(tmp_path / "a.pt")


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 3\n"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.safetensors", r"no sound \.safetensors file \(.*header.*\); download"),
        ("a.pt", "cannot be read as tensors alone: it is damaged"),
    ],
)
@pytest.mark.parametrize("content", [b"", b"not at all", b"\x00" * 100, POINTER])
def test_a_broken_file_is_named(tmp_path, name, said, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=said) as error:
        read_weights(tmp_path / name)
    assert str(error.value).startswith(f"'{tmp_path / name}': ") and "\n" not in str(error.value)


@pytest.mark.parametrize("is_zip", [True, False])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_a_file_that_was_cut_off_is_named(tmp_path, is_zip, share):
    path = tmp_path / "a.pt"
    torch.save({"a": torch.zeros(1000)}, path, _use_new_zipfile_serialization=is_zip)
    whole_file = path.read_bytes()
    path.write_bytes(whole_file[: int(share * len(whole_file))])
    with pytest.raises(ValueError, match=r"a\.pt': cannot be read"):
        read_weights(path)


@pytest.mark.parametrize("name", ["a.safetensors", "a.pt"])
def test_a_file_that_is_not_there_is_not_called_damaged(tmp_path, name):
    with pytest.raises(FileNotFoundError):
        read_weights(tmp_path / name)


def test_a_file_without_a_state_dict_is_refused_with_its_keys(tmp_path):
    torch.save({"epoch": 3, "net": small().state_dict()}, tmp_path / "a.pt")
    with pytest.raises(ValueError, match=r"\(keys of the file: epoch, net\)"):
        read_weights(tmp_path / "a.pt")


def test_a_file_without_a_state_dict_is_named(tmp_path):
    torch.save([torch.zeros(2)], tmp_path / "a.pt")
    with pytest.raises(ValueError, match="one state dict, from names to tensors, but has 0"):
        read_weights(tmp_path / "a.pt")


# Names and shapes.


def saved(tmp_path, weights) -> Path:
    save_file({k: v.contiguous() for k, v in weights.items()}, tmp_path / "a.safetensors")
    return tmp_path / "a.safetensors"


def test_a_model_takes_the_weights_over(tmp_path):
    model = small(seed=1)
    load_trained(model, saved(tmp_path, small().state_dict()), {})
    assert same(model, small())


def test_names_of_the_whole_model_fit_a_model_split_into_features_and_head(tmp_path):
    torch.manual_seed(5)
    inner, model, x = whole().eval(), taken_apart().eval(), torch.rand(2, 1, 8, 8)
    load_trained(model, saved(tmp_path, inner.state_dict()), {})
    assert torch.equal(model(x), inner((x - 0.5) / 0.25))


def test_names_are_renamed_by_how_they_begin(tmp_path):
    weights = {f"module.net.{k}": v for k, v in small().state_dict().items()}
    weights["other.weight"] = weights.pop("module.net.head.weight")
    model = small(seed=1)
    rename = {"module.": "never.", "module.net.": "", "other.": "head."}
    load_trained(model, saved(tmp_path, weights), rename)
    assert same(model, small())


def test_old_files_without_batch_norms_counter_do(tmp_path):
    weights = {k: v for k, v in small().state_dict().items() if "num_batches" not in k}
    model = small(seed=1)
    load_trained(model, saved(tmp_path, weights), {})
    assert same(model, small())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda w: w.pop("head.bias"), "missing: head.bias"),
        (lambda w: w.update(extra=torch.zeros(1)), "not in the model: extra"),
        (
            lambda w: w.update({"head.weight": torch.zeros(5, 128)}),
            "of another shape: head.weight 5x128 for 3x128",
        ),
        (
            lambda w: [w.update({f"net.{k}": w.pop(k)}) for k in [*w]],
            " and 17 more; try rename: {net.: ''}",
        ),
    ],
)
def test_weights_that_do_not_fit_are_named_by_key_and_shape(tmp_path, change, said):
    weights, model = small().state_dict(), small(seed=1)
    change(weights)
    with pytest.raises(ValueError, match="does not fit the model; ") as error:
        load_trained(model, saved(tmp_path, weights), {})
    assert said in str(error.value) and "\n" not in str(error.value)
    assert same(model, small(seed=1))


def test_a_file_of_one_tensor_is_not_told_to_rename(tmp_path):
    with pytest.raises(ValueError, match="does not fit the model; ") as error:
        load_trained(small(), saved(tmp_path, {"x": torch.zeros(2)}), {})
    assert "rename" not in str(error.value)


@pytest.mark.parametrize(
    ("rename", "said"),
    [
        ({"module.": ""}, "rename: 'module.': no name in the file begins so; the first is 'body."),
        ({"body.": "x.", "tail.": "y"}, "rename: 'tail.': no name in the file begins so"),
        (
            {"head.weight": "head.bias"},
            "rename: 'head.bias' and 'head.weight' would both become 'head.bias'",
        ),
        (
            {"head.weight": "body.1.bias", "head.bias": "body.1.weight"},
            "rename: 'body.1.bias' and 'head.weight' would both become 'body.1.bias'",
        ),
    ],
)
def test_a_rename_without_effect_or_of_two_names_to_one_is_refused(tmp_path, rename, said):
    model = small(seed=1)
    for load in (load_trained, load_initial):
        with pytest.raises(ValueError, match=re.escape(said)):
            load(model, saved(tmp_path, small().state_dict()), rename)
    assert same(model, small(seed=1))


# A start from weights.


def test_a_head_of_another_size_is_left_out_and_the_log_says_so(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    model, given = small(seed=1), small(MORE_CLASSES)
    load_initial(model, saved(tmp_path, given.state_dict()), {})
    assert torch.equal(model.head.weight, small(seed=1).head.weight)
    assert same(model.body, given.body)
    assert "its head (5x128, 5) is left out" in caplog.text


def test_a_file_without_a_head_gives_all_but_the_head(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    weights = {k: v for k, v in small().state_dict().items() if not k.startswith("head.")}
    model = small(seed=1)
    load_initial(model, saved(tmp_path, weights), {})
    assert same(model.body, small().body)
    assert "its head (none) is left out" in caplog.text


def test_a_head_of_the_right_size_is_loaded(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    model = small(seed=1)
    load_initial(model, saved(tmp_path, small().state_dict()), {})
    assert same(model, small())
    assert "left out" not in caplog.text


def test_a_body_that_does_not_fit_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"of another shape: body\.0\.weight 32x3x3x3"):
        load_initial(
            small(),
            saved(tmp_path, small(ImageInfo(3, (8, 8, 3), (0,) * 3, (1,) * 3)).state_dict()),
            {},
        )


# The papers' ResNet-18, under the names of three public implementations.

COLOUR = ImageInfo(3, (8, 8, 3), (0.5, 0.25, 0.75), (0.25, 0.5, 0.125))


def torchvisions() -> nn.Module:
    """Return torchvision's ResNet-18 with the stem that papers give it."""
    torch.manual_seed(4)
    net = pytest.importorskip("torchvision").models.resnet18(num_classes=3)
    net.conv1, net.maxpool = nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.Identity()
    for name, buffer in net.named_buffers():  # as after training: no two alike
        if "running" in name:
            buffer.copy_(1 + torch.rand_like(buffer))
    return net.eval()


def as_kuangliu(name: str) -> str:
    return re.sub(r"^fc", "linear", name.replace("downsample", "shortcut"))


def as_weiaicunzai(name: str) -> str:
    parts = {"conv1": "0", "bn1": "1", "conv2": "3", "bn2": "4"}
    found = re.match(r"layer(\d)\.(\d)\.(\w+)\.(.+)", name)
    if not found:
        return re.sub(r"^bn1", "conv1.1", re.sub(r"^conv1", "conv1.0", name))
    layer, block, part, rest = found.groups()
    inner = f"residual_function.{parts[part]}" if part in parts else "shortcut"
    return f"conv{int(layer) + 1}_x.{block}.{inner}.{rest}"


@pytest.mark.parametrize("naming", [str, as_kuangliu, as_weiaicunzai])
def test_public_names_of_resnet_18_are_loaded_into_the_same_function(tmp_path, naming):
    public, x = torchvisions(), torch.rand(2, 3, 8, 8)
    weights = {naming(name): value for name, value in public.state_dict().items()}
    assert len(weights) == 122
    torch.save({"epoch": 7, "state_dict": weights}, tmp_path / "a.pth.tar")
    model = build_model("resnet18", COLOUR).eval()
    load_trained(model, tmp_path / "a.pth.tar", {})
    mean, std = (torch.tensor(of).view(3, 1, 1) for of in (COLOUR.mean, COLOUR.std))
    torch.testing.assert_close(model(x), public((x - mean) / std), rtol=1e-5, atol=1e-5)


def test_the_normalisation_in_a_file_of_optml_is_left_out_and_the_log_says_so(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    weights = {f"module.{name}": value for name, value in torchvisions().state_dict().items()}
    weights["module.normalize.mean"] = torch.tensor([0.25, 0.5, 0.75])
    weights["module.normalize.std"] = torch.ones(3)
    model, other = (build_model("resnet18", COLOUR) for _ in range(2))
    load_trained(model, saved(tmp_path, weights), {"module.": ""})
    load_trained(other, saved(tmp_path, torchvisions().state_dict()), {})
    assert same(model, other)
    assert "normalize.mean' of the file ([0.25, 0.5, 0.75]) is left out; data.mean" in caplog.text


def test_lotus_resnet_18_is_not_taken_for_this_one(tmp_path):
    weights = torchvisions().state_dict()
    weights["layer1.0.downsample.0.weight"] = torch.zeros(64, 64, 1, 1)
    with pytest.raises(ValueError, match=r"not in the model: layer1\.0\.downsample\.0\.weight"):
        load_trained(build_model("resnet18", COLOUR), saved(tmp_path, weights), {})


# The stage.


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Workshop:
    made = Workshop(tmp_path_factory.mktemp("weights"))
    main(made.train("base", epochs=6))
    return made


def record(workshop, name):
    return read_record(workshop.folder / name / "record.json", workshop.folder)


def test_base_and_retrain_start_from_the_same_weights(workshop):
    tiny = {"params": {"epochs": 1, "lr": 1e-9, "augment": False, "batch_size": 32}}
    options = {"init": workshop.base, **tiny}
    main(workshop.train("base-init", epochs=1, **options))
    main(workshop.train("retrain-init", epochs=1, split=workshop.split, **options))
    start = load_file(workshop.base)
    for name in ("base-init", "retrain-init"):
        end = load_file(workshop.folder / name / "model.safetensors")
        for key in (key for key in start if key.endswith("weight")):
            assert torch.allclose(start[key], end[key], atol=1e-6)
        said = record(workshop, name)["init"]
        assert said == {
            "name": "model.safetensors", "hash": content_hash(workshop.base), "rename": {}
        }  # fmt: skip


def test_the_users_base_model_is_used_unchanged(workshop):
    main(workshop.train("own", epochs=1, params={}, weights=workshop.base))
    assert (workshop.folder / "own/model.safetensors").read_bytes() == workshop.base.read_bytes()
    assert workshop.results("own")["outputs.npz"] == workshop.results("base")["outputs.npz"]
    said = record(workshop, "own")
    assert said["weights"]["hash"] == content_hash(workshop.base)
    assert said["params"] == {} and "trained_on" not in said


def test_a_retrained_model_of_ones_own_is_the_reference_and_costs_what_is_stated(workshop):
    own = {"split": workshop.split, "params": {}, "weights": workshop.base}
    main(workshop.train("retrain-own", epochs=1, **own, rte=7.5))
    said = record(workshop, "retrain-own")
    assert said["kind"] == "retrain"
    assert said["weights"]["name"] == "model.safetensors" and "trained_on" not in said
    assert cost(workshop, "retrain-own")["total_seconds"] == 7.5


def cost(workshop, name):
    return read_signed(workshop.folder / name / "cost.json", workshop.folder)


def given(workshop, name, file, **options) -> Workspace:
    own, beside = own_file("given", weights=file, key="given.theirs.weights", **options)
    about = {"cell": "cell", "seed": 0, "run": "theirs", "own": own}
    return workshop.job("given", name, {"split": workshop.split}, beside, **about)


def test_given_weights_get_the_outputs_of_a_run(workshop):
    main(given(workshop, "theirs", workshop.base))
    assert workshop.results("theirs")["outputs.npz"] == workshop.results("base")["outputs.npz"]
    said = record(workshop, "theirs")
    assert {key: said[key] for key in ("run", "kind", "method", "status", "params")} == {
        "run": "theirs", "kind": "given", "method": "given", "status": "ok", "params": {}
    }  # fmt: skip
    assert said["weights"]["hash"] == content_hash(workshop.base)
    assert {*said["inputs"]} == {"dataset.npz", "cell/split.json"}
    files = {path.name for path in (workshop.folder / "theirs").iterdir()}
    assert {*layout.RUN_FILES.values()} <= files


@pytest.mark.parametrize(("options", "seconds"), [({}, None), ({"rte": 120}, 120.0)])
def test_the_time_of_given_weights_is_the_rte_of_the_config(workshop, options, seconds):
    main(given(workshop, "theirs", workshop.base, **options))
    assert cost(workshop, "theirs")["total_seconds"] == seconds


def test_given_weights_that_do_not_fit_are_named_by_the_key_of_the_config(workshop, tmp_path):
    file = tmp_path / "a.safetensors"
    save_file({"fc.weight": torch.zeros(2)}, file)
    with pytest.raises(SystemExit) as error:
        main(given(workshop, "bad", file))
    assert str(error.value).startswith(f"collateral given: given.theirs.weights: '{file}' does not")
    assert not (workshop.folder / "bad").exists()


def refusal(workshop, *, name, **options) -> str:
    with pytest.raises(SystemExit) as error:
        main(workshop.train(name, epochs=1, **options))
    assert not (workshop.folder / name).exists()
    return str(error.value)


def test_a_base_that_guesses_is_refused_with_a_word_on_what_it_needs(workshop, tmp_path):
    weights = load_file(workshop.base)
    # Class order turned by one: nearly all that it knows is wrong.
    turned = {
        k: v.roll(1, 0).contiguous() if k.startswith("head.") else v for k, v in weights.items()
    }
    save_file(turned, tmp_path / "turned.safetensors")
    said = refusal(workshop, name="turned", weights=tmp_path / "turned.safetensors")
    assert said.startswith("collateral base: base.weights: train accuracy ")
    assert "normalisation" in said and "data.mean" in said and "data.classes" in said


def test_weights_that_do_not_fit_are_named_by_the_key_of_the_config(workshop, tmp_path):
    save_file({"fc.weight": torch.zeros(2)}, tmp_path / "a.safetensors")
    for option in ("init", "weights"):
        key = {"init": "init.weights", "weights": "base.weights"}[option]
        said = refusal(workshop, name="bad", **{option: tmp_path / "a.safetensors"})
        assert said.startswith(f"collateral base: {key}: '{tmp_path / 'a.safetensors'}' does not")


# Public files of ResNets.


PUBLIC = Path(os.environ.get("COLLATERAL_DATA", "."), "cifar100_resnet56-f2eff4c8.pt")
PHOTOGRAPHS = ImageInfo(5, (8, 8, 3), (0.5,) * 3, (0.25,) * 3)


class PublicBlock(nn.Module):
    """A block with the names of two public repositories; without `shortcut`, it is of option A."""

    def __init__(self, before, width, shortcut):
        super().__init__()
        stride = width // before
        self.conv1 = nn.Conv2d(before, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.by = shortcut if stride > 1 else ""
        if self.by:
            projection = nn.Conv2d(before, width, 1, stride, bias=False)
            setattr(self, shortcut, nn.Sequential(projection, nn.BatchNorm2d(width)))

    def forward(self, x):
        residual = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
        return (residual + (getattr(self, self.by)(x) if self.by else x)).relu()


class PublicResNet(nn.Module):
    """A ResNet-(6n+2) with the names of chenyaofo, or those of akamaster."""

    def __init__(self, shortcut, head, num_blocks=3, num_classes=5):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        for stage, (before, width) in enumerate(((16, 16), (16, 32), (32, 64)), 1):
            blocks = [PublicBlock(before, width, shortcut)]
            blocks += [PublicBlock(width, width, shortcut) for _ in range(num_blocks - 1)]
            setattr(self, f"layer{stage}", nn.Sequential(*blocks))
        setattr(self, head, nn.Linear(64, num_classes))
        self.last = head

    def forward(self, x):
        x = self.bn1(self.conv1(x)).relu()
        features = F.adaptive_avg_pool2d(self.layer3(self.layer2(self.layer1(x))), 1)
        return getattr(self, self.last)(features.flatten(1))


def public(shortcut, head) -> nn.Module:
    """Return a public ResNet-20 whose batch norms have seen images."""
    torch.manual_seed(3)
    model = PublicResNet(shortcut, head)
    if shortcut:
        model(torch.randn(16, 3, 8, 8))
    return model.eval()


LAYOUTS = {
    "chenyaofo/pytorch-cifar-models": ("downsample", "fc"),
    "akamaster/pytorch_resnet_cifar10": ("shortcut", "linear"),
}


@pytest.mark.parametrize("repository", LAYOUTS)
@pytest.mark.parametrize("prefix", ["", "module."])
def test_a_public_resnet_loads_by_its_own_names_and_gives_the_same_logits(
    tmp_path, caplog, repository, prefix
):
    caplog.set_level(logging.INFO)
    theirs, ours = public(*LAYOUTS[repository]), build_model("resnet20", PHOTOGRAPHS).eval()
    weights = {prefix + name: value for name, value in theirs.state_dict().items()}
    load_trained(ours, saved(tmp_path, weights), {prefix: ""} if prefix else {})
    x = torch.rand(4, 3, 8, 8)
    assert torch.equal(ours(x), theirs((x - 0.5) / 0.25))
    assert caplog.messages == [f"the names of the weights are those of {repository}"]


def test_training_starts_from_a_public_resnet_of_other_classes(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    theirs, info = public("downsample", "fc"), ImageInfo(3, (8, 8, 3), (0.5,) * 3, (0.25,) * 3)
    ours = build_model("resnet20", info)
    load_initial(ours, saved(tmp_path, theirs.state_dict()), {})
    assert torch.equal(ours.body[5][2].residual[3].weight, theirs.layer3[2].conv2.weight)
    assert "its head (5x64, 5) is left out" in caplog.text


def test_a_public_resnet_with_another_kind_of_shortcut_is_refused_with_the_reason(tmp_path):
    weights = public("", "linear").state_dict()
    with pytest.raises(ValueError, match=r"; the file has shortcuts without weights \(option A"):
        load_trained(build_model("resnet20", PHOTOGRAPHS), saved(tmp_path, weights), {})


def test_a_prefix_in_front_of_public_names_is_named(tmp_path):
    weights = {f"module.{k}": v for k, v in public("downsample", "fc").state_dict().items()}
    with pytest.raises(ValueError, match=r"try rename: \{module\.: ''\}"):
        load_trained(build_model("resnet20", PHOTOGRAPHS), saved(tmp_path, weights), {})


@pytest.mark.skipif(not PUBLIC.exists(), reason=f"{PUBLIC.name} (chenyaofo) is not here")
def test_the_public_resnet56_gives_the_logits_of_its_own_network():
    mean, std = (0.5070, 0.4865, 0.4409), (0.2673, 0.2564, 0.2761)
    ours = build_model("resnet56", ImageInfo(100, (32, 32, 3), mean, std)).eval()
    load_trained(ours, PUBLIC, {})
    theirs = PublicResNet("downsample", "fc", num_blocks=9, num_classes=100).eval()
    theirs.load_state_dict(read_weights(PUBLIC))
    x = torch.rand(8, 3, 32, 32)
    assert torch.equal(ours(x), theirs((x - ours.mean) / ours.std))
