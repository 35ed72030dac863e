"""FT, GA and RL: what each does to the loss, which labels it sees, and what its options change."""

import copy
from collections import Counter
from dataclasses import replace

import pytest
from scipy.stats import chisquare

torch = pytest.importorskip("torch")

from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim import SGD, Adam, AdamW
from torch.optim.optimizer import register_optimizer_step_post_hook

from collateral.methods._shared.training import draw_labels
from collateral.plugins.find import params_class
from collateral.training.examples import Examples, Task
from collateral.training.inference import infer
from collateral.training.optimizers import (
    count_batches,
    steps_by_epoch,
)

METHODS = ("ft", "ga", "rl")


def unlearned(small, name: str, task: Task | None = None, **changes) -> torch.nn.Module:
    """Return the model after two epochs of a method."""
    params = params_class(name).model_validate({"epochs": 2, "batch_size": 32, **changes})
    method = small.method(name)
    return replace(method, task=task or method.task).unlearn(params)[0]


def loss(model: torch.nn.Module, examples: Examples) -> float:
    return F.cross_entropy(infer(model, examples)[1], examples.labels).item()


def statistics(model: torch.nn.Module) -> list[torch.Tensor]:
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    return [tensor for norm in norms for tensor in (norm.running_mean, norm.running_var)]


def equal(some: list[torch.Tensor], others: list[torch.Tensor]) -> bool:
    return all(torch.equal(one, other) for one, other in zip(some, others, strict=True))


@pytest.fixture
def seen_labels(monkeypatch):
    """Return the labels of every pass over examples, in the examples' order."""
    passes, batches = [], Examples.batches

    def spy(self, *args, **options):
        passes.append(self.labels.clone())
        return batches(self, *args, **options)

    monkeypatch.setattr(Examples, "batches", spy)
    return passes


# What they do to the loss


@pytest.mark.parametrize("batchnorm", ["train", "frozen"])
def test_ga_raises_the_loss_on_the_forget_set(small, batchnorm):
    forget = small.method("ga").task.forget
    after = unlearned(small, "ga", lr=0.001, epochs=5, batchnorm=batchnorm)
    assert loss(after, forget) > loss(small.base, forget)


def test_one_step_of_ga_is_one_step_of_sgd_up_the_loss(small):
    task = small.method("ga").task
    params = {"lr": 0.01, "epochs": 1, "momentum": 0, "weight_decay": 0, "batchnorm": "frozen"}
    after = unlearned(small, "ga", **params)
    base = copy.deepcopy(small.base).eval()
    F.cross_entropy(base(task.forget.pixels()), task.forget.labels).backward()
    for weight, start in zip(after.parameters(), base.parameters(), strict=True):
        # The sum over examples is taken in another order.
        torch.testing.assert_close(weight, start + 0.01 * start.grad, rtol=1e-5, atol=1e-7)


def test_ft_lowers_the_loss_on_the_retained_examples(small):
    retain = small.method("ft").task.retain
    after = unlearned(small, "ft", lr=0.01, batchnorm="frozen")
    assert loss(after, retain) < loss(small.base, retain)


def test_rl_raises_the_loss_on_the_forget_set(small):
    forget = small.method("rl").task.forget
    after = unlearned(small, "rl", lr=0.05, epochs=5)
    assert loss(after, forget) > loss(small.base, forget)


# Random labels


def test_any_label_is_equally_likely_the_true_one_too(small):
    task = small.method("rl").task
    many = replace(task, forget=task.forget.select(torch.zeros(4000, dtype=torch.int64)))
    drawn = draw_labels(many, "any", torch.Generator().manual_seed(0))
    # A fair draw fails one seed in a thousand; this one is fixed.
    assert chisquare(torch.bincount(drawn, minlength=4).numpy()).pvalue > 0.001


def test_a_wrong_label_is_never_the_true_one_and_all_others_are_equally_likely(small):
    task = small.method("rl").task
    true = torch.arange(4).repeat(1000)
    many = replace(task, forget=task.forget.select(torch.zeros(4000, dtype=torch.int64)))
    many = replace(many, forget=many.forget.relabelled(true))
    drawn = draw_labels(many, "wrong", torch.Generator().manual_seed(0))
    pairs = Counter(zip(true.tolist(), drawn.tolist(), strict=True))
    assert set(pairs) == {(t, d) for t in range(4) for d in range(4) if t != d}
    assert chisquare(list(pairs.values())).pvalue > 0.001


