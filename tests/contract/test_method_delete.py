"""DELETE: what its target is, what its loss is by hand, and what it leaves alone."""

import math

import pytest

torch = pytest.importorskip("torch")

from collateral.methods.delete.method import divergence, without_class
from collateral.methods.delete.params import Params
from collateral.training.inference import infer

LOGITS, LABEL = torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0])


def test_the_target_is_the_softmax_of_the_other_classes():
    e = math.e
    expected = torch.tensor([[0.0, e / (e + 1), 1 / (e + 1)]])
    torch.testing.assert_close(without_class(LOGITS, LABEL), expected)


def test_the_loss_of_the_base_itself_is_what_the_true_class_holds():
    loss = divergence(without_class(LOGITS, LABEL), LOGITS)
    assert loss.item() == pytest.approx(1.094344, abs=1e-6)
    assert loss.item() == pytest.approx(-math.log(1 - LOGITS.softmax(1)[0, 0].item()))


def test_the_loss_is_a_mean_over_the_examples():
    twice = divergence(without_class(LOGITS.repeat(2, 1), LABEL.repeat(2)), LOGITS.repeat(2, 1))
    assert twice.item() == pytest.approx(1.094344, abs=1e-6)


def test_a_model_that_answers_like_the_target_is_not_pulled():
    logits = torch.tensor([[-60.0, 1.0, 0.0]], requires_grad=True)
    divergence(without_class(LOGITS, LABEL), logits).backward()
    torch.testing.assert_close(logits.grad, torch.zeros(1, 3))


def test_the_true_class_is_forgotten_and_the_order_of_the_others_is_kept(small):
    method = small.method("delete")
    params = Params(epochs=30, lr=0.01, batchnorm="frozen", augment=False)
    before = infer(method.load_base(), method.task.forget)[1]
    after = infer(method.unlearn(params)[0], method.task.forget)[1]
    labels = method.task.forget.labels
    assert (before.argmax(1) == labels).float().mean() > 0.9
    assert (after.argmax(1) == labels).float().mean() < 0.1
    assert torch.equal(after.argmax(1), without_class(before, labels).argmax(1))
