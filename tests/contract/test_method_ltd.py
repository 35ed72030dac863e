"""LTD: who is in the support, what the teacher says, and what the student does with it."""

import copy
import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from pydantic import ValidationError

torch = pytest.importorskip("torch")

from torch.nn import functional as F
from torch.optim import SGD
from torch.optim.optimizer import register_optimizer_step_post_hook

from collateral.contract.data import ImageInfo
from collateral.contract.params import StudentParams
from collateral.findings.support_size.views import MIN_DROP as SAID_DROP
from collateral.methods._shared.distillation import distill, keep_top, top_mass
from collateral.methods._shared.nearest import select, similarity
from collateral.methods.ltd import method
from collateral.methods.ltd.auto_k import MIN_DROP, NUM_BINS, AscentStep
from collateral.methods.ltd.params import Params
from collateral.methods.ltd.teachers import online_targets
from collateral.metrics.similarity import NUM_BINS as METRICS_BINS
from collateral.metrics.similarity import similarity as metrics_similarity
from collateral.plugins.find import prepared_name
from collateral.training.examples import Examples, Images, Task
from collateral.training.inference import infer
from collateral.training.run import Run

CPU = torch.device("cpu")
QUICK = {"k": 60, "teacher_epochs": 4, "teacher_batch_size": 32, "epochs": 1, "batch_size": 64}


def params(**changes) -> Params:
    return Params.model_validate({**QUICK, **changes})


def prepared_by(small, given: Params, **method):
    return small.method("ltd", **method).prepare(given, None)


def weights(model) -> torch.Tensor:
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


def run_whole(method, given: Params) -> torch.Tensor:
    """Return the weights after both phases."""
    return weights(method.unlearn(given, method.prepare(given, None).tensors)[0])


class Lookup(torch.nn.Module):
    """Says what it was told of an image, which is one pixel: its number."""

    def __init__(self, probabilities):
        super().__init__()
        self.logits = torch.nn.Parameter(torch.tensor(probabilities).log())

    def forward(self, x):
        return self.logits[x.flatten().mul(255).round().long()]


# The support


def test_similarity_is_the_cosine_with_the_sum_of_features_as_they_are():
    features = torch.tensor([[3.0, 4.0], [-4.0, 3.0], [0.0, 0.0]])
    forget = torch.tensor([[6.0, 0.0], [0.0, 8.0]])  # their sum points to (0.6, 0.8)
    assert similarity(features, forget).tolist() == pytest.approx([1.0, 0.0, 0.0])


def test_similarity_is_what_the_metrics_call_similarity():
    rng = np.random.default_rng(0)
    features, forget = rng.normal(size=(50, 8)).astype("f4"), rng.normal(size=(5, 8)).astype("f4")
    ours = similarity(torch.from_numpy(features), torch.from_numpy(forget)).numpy()
    # float32 against float64
    np.testing.assert_allclose(ours, metrics_similarity(features, forget), atol=1e-6)


@pytest.mark.parametrize(("which", "places"), [("closest", [1, 4]), ("farthest", [0, 3])])
def test_select_takes_the_extremes(which, places):
    scores = torch.tensor([-0.5, 0.9, 0.1, -0.7, 0.8])
    assert select(scores, 2, which, torch.Generator()).tolist() == places


def test_select_takes_all_examples_if_there_are_fewer_than_k():
    assert select(torch.tensor([0.1, 0.2]), 5, "closest", torch.Generator()).tolist() == [0, 1]


def test_closest_is_more_similar_than_random_than_farthest(small):
    means = {}
    for which in ("closest", "random", "farthest"):
        tensors = prepared_by(small, params(support=which, teacher_epochs=1)).tensors
        assert len(tensors["support"].unique()) == 60
        means[which] = tensors["similarity"][tensors["support"]].mean()
    assert means["closest"] > means["random"] > means["farthest"]


def test_a_similarity_threshold_replaces_k(small):
    prepared = prepared_by(small, params(min_similarity=0.5, teacher_epochs=1))
    above = (prepared.tensors["similarity"] >= 0.5).nonzero().squeeze(1)
    assert 0 < len(above) < 140
    assert prepared.tensors["support"].equal(above)
    assert prepared.reported["support_size"] == len(above)


