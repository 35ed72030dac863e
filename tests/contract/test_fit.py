"""Training from scratch: it learns, repeats bit for bit, and keeps the epoch asked for."""

import copy
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from pydantic import ValidationError

torch = pytest.importorskip("torch")

from torch import nn
from torch.nn import functional as F
from torch.optim import SGD, AdamW
from torch.optim.optimizer import register_optimizer_step_post_hook

from collateral.contract.data import ImageInfo
from collateral.contract.params import TrainingParams
from collateral.data import synthetic
from collateral.models._build import build_model
from collateral.models._classifier import Classifier
from collateral.training import fit as engine
from collateral.training import optimizers
from collateral.training.checkpoints import Checkpoints
from collateral.training.examples import Examples, Images, train_examples
from collateral.training.inference import accuracy, compute_outputs, infer
from collateral.training.optimizers import cosine_rate, make_optimizer
from collateral.training.run import Run

CPU = torch.device("cpu")
QUICK = {"epochs": 4, "batch_size": 32, "lr": 0.05}


def train(small, seed: int = 0, checkpoints=None, **params) -> tuple[torch.nn.Module, Run]:
    """Train a small model on what is retained of the small data set."""
    run = Run(CPU, seed, checkpoints=checkpoints)
    model = build_model("small_cnn", small.data.info)
    given = TrainingParams.model_validate({**QUICK, **params})
    examples = small.task(small.half_a_class()).retain
    examples = replace(examples, images=replace(examples.images, padding=1, flip=True))
    return engine.fit(model, examples, small.test(), given, run), run


def weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return copy.deepcopy(model.state_dict())


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    """Tell whether all weights and buffers are the same bits."""
    return all(torch.equal(one[name], other[name]) for name in one | other)


# Learning


def test_the_base_model_fits_its_training_data(small):
    assert accuracy(small.base, small.task([0]).retain) > 0.95


def test_the_same_seed_gives_the_same_bits_and_history(small):
    (one, run), (other, again) = train(small, seed=3), train(small, seed=3)
    assert same(weights(one), weights(other))
    assert run.history == again.history


def test_another_seed_gives_other_weights(small):
    one, other = (train(small, seed=seed, epochs=1)[0] for seed in (3, 4))
    assert not same(weights(one), weights(other))


def test_history_has_loss_and_accuracy_of_every_epoch(small):
    _, run = train(small)
    assert [row["epoch"] for row in run.history] == [0, 1, 2, 3]
    assert all(set(row) == {"loop", "epoch", "loss", "accuracy"} for row in run.history)
    assert run.history[-1]["loss"] < run.history[0]["loss"]


class Constant(torch.nn.Module):
    """Gives every image the probabilities 1/4 and 3/4."""

    def __init__(self):
        super().__init__()
        self.logits = torch.nn.Parameter(torch.tensor([[0.25, 0.75]]).log())

    def forward(self, x):
        return self.logits.expand(len(x), 2)


def test_loss_and_accuracy_of_an_epoch_are_means_over_examples():
    images = Images(torch.zeros(24, 2, 2, 1, dtype=torch.uint8), 0, flip=False)
    examples = Examples(images, torch.arange(24), torch.tensor([0, 1, 1]).repeat(8))
    params = TrainingParams(
        epochs=1, batch_size=16, lr=1e-30, weight_decay=0
    )  # a batch of 16, one of 8
    run = Run(CPU, 0)
    engine.fit(Constant(), examples, examples, params, run)
    # (ln 4 + 2 ln 4/3) / 3, in float32
    assert run.history[0]["loss"] == pytest.approx(0.653886, abs=1e-6)
    assert run.history[0]["accuracy"] == 2 / 3


# A small rest


def one_pixel_net(info: ImageInfo) -> Classifier:
    """Return a network whose last maps, of images of 8 x 8, are 1 x 1."""
    layers = []
    for width_in, width in ((1, 16), (16, 32), (32, 64)):
        convolution = nn.Conv2d(width_in, width, 3, stride=2, padding=1, bias=False)
        layers += [convolution, nn.BatchNorm2d(width), nn.ReLU()]
    return Classifier(info, nn.Sequential(*layers, nn.Flatten()), nn.Linear(64, info.num_classes))


