"""Boundary unlearning: a linear model flips where the margin is small; a new class is cut."""

import copy
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from test_gradients import linear_on_two_pixels
from torch import nn
from torch.nn import functional as F

from collateral.contract.data import ImageInfo
from collateral.methods.boundary import method
from collateral.methods.boundary.method import find_neighbours, unlearn
from collateral.methods.boundary.params import Params
from collateral.models._classifier import Classifier
from collateral.training.optimizers import make_optimizer
from collateral.training.run import Run

CPU = torch.device("cpu")


def linear(*rows: tuple[float, float]) -> Classifier:
    """Return a linear model of images (1, 2) in [0, 1], without normalisation or bias."""
    info = ImageInfo(num_classes=len(rows), shape=(1, 2, 1), mean=(0.0,), std=(1.0,))
    head = nn.Linear(2, len(rows), bias=False)
    head.weight = nn.Parameter(torch.tensor(rows))
    return Classifier(info, nn.Flatten(), head).eval()


@pytest.mark.parametrize("epsilon", [0.03, 0.1, 0.2])
def test_of_two_classes_a_label_flips_where_the_margin_is_below_the_attacks_reach(epsilon):
    """The margin is (w1 - w0) x; an attack of epsilon per pixel reaches epsilon |w1 - w0|_1."""
    model = linear((2.0, -1.0), (0.5, 2.0))
    x = torch.stack(torch.meshgrid(*[torch.linspace(0.25, 0.75, 11)] * 2, indexing="ij"), 2)
    x = x.view(-1, 1, 1, 2)
    logits = model(x)
    y = logits.argmax(1)
    margin = (logits[:, 0] - logits[:, 1]).abs()
    reach = epsilon * 4.5  # |w1 - w0|_1 = 1.5 + 3
    is_clear = (margin - reach).abs() > 1e-4
    params = Params(epsilon=epsilon, uncrossed="true_class")
    target, has_crossed = find_neighbours(model, x, y, params)
    assert torch.equal(has_crossed[is_clear], (margin < reach)[is_clear])
    assert torch.equal(target != y, has_crossed)
    assert 5 < has_crossed.sum() < len(y) - 5


def test_an_attack_that_fails_trains_the_true_label_in_public_code_alone():
    model = linear((5.0, 0.0), (4.0, 0.1), (-3.0, 0.0))
    x, y = torch.tensor([0.5, 0.5]).view(1, 1, 1, 2), torch.tensor([0])
    found = {
        which: find_neighbours(model, x, y, Params(epsilon=0.01, uncrossed=which))
        for which in ("true_class", "nearest")
    }
    assert [not crossed.item() for _, crossed in found.values()] == [True, True]
    assert found["true_class"][0].item() == 0 and found["nearest"][0].item() == 1


def test_the_class_beyond_is_that_of_the_attacked_image_and_not_of_the_clean_one():
    """Class 1 is second on the clean image, but the attack on class 0 leads into class 2."""
    model = linear((1.0, 1.0), (0.9, 0.9), (-4.0, 5.3))
    x, y = torch.tensor([0.5, 0.5]).view(1, 1, 1, 2), torch.tensor([0])
    assert model(x).argsort(1, descending=True).tolist() == [[0, 1, 2]]
    target, has_crossed = find_neighbours(model, x, y, Params(epsilon=0.1))
    assert has_crossed.item() and target.item() == 2


def test_attacked_images_stay_images():
    """At the border of [0, 1] the attack cannot go on, so that it does not reach."""
    model = linear((1.0, 0.0), (1.4, 0.0))
    inside, border = (torch.tensor([v, 0.5]).view(1, 1, 1, 2) for v in (0.0, 0.0))
    shifted = inside + torch.tensor([0.02, 0.0]).view(1, 1, 1, 2)
    model.head.bias = nn.Parameter(torch.tensor([0.01, 0.0]))
    y = torch.tensor([1])
    # On class 1 the gradient points to smaller values: from 0.02 by 0.1 it stops at 0.
    _, crossed = find_neighbours(model, shifted, y, Params(epsilon=0.1))
    assert crossed.item()
    assert border.eq(inside).all()
    target, _ = find_neighbours(model, shifted, y, Params(epsilon=0.1, uncrossed="true_class"))
    assert target.item() == 0


