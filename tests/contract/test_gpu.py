"""On a GPU everything runs as on a CPU, the same bits come twice, and no step makes the host wait.

Where there is no GPU, one is pretended: then the bits are the CPU's. With one, `pytest -m gpu` runs
on it what a pretended one can run, and what it cannot. That every method runs on a pretended GPU is
part of its contract, in test_methods.py. docs/scale.md says what none of this can show.
"""

import copy
import json
import subprocess
import sys
from dataclasses import dataclass

import pytest

torch = pytest.importorskip("torch")

from pretend_gpu import CPU, GPU, NAME, on_gpu, pretended
from torch.amp import GradScaler
from torch.nn import functional as F
from workshop import Workshop, main

from collateral.contract.data import ImageInfo
from collateral.contract.params import TrainingParams
from collateral.models import NAMES as MODELS
from collateral.models._build import build_model
from collateral.plugins.find import METHOD, params_class
from collateral.results.record import GPU_SLOTS
from collateral.training import checkpoints as checkpointing
from collateral.training import fit as engine
from collateral.training import job_io as sessions
from collateral.training import optimizers as precisions
from collateral.training.checkpoints import Checkpoints
from collateral.training.devices import make_deterministic
from collateral.training.examples import test_examples as held_out_examples
from collateral.training.examples import train_examples
from collateral.training.inference import accuracy
from collateral.training.optimizers import descend
from collateral.training.run import Clock, Run

QUICK = {"epochs": 2, "batch_size": 32, "lr": 0.05}
BRIEF = {"epochs": 1, "batch_size": 64}


@dataclass(frozen=True)
class Place:
    """A GPU, and the device on which the same bits come out."""

    gpu: torch.device
    twin: torch.device


@pytest.fixture
def _deterministic():
    before = torch.get_deterministic_debug_mode()
    make_deterministic()
    yield
    torch.set_deterministic_debug_mode(before)


@pytest.fixture
def real(_deterministic) -> torch.device:
    """A GPU that is there."""
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    return torch.device("cuda", torch.cuda.current_device())


@pytest.fixture(params=["pretended", pytest.param("real", marks=pytest.mark.gpu)])
def place(request):
    if request.param == "real":
        gpu = request.getfixturevalue("real")
        yield Place(gpu, gpu)
        return
    request.getfixturevalue("_deterministic")
    with pretended():
        yield Place(GPU, CPU)


def differing(one, other) -> list[str]:
    """Return the names of what two states do not share to the bit, wherever they are."""
    return [name for name in one | other if not torch.equal(one[name].cpu(), other[name].cpu())]


def train(small, device=CPU, checkpoints=None, model="small_cnn", **params):
    """Train a small model on the small data set."""
    run = Run(device, seed=0, checkpoints=checkpoints)
    given = TrainingParams.model_validate({**QUICK, **params})
    train_set, test_set = train_examples(small.data, device), held_out_examples(small.data, device)
    new = build_model(model, small.data.info).to(device).to(memory_format=torch.channels_last)
    return engine.fit(new, train_set, test_set, given, run), run


# The pretended GPU itself


@pytest.mark.parametrize(
    "mix",
    [
        lambda here, there: here + there,
        lambda here, there: torch.cat([there, here]),
        lambda here, there: F.cross_entropy(there.float()[:, None], here),
        lambda here, there: there.index_put_((here,), here),
        lambda here, there: here[there],
        lambda here, there: torch.add(here, here, out=there),
    ],
)
def test_two_devices_in_one_operation_are_refused(mix):
    here = torch.zeros(3, dtype=torch.int64)
    with pretended():
        there = here.to(GPU)
        with pytest.raises(RuntimeError, match=r"cuda:0 and on the CPU"):
            mix(here, there)


def test_tensors_stay_on_the_gpu_until_they_are_fetched():
    with pretended():
        there = torch.ones(3).to(GPU)
        assert (there * 2).device == torch.zeros((), device=GPU).device == GPU
        assert there.grad_fn is None
        with pytest.raises((RuntimeError, TypeError)):
            there.numpy()
        assert torch.equal((there[1:] * 2).cpu(), torch.full((2,), 2.0))


