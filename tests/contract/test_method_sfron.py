"""SFRon: the weights of losses and of importances by hand, and what each step moves."""

import math

import pytest

torch = pytest.importorskip("torch")

from collateral.methods._shared.gradients import (
    by_parameter,
    per_sample_gradients,
    summed_gradient,
    trainable,
)
from collateral.methods._shared.training import clip
from collateral.methods.sfron import method as sfron
from collateral.methods.sfron.method import importance, restrict_gradients, weighted_mean
from collateral.methods.sfron.params import Params
from collateral.training.optimizers import cosine_rate

# Nothing moves but by gradients of their own step.
PLAIN = {"momentum": 0.0, "weight_decay": 0.0, "batchnorm": "frozen", "augment": False}


def test_losses_weigh_their_inverse_root():
    losses = torch.tensor([1.0, 4.0], requires_grad=True)
    total = weighted_mean(losses, 0.5)
    total.backward()
    assert total.item() == pytest.approx(2)
    # The weights themselves are constants.
    torch.testing.assert_close(losses.grad, torch.tensor([2 / 3, 1 / 3]))


def test_the_climb_has_half_its_strength_in_the_middle():
    assert 25 * cosine_rate(750, 1500) == pytest.approx(12.5)


def test_the_rate_falls_with_every_step_over_all_epochs(small, monkeypatch):
    rates, method = [], small.method("sfron")
    monkeypatch.setattr(sfron, "set_learning_rate", lambda _, rate: rates.append(rate))
    method.unlearn(Params(steps=7, batch_size=64, lr=0.5), ratios_of(small, 2, 2))
    assert 0 < len(method.task.retain) < 7 * 64, "several epochs"
    expected = [0.5 * (1 + math.cos(math.pi * step / 7)) / 2 for step in range(7)]
    assert rates == pytest.approx(expected)


def test_clipping_shortens_all_gradients_together_and_stretches_none():
    long, short = [torch.tensor([6.0]), torch.tensor([8.0])], [torch.tensor([3.0])]
    clip(long, 7.0)
    clip(short, 7.0)
    assert [part.item() for part in long] == pytest.approx([4.2, 5.6])
    assert short[0].item() == 3


def test_importance_one_by_one_is_the_fisher_diagonal(small):
    method = small.method("sfron")
    generator = torch.Generator().manual_seed(0)
    found = importance(method.load_base(), method.task.forget, 1, generator)
    expected = per_sample_gradients(small.base, method.task.forget).square().mean(0)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-7)


def test_importance_of_one_batch_is_the_squared_mean_gradient(small):
    method = small.method("sfron")
    forget = method.task.forget
    found = importance(method.load_base(), forget, 1000, torch.Generator())
    expected = (summed_gradient(small.base, forget) / len(forget)).square()
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-9)


def test_importance_of_a_joined_rest_is_of_one_batch(small):
    """Of 20 forget examples, batches of 18 leave a rest of two."""
    forget = small.method("sfron").task.forget
    assert len(forget) == 20
    found = importance(small.base, forget, 18, torch.Generator())
    expected = importance(small.base, forget, 1000, torch.Generator())
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-9)


def ratios_of(small, value: float, head: float) -> dict[str, torch.Tensor]:
    """Return one ratio for all weights, and another for the head's."""
    return {
        name: torch.full_like(weight, head if name.startswith("head") else value)
        for name, weight in trainable(small.base).items()
    }


def test_gradients_outside_the_masks_are_zero(small):
    model = small.method("sfron").load_base()
    for weight in model.parameters():
        weight.grad = torch.ones_like(weight)
    free = {name: ratio >= 1 for name, ratio in ratios_of(small, 0.99, 1.0).items()}
    restrict_gradients(trainable(model), free, 1e6)
    for name, weight in model.named_parameters():
        assert (weight.grad == (1 if name.startswith("head") else 0)).all(), name


def state_after(small, ratios, **changes) -> torch.Tensor:
    model = small.method("sfron").unlearn(Params(**PLAIN, **changes), ratios)[0]
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


def test_without_strength_or_without_free_weights_it_is_fine_tuning(small):
    free, none = ratios_of(small, 1, 1), ratios_of(small, 0.99, 0.99)  # The threshold is 1.
    values = {"steps": 3, "batch_size": 1000, "lr": 0.1}
    unable, weak = (
        state_after(small, none, **values),
        state_after(small, free, strength=0, **values),
    )
    assert torch.equal(unable, weak)
    assert not torch.equal(unable, state_after(small, free, **values))


def test_a_step_of_each_kind_by_hand(small):
    method = small.method("sfron")
    ratios = ratios_of(small, 2, 2)
    values = {"steps": 1, "batch_size": 1000, "lr": 0.01, "power": 0, "strength": 3, "clip": 1e6}
    found = state_after(small, ratios, **values)
    model, task = method.load_base(), method.task
    for part, factor in ((task.forget, -3.0), (task.retain, 1.0)):
        gradient = factor * summed_gradient(model, part) / len(part)
        with torch.no_grad():
            for name, piece in by_parameter(model, gradient).items():
                model.get_parameter(name).sub_(0.01 * piece)
    expected = torch.cat([weight.detach().flatten() for weight in model.parameters()])
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(("steps", "climbs"), [(0, 0), (1, 1), (5, 1), (6, 2), (11, 3)])
def test_every_fifth_step_climbs_first(small, monkeypatch, steps, climbs):
    method, seen = small.method("sfron"), []
    restrict = sfron.restrict_gradients
    monkeypatch.setattr(sfron, "restrict_gradients", lambda *given: seen.append(restrict(*given)))
    method.unlearn(Params(steps=steps, batch_size=64), ratios_of(small, 2, 2))
    assert len(seen) == climbs