def learnt_of_450(seed: int, epochs: int = 10) -> tuple[float, set[int]]:
    """Train in batches of 32, which leave a rest of 2; return the accuracy, and batches' sizes."""
    options = synthetic.Options(families=5, classes_per_family=2, num_train=45)
    data, run, sizes = synthetic.load(options), Run(CPU, seed), set()
    examples = train_examples(data, CPU)
    assert len(examples) == 450
    with run.seeded():
        model = one_pixel_net(data.info)
    model.head.register_forward_pre_hook(
        lambda head, inputs: sizes.add(len(inputs[0])) if head.training else None
    )
    engine.fit(model, examples, examples, TrainingParams(epochs=epochs, batch_size=32), run)
    return accuracy(model, examples), sizes


def test_a_rest_of_two_is_not_a_batch_and_a_network_whose_last_maps_are_one_pixel_learns():
    kept = [learnt_of_450(seed) for seed in range(3)]
    assert [sizes for _, sizes in kept] == [{32, 34}] * 3
    assert min(learnt for learnt, _ in kept) > 0.99


def test_of_maps_of_one_pixel_a_batch_of_two_says_only_which_is_larger():
    """How badly training with such batches goes depends on the last bits, and so on the CPU."""
    norm = nn.BatchNorm2d(64)
    for maps in torch.randn(5, 2, 64, 1, 1, generator=torch.Generator().manual_seed(3)):
        larger = torch.where(maps == maps.amax(0), 1.0, -1.0)
        difference = (maps[0] - maps[1]).abs().squeeze()
        is_clear = difference > 0.1  # batch norm adds 1e-5 to the variance
        torch.testing.assert_close(
            norm(maps)[:, is_clear], larger[:, is_clear], rtol=0, atol=2.5e-3
        )


def test_a_rest_of_two_would_be_a_batch_without_the_rule(monkeypatch):
    monkeypatch.setattr("collateral.contract.conventions.LEAST_BATCH", 1)
    assert learnt_of_450(0, epochs=1)[1] == {32, 2}


# The schedule


def test_cosine_falls_from_one_towards_zero():
    factors = [cosine_rate(epoch, 4) for epoch in range(5)]
    assert factors == pytest.approx([1, 0.8535533905932737, 0.5, 0.1464466094067262, 0])


STEPS = {"schedule": "step", "milestones": (2, 5), "factor": 0.2}


def rates(small, monkeypatch, **params) -> list[float]:
    """Return the learning rate of each epoch."""
    seen = []

    def spy(forward, batches, optimizer, precision):
        seen.append(optimizer.param_groups[0]["lr"])
        return 0.0, 0.0

    monkeypatch.setattr(engine, "_epoch", spy)
    train(small, **params)
    return seen


def test_a_cosine_schedule_sets_the_rate_of_each_epoch(small, monkeypatch):
    expected = [0.2, 0.17071067811865476, 0.1, 0.029289321881345254]
    assert rates(small, monkeypatch, lr=0.2) == pytest.approx(expected)


def test_a_constant_schedule_does_not_change_the_learning_rate(small, monkeypatch):
    assert rates(small, monkeypatch, lr=0.2, schedule="constant") == [0.2] * 4


def test_a_step_schedule_falls_after_each_milestone(small, monkeypatch):
    found = rates(small, monkeypatch, lr=0.4, epochs=6, **STEPS)
    assert found == pytest.approx([0.4, 0.4, 0.08, 0.08, 0.08, 0.016])


