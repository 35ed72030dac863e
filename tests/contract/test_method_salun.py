"""SalUn: the mask is the right one, and what it holds does not move by a single bit."""

import copy
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from torch import nn

from collateral.methods._shared.gradients import per_sample_gradients
from collateral.methods.salun.method import most_salient
from collateral.methods.salun.params import Params
from collateral.plugins.find import prepare_values
from collateral.training.run_method import Prepared

# Strong enough to move every weight that is not held: one that does not move was held.
STRONG = {"epochs": 2, "batch_size": 64, "lr": 0.05, "momentum": 0.9, "weight_decay": 0.1}


def flat(tensors, model):
    return torch.cat([tensors[name].flatten() for name, _ in model.named_parameters()])


def test_saliency_is_the_size_of_the_summed_gradient(small):
    method = small.method("salun")
    scores = method.prepare(Params(), None).tensors
    base = method.load_base()
    expected = per_sample_gradients(base, method.task.forget).sum(0).abs()
    # float32 sums of 20 gradients in another order
    torch.testing.assert_close(flat(scores, base), expected, rtol=1e-4, atol=1e-5)


def test_all_ratios_share_the_saliency():
    assert prepare_values("salun", Params(ratio=0.1)) == prepare_values("salun", Params(lr=0.1))


@pytest.mark.parametrize("ratio", [0.1, 0.5, 0.9, 1.0])
def test_the_mask_is_the_head_of_a_dense_sort_over_all_layers(small, ratio):
    method = small.method("salun")
    scores, base = method.prepare(Params(), None).tensors, method.load_base()
    values = flat(scores, base).tolist()
    ranked = sorted(range(len(values)), key=lambda i: (-values[i], i))
    expected = set(ranked[: int(ratio * len(values))])
    is_salient = flat(most_salient(base, scores, ratio), base)
    assert set(is_salient.nonzero().flatten().tolist()) == expected


def test_the_first_of_equal_scores_are_trained():
    model = nn.Sequential(nn.Linear(2, 1), nn.Linear(1, 1))
    # In another order than the model's, as a file gives them back.
    scores = {
        "1.weight": torch.tensor([[7.0]]),
        "1.bias": torch.tensor([3.0]),
        "0.bias": torch.tensor([3.0]),
        "0.weight": torch.tensor([[0.0, 3.0]]),
    }
    marks = most_salient(model, scores, 0.6)
    assert {name: mark.flatten().tolist() for name, mark in marks.items()} == {
        "0.weight": [False, True],
        "0.bias": [True],
        "1.weight": [True],
        "1.bias": [False],
    }


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_frozen_weights_keep_every_bit_and_all_others_change(small, optimizer, memory_format):
    method = small.method("salun")
    params = Params(optimizer=optimizer, ratio=0.3, **STRONG)
    scores, base = method.prepare(params, None).tensors, method.load_base()
    laid_out = replace(
        method, load_base=lambda: copy.deepcopy(base).to(memory_format=memory_format)
    )
    model, _ = laid_out.unlearn(params, scores)
    is_salient = most_salient(base, scores, params.ratio)
    for (name, before), after in zip(base.named_parameters(), model.parameters(), strict=True):
        # Equality of floats would let NaN and the sign of zero pass; that of their bits does not.
        is_moved = before.detach().view(torch.int32) != after.detach().view(torch.int32)
        assert torch.equal(is_moved, is_salient[name]), name


def test_frozen_weights_stay_finite_if_all_others_diverge(small):
    method = small.method("salun")
    params = Params(epochs=3, lr=1e38, ratio=0.3)
    scores, base = method.prepare(params, None).tensors, method.load_base()
    model, _ = method.unlearn(params, scores)
    is_salient = most_salient(base, scores, params.ratio)
    for (name, before), after in zip(base.named_parameters(), model.parameters(), strict=True):
        assert torch.equal(after.isnan(), is_salient[name]), name
        assert torch.equal(before[~is_salient[name]], after[~is_salient[name]]), name


def test_saved_scores_give_the_same_model_as_fresh_ones(small, tmp_path):
    method, params = small.method("salun"), Params(**STRONG)
    fresh = method.prepare(params, None)
    fresh.save(tmp_path, method.device, tmp_path, {})
    saved = Prepared.load(tmp_path, tmp_path)
    first, second = (method.unlearn(params, prepared.tensors)[0] for prepared in (fresh, saved))
    assert_same_state(first, second)


def test_the_same_seed_gives_the_same_weights(small):
    params = Params(**STRONG)

    first, second = (unlearned(small.method("salun", seed=3), params) for _ in range(2))
    assert_same_state(first, second)


def test_another_seed_draws_other_labels(small):
    params = Params(**STRONG)
    weights = []
    for seed in (0, 1):
        method = small.method("salun", seed=seed)
        model = unlearned(method, params)
        weights.append(model.head.weight)
    assert not torch.equal(*weights)


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_a_learning_rate_of_zero_leaves_the_weights(small, optimizer):
    method = small.method("salun")
    params = Params(**{**STRONG, "lr": 0}, optimizer=optimizer)
    model = unlearned(method, params)
    for before, after in zip(method.load_base().parameters(), model.parameters(), strict=True):
        assert torch.equal(before, after)


@pytest.mark.parametrize(("forget", "batch_size"), [([5], 256), (list(range(40)), 16)])
def test_one_example_and_more_than_a_batch_can_be_forgotten(small, forget, batch_size):
    method = small.method("salun", forget)
    params = Params(epochs=1, batch_size=batch_size, labels="wrong")
    model = unlearned(method, params)
    assert all(weight.isfinite().all() for weight in model.parameters())


def unlearned(method, params):
    return method.unlearn(params, method.prepare(params, None).tensors)[0]


def assert_same_state(first, second):
    states = first.state_dict(), second.state_dict()
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])
