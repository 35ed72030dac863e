"""NegGrad+: one step is the one worked out by hand, and what its options change."""

import copy
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from test_gradients import FIRST, SECOND, linear_on_two_pixels, two_examples
from test_method_ft_ga_rl import equal, loss, statistics

from collateral.methods.neggrad_plus.method import squared_distance, unlearn
from collateral.methods.neggrad_plus.params import Params
from collateral.training.examples import Task
from collateral.training.run import Run

CPU = torch.device("cpu")
FIRST, SECOND = torch.tensor(FIRST), torch.tensor(SECOND)


def weights_after(**values) -> torch.Tensor:
    """Return the weights of the linear model that keeps the first example, not the second."""
    model, everything = linear_on_two_pixels(), two_examples()
    retain, forget = (everything.select(torch.tensor([place])) for place in (0, 1))
    task = Task(retain, forget, info=None)
    unlearn(model, task, Params.model_validate({"epochs": 1, **values}), Run(CPU, 0))
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


def test_a_step_is_down_the_weighted_difference_of_both_gradients():
    expected = -0.01 * (0.95 * FIRST - 0.05 * SECOND)
    torch.testing.assert_close(weights_after(lr=0.01, alpha=0.95), expected)


def test_the_proximal_term_pulls_back_to_the_base_by_what_has_been_moved():
    """From the second step on: at the base itself it has no slope."""
    first, free = weights_after(lr=0.1), weights_after(lr=0.1, epochs=2)
    assert torch.equal(weights_after(lr=0.1, proximal=3.0), first)
    expected = free - 0.1 * 0.95 * 3.0 * first
    torch.testing.assert_close(weights_after(lr=0.1, epochs=2, proximal=3.0), expected)


def test_the_distance_is_that_of_all_weights_together():
    model = linear_on_two_pixels()
    base = [weight.detach().clone() for weight in model.parameters()]
    with torch.no_grad():
        model.head.weight[0, 1] = 3.0
        model.head.bias[1] = -4.0
    assert squared_distance(model, base).item() == 25.0


def unlearned(small, **values) -> torch.nn.Module:
    params = Params.model_validate({"epochs": 3, "batch_size": 32, **values})
    return small.method("neggrad_plus").unlearn(params)[0]


def test_it_raises_the_loss_on_the_forget_set_and_keeps_the_retained_examples(small):
    task, after = small.method("ft").task, unlearned(small, alpha=0.8, lr=0.05, epochs=5)
    assert loss(after, task.forget) > 10 * loss(small.base, task.forget)
    assert loss(after, task.retain) < 0.02


def test_with_alpha_one_the_forget_set_has_no_say(small):
    method, params = small.method("neggrad_plus"), Params(epochs=2, batch_size=32, alpha=1.0)
    other = method.task.forget.relabelled(method.task.forget.labels + 1)
    blind = replace(method, task=replace(method.task, forget=other))
    one, two = (list(run.unlearn(params)[0].parameters()) for run in (method, blind))
    assert equal(one, two)
    assert not equal(one, list(small.base.parameters()))


def test_batch_norm_is_frozen_unless_the_parameter_says_train(small):
    before = copy.deepcopy(statistics(small.base))
    assert equal(statistics(unlearned(small)), before)
    assert not any(map(torch.equal, statistics(unlearned(small, batchnorm="train")), before))