@pytest.mark.parametrize(
    ("waits", "work"),
    [
        (0, lambda there: (there * there).sum()),
        (0, lambda there: there[there.long()]),
        (0, lambda there: torch.ones(3).pin_memory().to(GPU, non_blocking=True)),
        (1, lambda there: torch.ones(3).to(GPU)),
        (1, lambda there: torch.ones(3).to(GPU, non_blocking=True)),
        (1, lambda there: there.cpu()),
        (1, lambda there: there.sum().item()),
        (1, lambda there: there[there > 0]),
        (1, lambda there: there[torch.tensor([0, 2])]),
    ],
)
def test_operations_that_make_the_host_wait_are_counted(waits, work):
    with pretended() as gpu:
        there = torch.ones(3).to(GPU)
        before = gpu.waits.total()
        work(there)
    assert gpu.waits.total() - before == waits


def test_an_operation_without_a_deterministic_form_is_noticed():
    with pretended() as gpu:
        x = torch.rand(1, 1, 6, 6, requires_grad=True).to(GPU)
        F.adaptive_avg_pool2d(x, 1).sum().backward()  # a plain mean
        assert gpu.refused == []
        F.adaptive_avg_pool2d(x, 3).sum().backward()
    assert "_adaptive_avg_pool2d_backward" in gpu.refused


# Training


@pytest.mark.parametrize("name", MODELS)
def test_every_model_learns_on_a_gpu_as_on_a_cpu(name, place):
    torch.manual_seed(0)
    here = build_model(name, ImageInfo(3, (8, 8, 3), (0.5,) * 3, (0.25,) * 3))
    x, y = torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 1])

    def gradients(device) -> dict[str, torch.Tensor]:
        model = copy.deepcopy(here).to(device).to(memory_format=torch.channels_last)
        F.cross_entropy(model(x.to(device)), y.to(device)).backward()
        return {name: weight.grad.cpu() for name, weight in model.named_parameters()}

    on_cpu, on_gpu = gradients(CPU), gradients(place.gpu)
    for weight, gradient in on_cpu.items():
        # Not to the bit: a GPU adds in another order, and attention takes another way.
        torch.testing.assert_close(on_gpu[weight], gradient, rtol=1e-3, atol=1e-5)
    assert differing(gradients(place.gpu), on_gpu) == []


def test_no_model_needs_what_a_deterministic_gpu_refuses():
    info = ImageInfo(3, (8, 8, 3), (0.5,) * 3, (0.25,) * 3)
    with pretended() as gpu:
        for name in MODELS:
            build_model(name, info).to(GPU)(torch.rand(2, 3, 8, 8).to(GPU)).sum().backward()
    assert gpu.refused == []


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"optimizer": "adamw", "lr": 0.01},
        {"checkpoint": "best_validation"},
        {"checkpoint": "best_test", "schedule": "constant", "momentum": 0},
    ],
)
def test_training_on_a_gpu_ends_in_the_same_bits(small, place, params):
    (one, run), (other, again) = (train(small, at, **params) for at in (place.gpu, place.twin))
    assert differing(one.state_dict(), other.state_dict()) == []
    assert run.history == again.history


@pytest.mark.parametrize("checkpoint", ["last", "best_test"])
def test_no_step_of_training_makes_the_host_wait(small, checkpoint):
    waits = []
    for batch_size in (80, 20):  # 2 steps an epoch, and 8
        with pretended() as gpu:
            train(small, GPU, batch_size=batch_size, checkpoint=checkpoint)
        waits.append(gpu.waits)
    assert waits[0] == waits[1]
    assert waits[0].total() > 0


def count_step_launches(small, model) -> int:
    """Return the kernels that one step of training launches, without forward and backward pass."""
    counts = []
    for batch_size in (80, 40):  # 2 steps in one epoch, and 4
        with pretended() as gpu:
            train(small, GPU, model=model, epochs=1, batch_size=batch_size)
        counts.append(gpu.launches.total())
    with pretended() as gpu:
        new = build_model(model, small.data.info).to(GPU)
        x, y = torch.rand(4, 1, 8, 8).to(GPU), torch.tensor([0, 1, 2, 1]).to(GPU)
        gpu.launches.clear()
        F.cross_entropy(new(x), y).backward()
    return (counts[1] - counts[0]) // 2 - gpu.launches.total()


