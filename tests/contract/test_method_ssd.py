"""SSD: importances and factors are those worked out by hand, and who is left alone."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from test_gradients import linear_on_two_pixels, two_examples
from test_method_ft_ga_rl import equal
from test_methods import differing
from torch import nn

from collateral.contract.data import ImageInfo
from collateral.methods._shared.gradients import per_sample_gradients
from collateral.methods.ssd.method import factors, importance
from collateral.methods.ssd.params import Params, Prepare
from collateral.models._classifier import Classifier
from collateral.plugins.find import prepare_values
from collateral.training.examples import Examples, Images

# Of the linear model: of either example squared, of both together.
OF_FIRST = [0.25, 0.0, 0.25, 0.0, 0.25, 0.25]
OF_BOTH = [0.125, 0.125, 0.125, 0.125, 0.25, 0.25]


def some(*places: int) -> Examples:
    return two_examples().select(torch.tensor(places))


def test_factors_are_those_worked_out_by_hand():
    found = factors(torch.tensor([4.0, 20.0, 1.0]), torch.ones(3), Params())
    assert found.tolist() == pytest.approx([1.0, 0.05, 1.0])


def test_a_weight_exactly_at_the_threshold_is_not_dampened():
    params = Params(alpha=4.0)
    assert factors(torch.tensor([4.0]), torch.ones(1), params).tolist() == [1.0]


def test_weights_important_only_for_the_forget_set_become_zero_and_unimportant_ones_stay():
    found = factors(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 0.0, 1.0]), Params())
    assert found.tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(("dampening", "expected"), [(0.0, 0.0), (2.0, 0.1), (50.0, 1.0)])
def test_no_weight_grows(dampening, expected):
    found = factors(torch.tensor([20.0]), torch.ones(1), Params(dampening=dampening))
    assert found.item() == pytest.approx(expected)


def test_importance_is_the_mean_squared_gradient_of_single_examples():
    model = linear_on_two_pixels()
    assert importance(model, some(0), Prepare()).tolist() == OF_FIRST
    assert importance(model, some(0, 1), Prepare()).tolist() == OF_BOTH


def test_opposite_gradients_in_a_batch_cancel_before_squaring():
    """The biases' gradients are -1/2 and 1/2."""
    model = linear_on_two_pixels()
    by_two, by_one = (Prepare(gradients="batch", batch_size=size) for size in (2, 1))
    assert importance(model, some(0, 1), by_one).tolist() == OF_BOTH
    assert importance(model, some(0, 1), by_two).tolist() == [0.0625] * 4 + [0.0, 0.0]


def test_a_smaller_last_batch_has_the_same_weight():
    params = Prepare(gradients="batch", batch_size=2)
    found = importance(linear_on_two_pixels(), some(0, 1, 0), params)
    pairs = zip([0.0625] * 4 + [0.0, 0.0], OF_FIRST, strict=True)
    assert found.tolist() == [(two + one) / 2 for two, one in pairs]


@pytest.mark.parametrize("gradients", ["example", "batch"])
def test_the_label_free_importance_is_the_mean_size_of_the_output_norms_gradient(gradients):
    """Of f = 2x at x = 1 and 3 the slopes of f^2 are 4 and 36 by the weight, 4 and 12 by a bias."""
    info = ImageInfo(num_classes=1, shape=(1, 1, 1), mean=(0.0,), std=(1 / 3,))
    model = Classifier(info, nn.Flatten(), nn.Linear(1, 1))
    with torch.no_grad():
        model.head.weight.fill_(2.0)
        model.head.bias.zero_()
    pixels = torch.tensor([85, 255], dtype=torch.uint8).view(2, 1, 1, 1)
    examples = Examples(Images(pixels, 0, False), torch.arange(2), torch.zeros(2).long())
    params = Prepare(loss="output_norm", gradients=gradients)
    assert importance(model, examples, params).tolist() == pytest.approx([20.0, 8.0])


def test_the_label_free_form_reads_no_labels(small):
    method, params = small.method("ssd"), Params(loss="output_norm")
    parts = (method.task.retain, method.task.forget)
    retain, forget = (part.relabelled((part.labels + 1) % 4) for part in parts)
    blind = replace(method, task=replace(method.task, retain=retain, forget=forget))
    one, two = (run.prepare(params, None).tensors for run in (method, blind))
    assert differing(one, two) == []
    assert differing(method.prepare(Params(), None).tensors, one) != []


def test_importances_are_of_the_forget_set_and_of_everybody(small):
    """160 examples: five chunks, the forgotten ones among all."""
    method, base = small.method("ssd"), small.base
    found = method.prepare(Params(), None).tensors
    parts = {"forget": method.task.forget, "all": method.task.retain.joined(method.task.forget)}
    for part, examples in parts.items():
        expected = per_sample_gradients(base, examples).square().mean(0)
        flat = torch.cat([found[f"{part}.{name}"].flatten() for name, _ in base.named_parameters()])
        # float32 sums in another order
        torch.testing.assert_close(flat, expected, rtol=1e-4, atol=1e-9)


def test_all_strengths_share_the_importances():
    one, two = Params(alpha=1.0), Params(dampening=0.5)
    assert prepare_values("ssd", one) == prepare_values("ssd", two)


def test_an_alpha_above_n_over_n_f_does_nothing_and_a_smaller_one_shrinks_weights(small):
    """20 of 160 are forgotten: all examples' importance is an eighth of theirs at least."""
    method = small.method("ssd")
    prepared = method.prepare(Params(), None).tensors
    (idle, said), (after, share) = (
        method.unlearn(Params(alpha=alpha), prepared) for alpha in (8.01, 4.0)
    )
    assert equal(list(idle.parameters()), list(small.base.parameters()))
    assert said.reported == {"dampened_share": 0.0}
    pairs = list(zip(after.parameters(), small.base.parameters(), strict=True))
    assert all((weight.abs() <= start.abs()).all() for weight, start in pairs)
    shrunken = sum((weight.abs() < start.abs()).sum().item() for weight, start in pairs)
    count = sum(start.numel() for _, start in pairs)
    assert 0 < shrunken / count <= share.reported["dampened_share"] < 0.5