def test_the_learning_rate_falls_in_the_epochs_of_torchs_own_schedule(small, monkeypatch):
    """OPTML-Group's recipe: one epoch of MultiStepLR after another."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.4)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [2, 5], gamma=0.2)
    expected = []
    for _ in range(6):
        expected.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert rates(small, monkeypatch, lr=0.4, epochs=6, **STEPS) == pytest.approx(expected)


def test_a_warm_up_multiplies_a_step_schedule_too(small):
    found = rates_of_steps(small, lr=0.4, epochs=4, **{**STEPS, "milestones": (2,)}, warmup=1)
    assert found == pytest.approx([0.2, 0.4, 0.4, 0.4, 0.08, 0.08, 0.08, 0.08])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"schedule": "step"}, "schedule: step: needs `milestones`"),
        ({"schedule": "step", "milestones": (2, 9), "epochs": 9}, "9: should be below epochs: 9"),
        ({"schedule": "step", "milestones": (3, 2)}, "should increase, but 2 follows 3"),
    ],
)
def test_milestones_that_cannot_be_meant_are_refused(values, said):
    with pytest.raises(ValidationError, match=said):
        TrainingParams(**values)


def rates_of_steps(small, **params) -> list[float]:
    """Return the learning rate of each step."""
    seen = []
    hook = register_optimizer_step_post_hook(
        lambda optimizer, *_: seen.append(optimizer.param_groups[0]["lr"])
    )
    try:
        train(small, batch_size=70, **params)  # two steps an epoch
    finally:
        hook.remove()
    return seen


def test_a_warm_up_grows_the_rate_step_by_step_and_then_leaves_it(small):
    found = rates_of_steps(small, lr=0.4, schedule="constant", warmup=2)
    assert found == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.4, 0.4, 0.4, 0.4])


def test_a_warm_up_multiplies_the_schedule(small):
    plain = rates_of_steps(small, lr=0.4)
    warmed = rates_of_steps(small, lr=0.4, warmup=1)
    assert warmed == [plain[0] / 2, *plain[1:]]


def test_a_warm_up_survives_a_kill(small, tmp_path):
    def warmed(**options) -> dict[str, torch.Tensor]:
        return weights(train(small, warmup=3, schedule="constant", **options)[0])

    undisturbed, steps = warmed(), []
    checkpoints = Checkpoints(tmp_path, "job", interval_seconds=0)

    def kill(*_):
        steps.append(None)
        if len(steps) == 7:  # five an epoch: in the second
            raise KeyboardInterrupt

    hook = register_optimizer_step_post_hook(kill)
    with pytest.raises(KeyboardInterrupt):
        warmed(checkpoints=checkpoints)
    hook.remove()
    assert same(warmed(checkpoints=checkpoints), undisturbed)


def test_a_warm_up_longer_than_the_training_is_refused():
    with pytest.raises(ValidationError, match="warmup: 5 is more than epochs: 4"):
        TrainingParams(epochs=4, warmup=5)


# Every parameter

# Another value of each than its default or QUICK's, and what else it takes to be seen.
CHANGES = {
    "epochs": {"epochs": 3},
    "batch_size": {"batch_size": 16},
    "optimizer": {"optimizer": "adam"},
    "lr": {"lr": 0.01},
    "momentum": {"momentum": 0.5},
    "nesterov": {"nesterov": False},
    "weight_decay": {"weight_decay": 0.05},
    "schedule": {"schedule": "constant"},
    "milestones": {"schedule": "step", "milestones": (1,)},
    "factor": {"schedule": "step", "milestones": (1,), "factor": 0.5},
    "warmup": {"warmup": 2},
    "augment": {"augment": False},
    "checkpoint": {"checkpoint": "best_test"},
    "validation_share": {"checkpoint": "best_validation", "validation_share": 0.5},
    "precision": {"precision": "bfloat16"},
}
# What leaves the weights alone on a CPU is seen by those whom it is handed to.
HANDED = {"compile": ({"compile": True}, "compile_forward")}


def test_the_parameters_of_training_are_all_here():
    assert CHANGES.keys() | HANDED.keys() == TrainingParams.model_fields.keys()


@pytest.mark.parametrize("field", CHANGES)
def test_every_parameter_of_training_has_a_say(small, monkeypatch, field):
    if field == "checkpoint":  # else the last epoch might be the best
        monkeypatch.setattr(engine, "accuracy", Judge(0.9, 0.2, 0.1, 0.0))
    changes = CHANGES[field]
    others = {name: value for name, value in changes.items() if name != field}
    others |= {"milestones": (2,)} if field == "milestones" else {}  # `schedule: step` needs some
    assert not same(*(weights(train(small, **given)[0]) for given in (others, changes)))


@pytest.mark.parametrize("field", HANDED)
def test_a_parameter_of_speed_is_handed_on(small, monkeypatch, field):
    (changes, name), handed = HANDED[field], []

    def spy(*args):
        handed.append(args)
        return args[0]

    monkeypatch.setattr(engine, name, spy)
    model, _ = train(small, epochs=1, **changes)
    assert handed == [(model,)]
    handed.clear()
    train(small, epochs=1)
    assert handed == []


# Which epoch is kept


class Judge:
    """Stands in for `accuracy`: gives scores from a list, and remembers what it was shown."""

    def __init__(self, *scores: float) -> None:
        self.scores = list(scores)
        self.models, self.examples = [], []

    def __call__(self, model, examples) -> float:
        self.models.append(weights(model))
        self.examples.append(examples)
        return self.scores[len(self.models) - 1]


@pytest.mark.parametrize("checkpoint", ["best_validation", "best_test"])
def test_the_first_of_the_best_epochs_is_kept(small, monkeypatch, checkpoint):
    judge = Judge(0.2, 0.9, 0.9, 0.4)
    monkeypatch.setattr(engine, "accuracy", judge)
    model, run = train(small, checkpoint=checkpoint)
    assert same(weights(model), judge.models[1])
    assert not same(judge.models[1], judge.models[2])
    assert [row[checkpoint] for row in run.history] == judge.scores


def test_by_default_the_last_epoch_is_kept_and_nothing_is_judged(small, monkeypatch):
    judge = Judge()
    monkeypatch.setattr(engine, "accuracy", judge)
    train(small)
    assert judge.models == []


def test_validation_examples_are_held_out_of_training(small, monkeypatch):
    judge, trained = Judge(*[0.5] * 4), []
    monkeypatch.setattr(engine, "accuracy", judge)
    batches = Examples.batches

    def spy(self, *args, **options):
        trained.append(set(self.rows.tolist()))
        return batches(self, *args, **options)

    monkeypatch.setattr(Examples, "batches", spy)
    train(small, checkpoint="best_validation", validation_share=0.25)
    judged = [set(examples.rows.tolist()) for examples in judge.examples]
    everything = set(small.task(small.half_a_class()).retain.rows.tolist())
    assert judged == [judged[0]] * 4
    assert trained == [everything - judged[0]] * 4
    assert (len(everything), len(judged[0])) == (140, 35)


def test_best_test_is_judged_on_the_test_set_and_trains_on_everything(small, monkeypatch):
    judge = Judge(*[0.5] * 4)
    monkeypatch.setattr(engine, "accuracy", judge)
    model, _ = train(small, checkpoint="best_test")
    last, _ = train(small)
    assert all(torch.equal(seen.pixels(), small.test().pixels()) for seen in judge.examples)
    assert same(judge.models[-1], weights(last))
    assert same(weights(model), judge.models[0])


def test_the_best_epoch_survives_a_kill(small, monkeypatch, tmp_path):
    def resumable(scores: list[float]) -> Judge:
        monkeypatch.setattr(engine, "accuracy", judge := Judge(*scores))
        checkpoints = Checkpoints(tmp_path, "job", interval_seconds=0)
        model, _ = train(small, checkpoints=checkpoints, checkpoint="best_validation")
        judge.models.append(weights(model))
        return judge

    monkeypatch.setattr(engine, "accuracy", undisturbed := Judge(0.2, 0.9, 0.3, 0.4))
    train(small, checkpoint="best_validation")
    with pytest.raises(IndexError):  # no score for the third epoch
        resumable([0.2, 0.9])
    assert same(resumable([0.3, 0.4]).models[-1], undisturbed.models[1])


# Optimisers and precision


TORCHS = {
    "sgd": partial(SGD, momentum=0.9, nesterov=True),
    "adam": torch.optim.Adam,
    "adamw": AdamW,
}


@pytest.mark.parametrize("name", TORCHS)
def test_an_optimiser_steps_as_torchs_own(small, name):
    params = TrainingParams(optimizer=name, lr=0.01, weight_decay=0.1, momentum=0.9)
    ours, theirs = copy.deepcopy(small.base), copy.deepcopy(small.base)
    own = TORCHS[name](theirs.parameters(), lr=0.01, weight_decay=0.1, fused=True)
    optimizers = (make_optimizer(ours, params, nesterov=True), own)
    for optimizer, model in zip(optimizers, (ours, theirs), strict=True):
        for x, y in small.task([0]).retain.in_order(32):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    assert same(weights(ours), weights(theirs))


def test_a_weight_without_a_gradient_is_not_changed(small):
    model = copy.deepcopy(small.base)
    optimizer = make_optimizer(model, TrainingParams(weight_decay=0.5))
    model.head.weight.grad = torch.ones_like(model.head.weight)
    optimizer.step()
    moved = [
        name
        for (name, new), old in zip(model.named_parameters(), small.base.parameters(), strict=True)
        if not torch.equal(new, old)
    ]
    assert moved == ["head.weight"]


def test_the_first_optimiser_imports_nothing_on_the_clock():
    """torch.optim would import the compiler then, for a second that a method would be charged."""
    code = (
        "import sys, torch; from collateral.training.optimizers import make_optimizer; "
        "from collateral.contract.params import TrainingParams; before = {*sys.modules}; "
        "make_optimizer(torch.nn.Linear(2, 2), TrainingParams()); "
        "assert {*sys.modules} == before, {*sys.modules} - before"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("precision", "flags", "message"),
    [
        ("bfloat16", {"avx2", "avx512f"}, "this CPU has neither avx512_bf16 nor amx_bf16"),
        ("float16", {"avx512_bf16", "avx512_fp16"}, "not on a device of type cpu"),
    ],
)
def test_a_cpu_without_the_instructions_refuses_a_precision_by_its_name(
    small, monkeypatch, precision, flags, message
):
    monkeypatch.setattr(optimizers, "cpu_flags", lambda: flags)
    with pytest.raises(ValueError, match=f"precision: {precision}: {message}; use float32"):
        train(small, epochs=1, precision=precision)


@pytest.mark.parametrize("flag", ["avx512_bf16", "amx_bf16"])
def test_a_cpu_with_one_of_the_instructions_takes_bfloat16(monkeypatch, flag):
    monkeypatch.setattr(optimizers, "cpu_flags", lambda: {flag})
    optimizers.check_precision("bfloat16", CPU)


def test_a_model_in_bfloat16_is_evaluated_in_float32(small):
    model = build_model("small_cnn", small.data.info)
    x, plain = torch.rand(4, 1, 8, 8), copy.deepcopy(model)
    optimizers.set_precision(model, "bfloat16", CPU)
    assert torch.equal(model.eval()(x), plain.eval()(x))
    assert not torch.equal(model.train()(x), plain.train()(x))
    assert model(x).dtype == torch.float32


# Inference


def test_infer_gives_features_and_the_heads_logits_in_order(small):
    examples = small.task([5]).retain
    features, logits = infer(small.base, examples)
    model = copy.deepcopy(small.base).eval()
    with torch.no_grad():
        expected = model.features(examples.pixels())
    assert torch.equal(features, expected)
    assert torch.equal(logits, model.head(expected))


def test_infer_leaves_modes_statistics_and_gradients_as_they_were(small):
    model = copy.deepcopy(small.base).train()
    model.head.eval()
    before, modes = weights(model), [module.training for module in model.modules()]
    infer(model, small.test())
    assert same(weights(model), before)
    assert [module.training for module in model.modules()] == modes
    assert torch.is_grad_enabled()


def test_accuracy_is_the_share_of_right_predictions_and_undefined_without_examples(small):
    examples = small.task([5]).retain.select(torch.arange(4))
    predicted = infer(small.base, examples)[1].argmax(1)
    three_right = predicted.clone()
    three_right[2] = (predicted[2] + 1) % 4
    assert accuracy(small.base, examples.relabelled(three_right)) == 0.75
    nobody = examples.select(torch.arange(0))
    assert accuracy(small.base, nobody) != accuracy(small.base, nobody)  # NaN


def test_outputs_hold_what_the_float32_pass_says(small):
    train_set = small.task([0]).retain
    outputs, embeddings = compute_outputs(small.base, train_set, small.test())
    features, logits = infer(small.base, train_set)
    p = F.softmax(logits, dim=1)[torch.arange(len(logits)), train_set.labels]
    assert torch.equal(torch.from_numpy(outputs.train.confidence), p)
    assert torch.equal(torch.from_numpy(outputs.train.prediction), logits.argmax(1))
    assert torch.equal(torch.from_numpy(outputs.train.logits), logits.half())
    assert torch.equal(torch.from_numpy(embeddings.train), features)
    assert len(outputs.test.prediction) == len(embeddings.test) == len(small.test())


def test_logits_beyond_float16_stay_finite(small):
    model = copy.deepcopy(small.base)
    with torch.no_grad():
        model.head.bias[0] = 1e6
    outputs, _ = compute_outputs(model, small.test(), small.test())
    assert outputs.test.logits.max() == 60000


# What depends on the CPU


def test_the_tests_that_train_are_marked_for_a_second_pass_on_a_lesser_cpu(request):
    assert request.node.get_closest_marker("trains")
    root = Path(__file__).parents[2]
    assert "make test-cpu\n" in (root / ".ci/run").read_text()
    assert "-m 'trains and not slow' tests/contract" in (root / "Makefile").read_text()