def test_a_threshold_that_nobody_reaches_is_named(small):
    with pytest.raises(ValueError, match=r"min_similarity: 1.0: no retained example"):
        prepared_by(small, params(min_similarity=1.0))


# k: auto


def ascent_step(drop: list[float], counts: list[int]) -> AscentStep:
    assert len(drop) == len(counts) == NUM_BINS
    edges = torch.linspace(0, 1, NUM_BINS + 1)
    return AscentStep(1.0, edges, torch.tensor(counts), torch.tensor(drop))


def test_tables_know_the_bins_and_the_least_loss():
    assert (METRICS_BINS, SAID_DROP) == (NUM_BINS, MIN_DROP)


def test_the_run_ends_at_the_first_bin_below_half_the_largest_drop():
    drop = [0.0, 0.4, 0.0, 0.0, 0.0, 0.0, 0.19, 0.2, 0.4, 0.3]
    assert ascent_step(drop, [9] * NUM_BINS).least == pytest.approx(0.7)


def test_an_empty_bin_does_not_break_the_run():
    drop = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.4, math.nan, 0.3]
    assert ascent_step(drop, [1, 1, 1, 1, 1, 1, 5, 7, 0, 9]).least == pytest.approx(0.7)


def test_auto_takes_at_least_the_top_bin():
    drop = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.9, 0.1]
    assert ascent_step(drop, [1, 1, 1, 1, 1, 1, 1, 1, 3, 9]).least == pytest.approx(0.9)


def test_auto_takes_the_top_bin_if_no_accuracy_is_lost():
    assert ascent_step([0.0] * NUM_BINS, [1, 1, 1, 1, 1, 1, 1, 1, 3, 9]).least == pytest.approx(0.9)


def test_auto_takes_the_smallest_rate_that_costs_the_top_bin_five_points(small):
    task = small.task(small.half_a_class())
    prepared = prepared_by(small, params(k="auto", teacher_epochs=1))
    tensors, rate = prepared.tensors, prepared.reported["auto_rate"]
    edges, scores = tensors["auto_edges"], tensors["similarity"]
    top = task.retain.select((scores >= edges[-2]).nonzero().squeeze(1))

    def top_drop(rate: float) -> float:
        """Step up the loss of all forget examples at once, by a fresh optimiser."""
        model = copy.deepcopy(small.base).eval()
        sgd = torch.optim.SGD(model.parameters(), lr=rate, maximize=True)
        F.cross_entropy(model(task.forget.pixels()), task.forget.labels).backward()
        sgd.step()
        before, after = (infer(m, top)[1].argmax(1) == top.labels for m in (small.base, model))
        return (before.double().mean() - after.double().mean()).item()

    assert top_drop(rate) >= MIN_DROP > top_drop(rate / 2)
    assert tensors["auto_drop"][-1].item() == pytest.approx(top_drop(rate))
    assert len(tensors["support"]) >= len(top)
    assert prepared.seconds["ascent"] > 0


# The teacher


def test_the_teacher_stops_at_the_threshold(small):
    prepared = prepared_by(small, params(threshold=0.0))
    assert prepared.reported["teacher_epochs"] == 1


def test_the_teacher_stops_at_the_budget(small):
    prepared = prepared_by(small, params(threshold=1.0, teacher_lr=0.0))
    assert prepared.reported["teacher_epochs"] == 4
    assert len(prepared.tensors["teacher_accuracy"]) == 4


def test_the_teacher_learns_the_support(small):
    prepared = prepared_by(small, params(teacher_lr=0.05, teacher_epochs=30, threshold=0.9))
    history = prepared.tensors["teacher_accuracy"]
    assert (history[:-1] < 0.9).all()
    assert history[-1] >= 0.9
    assert prepared.reported["teacher_support_accuracy"] == pytest.approx(history[-1].item())


def test_the_teacher_stops_when_it_is_as_good_as_the_threshold_and_no_better(small):
    given = params(teacher="mlp_frozen", teacher_epochs=30, threshold=1.0)
    history = prepared_by(small, given).tensors["teacher_accuracy"]
    assert len(history) < 30
    assert (history[:-1] < 1).all()
    assert history[-1] == 1


