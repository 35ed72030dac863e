"""L1-sparse: its penalty falls as it should, and pulls every weight towards zero."""

import pytest

torch = pytest.importorskip("torch")

from test_gradients import FIRST, linear_on_two_pixels, two_examples
from test_method_ft_ga_rl import equal

from collateral.methods.ft.method import unlearn as fine_tune
from collateral.methods.ft.params import Params as FineTuning
from collateral.methods.l1_sparse.method import l1_norm, penalty, unlearn
from collateral.methods.l1_sparse.params import Params
from collateral.training.examples import Task
from collateral.training.run import Run

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"epochs": 4}, [1e-4, 7.5e-5, 5e-5, 2.5e-5]),
        ({"epochs": 4, "schedule": "constant"}, [1e-4] * 4),
        ({"epochs": 4, "plain_epochs": 2}, [1e-4, 5e-5, 0, 0]),
        ({"epochs": 4, "plain_epochs": 2, "schedule": "constant"}, [1e-4, 1e-4, 0, 0]),
        ({"epochs": 2, "plain_epochs": 3}, [0, 0]),
    ],
)
def test_the_penalty_of_each_epoch_is_the_one_worked_out_by_hand(values, expected):
    params = Params(gamma=1e-4, **values)
    found = [penalty(epoch, params) for epoch in range(params.epochs)]
    assert found == pytest.approx(expected)


def test_with_ten_epochs_the_last_gamma_is_a_tenth_of_the_first():
    params = Params(gamma=1e-4)
    assert [penalty(epoch, params) for epoch in (0, 9)] == pytest.approx([1e-4, 1e-5])


def linear(*weights: float) -> torch.nn.Module:
    """Return the linear model with these as its weights and then its biases."""
    model = linear_on_two_pixels()
    with torch.no_grad():
        model.head.weight.copy_(torch.tensor(weights[:4]).view(2, 2))
        model.head.bias.copy_(torch.tensor(weights[4:]))
    return model


def test_the_size_is_the_sum_over_all_weights_biases_too():
    assert l1_norm(linear(1.0, -2.0, 0.0, 0.5, -0.25, 3.0)).item() == 6.75


def test_a_step_adds_the_signs_of_the_weights_to_the_gradient():
    """The weights give the retained image (1, 0) equal logits, so its gradient is known."""
    start = (1.0, -2.0, 1.0, 0.5, 0.0, 0.0)
    model, retain = linear(*start), two_examples().select(torch.tensor([0]))
    values = {"epochs": 1, "lr": 0.1, "gamma": 0.3, "weight_decay": 0.0}
    unlearn(model, Task(retain, retain, info=None), Params(**values), Run(CPU, 0))
    weights = torch.cat([weight.detach().flatten() for weight in model.parameters()])
    signs = torch.tensor([1.0, -1.0, 1.0, 1.0, 0.0, 0.0])
    torch.testing.assert_close(
        weights, torch.tensor(start) - 0.1 * (torch.tensor(FIRST) + 0.3 * signs)
    )


def test_without_a_penalty_it_is_fine_tuning(small):
    task, values = small.task(small.half_a_class()), {"epochs": 2, "batch_size": 32, "lr": 0.02}
    plain = Params(gamma=0.0, weight_decay=1e-6, **values)
    one = unlearn(small.method("ft").load_base(), task, plain, Run(CPU, 3))
    two = fine_tune(small.method("ft").load_base(), task, FineTuning(**values), Run(CPU, 3))
    assert equal(list(one.state_dict().values()), list(two.state_dict().values()))


def test_a_larger_penalty_leaves_smaller_weights(small):
    def left(gamma: float) -> float:
        params = Params(epochs=3, batch_size=32, gamma=gamma)
        return l1_norm(small.method("l1_sparse").unlearn(params)[0]).item()

    assert left(1e-2) < left(1e-3) < left(0.0)


@pytest.mark.parametrize(
    ("values", "is_paced"),
    [
        ({}, True),
        ({"schedule": "constant"}, False),
        ({"schedule": "constant", "plain_epochs": 1}, True),
    ],
)
def test_is_paced_is_true_if_an_epoch_depends_on_the_number_of_epochs(values, is_paced):
    assert Params(**values).is_paced == is_paced