def test_a_step_launches_few_kernels_beside_the_network_however_many_weights_it_has(small):
    launches = {count_step_launches(small, model) for model in ("resnet8", "resnet20")}
    assert launches == {12}  # fetching and augmenting the batch, one for the optimizer, accuracy


QUICK_ATTACK = {"epsilon0": 0.64, "steps": 10}
STEPPING = {
    "amun": QUICK_ATTACK,
    "ft": {},
    "ga": {},
    "ltd": {"k": 20, "teacher_epochs": 1},
    "neighbor": {"k": 20},
    "rl": {},
    "salun": {},
}


@pytest.mark.parametrize("name", STEPPING)
def test_no_step_of_a_method_makes_the_host_wait(small, name):
    waits = []
    for batch_size in (160, 20):
        values = {"epochs": 1, "batch_size": batch_size, **STEPPING[name]}
        params = params_class(name).model_validate(values)
        with pretended() as gpu:
            method = on_gpu(small.method(name))
            inputs = [method.prepare(params, None).tensors] if method.has_prepare else []
            gpu.waits.clear()
            method.unlearn(params, *inputs)
        waits.append(gpu.waits)
    assert waits[0] == waits[1]


VARIANTS = [
    ("amun", {"variant": "advonly", **QUICK_ATTACK}),
    ("ga", {"optimizer": "adam"}),
    ("iu", {"mode": "exact", "samples": 40}),
    ("ltd", {"k": "auto", "teacher_epochs": 1}),
    ("ltd", {"k": 20, "teacher_epochs": 1, "targets": "augmented"}),
    ("ltd", {"k": 20, "teacher_epochs": 1, "teacher": "mlp_frozen", "support_by": "example"}),
    (
        "ltd",
        {
            "k_each": 20,
            "teacher_epochs": 1,
            "support_by": "cluster",
            "clusters": 2,
            "teachers": "per_cluster",
            "targets": "augmented",
        },
    ),
    ("neighbor", {"k": 20, "within": "support"}),
    ("rl", {"labels": "wrong", "batchnorm": "frozen"}),
]


def weights_after(method, values) -> dict[str, torch.Tensor]:
    """Run a method's phases with few epochs."""
    known = params_class(method.name)
    brief = {key: value for key, value in BRIEF.items() if key in known.model_fields}
    params = known.model_validate({**brief, **values})
    inputs = [method.prepare(params, None).tensors] if method.has_prepare else []
    return method.unlearn(params, *inputs)[0].state_dict()


@pytest.mark.parametrize(("name", "values"), VARIANTS)
def test_other_ways_of_a_method_end_in_the_same_bits_too(small, place, name, values):
    one = weights_after(on_gpu(small.method(name), place.gpu), values)
    other = weights_after(on_gpu(small.method(name), place.twin), values)
    assert differing(one, other) == []


@pytest.mark.gpu
@pytest.mark.parametrize("name", METHOD.names())
def test_every_method_gives_the_same_bits_twice_on_a_real_gpu(small, real, name):
    values = {"k": 40, "teacher_epochs": 2} if name == "ltd" else {}
    one, other = (weights_after(on_gpu(small.method(name), real), values) for _ in range(2))
    assert differing(one, other) == []


# From one device to another


class Killed(Exception):
    """Ends a job as a kill does."""


def killing_after(epochs: int):
    """Return an epoch of training that ends the job after so many."""
    epoch, done = engine._epoch, []

    def killing(*args):
        if len(done) == epochs:
            raise Killed
        done.append(None)
        return epoch(*args)

    return killing


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
@pytest.mark.parametrize("way", ["stays", "leaves", "arrives"])
def test_a_killed_training_resumes_on_any_device(
    small, place, tmp_path, monkeypatch, way, optimizer
):
    params = {"epochs": 3, "optimizer": optimizer, "checkpoint": "best_validation"}
    first = place.twin if way == "arrives" else place.gpu
    then = place.twin if way == "leaves" else place.gpu
    undisturbed, run = train(small, place.twin, **params)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(engine, "_epoch", killing_after(2))
        train(small, first, Checkpoints(tmp_path, "job", 0), **params)
    model, again = train(small, then, Checkpoints(tmp_path, "job", 0), **params)
    assert {weight.device for weight in model.parameters()} == {then}
    assert differing(model.state_dict(), undisturbed.state_dict()) == []
    assert again.history == run.history


