"""What can be said of GPUs without one: on a pretended GPU everything runs, and ends in the CPU's
bits; no step makes the host wait; torch is told to be deterministic before it starts.

That every method runs there is part of its contract, in test_methods.py. docs/gpu.md says what
none of this can show.
"""

import copy
import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from pretend_gpu import CPU, GPU, NAME, on_gpu, pretended  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from workshop import Workshop  # noqa: E402

from collateral.cli import main  # noqa: E402
from collateral.config.lookup import params_class  # noqa: E402
from collateral.config.schema import TrainingParams  # noqa: E402
from collateral.core.dataset import ImageInfo  # noqa: E402
from collateral.models.build import build_model  # noqa: E402
from collateral.models.names import NAMES as MODELS  # noqa: E402
from collateral.training import checkpoints as checkpointing  # noqa: E402
from collateral.training import fit as engine  # noqa: E402
from collateral.training import precision as precisions  # noqa: E402
from collateral.training import session as sessions  # noqa: E402
from collateral.training.checkpoints import Checkpoints  # noqa: E402
from collateral.training.clock import Clock  # noqa: E402
from collateral.training.examples import test_examples as held_out_examples  # noqa: E402
from collateral.training.examples import train_examples  # noqa: E402
from collateral.training.inference import accuracy  # noqa: E402
from collateral.training.precision import Precision  # noqa: E402
from collateral.training.run import Run  # noqa: E402

QUICK = {"epochs": 2, "batch_size": 32, "lr": 0.05}
BRIEF = {"epochs": 1, "batch_size": 64}


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


def test_what_is_on_the_gpu_stays_there_until_it_is_fetched():
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
def test_what_makes_the_host_wait_is_counted(waits, work):
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
def test_every_model_learns_on_a_gpu_as_on_a_cpu(name):
    torch.manual_seed(0)
    here = build_model(name, ImageInfo(3, (8, 8, 3), (0.5,) * 3, (0.25,) * 3))
    x, y = torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 1])
    with pretended() as gpu:
        there = copy.deepcopy(here).to(GPU).to(memory_format=torch.channels_last)
        F.cross_entropy(there(x.to(GPU)), y.to(GPU)).backward()
        gradients = [weight.grad.cpu() for weight in there.parameters()]
        assert gpu.refused == []
    here.to(memory_format=torch.channels_last)
    F.cross_entropy(here(x), y).backward()
    for weight, gradient in zip(here.parameters(), gradients, strict=True):
        # Not always to the bit: attention takes another way on the CPU.
        torch.testing.assert_close(weight.grad, gradient)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"optimizer": "adamw", "lr": 0.01},
        {"checkpoint": "best_validation"},
        {"checkpoint": "best_test", "schedule": "constant", "momentum": 0},
    ],
)
def test_training_on_a_gpu_ends_in_the_same_bits(small, params):
    here, run = train(small, **params)
    with pretended() as gpu:
        there, again = train(small, GPU, **params)
        assert differing(there.state_dict(), here.state_dict()) == []
    assert again.history == run.history
    assert gpu.refused == []


@pytest.mark.parametrize("checkpoint", ["last", "best_test"])
def test_no_step_of_training_makes_the_host_wait(small, checkpoint):
    waits = []
    for batch_size in (80, 20):  # 2 steps an epoch, and 8
        with pretended() as gpu:
            train(small, GPU, batch_size=batch_size, checkpoint=checkpoint)
        waits.append(gpu.waits)
    assert waits[0] == waits[1]
    assert waits[0].total() > 0


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
    ("amun", {"variant": "standard", **QUICK_ATTACK}),
    ("ga", {"optimizer": "adam"}),
    ("iu", {"mode": "exact", "samples": 40}),
    ("ltd", {"k": "auto", "teacher_epochs": 1}),
    ("ltd", {"k": 20, "teacher_epochs": 1, "targets": "augmented"}),
    ("ltd", {"k": 20, "teacher_epochs": 1, "teacher": "mlp_frozen"}),
    ("neighbor", {"k": 20, "within": "support"}),
    ("rl", {"labels": "wrong", "batchnorm": "frozen"}),
]


@pytest.mark.parametrize(("name", "values"), VARIANTS)
def test_other_ways_of_a_method_run_on_a_gpu_too(small, name, values):
    known = params_class(name)
    brief = {key: value for key, value in BRIEF.items() if key in known.model_fields}
    params = known.model_validate({**brief, **values})

    def weights(method):
        inputs = [method.prepare(params, None).tensors] if method.has_prepare else []
        return method.unlearn(params, *inputs)[0].state_dict()

    here = weights(small.method(name))
    with pretended() as gpu:
        there = weights(on_gpu(small.method(name)))
        assert differing(here, there) == []
    assert gpu.refused == []


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
@pytest.mark.parametrize(("first", "then"), [(GPU, GPU), (GPU, CPU), (CPU, GPU)])
def test_a_killed_training_goes_on_on_any_device(
    small, tmp_path, monkeypatch, first, then, optimizer
):
    params = {"epochs": 3, "optimizer": optimizer, "checkpoint": "best_validation"}
    undisturbed, run = train(small, **params)
    with pretended():
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
    main(workshop.method("unlearn", "ltd", "ltd", ltd, run="ltd"))
    main(workshop.method("tune", "tune", "ga", BRIEF, trials=[{"lr": 0.001}]))
    outputs = folder / "retrain" / "outputs.npz"
    main(workshop.method("unlearn", "ideal", "ideal", BRIEF, run="ideal", retrained=outputs))
    return workshop