@pytest.fixture
def teachers_steps(small):
    """Return a function that trains a teacher and gives its optimiser as it was in each step."""

    def steps(**changes) -> list[dict]:
        seen = []
        hook = register_optimizer_step_post_hook(
            lambda optimizer, *_: seen.append(
                {"kind": type(optimizer), **optimizer.param_groups[0]}
            )
        )
        prepared_by(small, params(teacher_batch_size=30, threshold=1.0, **changes))
        hook.remove()
        return seen

    return steps


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("step", [0.3, 0.3, 0.03, 0.03]),
        ("cosine", [0.3, 0.2560660171779821, 0.15, 0.04393398282201788]),
        ("constant", [0.3, 0.3, 0.3, 0.3]),
    ],
)
def test_the_teachers_rate_follows_its_schedule(teachers_steps, schedule, rates):
    steps = teachers_steps(teacher_lr=0.3, teacher_schedule=schedule, teacher_step=2)
    # 60 examples: two steps an epoch, in four epochs.
    assert [step["lr"] for step in steps] == pytest.approx(np.repeat(rates, 2).tolist())


def test_the_teachers_optimiser_has_the_parameters_of_the_config(teachers_steps):
    steps = teachers_steps(teacher_lr=0.1, teacher_momentum=0.3, teacher_weight_decay=0.07)
    expected = {"lr": 0.1, "momentum": 0.3, "weight_decay": 0.07, "nesterov": False}
    found = [{name: step[name] for name in ("kind", *expected)} for step in steps]
    assert found == [{"kind": SGD, **expected}] * 8


def test_the_teachers_batches_have_the_size_teacher_batch_size(small, monkeypatch):
    sizes, batches = [], Examples.batches

    def spy(self, *args, **options):
        for x, y in batches(self, *args, **options):
            sizes.append(len(x))
            yield x, y

    monkeypatch.setattr(Examples, "batches", spy)
    prepared_by(small, params(teacher_batch_size=25, teacher_epochs=2, threshold=1.0))
    assert sizes == [25, 25, 10] * 2


@pytest.mark.parametrize("threshold", [0.0, None])
def test_without_a_threshold_the_teacher_never_stops_early(small, threshold):
    reported = prepared_by(small, params(threshold=threshold)).reported
    assert reported["teacher_epochs"] == (4 if threshold is None else 1)


@pytest.mark.parametrize("augment", [True, False])
def test_teacher_augment_does_not_depend_on_the_students_augment(small, monkeypatch, augment):
    asked, batches = [], Examples.batches

    def spy(self, *args, **options):
        asked.append(options["augment"])
        return batches(self, *args, **options)

    monkeypatch.setattr(Examples, "batches", spy)
    given, method = params(teacher_augment=augment, augment=not augment), small.method("ltd")
    prepared = method.prepare(given, None).tensors
    method.unlearn(given, prepared)
    assert asked == [augment] * len(prepared["teacher_accuracy"]) + [not augment]


def test_the_teacher_is_augmented_by_default():
    assert params(augment=False).teacher_augment


# Several teachers


@pytest.fixture
def said(monkeypatch):
    """The soft labels that each teacher gives, in the order in which they are trained."""
    seen = []

    def spy(teacher, examples):
        features, logits = infer(teacher, examples)
        seen.append(logits.softmax(1))
        return features, logits

    monkeypatch.setattr(method, "infer", spy)
    return seen


def test_an_ensembles_labels_are_the_mean_of_its_teachers(small, said):
    prepared = prepared_by(small, params(teacher_ensemble=3, threshold=None))
    assert len(said) == 3
    assert not said[0].equal(said[1])
    torch.testing.assert_close(prepared.tensors["soft_labels"], torch.stack(said).mean(0))
    assert prepared.reported["teacher_epochs"] == 3 * 4
    is_right = torch.stack(said).mean(0).argmax(1) == 0
    assert prepared.reported["teacher_ua"] == is_right.double().mean().item()


def test_the_first_teacher_of_an_ensemble_is_the_plain_one(small, said):
    plain = prepared_by(small, params()).tensors["soft_labels"]
    prepared_by(small, params(teacher_ensemble=2))
    assert said[0].equal(plain)
    assert said[1].equal(plain)
    assert len(said) == 3