def test_a_checkpoint_has_the_random_numbers_of_the_gpu(monkeypatch):
    state = torch.arange(16, dtype=torch.uint8)
    seen = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda: state)
    monkeypatch.setattr(torch.cuda, "set_rng_state", seen.append)
    saved = checkpointing.random_state()
    checkpointing.set_random_state(saved)
    assert seen == [state]
    checkpointing.set_random_state({"cpu": saved["cpu"]})  # of a job that began on a CPU
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    checkpointing.set_random_state(saved)  # of one that ends there
    assert seen == [state]


# Stages


def run_stages(folder) -> Workshop:
    """Train base and reference, tune and unlearn."""
    workshop, ltd = Workshop(folder), {"k": 20, "teacher_epochs": 1, **BRIEF}
    main(workshop.train("base", epochs=1))
    main(workshop.train("retrain", epochs=1, split=workshop.split))
    main(workshop.method("unlearn", "ltd", "ltd", ltd, run="ltd", track=True))
    main(workshop.method("tune", "tune", "ga", BRIEF, trials=[{"lr": 0.001}]))
    teacher = {"teacher_epochs": 1}
    main(workshop.method("support_size", "support", "ltd", teacher, sizes=[10, 20]))
    outputs = folder / "retrain" / "outputs.npz"
    main(workshop.method("unlearn", "ideal", "ideal", BRIEF, run="ideal", retrained=outputs))
    return workshop


def test_the_stages_write_the_same_files_on_a_gpu(tmp_path, monkeypatch):
    monkeypatch.setattr(sessions, "choose_device", lambda: CPU)
    here = run_stages(tmp_path / "cpu")
    monkeypatch.setattr(sessions, "choose_device", lambda: GPU)
    with pretended():
        there = run_stages(tmp_path / "gpu")
    for name in ("base", "retrain", "ltd", "tune", "support", "ideal"):
        one, other = here.results(name), there.results(name)
        assert one.keys() == other.keys()
        assert {file for file in one if one[file] != other[file]} <= {"record.json"}
    record = there.results("ltd")["record.json"]
    assert record["numerics"] == {"device": NAME, "deterministic": True, "tf32": False}
    cost = json.loads((there.folder / "ltd" / "cost.json").read_text())
    assert (cost["device"], cost["peak_device_mb"]) == ("cuda", 1.0)


def test_a_job_that_shares_its_gpu_states_no_time(tmp_path, monkeypatch):
    monkeypatch.setattr(sessions, "choose_device", lambda: GPU)
    monkeypatch.setenv(GPU_SLOTS, "3")
    workshop = Workshop(tmp_path)
    with pretended():
        main(workshop.train("base", epochs=1))
        main(workshop.method("unlearn", "ga", "ga", BRIEF, run="ga"))
    base, ga = (json.loads((tmp_path / name / "cost.json").read_text()) for name in ("base", "ga"))
    assert (base["gpu_slots"], base["seconds"], base["total_seconds"]) == (3, {}, None)
    assert base["shared_seconds"]["train"] > 0
    assert "gpu_slots" not in ga and ga["total_seconds"] > 0


@pytest.mark.parametrize(
    ("device", "module"), [(GPU, torch.cuda), (torch.device("mps"), torch.mps)]
)
def test_the_clock_waits_for_the_device_before_it_reads_the_time(monkeypatch, device, module):
    now = [0.0]

    def finish(*_device) -> None:
        now[0] += 5  # what was still going on

    monkeypatch.setattr(module, "synchronize", finish)
    monkeypatch.setattr("collateral.training.run.time.perf_counter", lambda: now[0])
    clock = Clock(device)
    with clock.phase("work"):
        now[0] += 1
    assert clock.seconds == {"work": 6}


# torch's settings

SETTINGS = """
import os, sys
from pathlib import Path
import torch
from collateral.contract.params import TrainingParams
from collateral.training import job_io
from collateral.training.fit import fit
from collateral.training.devices import describe_numerics, device_name
from collateral.training.run import Run

def device():
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"  # before CUDA can have started
    return torch.device("cpu")

job_io.choose_device = device
torch.backends.cudnn.benchmark = True
this = job_io.open_session(Path(sys.argv[1]), 1)
assert torch.get_deterministic_debug_mode() == 2  # errors
assert not torch.backends.cudnn.benchmark
facts = describe_numerics([device_name(this.device)])
assert facts.pop("device").startswith("cpu "), facts
assert facts == {"deterministic": True, "tf32": False}
params = TrainingParams(epochs=1)
fit(this.new_model("mlp"), this.train, this.test, params, Run(this.device, 0))
"""


