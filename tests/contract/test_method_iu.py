"""IU: both directions are those of the mathematics, and alpha alone sets the length of the step."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from torch import nn

from collateral.methods._shared.gradients import per_sample_gradients, trainable
from collateral.methods.iu.method import (
    gram_and_products,
    prepare,
    removal_gradient,
    solve,
    unlearn,
)
from collateral.methods.iu.params import Params, Prepare
from collateral.models._classifier import Classifier
from collateral.training.run import Run
from collateral.training.run_method import Prepared

CPU = torch.device("cpu")
MODES = pytest.mark.parametrize("mode", ["exact", "public"])


@pytest.fixture
def task(small):
    return small.task(small.half_a_class())  # 20 to forget, 140 to keep


@pytest.fixture
def cropped(task):
    """Return the same task where images may be augmented."""
    images = replace(task.retain.images, padding=1, flip=True)
    retain, forget = (replace(part, images=images) for part in (task.retain, task.forget))
    return replace(task, retain=retain, forget=forget)


@pytest.fixture
def tiny(task):
    """Return a float64 model of 34 weights, small enough for a dense inverse, with batch norm."""
    torch.manual_seed(0)
    body = nn.Sequential(
        nn.Conv2d(1, 2, 3, bias=False),
        nn.BatchNorm2d(2),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )
    model = Classifier(task.info, body, nn.Linear(2, task.num_classes))
    model(task.retain.pixels())  # in train mode: running statistics that are not 0 and 1
    # Weights this large give gradients that matter beside the damping.
    for weight in model.parameters():
        weight.data *= 3
    return model.double()


def flat(tensors):
    return torch.cat([tensor.flatten() for tensor in tensors.values()])


def direction(model, task, params, seed=0):
    return flat(prepare(model, task, params, Run(CPU, seed)))


def woodfisher(gradients, v, num_samples):
    """Run the public code's recursion over all weights, as it is written there."""
    k, o = v.clone(), None
    for i, g in enumerate(gradients):
        if o is None:
            o = g.clone()
        else:
            t = o @ g
            k = k - (k @ g) / (num_samples + t) * o
            o = o - t / (num_samples + t) * o
        if i > num_samples:
            break
    return k


def test_v_is_what_the_mean_gradient_changes_by(tiny, task):
    of_forget, of_retain = (per_sample_gradients(tiny, part) for part in (task.forget, task.retain))
    of_all = torch.cat([of_forget, of_retain]).mean(0)
    torch.testing.assert_close(
        removal_gradient(tiny, task), of_all - of_retain.mean(0), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("damping", [1.0, 0.01])
def test_exact_is_the_dense_inverse_times_v(tiny, task, damping):
    # More samples than retained examples: all of them, whatever the draw.
    found = direction(tiny, task, Prepare(mode="exact", samples=1000, damping=damping))
    gradients = per_sample_gradients(tiny, task.retain)
    fisher = damping * torch.eye(34, dtype=torch.float64) + gradients.T @ gradients / 140
    expected = torch.linalg.inv(fisher) @ removal_gradient(tiny, task)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-12)


def test_exact_differs_from_the_plain_gradient(tiny, task):
    run = Run(CPU, 0)
    prepare(tiny, task, Prepare(mode="exact"), run)
    assert run.reported["curvature_correction"] > 0.05


def test_exact_draws_its_samples_by_the_seed(tiny, task):
    params = Prepare(mode="exact", samples=10)
    first, same, other = (direction(tiny, task, params, seed) for seed in (0, 0, 1))
    assert torch.equal(first, same)
    assert not torch.allclose(first, other)


