"""SCRUB: its divergence is the one worked out by hand, its rates are the authors'."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from test_gradients import linear_on_two_pixels, two_examples
from test_method_ft_ga_rl import equal, loss

from collateral.methods.scrub import method as scrub
from collateral.methods.scrub.params import Params
from collateral.training.examples import Task
from collateral.training.inference import infer
from collateral.training.run import Run

CPU = torch.device("cpu")
PLAIN = {"optimizer": "sgd", "momentum": 0.0, "weight_decay": 0.0, "lr": 0.5, "decay_after": ()}
# softmax((2, 0) / 2) is (s, 1 - s), s = 1 / (1 + 1/e); 4 KL = 4 (ln 2 + s ln s + ...).
TEACHER, DISTANCE, SHARE = torch.tensor([[2.0, 0.0]]), 0.443776, 0.731059


def test_the_divergence_is_that_of_softened_predictions_times_the_squared_temperature():
    found = scrub.scaled_divergence(torch.zeros(1, 2), lambda _: TEACHER, torch.zeros(1), 2.0)
    assert found.item() == pytest.approx(DISTANCE, abs=1e-6)


def test_the_divergence_is_a_mean_over_images():
    teacher = torch.cat([TEACHER, torch.zeros(1, 2)])
    found = scrub.scaled_divergence(torch.zeros(2, 2), lambda _: teacher, torch.zeros(2), 2.0)
    assert found.item() == pytest.approx(DISTANCE / 2, abs=1e-6)


def test_its_slope_is_the_temperature_times_the_difference_of_predictions():
    logits = torch.zeros(1, 2, requires_grad=True)
    scrub.scaled_divergence(logits, lambda _: TEACHER, torch.zeros(1), 2.0).backward()
    expected = [2 * (0.5 - SHARE), 2 * (SHARE - 0.5)]
    assert logits.grad[0].tolist() == pytest.approx(expected, abs=1e-5)


def linear_after(**values) -> tuple[torch.nn.Module, Task]:
    """Return the linear model that keeps the first example and leaves the second."""
    model, everything = linear_on_two_pixels(), two_examples()
    retain, forget = (everything.select(torch.tensor([place])) for place in (0, 1))
    task = Task(retain, forget, info=None)
    params = Params.model_validate({**PLAIN, **values})
    return scrub.unlearn(model, task, params, Run(CPU, 0)), task


def test_at_the_start_the_ascent_has_no_slope_and_then_it_has():
    def bias(**values) -> list[float]:
        return linear_after(**values)[0].head.bias.tolist()

    assert bias(epochs=1, max_epochs=1) == bias(epochs=1, max_epochs=0)
    assert bias(epochs=2, max_epochs=2) != bias(epochs=2, max_epochs=1)


def test_the_ascent_leads_away_from_the_teacher_on_the_forget_set():
    def moved(max_epochs: int) -> float:
        model, task = linear_after(epochs=4, max_epochs=max_epochs, alpha=0.0)
        return infer(model, task.forget)[1].softmax(1)[0, 0].item() - 0.5  # the teacher's

    assert moved(4) > moved(1) > 0


def test_without_weights_and_ascent_nothing_changes():
    model, _ = linear_after(epochs=3, max_epochs=0, gamma=0.0, alpha=0.0)
    assert all(not weight.any() for weight in model.parameters())


def test_the_rate_falls_to_a_tenth_after_each_of_the_authors_milestones(small, monkeypatch):
    rates, set_rate = [], scrub.set_learning_rate
    monkeypatch.setattr(
        scrub, "set_learning_rate", lambda o, rate: rates.append(rate) or set_rate(o, rate)
    )
    small.method("scrub").unlearn(Params(batch_size=160))
    assert rates == pytest.approx([5e-4] * 5 + [5e-5] * 3 + [5e-6, 5e-7])


def unlearned(small, task: Task | None = None, **values) -> torch.nn.Module:
    given = {"epochs": 3, "batch_size": 32, "lr": 1e-3, "weight_decay": 0.0, **values}
    method = small.method("scrub")
    return replace(method, task=task or method.task).unlearn(Params.model_validate(given))[0]


def test_it_raises_the_loss_on_the_forget_set_above_all(small):
    task, values = small.method("scrub").task, {"batch_size": 16, "forget_batch_size": 4}
    after = unlearned(small, batchnorm="frozen", max_epochs=2, epochs=5, **values)
    assert loss(after, task.forget) > 1 > loss(after, task.retain)


def test_without_ascent_the_forget_set_has_no_say(small):
    task = small.method("scrub").task
    other = replace(task, forget=task.retain.select(torch.arange(3)))
    one, two = (list(unlearned(small, t, max_epochs=0).parameters()) for t in (task, other))
    assert equal(one, two)
