"""Known models: each control does to a model what its name says, and nothing else."""

import copy

import pytest

torch = pytest.importorskip("torch")

from pretend_gpu import on_gpu, pretended
from test_methods import KNOWN, has_code
from torch.nn import functional as F

from collateral.contract.params import TrainingParams
from collateral.controls.damaged.params import Params as Damaged
from collateral.controls.int8.params import Params as Int8
from collateral.controls.refreshed.params import Params as Refreshed
from collateral.controls.silent.method import second_best
from collateral.controls.silent.params import Params as Silent
from collateral.controls.trained.params import Params as Trained
from collateral.plugins.find import params_class
from collateral.training import inference
from collateral.training.inference import accuracy, infer

RECIPE = {"epochs": 2, "batch_size": 32, "lr": 0.05}


def never_right(method) -> torch.Tensor:
    """Return soft labels that are wrong on every forgotten example."""
    labels = method.task.forget.labels
    return F.one_hot((labels + 1) % method.task.num_classes, method.task.num_classes).double()


def mostly_right(method, wrong: int) -> torch.Tensor:
    """Return soft labels that are wrong on the first examples."""
    labels = method.task.forget.labels.clone()
    labels[:wrong] = (labels[:wrong] + 1) % method.task.num_classes
    return F.one_hot(labels, method.task.num_classes).double()


def same(one, other) -> bool:
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


VALUES = {"trained": {**RECIPE, "model": "resnet8", "share": 0.5}, "refreshed": RECIPE}


@pytest.mark.parametrize("name", [name for name in KNOWN if has_code(name)])
def test_a_gpu_gives_the_same_bits_as_a_cpu_and_so_does_a_second_run(small, name):
    params = params_class(name).model_validate(VALUES.get(name, {}))
    method = small.method(name, small.half_a_class()[:4])
    soft = [mostly_right(method, 2)] if params.needs_retrain else []
    here, again = (method.unlearn(params, *soft)[0].state_dict() for _ in range(2))
    with pretended() as gpu:
        there = on_gpu(method).unlearn(params, *soft)[0].state_dict()
        there = {key: value.cpu() for key, value in there.items()}
    assert not gpu.refused
    for key, value in here.items():
        assert torch.equal(value, again[key])
        assert torch.equal(value, there[key])


def test_every_known_model_has_a_card():
    assert len(KNOWN) == 6
    assert all(params_class(name).label and params_class(name).__doc__ for name in KNOWN)


def test_second_best_is_the_likeliest_wrong_class():
    logits = torch.tensor([[5.0, 1.0, 3.0], [0.0, 2.0, 1.0], [4.0, 1.0, 0.0]])
    assert second_best(logits, torch.tensor([0, 1, 1])).tolist() == [2, 2, 0]


def test_a_silent_model_keeps_its_features_and_answers_as_retrain_at_most(small):
    method = small.method("silent", seed=3)
    base = method.load_base()
    for wrong in (3, len(method.task.forget)):
        soft = mostly_right(method, wrong)
        model, run = method.unlearn(Silent(), soft)
        before, after = (infer(one, method.task.forget)[0] for one in (base, model))
        assert torch.equal(before, after)
        target = 1 - wrong / len(method.task.forget)
        assert accuracy(model, method.task.forget) <= target + 1e-9
        assert run.history[-1]["steps"] > 0
    assert torch.equal(never_right(method).argmax(1), mostly_right(method, len(soft)).argmax(1))


def test_a_silent_model_of_a_retrain_that_errs_nowhere_is_the_base(small):
    method = small.method("silent", seed=3)
    base = method.load_base()
    method.task.forget.labels.copy_(infer(base, method.task.forget)[1].argmax(1))
    model, run = method.unlearn(Silent(), mostly_right(method, 0))
    assert same(model, base)
    assert run.history[-1]["steps"] == 0


def test_damage_is_the_same_noise_for_base_and_retrain(small):
    method = small.method("damaged", seed=5)
    base = method.load_base()
    one, _ = method.unlearn(Damaged(noise=0.3))
    two, _ = method.unlearn(Damaged(noise=0.3), never_right(method))
    assert same(one, two)
    for before, after in zip(base.parameters(), one.parameters(), strict=True):
        spread = before.std(correction=0)
        if before.numel() > 500:
            found = (after - before).std() / spread
            assert found.item() == pytest.approx(0.3, rel=0.15)
    none, _ = method.unlearn(Damaged(noise=0.0))
    assert same(none, base)
    other, _ = small.method("damaged", seed=6).unlearn(Damaged(noise=0.3))
    assert not same(one, other)


