"""EU-k and CF-k: k: all is Retrain or FT, what is before the last blocks stays bit for bit."""

import copy

import pytest

torch = pytest.importorskip("torch")
timm = pytest.importorskip("timm")

from pydantic import ValidationError
from torch import nn

from collateral.contract.data import ImageInfo
from collateral.contract.params import TrainingParams
from collateral.methods._shared.last_blocks import list_blocks, select_last
from collateral.methods.cf_k.method import unlearn as cf_k
from collateral.methods.cf_k.params import Params as CfParams
from collateral.methods.eu_k.method import redraw_all
from collateral.methods.eu_k.method import unlearn as eu_k
from collateral.methods.eu_k.params import Params as EuParams
from collateral.methods.ft.method import unlearn as ft
from collateral.methods.ft.params import Params as FtParams
from collateral.models._build import build_model
from collateral.training.fit import fit
from collateral.training.run import Run

CPU = torch.device("cpu")
INFO = ImageInfo(4, (32, 32, 3), (0.5,) * 3, (0.25,) * 3)
SHORT = {"epochs": 2, "lr": 0.03, "batch_size": 32, "weight_decay": 1e-3}
FORGET = range(5, 26)  # parts of classes 0; others are retained


def task_of(small):
    return small.task([*FORGET])


def state(model: nn.Module, prefixes: tuple[str, ...] = ("",)) -> dict[str, torch.Tensor]:
    found = model.state_dict()
    return {name: found[name].clone() for name in found if name.startswith(prefixes)}


def same(one, other) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_cf_of_all_blocks_is_ft(small):
    models = [copy.deepcopy(small.base) for _ in range(2)]
    cf_k(models[0], task_of(small), CfParams(k="all", **SHORT), Run(CPU, 3))
    ft(models[1], task_of(small), FtParams(**SHORT), Run(CPU, 3))
    assert same(*map(state, models))
    assert not same(state(models[0]), state(small.base))


@pytest.mark.parametrize("k", ["all", 99])
def test_eu_of_all_blocks_is_retrain_whatever_the_base_knew(small, k):
    """Training from the same new weights, in the same order of batches, ends in the same bits."""
    torch.manual_seed(11)
    other = build_model("resnet8", small.data.info)
    found = [
        eu_k(copy.deepcopy(base), task_of(small), EuParams(k=k, **SHORT), Run(CPU, 3))
        for base in (small.base, other)
    ]
    assert same(*map(state, found))
    retrained, run = copy.deepcopy(other), Run(CPU, 3)
    redraw_all(retrained, [retrained], run)
    params = TrainingParams(schedule="constant", nesterov=False, momentum=0.9, **SHORT)
    retain = task_of(small).retain
    fit(retrained, retain, retain, params, run)
    assert same(state(found[0]), state(retrained))


def test_new_weights_differ_by_seed_and_batch_norm_forgets_its_statistics(small):
    drawn = [copy.deepcopy(small.base) for _ in range(2)]
    for seed, model in enumerate(drawn):
        redraw_all(model, select_last(model, 2, head=True), Run(CPU, seed))
    changed = "body.5.0.residual.0.weight"
    assert not torch.equal(*(model.get_parameter(changed) for model in drawn))
    assert not torch.equal(drawn[0].head.weight, drawn[1].head.weight)
    norm, kept = (drawn[0].get_submodule(f"body.{place}.residual.1") for place in ("5.0", "4.0"))
    assert norm.running_mean.eq(0).all() and norm.running_var.eq(1).all()
    assert not kept.running_mean.eq(0).any()


@pytest.mark.parametrize("method", [(cf_k, CfParams), (eu_k, EuParams)])
@pytest.mark.parametrize(
    ("last", "moving", "still"),
    [
        ((1, True), ("head.",), ("body.",)),
        ((3, True), ("body.4.", "body.5.", "head."), ("body.0.", "body.1.", "body.3.")),
        ((3, False), ("body.4.", "body.5."), ("body.0.", "body.1.", "body.3.", "head.")),
    ],
)
def test_all_before_the_last_blocks_stays_bit_for_bit(small, method, last, moving, still):
    unlearn, params = method
    model = copy.deepcopy(small.base)
    given = params(k=last[0], head=last[1], proximal=0.1, **SHORT)
    unlearn(model, task_of(small), given, Run(CPU, 3))
    assert same(state(model, still), state(small.base, still))
    learned = {name for name, _ in model.named_parameters() if name.startswith(moving)}
    assert learned and {*state(model, moving)} | {*state(model, still)} == {*model.state_dict()}
    for name in learned:
        assert not torch.equal(model.get_parameter(name), small.base.get_parameter(name)), name
    assert all(weight.requires_grad for weight in model.parameters())


def test_the_pull_holds_the_weights_at_the_start(small):
    """By hand: one step from the start has no pull; the pull of the second is its first step."""
    whole = {"epochs": 1, "lr": 0.01, "batch_size": 10**6, "momentum": 0, "weight_decay": 0}
    far = []
    for proximal in (0.0, 50.0):
        model = copy.deepcopy(small.base)
        given = CfParams(k=1, proximal=proximal, augment=False, **{**whole, "epochs": 2})
        cf_k(model, task_of(small), given, Run(CPU, 3))
        far.append((model.head.weight - small.base.head.weight).detach())
    once = copy.deepcopy(small.base)
    given = CfParams(k=1, proximal=50.0, augment=False, **whole)
    cf_k(once, task_of(small), given, Run(CPU, 3))
    first = (once.head.weight - small.base.head.weight).detach()
    torch.testing.assert_close(far[1], far[0] - 0.01 * 50.0 * first, rtol=1e-3, atol=1e-6)
    assert far[1].norm() < far[0].norm()


@pytest.mark.parametrize(
    ("name", "count", "last"),
    [
        # Stem, two blocks for each of four stages, head.
        ("resnet18", 10, ["body.6.0", "body.6.1", "head"]),
        ("timm/resnet18", 10, ["body.inner.layer4.0", "body.inner.layer4.1", "head"]),
        # Patch embedding, twelve attention blocks, head; the last norm belongs to a block.
        ("timm/vit_tiny_patch16_224", 14, ["body.inner.blocks.10", "body.inner.blocks.11", "head"]),
        ("mlp", 2, ["body", "head"]),
    ],
)
def test_blocks_are_residual_and_attention_blocks_and_single_layers(name, count, last):
    model = build_model(name, INFO)
    blocks = list_blocks(model)
    assert len(blocks) == count
    names = {id(module): place for place, module in model.named_modules()}
    found = [names[id(block[0])] for block in blocks[-len(last) :]]
    assert [one.startswith(place) for one, place in zip(found, last, strict=True)] == [True] * len(
        last
    )
    if "vit" in name:
        assert [names[id(one)] for one in blocks[-2]] == [last[-2], "body.inner.norm"]
    held = {id(w) for block in blocks for module in block for w in module.parameters()}
    outside = {key for key, weight in model.named_parameters() if id(weight) not in held}
    assert {key.rpartition(".")[2] for key in outside} <= {"cls_token", "pos_embed"}


def test_with_the_head_alone_and_no_head_nothing_would_train():
    for params in (EuParams, CfParams):
        with pytest.raises(ValidationError, match="with k: 1, nothing would train"):
            params(k=1, head=False)
