"""MSG and CT: which weights are drawn anew, how they are trained, and where there are none."""

import pytest

torch = pytest.importorskip("torch")

from dataclasses import replace

from torch import nn

from collateral.methods._shared.gradients import by_parameter, summed_gradient
from collateral.methods.msg.method import (
    convolutions,
    draw_like,
    rate_factor,
    redraw,
    smallest,
    transpose,
)
from collateral.methods.msg.params import Params
from collateral.models._build import build_model

# No step moves anything: what differs was drawn anew.
STILL = {"epochs": 1, "lr": 0.0}


def moved(small, **changes) -> dict[str, torch.Tensor]:
    """Return where each weight of the model is another than the base's."""
    after = small.method("msg").unlearn(Params(**changes))[0]
    pairs = zip(small.base.named_parameters(), after.parameters(), strict=True)
    return {name: (before != now).detach() for (name, before), now in pairs}


def test_the_smallest_three_of_ten_are_drawn_anew():
    scores = torch.tensor([0.5, 0.1, 0.3, 0, 2, 1, 0.2, 0.4, 0.05, 3])
    assert smallest(scores, 0.3).nonzero().flatten().tolist() == [1, 3, 8]


def test_the_first_of_equal_scores_are_marked_and_their_number_is_rounded():
    assert smallest(torch.zeros(2, 2), 0.7).tolist() == [[True, True], [True, False]]


def test_new_weights_are_of_the_variance_that_fan_out_gives():
    values = draw_like(torch.empty(64, 32, 3, 3), torch.Generator().manual_seed(0))
    assert values.var().item() == pytest.approx(2 / (64 * 9), rel=0.05)
    assert values.mean().item() == pytest.approx(0, abs=1e-3)


def test_unmarked_weights_keep_their_values():
    kernel = torch.arange(8.0).view(2, 1, 2, 2)
    marked = torch.zeros(2, 1, 2, 2, dtype=torch.bool)
    marked[1, 0, 0, 1] = True
    before = kernel.clone()
    redraw({"conv": kernel}, {"conv": marked}, torch.Generator().manual_seed(0))
    assert torch.equal(kernel != before, marked)


def test_transposing_swaps_height_and_width():
    kernel = torch.tensor([[[[1.0, 2], [3, 4]]]])
    transpose({"conv": kernel})
    assert kernel.tolist() == [[[[1, 3], [2, 4]]]]


def test_the_rate_rises_to_the_middle_and_falls():
    factors = [rate_factor(epoch, 5, "msg") for epoch in range(5)]
    assert factors == pytest.approx([1 / 3, 2 / 3, 1, 2 / 3, 1 / 3])
    assert [rate_factor(epoch, 3, "ct") for epoch in range(3)] == pytest.approx([1, 0.75, 0.25])


def test_each_convolution_loses_its_share_and_nothing_else_moves(small):
    found = moved(small, **STILL, ratio=0.25)
    kernels = convolutions(small.base)
    assert len(kernels) > 5
    for name, is_moved in found.items():
        expected = round(0.25 * is_moved.numel()) if name in kernels else 0
        assert is_moved.sum() == expected, name


def test_the_weights_that_both_sides_want_alike_are_drawn_anew(small):
    """All retained examples are drawn where no more are retained than forgotten."""
    method = small.method("msg")
    forget = method.task.forget
    task = replace(method.task, retain=method.task.retain.select(torch.arange(len(forget))))
    model = replace(method, task=task).unlearn(Params(**STILL, batchnorm="frozen"))[0]
    base = small.base
    difference = summed_gradient(base, task.retain) - summed_gradient(base, forget)
    scores = by_parameter(base, difference.abs())
    for name, kernel in convolutions(model).items():
        is_moved = kernel != convolutions(base)[name]
        is_least = smallest(scores[name], 0.3)
        # The order of float32 sums decides about weights whose scores are all but equal.
        assert (is_moved == is_least).float().mean() > 0.99, name


def test_without_a_share_and_without_a_rate_nothing_moves(small):
    assert not any(is_moved.any() for is_moved in moved(small, epochs=2, lr=0, ratio=0).values())


def test_kept_weights_stand_still_where_their_rate_is_zero(small):
    still, trained = moved(small, **STILL), moved(small, epochs=1, kept_rate=0, weight_decay=0)
    for name in convolutions(small.base):
        assert torch.equal(trained[name], still[name]), name
    assert trained["head.weight"].all()


def test_one_step_moves_kept_weights_by_a_tenth(small):
    def step(**changes) -> dict[str, torch.Tensor]:
        params = Params(
            epochs=1, batch_size=1000, weight_decay=0, ratio=0, batchnorm="frozen", **changes
        )
        after = small.method("msg").unlearn(params)[0]
        pairs = zip(small.base.named_parameters(), after.parameters(), strict=True)
        return {name: (now - before).detach() for (name, before), now in pairs}

    whole, tenth = step(lr=100.0, kept_rate=1.0), step(lr=100.0)
    for name in convolutions(small.base):
        torch.testing.assert_close(tenth[name], 0.1 * whole[name], rtol=1e-3, atol=1e-6)
        assert whole[name].abs().max() > 1e-3
    assert torch.equal(tenth["head.weight"], whole["head.weight"])


def test_ct_transposes_and_does_not_see_the_forget_set(small):
    after = small.method("msg").unlearn(Params(**STILL, variant="ct"))[0]
    for name, kernel in convolutions(small.base).items():
        assert torch.equal(convolutions(after)[name], kernel.transpose(2, 3)), name
    whole, one = (small.method("msg", forget) for forget in (small.half_a_class(), [0]))
    same_retain = replace(whole, task=replace(whole.task, forget=one.task.forget))
    models = [m.unlearn(Params(epochs=1, variant="ct"))[0] for m in (whole, same_retain)]
    assert torch.equal(*(model.head.weight for model in models))


@pytest.mark.parametrize("variant", ["msg", "ct"])
def test_a_model_without_convolutions_is_skipped_and_stays_the_base(small, variant):
    torch.manual_seed(0)
    perceptron = build_model("mlp", small.data.info)
    assert not any(isinstance(module, nn.Conv2d) for module in perceptron.modules())
    state = {name: tensor.clone() for name, tensor in perceptron.state_dict().items()}
    method = replace(small.method("msg"), load_base=lambda: perceptron)
    model, run = method.unlearn(
        Params(variant=variant), tracker=lambda _: {"seen": torch.tensor(7)}
    )
    assert run.skipped == "the model has no convolutions"
    assert all(torch.equal(model.state_dict()[name], state[name]) for name in state)
    assert [kept["seen"] for kept in run.tracked] == [7, 7]  # the base, and the end