def test_int8_weights_lie_on_255_levels_of_each_channel(small):
    method = small.method("int8", seed=1)
    base = method.load_base()
    model, _ = method.unlearn(Int8())
    for before, after in zip(base.parameters(), model.parameters(), strict=True):
        if before.dim() == 1:
            assert torch.equal(before, after)
            continue
        rows, rounded = before.detach().flatten(1), after.detach().flatten(1)
        step = rows.abs().amax(1, keepdim=True) / 127
        assert ((rows - rounded).abs() <= step / 2 + 1e-6).all()
        levels = rounded / step
        assert torch.allclose(levels, levels.round(), atol=1e-3)
        assert levels.abs().max() <= 127.001
    again = copy.deepcopy(model)
    assert same(method.module.unlearn(again, method.task, Int8(), None), model)


def test_a_share_of_zero_does_not_look_at_the_forget_set(small):
    # The forget set is not trained on, so that its labels do not matter.
    made = []
    for shift in (0, 1):
        method = small.method("trained", seed=4)
        labels = method.task.forget.labels
        labels.copy_((labels + shift) % method.task.num_classes)
        params = Trained(**RECIPE, model="resnet8", share=0.0)
        model, _ = method.unlearn(params)
        made.append(copy.deepcopy(model))
    assert same(*made)
    full, _ = small.method("trained", seed=4).unlearn(Trained(**RECIPE, model="resnet8", share=1.0))
    assert not same(full, made[0])


def test_doses_are_nested_and_have_the_stated_size(small, monkeypatch):
    method = small.method("trained", seed=4)
    seen = {}

    def remember(model, examples, test, params, run):
        seen[share] = [*examples.rows.tolist()]
        return model

    monkeypatch.setattr(method.module, "fit", remember)
    for share in (0.0, 0.25, 0.75, 1.0):
        method.unlearn(Trained(**RECIPE, model="resnet8", share=share))
    retain, forget = (set(part.rows.tolist()) for part in (method.task.retain, method.task.forget))
    assert set(seen[0.0]) == retain
    assert set(seen[0.25]) < set(seen[0.75]) < set(seen[1.0]) == retain | forget
    for share, rows in seen.items():
        assert len(rows) == len(retain) + round(share * len(forget))


def test_a_new_model_does_not_start_from_the_base(small):
    method = small.method("trained", seed=4)
    params = Trained(**{**RECIPE, "lr": 1e-12, "epochs": 1}, model="resnet8", share=1.0)
    model, _ = method.unlearn(params)
    base = method.load_base()
    assert not torch.allclose(base.head.weight, model.head.weight, atol=1e-3)


def test_one_more_epoch_has_the_last_rate_of_the_base(small, monkeypatch):
    method = small.method("refreshed", seed=2)
    found = []
    monkeypatch.setattr(method.module, "fit", lambda m, *rest: found.append(rest) or m)
    method.unlearn(Refreshed(epochs=4, lr=0.2, batch_size=32, warmup=2))
    ((examples, _, params, _),) = found
    assert len(examples) == len(method.task.retain)
    # Cosine: the factor in epoch 3 of 4 is (1 + cos(3 pi / 4)) / 2.
    assert params.lr == pytest.approx(0.2 * 0.1464466, rel=1e-5)
    assert (params.epochs, params.schedule, params.warmup) == (1, "constant", 0)
    method.unlearn(Refreshed(epochs=4, lr=0.2, schedule="constant"))
    assert found[-1][2].lr == 0.2
    assert isinstance(found[-1][2], TrainingParams)


@pytest.mark.parametrize("size", [1, 7, 100])
def test_order_and_batches_of_evaluation_change_no_prediction(small, monkeypatch, size):
    method = small.method("int8", small.half_a_class()[:4])
    examples = method.task.retain
    before = infer(small.base, examples)
    monkeypatch.setattr(inference, "BATCH_SIZE", size)
    order = torch.randperm(len(examples), generator=torch.Generator().manual_seed(size))
    after = infer(small.base, examples.select(order))
    assert torch.equal(after[1].argmax(1), before[1].argmax(1)[order])
    for one, other in zip(before, after, strict=True):
        torch.testing.assert_close(other, one[order], rtol=1e-4, atol=1e-5)