def test_augmented_targets_of_an_ensemble_are_the_mean_of_its_teachers(small):
    given, ltd = params(teacher_ensemble=2, targets="augmented"), small.method("ltd")
    tensors = ltd.prepare(given, None).tensors
    ask = online_targets(small.base, ltd.task, given, Run(CPU, seed=0), tensors)
    shown = ask(ltd.task.forget.pixels(), torch.arange(20))
    torch.testing.assert_close(shown, tensors["soft_labels"])


def test_a_teachers_seed_changes_the_teacher_and_nothing_else(small):
    plain, first, again, other = (
        prepared_by(small, params(support="random", teacher_seed=seed)).tensors
        for seed in (None, 1, 1, 2)
    )
    assert all(value.equal(again[name]) for name, value in first.items())
    soft = [tensors.pop("soft_labels") for tensors in (plain, first, other)]
    assert not any(one.equal(two) for one, two in combinations(soft, 2))
    for tensors in (plain, first, other):
        del tensors["teacher_accuracy"]
    assert {"support", "similarity"} == plain.keys()
    for name, value in plain.items():
        assert value.equal(first[name]) and value.equal(other[name])


def test_a_teachers_seed_is_another_teacher_in_each_run(small):
    one, two = (
        prepared_by(small, params(teacher_seed=1), seed=seed).tensors["soft_labels"]
        for seed in (0, 1)
    )
    assert not one.equal(two)


@pytest.mark.parametrize(
    "changes", [{"teacher_ensemble": 2}, {"teacher_seed": 0}, {"teacher_augment": False}]
)
def test_another_teacher_has_another_prepared_folder(changes):
    assert prepared_name("ltd", params(**changes)) != prepared_name("ltd", params())


def test_soft_labels_are_distributions_in_the_order_of_the_forget_set(small):
    soft = prepared_by(small, params()).tensors["soft_labels"]
    assert soft.shape == (20, 4)
    assert soft.sum(1).tolist() == pytest.approx([1.0] * 20)


@pytest.mark.parametrize("targets", ["clean", "augmented"])
def test_a_perceptron_on_frozen_features_teaches(small, targets):
    given = params(teacher="mlp_frozen", teacher_epochs=30, targets=targets)
    method = small.method("ltd")
    prepared = method.prepare(given, None)
    assert prepared.reported["teacher_support_accuracy"] > 0.9
    # The base model's features know the forget set, so its labels come back (paper, table 5).
    assert prepared.reported["teacher_ua"] > 0.9
    assert weights(method.unlearn(given, prepared.tensors)[0]).isfinite().all()


def test_a_frozen_body_does_not_change(small):
    given = params(teacher="mlp_frozen", targets="augmented")
    tensors = prepared_by(small, given).tensors
    for name, value in small.base.state_dict().items():
        assert tensors[f"teacher.base.{name}"].equal(value), name


def test_an_unknown_teacher_is_refused_with_the_nearest_name():
    with pytest.raises(ValidationError, match="did you mean resnet56"):
        params(teacher="resnet57")


@pytest.mark.parametrize("k", [0, -1, 1.5, "automatic", None])
def test_k_is_a_positive_number_or_auto(k):
    with pytest.raises(ValidationError, match="Input should be 'auto'"):
        params(k=k)


def test_k_is_no_yes():
    with pytest.raises(ValidationError, match="not true or false"):
        params(k=True)


# The objective


def test_renormalised_top_renormalises_what_it_keeps():
    soft = torch.tensor([[0.4, 0.3, 0.2, 0.1], [0.0, 0.1, 0.9, 0.0]])
    expected = torch.tensor([[4 / 9, 3 / 9, 2 / 9, 0.0], [0.0, 0.1, 0.9, 0.0]])
    torch.testing.assert_close(keep_top(soft, 3), expected)
    assert keep_top(soft, "all").equal(soft)
    assert keep_top(soft, 9).sum(1).tolist() == pytest.approx([1.0, 1.0])


def test_top_mass_is_the_mean_of_what_is_kept():
    soft = torch.tensor([[0.4, 0.3, 0.2, 0.1], [0.0, 0.1, 0.9, 0.0]])
    assert top_mass(soft, 3) == pytest.approx((0.9 + 1.0) / 2)
    assert top_mass(soft, "all") == 1.0


