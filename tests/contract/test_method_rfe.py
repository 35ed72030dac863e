"""RFE: both stages' arithmetic by hand, who is adjacent, and what each stage does to whom."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F

from collateral.methods._shared.gradients import summed_gradient, trainable
from collateral.methods._shared.nearest import similarity
from collateral.methods.rfe.method import complement, distance, lagrangian, project
from collateral.methods.rfe.params import Params
from collateral.training.inference import infer


def number(value: float) -> torch.Tensor:
    return torch.tensor(value)


def flat(model) -> torch.Tensor:
    return torch.cat([weight.detach().flatten() for weight in trainable(model).values()])


def loss_on(model, examples) -> float:
    return F.cross_entropy(infer(model, examples)[1], examples.labels).item()


def test_the_lagrangian_by_hand():
    excess = number(0.3) - 0.2
    assert lagrangian(number(1.0), excess, number(0.0), 10).item() == pytest.approx(-0.95)
    assert lagrangian(number(1.0), excess, number(1.0), 10).item() == pytest.approx(-0.85)


def test_the_distance_is_between_sorted_losses():
    assert distance(torch.tensor([2.0, 0.0]), torch.tensor([1.0, 3.0])).item() == pytest.approx(1)
    assert distance(torch.tensor([2.0, 0.0]), torch.tensor([0.0, 2.0])).item() == 0


def test_a_projection_by_hand():
    found = project(torch.ones(3), torch.tensor([1.0, 0, 0]), torch.tensor([0, 2.0, 0]), 1e-8)
    torch.testing.assert_close(found, torch.tensor([0.0, 0, 1]), rtol=0, atol=1e-6)


def test_the_projection_is_perpendicular_to_both_gradients():
    generator = torch.Generator().manual_seed(0)
    vector, one, other = torch.randn(3, 50, generator=generator)
    left = project(vector, one, one + 0.1 * other, 1e-8)
    assert left.norm() > 1
    assert torch.stack([one, other]).mv(left).abs().max() < 1e-4


@pytest.mark.parametrize("other", [torch.tensor([2.0, 0, 0]), torch.zeros(3)])
def test_two_parallel_gradients_remove_only_their_direction(other):
    found = project(torch.ones(3), torch.tensor([1.0, 0, 0]), other, 1e-8)
    torch.testing.assert_close(found, torch.tensor([0.0, 1, 1]), rtol=0, atol=1e-6)


def test_others_are_the_rest():
    assert complement(torch.tensor([1, 3]), 5).tolist() == [0, 2, 4]


@pytest.mark.parametrize(("retained", "count"), [(50_000, 2000), (140, 6), (10, 1), (2, 1)])
def test_some_are_adjacent_and_some_are_not(retained, count):
    assert Params().count_adjacent(retained) == count
    assert Params(adjacent_share=0.999).count_adjacent(retained) < retained


def test_the_most_similar_are_adjacent_and_the_bound_is_the_others_loss(small):
    method = small.method("rfe")
    prepared = method.prepare(Params(adjacent_share=0.25), None).tensors
    retain, forget = method.task.retain, method.task.forget
    scores = similarity(*(infer(small.base, part)[0] for part in (retain, forget)))
    rest = complement(prepared["adjacent"], len(retain))
    assert len(prepared["adjacent"]) == 35
    assert scores[prepared["adjacent"]].min() >= scores[rest].max()
    bound = loss_on(small.base, retain.select(rest))
    assert prepared["remote_loss"].item() == pytest.approx(bound, rel=1e-5)


def unlearned(small, **changes):
    method = small.method("rfe")
    params = Params(**changes)
    return method.unlearn(params, method.prepare(params, None).tensors)[0]


def test_stage_one_climbs_on_the_forget_set_and_holds_the_remote_ones(small):
    values = {"epochs": 5, "ascent_epochs": 5, "ascent_lr": 1e-3, "batch_size": 16}
    method = small.method("rfe")
    prepared = method.prepare(Params(), None).tensors
    remote = method.task.retain.select(complement(prepared["adjacent"], len(method.task.retain)))
    held, free = unlearned(small, **values), unlearned(small, **values, penalty=0)
    before = loss_on(small.base, method.task.forget)
    assert loss_on(held, method.task.forget) > before + 1
    bound = prepared["remote_loss"].item()
    assert abs(loss_on(held, remote) - bound) < 0.2 * abs(loss_on(free, remote) - bound)


def test_a_loss_at_the_ceiling_climbs_no_more(small):
    """Without a penalty, nothing is left that could move a weight."""
    stays = unlearned(small, epochs=1, ascent_lr=0.1, ceiling=1e-12, penalty=0)
    assert torch.equal(flat(stays), flat(small.base))


def test_a_step_of_stage_two_is_down_the_adjacent_loss_and_off_the_plane(small):
    values = {"epochs": 1, "ascent_epochs": 0, "batch_size": 1000, "remote_batch": 1000}
    step = flat(unlearned(small, **values, lr=1.0)) - flat(small.base)
    method = small.method("rfe")
    prepared = method.prepare(Params(), None).tensors
    retain, adjacent = method.task.retain, prepared["adjacent"]
    parts = [retain.select(adjacent), retain.select(complement(adjacent, len(retain)))]
    down, remote, forget = (
        summed_gradient(small.base, part) / len(part) for part in (*parts, method.task.forget)
    )
    # Stage 1 took no time: the distance from its losses is zero, and so is its gradient.
    expected = -project(down, -0.5 * forget, remote, 1e-8 * len(trainable(small.base)))
    cosine = F.cosine_similarity(step, expected, dim=0).item()
    assert cosine == pytest.approx(1, abs=1e-3)
    assert step.norm().item() == pytest.approx(expected.norm().item(), rel=1e-2)


def test_stage_two_repairs_the_adjacent_ones(small):
    first = {"ascent_epochs": 2, "ascent_lr": 1e-3, "batch_size": 16, "adjacent_share": 0.2}
    method = small.method("rfe")
    prepared = method.prepare(Params(adjacent_share=0.2), None).tensors
    adjacent = method.task.retain.select(prepared["adjacent"])
    hurt, repaired = (
        unlearned(small, epochs=2, **first),
        unlearned(small, epochs=12, lr=0.01, **first),
    )
    assert loss_on(repaired, adjacent) < loss_on(hurt, adjacent)


def test_batch_norms_statistics_stay(small):
    after = unlearned(small, epochs=2, ascent_lr=1e-3, lr=1e-3).state_dict()
    names = [name for name in after if "running" in name]
    assert names and all(torch.equal(after[n], small.base.state_dict()[n]) for n in names)


def test_one_retained_example_is_not_enough(small):
    method = small.method("rfe")
    prepared = method.prepare(Params(), None).tensors
    task = replace(method.task, retain=method.task.retain.select(torch.tensor([0])))
    _, run = replace(method, task=task).unlearn(Params(), prepared)
    assert run.skipped.startswith("fewer than two retained examples")
