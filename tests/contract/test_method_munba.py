"""MUNBa: the bargain by hand, where there is none, and who is seen when."""

import math

import pytest

torch = pytest.importorskip("torch")

from torch import nn
from torch.optim import SGD

from collateral.methods.munba.method import FALLBACK, bargaining_weights, step_by_bargain
from collateral.methods.munba.params import Params


def weights_of(r: list[float], u: list[float], form: str = "exact") -> list[float]:
    """Return both sides' weights of gradients that lie in two tensors."""
    sides = ([torch.tensor(side[:1]).float(), torch.tensor(side[1:]).float()] for side in (r, u))
    return [share.item() for share in bargaining_weights(*sides, form)]


def public_form(r: list[float], u: list[float], added: float = 0.0) -> list[float]:
    """Return the weights by the closed form as it was published, in double precision.

    `added`: what public code adds to both denominators, so that they are not 0.
    """
    g1, g2, g3 = (
        sum(a * b for a, b in zip(x, y, strict=True)) for x, y in ((r, r), (r, u), (u, u))
    )
    a = math.sqrt((g1 * g3 - g2 * math.sqrt(g1 * g3)) / (g1**2 * g3 - g1 * g2**2 + added))
    return [a, (1 - g1 * a**2) / (g2 * a + added)]


def test_the_weights_of_a_pair_by_hand():
    assert weights_of([1, 0], [1, 1]) == pytest.approx([0.765367, 0.541196], abs=1e-6)


@pytest.mark.parametrize(("r", "u"), [([1, 0], [1, 1]), ([3, -1], [0.1, 2]), ([5, 1], [-4, 3])])
def test_the_weights_of_the_gradients_are_those_of_the_published_formula(r, u):
    assert weights_of(r, u) == pytest.approx(public_form(r, u), rel=1e-5)


def angle(v: torch.Tensor, w: torch.Tensor) -> float:
    """Return the angle between two vectors in degrees."""
    return math.degrees(math.acos(nn.functional.cosine_similarity(v, w, dim=0)))


@pytest.mark.parametrize(("size", "off"), [(1, 0), (0.1, 0), (0.004, 49)])
def test_the_constant_of_public_code_matters_if_the_retain_gradient_is_small(size, off):
    """With a cosine of -0.2; its weights must be above 0, or 1 and 0.1 take their place."""
    r, u = [size, 0.0], [-0.2, math.sqrt(1 - 0.2**2)]
    public = public_form(r, u, added=1e-8)
    public = public if min(public) > 0 else [1, FALLBACK]
    ours, theirs = (
        a * torch.tensor(r).double() + b * torch.tensor(u).double()
        for a, b in (weights_of(r, u), public)
    )
    assert angle(ours, theirs) == pytest.approx(off, abs=0.6)
    assert (public == [1, FALLBACK]) == (off > 0)


@pytest.mark.parametrize("size", [1, 2**-5, 2**-6])
def test_the_public_form_is_that_of_public_code(size):
    r, u = [size, 0.0], [-0.25, 0.75]  # float32 has these numbers exactly
    expected = public_form(r, u, added=1e-8)
    assert min(expected) > 0
    assert weights_of(r, u, "public") == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("r", "u"),
    [([0.004, 0.0], [-0.2, 0.98]), ([0, 0], [1, 1]), ([1, 1], [0, 0])],
)
def test_the_fixed_weights_are_used_if_a_public_weight_is_not_positive(r, u):
    assert weights_of(r, u, "public") == pytest.approx([1, FALLBACK])


def test_the_public_form_is_the_configs_choice(small):
    def head(**values) -> torch.Tensor:
        return small.method("munba").unlearn(Params(epochs=1, **values))[0].head.weight

    assert torch.equal(head(), head(bargain="exact"))
    assert not torch.equal(head(), head(bargain="public"))


@pytest.mark.parametrize(("r", "u"), [([1, 0], [0, 7]), ([3, -1], [0.1, 2]), ([2, 2], [1, 1])])
def test_the_sum_is_the_bisector_of_norm_sqrt_two(r, u):
    a_r, a_u = weights_of(r, u)
    total = torch.tensor([a_r * x + a_u * y for x, y in zip(r, u, strict=True)])
    assert total.norm().item() == pytest.approx(math.sqrt(2), rel=1e-5)
    ends = [
        nn.functional.cosine_similarity(total, torch.tensor(side).float(), dim=0) for side in (r, u)
    ]
    torch.testing.assert_close(*ends)


@pytest.mark.parametrize(("r", "u"), [([1, 2], [-2, -4]), ([0, 0], [1, 1]), ([1, 1], [0, 0])])
def test_without_a_bisector_the_fixed_weights_hold(r, u):
    assert weights_of(r, u) == pytest.approx([1, FALLBACK])


def test_the_length_of_a_munba_step_does_not_depend_on_the_size_of_gradients():
    start = torch.tensor([1.0, 2.0])
    for size in (1e-3, 1e3):
        weight = nn.Parameter(start.clone())
        optimizer = SGD([weight], lr=0.5, fused=True)
        step_by_bargain([weight], optimizer, (size * weight[0], 7 * weight[1]), Params(clip=1))
        step = 0.5 / math.sqrt(2)
        torch.testing.assert_close(weight.detach(), start - torch.tensor([step, step]))


def test_a_short_gradient_is_not_stretched_by_the_clip():
    weight = nn.Parameter(torch.tensor([1.0]))
    # Opposed: 1 and 0.1 are their weights.
    step_by_bargain(
        [weight],
        SGD([weight], 1.0, fused=True),
        (0.5 * weight[0], -0.5 * weight[0]),
        Params(clip=1),
    )
    assert weight.item() == pytest.approx(1 - 0.45)


def test_batches_that_are_left_are_plain_steps(small, monkeypatch):
    """Twelve batches of retained examples, two of forget ones."""
    module, paired = small.method("munba").module, []
    monkeypatch.setattr(module, "step_by_bargain", lambda *of: paired.append(step_by_bargain(*of)))
    small.method("munba").unlearn(Params(epochs=3, batch_size=12))
    assert len(paired) == 3 * 2


def test_ascent_reads_true_labels_and_random_ones_do_not(small):
    def head(forgetting: str, shift: int) -> torch.Tensor:
        method = small.method("munba")
        labels = (method.task.forget.labels + shift) % method.task.num_classes
        object.__setattr__(method.task, "forget", method.task.forget.relabelled(labels))
        return method.unlearn(Params(epochs=1, forgetting=forgetting))[0].head.weight

    assert torch.equal(head("random", 0), head("random", 1))
    assert not torch.equal(head("ascent", 0), head("ascent", 1))
