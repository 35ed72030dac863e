"""Bad Teacher: its loss is the one worked out by hand, its teacher knows nothing."""

import copy
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from test_gradients import linear_on_two_pixels, two_examples
from test_method_ft_ga_rl import equal, statistics
from test_methods import scrambled

from collateral.contract.data import ImageInfo
from collateral.methods.bad_teacher import method as bad_teacher
from collateral.methods.bad_teacher.params import Params
from collateral.models._build import build_model
from collateral.training.examples import Task
from collateral.training.inference import infer
from collateral.training.run import Run

CPU = torch.device("cpu")
# softmax((2, 0)) is (s, 1 - s), s = 1 / (1 + e^-2); KL to (1/2, 1/2): ln 2 + s ln s + ...
LOGITS, SHARE, DIVERGENCE = torch.tensor([[2.0, 0.0]]), 0.880797, 0.327813


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_the_divergence_is_the_one_worked_out_by_hand():
    found = bad_teacher.divergence(torch.zeros(1, 2), LOGITS, 1.0).item()
    assert found == pytest.approx(DIVERGENCE, abs=1e-6)
    assert found / 2 == pytest.approx(0.163907, abs=1e-6)  # as public code has it, by class


def test_the_classes_that_public_code_divides_by_are_a_larger_eps_of_adam():
    """A first step of Adam is g / (|g| + eps): of g / 100, as if eps were 100 times as large."""
    gradients, steps = torch.tensor([1.0, 1e-4, 1e-6]), {}
    for classes in (1, 100):
        weight = torch.nn.Parameter(torch.zeros(3))
        weight.grad = gradients / classes
        torch.optim.Adam([weight], lr=1.0).step()
        steps[classes] = -weight.detach()
    torch.testing.assert_close(steps[100], gradients / (gradients + 100 * 1e-8))
    ratios = (steps[100] / steps[1]).tolist()
    assert ratios == pytest.approx([1.0, 0.99, 0.505], abs=1e-3)


def test_the_temperature_softens_both():
    found = bad_teacher.divergence(2 * torch.tensor([[1.0, 3.0]]), 2 * LOGITS, 2.0)
    expected = bad_teacher.divergence(torch.tensor([[1.0, 3.0]]), LOGITS, 1.0)
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)


def test_only_forget_examples_move_towards_the_bad_teacher(monkeypatch):
    """On the retained example the student is the base, where the divergence has no slope."""
    model, everything = linear_on_two_pixels(), two_examples()
    bad = copy.deepcopy(model)
    with torch.no_grad():
        bad.head.bias.copy_(LOGITS[0])
    monkeypatch.setattr(bad_teacher, "reinitialize", lambda *_: bad)
    retain, forget = (everything.select(torch.tensor([place])) for place in (0, 1))
    params = Params(share=1.0, optimizer="sgd", momentum=0.0, lr=0.1)
    bad_teacher.unlearn(model, Task(retain, forget, info=None), params, Run(CPU, 0))
    step = 0.1 * (SHARE - 0.5) / 2  # two images a batch
    expected = [[0.0, step], [0.0, -step]]  # the forgotten image is (0, 1)
    torch.testing.assert_close(model.head.weight.detach(), torch.tensor(expected))
    torch.testing.assert_close(model.head.bias.detach(), torch.tensor([step, -step]))


def test_the_share_of_the_retained_examples_is_drawn_without_replacement(small):
    task = small.task(small.half_a_class())  # 20 forgotten, 140 retained
    found = bad_teacher.select_examples(task, 0.31, seeded())
    assert found.rows[:20].tolist() == task.forget.rows.tolist()
    drawn = found.rows[20:].tolist()
    assert len({*drawn}) == len(drawn) == 43  # of 43.4
    assert {*drawn} <= {*task.retain.rows.tolist()}
    assert found.labels.tolist() == [True] * 20 + [False] * 43


def test_another_seed_draws_another_share(small):
    task = small.task(small.half_a_class())
    one, two = (
        bad_teacher.select_examples(task, 0.5, seeded(seed)).rows.tolist() for seed in (0, 1)
    )
    assert one != two


@pytest.mark.parametrize("name", ["resnet8", "vit_tiny", "mlp"])
def test_the_bad_teacher_shares_no_weight_with_the_base_and_does_not_change_it(name):
    info = ImageInfo(num_classes=4, shape=(8, 8, 1), mean=(0.5,), std=(0.5,))
    base = build_model(name, info)
    with torch.no_grad():
        for weight in base.parameters():
            weight.fill_(7.0)
    bad = bad_teacher.reinitialize(base, Run(CPU, 0))
    assert not any((weight == 7).any() for weight in bad.parameters())
    assert all((weight == 7).all() for weight in base.parameters())
    assert bad.state_dict().keys() == base.state_dict().keys()


def test_the_bad_teacher_has_statistics_of_nothing(small):
    fresh = build_model("resnet8", small.task([0]).info)
    bad = bad_teacher.reinitialize(small.base, Run(CPU, 0))
    assert equal(statistics(bad), statistics(fresh))
    assert not equal(statistics(bad), statistics(small.base))


def test_the_bad_teacher_is_decided_by_the_seed(small):
    one, again, other = (
        list(bad_teacher.reinitialize(small.base, Run(CPU, seed)).parameters())
        for seed in (0, 0, 1)
    )
    assert equal(one, again)
    assert not equal(one, other)


def test_it_makes_the_forget_set_uncertain_and_keeps_the_retained_examples(small):
    task = small.method("bad_teacher").task
    params = Params(lr=1e-3, epochs=5, batch_size=16, batchnorm="frozen", share=1.0)
    after, _ = small.method("bad_teacher").unlearn(params)

    def confidence(model, examples) -> float:
        logits = infer(model, examples)[1]
        return logits.softmax(1).gather(1, examples.labels[:, None]).mean().item()

    assert confidence(small.base, task.forget) > 0.9
    assert confidence(after, task.forget) < 0.6
    assert confidence(after, task.retain) > 0.85


def test_without_a_share_no_retained_example_is_seen(small):
    method, params = small.method("bad_teacher"), Params(share=0.0, epochs=2)
    blind = replace(method, task=scrambled(method.task, "retain"))
    one, two = (list(run.unlearn(params)[0].parameters()) for run in (method, blind))
    assert equal(one, two)
    assert not equal(one, list(small.base.parameters()))