def test_rl_draws_labels_anew_every_epoch_and_leaves_the_retained_ones(small, seen_labels):
    task = small.method("rl").task
    unlearned(small, "rl", epochs=3)
    count = len(task.forget)
    drawn = [labels[:count].tolist() for labels in seen_labels]
    assert len({tuple(labels) for labels in drawn}) == 3
    assert all(torch.equal(labels[count:], task.retain.labels) for labels in seen_labels)


def test_rl_with_wrong_labels_never_shows_a_true_one(small, seen_labels):
    unlearned(small, "rl", labels="wrong", retain=False, epochs=5)
    true = small.method("rl").task.forget.labels
    assert len(seen_labels) == 5
    assert all((labels != true).all() for labels in seen_labels)


def test_rl_without_retain_sees_no_retained_example(small):
    task = small.method("rl").task
    nobody = replace(task, retain=task.retain.select(torch.arange(0)))
    with_retain, without = (unlearned(small, "rl", t, retain=False) for t in (task, nobody))
    assert equal(list(with_retain.parameters()), list(without.parameters()))
    assert not equal(list(without.parameters()), list(unlearned(small, "rl").parameters()))


# Budgets


@pytest.mark.parametrize(
    ("epochs", "steps", "batches", "expected"),
    [
        (3, None, 4, [4, 4, 4]),
        (0, None, 4, []),
        (3, 10, 4, [4, 4, 2]),
        (3, 8, 4, [4, 4]),
        (3, 2, 4, [2]),
        (3, 0, 4, []),
    ],
)
def test_a_budget_in_steps_replaces_the_epochs_and_may_end_within_one(
    epochs, steps, batches, expected
):
    assert steps_by_epoch(epochs, steps, batches) == expected


@pytest.mark.parametrize(("count", "batches"), [(1, 1), (32, 1), (39, 1), (40, 2), (64, 2)])
def test_an_epoch_has_a_batch_for_a_rest_of_eight_or_more(count, batches):
    assert count_batches(range(count), 32) == batches


@pytest.mark.parametrize("name", METHODS)
def test_no_epochs_change_nothing(small, name):
    after = unlearned(small, name, epochs=0)
    assert equal(list(after.state_dict().values()), list(small.base.state_dict().values()))


# Options that all trained methods share


@pytest.mark.parametrize("name", METHODS)
def test_frozen_batch_norm_keeps_its_statistics_and_train_moves_them(small, name):
    before = [tensor.clone() for tensor in statistics(small.base)]
    frozen, trained = (unlearned(small, name, batchnorm=mode) for mode in ("frozen", "train"))
    assert equal(statistics(frozen), before)
    assert not any(map(torch.equal, statistics(trained), before))
    assert not equal(list(frozen.parameters()), list(small.base.parameters()))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(("optimizer", "kind"), [("sgd", SGD), ("adam", Adam), ("adamw", AdamW)])
def test_the_parameter_optimizer_selects_the_optimiser(small, name, optimizer, kind):
    used = []
    hook = register_optimizer_step_post_hook(lambda optimizer, *_: used.append(optimizer))
    unlearned(small, name, optimizer=optimizer, epochs=1, lr=0.003, weight_decay=0.002)
    hook.remove()
    assert {type(stepped) for stepped in used} == {kind}
    (group,) = used[0].param_groups
    assert (group["lr"], group["weight_decay"]) == (0.003, 0.002)


@pytest.mark.parametrize("name", METHODS)
def test_augment_false_trains_on_clean_images(small, name, monkeypatch):
    asked, batches = [], Examples.batches

    def spy(self, *args, augment=True):
        asked.append(augment)
        return batches(self, *args, augment=augment)

    monkeypatch.setattr(Examples, "batches", spy)
    unlearned(small, name, epochs=1, augment=False)
    unlearned(small, name, epochs=1)
    assert asked == [False, True]


@pytest.mark.parametrize("name", METHODS)
def test_history_has_a_row_an_epoch(small, name):
    params = params_class(name).model_validate({"epochs": 3, "batch_size": 64})
    _, run = small.method(name).unlearn(params)
    assert [(row["loop"], row["epoch"]) for row in run.history] == [(1, 0), (1, 1), (1, 2)]
    assert all(row["loss"] >= 0 for row in run.history)
    assert set(run.clock.seconds) == {"unlearn"}