def test_shrink_trains_on_the_labels_of_the_base_and_leaves_it_unchanged(small, monkeypatch):
    task, targets = small.task([*range(20)]), []  # two batches: 8 and, with the rest, 12

    def spy(base, x, y, params):
        found = find_neighbours(base, x, y, params)
        targets.append((base, found[0], y))
        return found

    monkeypatch.setattr(method, "find_neighbours", spy)
    model = copy.deepcopy(small.base)
    params = Params(epochs=3, lr=0.01, batch_size=8, epsilon=0.05)
    unlearn(model, task, params, Run(CPU, 0))
    assert len(targets) == 6
    state = small.base.state_dict()
    for base, target, label in targets:
        assert not base.training and (target != label).all()
        assert all(torch.equal(value, state[key]) for key, value in base.state_dict().items())


def test_expand_trains_a_class_of_its_own_and_cuts_it(small):
    """By hand: one step on logits of C + 1 classes; of its result, C outputs are the model's."""
    task = small.task([*range(15)])
    params = Params(variant="expand", epochs=1, lr=0.1, batch_size=100, batchnorm="frozen")
    model = copy.deepcopy(small.base)
    unlearn(model, task, params, Run(CPU, 5))
    wide, run = copy.deepcopy(small.base).eval(), Run(CPU, 5)
    with run.seeded():
        head = nn.Linear(wide.head.in_features, 5)
    with torch.no_grad():
        head.weight[:4] = wide.head.weight
        head.bias[:4] = wide.head.bias
    wide.head = head
    optimizer = make_optimizer(wide, params)
    x = task.forget.pixels()
    F.cross_entropy(wide(x), torch.full((15,), 4)).backward()
    optimizer.step()
    assert model.head.out_features == 4
    torch.testing.assert_close(model.head.weight, wide.head.weight[:4], rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(model.head.bias, wide.head.bias[:4], rtol=1e-4, atol=1e-6)
    moved = {key: w for key, w in model.named_parameters() if key.startswith("body.")}
    for key, weight in moved.items():
        torch.testing.assert_close(weight, wide.get_parameter(key), rtol=1e-3, atol=1e-5)


def test_it_forgets_a_class(small):
    """Both variants, with a larger rate than the authors', take the class from most images."""
    task = small.task((small.data.labels.train == 2).nonzero()[0].tolist())
    for variant in ("shrink", "expand"):
        params = Params(variant=variant, epochs=8, lr=0.003, batch_size=20, batchnorm="frozen")
        model = unlearn(copy.deepcopy(small.base), task, params, Run(CPU, 0)).eval()
        with torch.no_grad():
            before, after = (
                (net(task.forget.pixels()).argmax(1) == 2).float().mean().item()
                for net in (small.base.eval(), model)
            )
        assert before > 0.9 and after < 0.6, variant


def test_a_head_without_a_bias_can_be_expanded(small):
    model = linear((2.0, -1.0), (0.5, 2.0))
    base = linear_on_two_pixels()
    assert base.head.bias is not None and model.head.bias is None
    forget = replace(small.task([0, 1]).forget, labels=torch.tensor([0, 0]))
    images = torch.tensor([[200, 20], [180, 90]], dtype=torch.uint8).view(2, 1, 2, 1)
    forget = replace(
        forget, images=replace(forget.images, pixels=images, flip=False), rows=torch.arange(2)
    )
    task = replace(small.task([0]), forget=forget, info=ImageInfo(2, (1, 2, 1), (0.0,), (1.0,)))
    before = model.head.weight.detach().clone()
    unlearn(model, task, Params(variant="expand", lr=0.1, epochs=1), Run(CPU, 0))
    assert model.head.weight.shape == (2, 2) and not torch.equal(model.head.weight, before)