@pytest.mark.parametrize(
    ("beta", "expected"),
    # In units of ln 2: retained 1; forgotten 0.2 * 2 + 0.8 * 1 = 1.2, and 2.
    [(0.0, 1 / 3), (1.0, 4.2 / 3), (2.0, 7.4 / 3)],
)
def test_the_objective_on_three_examples(beta, expected):
    pixels = torch.arange(3, dtype=torch.uint8).view(3, 1, 1, 1)
    images = Images(pixels, padding=0, flip=False)
    retain = Examples(images, torch.tensor([0]), torch.tensor([0]))
    forget = Examples(images, torch.tensor([1, 2]), torch.tensor([0, 0]))
    task = Task(retain, forget, ImageInfo(3, (1, 1, 1), (0.0,), (1.0,)))
    model = Lookup([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.5, 0.25, 0.25]])
    soft = torch.tensor([[0.2, 0.8, 0.0], [0.0, 0.0, 1.0]])
    run = Run(CPU, seed=0)
    distill(model, task, soft, StudentParams(lr=0.0, beta=beta, top="all", epochs=1), run)
    assert run.history[-1]["loss"] == pytest.approx(expected * math.log(2))


def test_the_mass_that_top_keeps_is_reported(small):
    method, given = small.method("ltd"), params(top=2)
    prepared = method.prepare(given, None).tensors
    _, run = method.unlearn(given, prepared)
    two_largest = prepared["soft_labels"].sort(1).values[:, -2:].sum(1).mean().item()
    assert run.reported["top_mass"] == pytest.approx(two_largest)


# Both phases


def test_the_forget_labels_change_nothing(small):
    method = small.method("ltd")
    scrambled = replace(method.task, forget=method.task.forget.relabelled(torch.full((20,), 3)))
    given = params(k="auto")
    assert run_whole(method, given).equal(run_whole(replace(method, task=scrambled), given))


@pytest.mark.parametrize("targets", ["clean", "augmented"])
def test_the_same_seed_gives_the_same_bits(small, targets):
    first, again, other = (
        run_whole(small.method("ltd", seed=seed), params(targets=targets)) for seed in (0, 0, 1)
    )
    assert first.equal(again)
    assert not first.equal(other)


def test_a_learning_rate_of_zero_leaves_the_weights(small):
    assert run_whole(small.method("ltd"), params(lr=0.0)).equal(weights(small.base))


def test_learning_rates_share_what_is_prepared(small):
    slow, fast = params(lr=1e-5), params(lr=1e-3)
    assert prepared_name("ltd", slow) == prepared_name("ltd", fast)
    method = small.method("ltd")
    shared = method.prepare(slow, None).tensors
    method.unlearn(slow, shared)
    assert weights(method.unlearn(fast, shared)[0]).equal(run_whole(method, fast))


def test_augmented_targets_come_from_the_teacher_and_not_from_the_cache(small):
    given, method = params(targets="augmented"), small.method("ltd")
    prepared = method.prepare(given, None).tensors
    spoilt = {**prepared, "soft_labels": prepared["soft_labels"].roll(1, dims=1)}
    assert weights(method.unlearn(given, prepared)[0]).equal(
        weights(method.unlearn(given, spoilt)[0])
    )


def test_augmented_targets_are_the_clean_ones_where_nothing_is_augmented(small):
    method = small.method("ltd")
    losses = []
    for targets in ("clean", "augmented"):
        # One batch of everything, so that the loss does not depend on the order.
        given = params(targets=targets, batch_size=160)
        _, run = method.unlearn(given, method.prepare(given, None).tensors)
        losses.append(run.history[-1]["loss"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)  # sums in another order


@pytest.mark.parametrize("targets", ["clean", "augmented"])
def test_one_forget_example_is_enough(small, targets):
    # Most batches hold no forget example.
    given = params(targets=targets, k=20, batch_size=32)
    assert run_whole(small.method("ltd", forget=[0]), given).isfinite().all()


def test_the_forget_set_may_be_larger_than_a_batch(small):
    changed = run_whole(small.method("ltd"), params(batch_size=8))
    assert changed.isfinite().all()
    assert not changed.equal(weights(small.base))


def test_each_phase_is_timed(small):
    seconds = prepared_by(small, params()).seconds
    assert {"embedding", "support", "teacher"} <= seconds.keys()