def test_the_stages_write_the_same_files_on_a_gpu(tmp_path, monkeypatch):
    monkeypatch.setattr(sessions, "choose_device", lambda: CPU)
    here = run_stages(tmp_path / "cpu")
    monkeypatch.setattr(sessions, "choose_device", lambda: GPU)
    with pretended():
        there = run_stages(tmp_path / "gpu")
    for name in ("base", "retrain", "ltd", "tune", "ideal"):
        one, other = here.results(name), there.results(name)
        assert one.keys() == other.keys()
        unlike = [file for file in one if one[file] != other[file]]
        assert unlike == (["record.json"] if "record.json" in one else [])
    record = json.loads(there.results("ltd")["record.json"])
    assert record["numerics"] == {"device": NAME, "deterministic": True, "tf32": False}
    cost = json.loads((there.folder / "ltd" / "cost.json").read_text())
    assert (cost["device"], cost["peak_device_mb"]) == ("cuda", 1.0)


@pytest.mark.parametrize(
    ("device", "module"), [(GPU, torch.cuda), (torch.device("mps"), torch.mps)]
)
def test_the_clock_waits_for_the_device_before_it_reads_the_time(monkeypatch, device, module):
    now = [0.0]

    def finish(*_device) -> None:
        now[0] += 5  # what was still going on

    monkeypatch.setattr(module, "synchronize", finish)
    monkeypatch.setattr("collateral.training.clock.time.perf_counter", lambda: now[0])
    clock = Clock(device)
    with clock.phase("work"):
        now[0] += 1
    assert clock.seconds == {"work": 6}


# torch's settings

SETTINGS = """
import os, sys
from pathlib import Path
import torch
from collateral.config.schema import TrainingParams
from collateral.training import session
from collateral.training.fit import fit
from collateral.training.numerics import numerics_of
from collateral.training.run import Run

def device():
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"  # before CUDA can have started
    return torch.device("cpu")

session.choose_device = device
torch.backends.cudnn.benchmark = True
this = session.open_session(Path(sys.argv[1]), 1)
assert torch.get_deterministic_debug_mode() == 2  # errors
assert not torch.backends.cudnn.benchmark
facts = numerics_of(this.device)
assert facts.pop("device").startswith("cpu "), facts
assert facts == {"deterministic": True, "tf32": False}
params = TrainingParams(epochs=1)
fit(this.new_model("mlp"), this.train, this.test, params, Run(this.device, 0))
assert "torch._dynamo" not in sys.modules and "torch._inductor" not in sys.modules
"""


def test_torch_is_deterministic_before_the_device_is_chosen_and_without_its_compiler(tmp_path):
    workshop = Workshop(tmp_path)
    command = [sys.executable, "-c", SETTINGS, str(workshop.data)]
    subprocess.run(command, check=True)


# Mixed precision: on the CPU, as torch has it there too


@pytest.fixture
def mixed_on_cpu(monkeypatch):
    monkeypatch.setattr(precisions, "DEVICES", ("cpu",))


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_mixed_precision_computes_in_half_and_learns_in_float32(small, mixed_on_cpu, name):
    seen = []
    model = build_model("small_cnn", small.data.info)
    model.head.register_forward_hook(lambda _model, _input, logits: seen.append(logits.dtype))
    run, examples = Run(CPU, 0), train_examples(small.data, CPU)
    params = TrainingParams(epochs=4, batch_size=16, lr=0.05, precision=name)
    engine.fit(model, examples, examples, params, run)
    assert set(seen) == {getattr(torch, name)}
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    assert run.history[-1]["loss"] < run.history[0]["loss"]
    assert accuracy(model, examples) > 0.8  # in float32


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


def test_a_gradient_too_large_for_float16_is_skipped_and_the_scale_goes_down(mixed_on_cpu):
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = engine.make_optimizer(
        torch.nn.ParameterList([weight]), TrainingParams(lr=0.1, weight_decay=0, momentum=0)
    )
    scaled = Precision("float16", CPU)
    before = scaled.state_dict()["scale"]
    scaled.descend(optimizer, weight.sum() * torch.inf)
    assert weight.item() == 1
    assert scaled.state_dict()["scale"] < before
    scaled.descend(optimizer, weight.sum())
    assert weight.item() == pytest.approx(0.9)


def test_the_scale_survives_a_checkpoint_and_is_not_asked_of_a_cpu(mixed_on_cpu, monkeypatch):
    scaled = Precision("float16", CPU)
    there = {**scaled.state_dict(), "scale": 1024.0}
    scaled.load_state_dict(there)
    assert scaled.state_dict()["scale"] == 1024.0
    monkeypatch.setattr(precisions, "DEVICES", ())
    plain = Precision("float16", CPU)
    plain.load_state_dict(there)
    monkeypatch.undo()
    scaled.load_state_dict(plain.state_dict())  # a job that began on a CPU
    assert scaled.state_dict()["scale"] == 1024.0
