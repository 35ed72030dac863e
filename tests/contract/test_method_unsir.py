"""UNSIR: noise climbs the loss by Adam's first step, has its class's label, and is counted."""

import copy
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from test_gradients import linear_on_two_pixels
from torch.nn import functional as F

from collateral.contract.data import ImageInfo
from collateral.methods._shared import training
from collateral.methods.unsir import method
from collateral.methods.unsir.method import draw_by_class, learn_noise, noise_loss, prepare, unlearn
from collateral.methods.unsir.params import Params, Prepare
from collateral.training.examples import Task
from collateral.training.run import Run

CPU = torch.device("cpu")


def linear():
    """Return a model of two classes on two pixels: logits (2 a, a - 3 b) of normalised (a, b)."""
    model = linear_on_two_pixels()
    with torch.no_grad():
        model.head.weight.copy_(torch.tensor([[2.0, 0.0], [1.0, -3.0]]))
    model.mean.fill_(0.25)
    model.std.fill_(0.5)
    return model.eval()


def of_class(small, label) -> list[int]:
    return (small.data.labels.train == label).nonzero()[0].tolist()


INFO = ImageInfo(num_classes=2, shape=(1, 2, 1), mean=(0.25,), std=(0.5,))


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("penalty", [0.0, 0.7])
def test_the_first_step_is_a_tenth_in_the_direction_of_the_gradients_sign(label, penalty):
    """Adam's first step has the length of its rate, whatever the size of the gradient."""
    start = torch.tensor([[0.3, -0.4], [-2.0, 1.5], [0.8, 0.9]]).view(3, 1, 1, 2)
    z = start.view(3, 2).clone().requires_grad_()
    error = F.cross_entropy(z @ torch.tensor([[2.0, 1.0], [0.0, -3.0]]), torch.full((3,), label))
    loss = penalty * z.square().sum(1).mean() - error
    expected = start.view(3, 2) - 0.1 * torch.autograd.grad(loss, z)[0].sign()
    params = Prepare(noises=3, noise_steps=1, noise_lr=0.1, noise_penalty=penalty)
    task = Task(None, None, INFO)
    found = learn_noise(linear(), start.clone(), label, task, params, Run(CPU, 0))
    torch.testing.assert_close(found.view(3, 2), expected, rtol=0, atol=1e-5)


def test_noise_raises_the_error_and_the_penalty_holds_it():
    params = Prepare(noises=64, noise_steps=30, noise_penalty=0.0)
    task = Task(None, None, INFO)
    start = torch.randn(64, 1, 1, 2, generator=torch.Generator().manual_seed(0))
    model, labels = linear(), torch.zeros(64, dtype=torch.int64)
    free = learn_noise(model, start.clone(), 0, task, params, Run(CPU, 0))
    held = learn_noise(
        model, start.clone(), 0, task, params.model_copy(update={"noise_penalty": 2.0}), Run(CPU, 0)
    )
    errors = [F.cross_entropy(model(0.25 + 0.5 * z), labels).item() for z in (start, held, free)]
    assert errors[0] < errors[2] and errors[1] < errors[2]
    assert held.norm() < start.norm() < free.norm()


def test_the_loss_is_the_one_worked_out_by_hand():
    images = torch.tensor([1.0, -2.0, 0.0, 3.0]).view(2, 1, 1, 2)  # squared lengths 5 and 9
    assert noise_loss(torch.tensor(4.0), images, 0.1).item() == pytest.approx(0.1 * 7 - 4)


def test_the_noise_of_each_class_has_its_label_and_is_in_pixels(small):
    """Public code labels the noise of every class 0."""
    task = small.task([of_class(small, label)[4] for label in (3, 0, 1)])
    assert task.forget.labels.unique().tolist() == [0, 1, 3]
    params = Prepare(noises=5, noise_steps=0)
    made = prepare(copy.deepcopy(small.base), task, params, Run(CPU, 4))
    assert made["labels"].tolist() == [0] * 5 + [1] * 5 + [3] * 5
    generator = torch.Generator().manual_seed(4)
    expected = torch.cat([torch.randn(5, 1, 8, 8, generator=generator) for _ in range(3)])
    mean, std = (torch.tensor(of)[:, None, None] for of in (task.info.mean, task.info.std))
    assert torch.equal(made["images"], mean + std * expected)


def test_an_epoch_shows_every_image_of_noise_as_often_as_stated(small, monkeypatch):
    """Public code uses the first three images alone; here that is `noises: 3`."""
    task, seen = small.task([*range(12)]), []

    def spy(optimizer, loss):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def count(*args):
        for x, y in training.mix_batches(*args):
            seen.append((x, y))
            yield x, y

    monkeypatch.setattr(method, "descend", spy)
    monkeypatch.setattr(method, "mix_batches", count)
    images = torch.arange(7.0)[:, None, None, None].expand(7, 1, 8, 8) + 100
    prepared = {"images": images.contiguous(), "labels": torch.zeros(7, dtype=torch.int64)}
    params = Params(copies=4, per_class=9, batch_size=16, augment=False, lr=1e-3)
    unlearn(copy.deepcopy(small.base), task, params, Run(CPU, 0), prepared)
    x, y = (torch.cat(part) for part in zip(*seen, strict=True))
    is_noise = x[:, 0, 0, 0] >= 100
    assert x[is_noise, 0, 0, 0].sub(100).long().bincount().tolist() == [4] * 7
    assert y[is_noise].eq(0).all()
    assert y[~is_noise].bincount().tolist() == [9] * 4


def test_retained_examples_are_drawn_by_class_and_none_is_forgotten(small):
    gone = of_class(small, 0)[:35]  # of 40
    task = small.task(gone)
    kept = draw_by_class(task, 8, torch.Generator().manual_seed(0))
    other = draw_by_class(task, 8, torch.Generator().manual_seed(1))
    assert kept.labels.bincount().tolist() == [5, 8, 8, 8]
    assert not {*kept.rows.tolist()} & {*gone}
    assert kept.rows.tolist() == sorted(kept.rows.tolist()) != other.rows.tolist()


def test_without_noise_and_repair_it_trains_on_what_is_retained(small):
    """Both stages alone: only repairing reads no noise, only impairing reads it."""
    task = small.task([*range(12)])
    noise = [torch.full((4, 1, 8, 8), value) for value in (0.1, 0.9)]
    label = torch.zeros(4, dtype=torch.int64)

    def weights(**values):
        params = Params(per_class=9, batch_size=16, lr=1e-3, repair_lr=1e-3, **values)
        found = []
        for images in noise:
            prepared = {"images": images, "labels": label}
            model = unlearn(copy.deepcopy(small.base), task, params, Run(CPU, 0), prepared)
            found.append(model.head.weight.detach())
        return found

    assert torch.equal(*weights(impair_epochs=0))
    assert not torch.equal(*weights(repair_epochs=0))


def test_each_stage_has_a_rate_of_its_own(small):
    task = replace(small.task([*range(12)]))
    prepared = {"images": torch.rand(4, 1, 8, 8), "labels": torch.zeros(4, dtype=torch.int64)}

    def head(**values):
        params = Params(per_class=9, batch_size=16, **values)
        model = unlearn(copy.deepcopy(small.base), task, params, Run(CPU, 0), prepared)
        return model.head.weight.detach()

    start = small.base.head.weight
    assert torch.equal(head(lr=0.0, repair_lr=0.0), start)
    assert not torch.equal(head(lr=1e-3, repair_lr=0.0), start)
    assert not torch.equal(head(lr=0.0, repair_lr=1e-3), start)