def test_torch_is_deterministic_before_the_device_is_chosen(tmp_path):
    workshop = Workshop(tmp_path)
    command = [sys.executable, "-c", SETTINGS, str(workshop.data)]
    subprocess.run(command, check=True)


# Mixed precision: on the CPU, as torch has it there too


@pytest.fixture
def mixed_on_cpu(monkeypatch):
    monkeypatch.setattr(precisions, "check_precision", lambda *_: None)


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_mixed_precision_computes_in_half_and_learns_in_float32(small, mixed_on_cpu, name):
    seen = []
    model = build_model("small_cnn", small.data.info)
    model.body.register_forward_hook(lambda _model, _input, output: seen.append(output.dtype))
    run, examples = Run(CPU, 0), train_examples(small.data, CPU)
    params = TrainingParams(epochs=4, batch_size=16, lr=0.05, precision=name)
    engine.fit(model, examples, examples, params, run)
    assert set(seen) == {getattr(torch, name)}
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    assert run.history[-1]["loss"] < run.history[0]["loss"]
    assert accuracy(model, examples) > 0.8
    assert seen[-1] == torch.float32


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_mixed_training_that_was_killed_ends_in_the_same_bits(
    small, mixed_on_cpu, tmp_path, monkeypatch, name
):
    params = {"epochs": 3, "precision": name}
    undisturbed, _ = train(small, **params)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(engine, "_epoch", killing_after(2))
        train(small, CPU, Checkpoints(tmp_path, "job", 0), **params)
    model, _ = train(small, CPU, Checkpoints(tmp_path, "job", 0), **params)
    assert differing(model.state_dict(), undisturbed.state_dict()) == []


def test_a_gradient_too_large_for_float16_is_skipped_and_the_scale_goes_down():
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = engine.make_optimizer(
        torch.nn.ParameterList([weight]), TrainingParams(lr=0.1, weight_decay=0, momentum=0)
    )
    scaler = GradScaler("cpu")
    before = scaler.get_scale()
    descend(optimizer, weight.sum() * torch.inf, scaler)
    assert weight.item() == 1
    assert scaler.get_scale() < before
    descend(optimizer, weight.sum(), scaler)
    assert weight.item() == pytest.approx(0.9)


def test_the_scale_is_in_the_checkpoint(small, mixed_on_cpu, tmp_path):
    train(small, CPU, Checkpoints(tmp_path, "job", 0), epochs=1, precision="float16")
    states = Checkpoints(tmp_path, "job", 0).load("loop-1")["states"]
    assert [state["scale"] for state in states if "scale" in state] == [2.0**16]


# What needs a GPU


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("model", ["resnet8", "vit_tiny"])
def test_a_real_gpu_learns_in_every_precision_and_twice_the_same(small, real, model, precision):
    params = {"model": model, "precision": precision, "epochs": 6, "optimizer": "adamw", "lr": 1e-3}
    (one, run), (other, _) = (train(small, real, **params) for _ in range(2))
    assert differing(one.state_dict(), other.state_dict()) == []
    assert run.history[-1]["loss"] < 0.9 * run.history[0]["loss"]


@pytest.mark.gpu
def test_a_real_gpu_learns_about_as_much_as_a_cpu(small, real):
    losses = [[row["loss"] for row in train(small, at)[1].history] for at in (CPU, real)]
    assert losses[0] == pytest.approx(losses[1], rel=0.02)


@pytest.mark.gpu
def test_compiled_training_on_a_real_gpu_is_the_same_training(small, real):
    plain, model = train(small, real), train(small, real, compile=True)
    assert list(model[0].state_dict()) == list(plain[0].state_dict())
    losses = [[row["loss"] for row in run.history] for _, run in (plain, model)]
    assert losses[0] == pytest.approx(losses[1], rel=0.02)
    again, _ = train(small, real, compile=True)
    assert differing(again.state_dict(), model[0].state_dict()) == []