@pytest.mark.parametrize("rows", [0.5, 15, 16, 1000])
def test_the_gram_matrix_does_not_depend_on_the_memory_it_may_use(tiny, task, rows):
    v, examples = removal_gradient(tiny, task), task.retain.select(torch.arange(50))
    gradients = per_sample_gradients(tiny, examples)
    gram, products = gram_and_products(tiny, examples, v, max_bytes=int(rows * 34 * 8))
    torch.testing.assert_close(gram, gradients @ gradients.T, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(products, gradients @ v, rtol=1e-9, atol=1e-12)


# 1000: all 140; 60: the first 62; 1: the first 3.
@pytest.mark.parametrize("samples", [1000, 60, 1])
def test_public_is_the_public_recursion(tiny, task, samples):
    gradients = per_sample_gradients(tiny, task.retain)
    expected = woodfisher(gradients, removal_gradient(tiny, task), samples)
    found = direction(tiny, task, Prepare(mode="public", samples=samples))
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


def test_public_mode_changes_v_only_along_the_first_retained_gradient(tiny, task):
    v = removal_gradient(tiny, task)
    correction = direction(tiny, task, Prepare(mode="public", samples=60)) - v
    first = per_sample_gradients(tiny, task.retain.select(torch.tensor([0])))[0]
    cosine = torch.cosine_similarity(correction, first, dim=0)
    assert abs(cosine.item()) == pytest.approx(1, abs=1e-9)
    assert correction.norm() > 1e-3 * v.norm()


def test_both_modes_start_from_the_damped_identity(tiny, task):
    # Against so much damping the Fisher matrix is nothing.
    plain = removal_gradient(tiny, task) / 1e9
    for mode in ("exact", "public"):
        found = direction(tiny, task, Prepare(mode=mode, damping=1e9))
        torch.testing.assert_close(found, plain, rtol=1e-6, atol=0)


def test_exact_of_one_sample_is_the_formula_of_sherman_and_morrison(tiny, task):
    v, sample = removal_gradient(tiny, task), task.retain.select(torch.tensor([7]))
    g = per_sample_gradients(tiny, sample)[0]
    expected = v - (g @ v) / (1 + g @ g) * g
    torch.testing.assert_close(solve(tiny, sample, v, 1.0), expected, rtol=1e-9, atol=1e-12)


def test_augmented_gradients_are_those_of_views_drawn_anew_for_each_pass(tiny, cropped):
    found = direction(tiny, cropped, Prepare(augment=True, samples=60), seed=5)
    generator = torch.Generator().manual_seed(5)
    first = cropped.retain.select(torch.arange(62))
    of_forget, of_retain, of_first = (
        per_sample_gradients(tiny, examples.viewed(generator))
        for examples in (cropped.forget, cropped.retain, first)
    )
    v = 20 / 160 * (of_forget.mean(0) - of_retain.mean(0))
    torch.testing.assert_close(found, woodfisher(of_first, v, 60), rtol=1e-9, atol=1e-12)


@MODES
def test_the_seed_draws_the_views(tiny, cropped, mode):
    params = Prepare(mode=mode, augment=True)
    first, same, other = (direction(tiny, cropped, params, seed) for seed in (0, 0, 1))
    assert torch.equal(first, same)
    assert not torch.allclose(first, other)


def test_without_augmentation_nothing_is_drawn(tiny, cropped):
    plain, other = (direction(tiny, cropped, Prepare(), seed) for seed in (0, 1))
    assert torch.equal(plain, other)
    assert not torch.allclose(plain, direction(tiny, cropped, Prepare(augment=True)))


@MODES
def test_views_of_images_that_are_never_augmented_are_the_images(tiny, task, mode):
    clean, viewed = (
        direction(tiny, task, Prepare(mode=mode, augment=augment)) for augment in (False, True)
    )
    assert torch.equal(clean, viewed)


@MODES
def test_a_relative_alpha_is_the_plain_one_at_the_papers_share(small, mode):
    # 20 of 160 are forgotten, 25 times the paper's 250 of 50,000.
    method, plain = small.method("iu"), Params(mode=mode, alpha=0.2)
    relative = plain.model_copy(update={"alpha": 5.0, "relative": True})
    states = [unlearned(method, params).state_dict() for params in (plain, relative)]
    torch.testing.assert_close(*states, rtol=1e-5, atol=1e-7)
    assert not torch.equal(flat(states[0]), flat(method.load_base().state_dict()))


@pytest.mark.parametrize("forget", [[5], list(range(100))])
def test_a_relative_step_is_alpha_times_the_difference_of_mean_gradients(small, forget):
    # Against so much damping the Fisher matrix is nothing, and the step is along v alone.
    method, params = small.method("iu", forget), Params(relative=True, alpha=1e8, damping=1e6)
    forgotten, retained = (
        per_sample_gradients(method.load_base(), part).mean(0)
        for part in (method.task.forget, method.task.retain)
    )
    moved = flat(trainable(unlearned(method, params))) - flat(trainable(method.load_base()))
    expected = 0.005 * 1e2 * (forgotten - retained)
    assert (moved - expected).norm() < 1e-3 * expected.norm()


def test_the_step_is_alpha_times_the_direction_and_reads_no_example(small):
    method = small.method("iu")
    tensors = method.prepare(Params(), None).tensors
    base, task = method.load_base(), None
    for alpha in (0.5, 4.0):
        model = unlearn(method.load_base(), task, Params(alpha=alpha), Run(CPU, 0), tensors)
        for name, weight in trainable(model).items():
            expected = base.get_parameter(name) + alpha * tensors[name]
            assert torch.equal(weight, expected)


@MODES
def test_a_step_of_no_length_leaves_the_weights(small, mode):
    method, params = small.method("iu"), Params(mode=mode, alpha=0)
    model = unlearned(method, params)
    assert_same_state(model, method.load_base())


@MODES
def test_the_step_raises_the_loss_on_what_is_forgotten(small, mode):
    method, params = small.method("iu"), Params(mode=mode)
    model = unlearned(method, params)
    assert forget_loss(model, method.task) > forget_loss(method.load_base(), method.task)


@MODES
def test_the_same_seed_gives_the_same_weights(small, mode):
    params = Params(mode=mode, samples=30)

    first, second = (unlearned(small.method("iu", seed=3), params) for _ in range(2))
    assert_same_state(first, second)


@MODES
@pytest.mark.parametrize("forget", [[5], list(range(100))])
def test_one_example_and_many_can_be_forgotten(small, mode, forget):
    method, params = small.method("iu", forget), Params(mode=mode)
    model = unlearned(method, params)
    assert all(weight.isfinite().all() for weight in model.parameters())


def test_the_direction_can_be_saved_and_read(small, tmp_path):
    prepared = small.method("iu").prepare(Params(samples=10), None)
    prepared.save(tmp_path, CPU, tmp_path, {})
    saved = Prepared.load(tmp_path, tmp_path).tensors
    assert saved.keys() == prepared.tensors.keys()
    assert all(torch.equal(saved[name], prepared.tensors[name]) for name in saved)


@torch.no_grad()
def forget_loss(model, task):
    logits = model.eval()(task.forget.pixels())
    return nn.functional.cross_entropy(logits, task.forget.labels).item()


def unlearned(method, params):
    return method.unlearn(params, method.prepare(params, None).tensors)[0]


def assert_same_state(first, second):
    states = first.state_dict(), second.state_dict()
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])
