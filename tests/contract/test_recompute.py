"""A part of a model that keeps nothing for its backward pass computes the same bits."""

import copy

import pytest

torch = pytest.importorskip("torch")

from torch import nn
from torch.nn import functional as F

from collateral.contract.data import ImageInfo
from collateral.models import resnet
from collateral.models._build import build_model
from collateral.models.resnet import recompute

INFO = ImageInfo(num_classes=5, shape=(8, 8, 3), mean=(0.5,) * 3, std=(0.25,) * 3)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return build_model("resnet20", INFO).to(memory_format=torch.channels_last).train()


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    return torch.rand(6, 3, 8, 8, generator=generator), torch.arange(6) % 5


def step(model, batch):
    """Take one step; return the gradients and everything that the model then is."""
    x, y = batch
    F.cross_entropy(model(x), y).backward()
    return [weight.grad for weight in model.parameters()], model.state_dict()


def count_calls(model):
    """Count how often each block runs."""
    calls = []
    for module in model.modules():
        if isinstance(module, resnet.Block):
            module.register_forward_hook(lambda *_: calls.append(1))
    return calls


def test_gradients_and_statistics_are_the_same_bits(model, batch, monkeypatch):
    frugal = copy.deepcopy(model)
    gradients, state = step(model, batch)
    monkeypatch.setattr(resnet, "find_free_memory", lambda: 0.0)
    calls = count_calls(frugal)
    frugal_gradients, frugal_state = step(frugal, batch)
    assert len(calls) == 9 + 9  # all nine, and all of them again
    assert all(torch.equal(a, b) for a, b in zip(gradients, frugal_gradients, strict=True))
    assert all(torch.equal(state[key], frugal_state[key]) for key in state)


def test_bfloat16_has_the_same_bits_too(model, batch, monkeypatch):
    model.precision = torch.bfloat16
    frugal = copy.deepcopy(model)
    gradients, state = step(model, batch)
    monkeypatch.setattr(resnet, "find_free_memory", lambda: 0.0)
    frugal_gradients, frugal_state = step(frugal, batch)
    assert all(torch.equal(a, b) for a, b in zip(gradients, frugal_gradients, strict=True))
    assert all(torch.equal(state[key], frugal_state[key]) for key in state)


def test_frozen_batch_norm_and_frozen_weights_stay_so(model, batch, monkeypatch):
    monkeypatch.setattr(resnet, "find_free_memory", lambda: 0.0)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eval()
    block = model.body[3][1]
    block.residual[0].weight.requires_grad_(False)
    before = copy.deepcopy(model.state_dict())
    step(model, batch)
    assert block.residual[0].weight.grad is None
    assert block.residual[3].weight.grad is not None
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


def test_gradients_can_be_asked_for_by_name(model, batch, monkeypatch):
    plain = copy.deepcopy(model)
    monkeypatch.setattr(resnet, "find_free_memory", lambda: 0.0)
    (x, y), weights = batch, list(model.parameters())
    found = torch.autograd.grad(F.cross_entropy(model(x), y), weights)
    monkeypatch.undo()
    expected, _ = step(plain, batch)
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("training", [True, False])
def test_blocks_are_recomputed_only_in_training_with_gradients(model, batch, monkeypatch, training):
    monkeypatch.setattr(resnet, "find_free_memory", lambda: 0.0)
    calls = count_calls(model.train(training))
    if training:
        with torch.no_grad():
            model(batch[0])
    else:
        step(model, batch)
    assert len(calls) == 9


def test_memory_is_given_back_on_the_way_back(model, batch, monkeypatch):
    monkeypatch.setattr(resnet, "find_free_memory", lambda: 0.0)
    given = []
    monkeypatch.setattr(resnet, "trim_memory", given.append)
    step(model, batch)
    assert len(given) == 3  # once in each stage of three blocks


def test_the_compiler_may_choose_for_itself(model, batch, monkeypatch):
    monkeypatch.setattr(resnet, "find_free_memory", lambda: 0.0)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    calls = count_calls(model)
    step(model, batch)
    assert len(calls) == 9


def test_less_is_kept(model):
    def kept_bytes(of):
        sizes = {}

        def pack(tensor):
            sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            output = of(torch.rand(64, 16, 8, 8).requires_grad_())
        assert output.requires_grad
        weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
        return sum(size for place, size in sizes.items() if place not in weights)

    block = model.body[3][1]
    one = 64 * 16 * 8 * 8 * 4
    assert kept_bytes(block) >= resnet.KEPT * one
    assert kept_bytes(lambda x: recompute(block, x)) == one


@pytest.mark.parametrize(
    ("name", "free", "recomputed"),
    [
        ("resnet56", 2.2e9, ()),
        ("resnet56", 1.5e9, (0, 1)),
        ("resnet56", 0.5e9, (0, 1, 2)),
        ("resnet20", 0.8e9, ()),
    ],
)
def test_stages_that_do_not_fit_into_memory_are_recomputed(name, free, recomputed, monkeypatch):
    monkeypatch.setattr(resnet, "find_free_memory", lambda: free)
    info = ImageInfo(num_classes=5, shape=(32, 32, 3), mean=(0.5,) * 3, std=(0.25,) * 3)
    stages = [part for part in build_model(name, info).modules() if isinstance(part, resnet.Stage)]
    inputs = [torch.empty(256, *shape) for shape in ((16, 32, 32), (16, 32, 32), (32, 16, 16))]
    seen = [
        resnet.find_step(stage.num_stages) * resnet._would_keep(x, len(stage))
        for stage, x in zip(stages, inputs, strict=True)
    ]
    assert tuple(i for i in range(3) if seen[i] > free) == recomputed


# The memory of a job


@pytest.fixture
def memory(monkeypatch, tmp_path):
    """Return the module on a machine of two cores with 8 GiB, outside of SLURM."""
    (tmp_path / "meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable: 8388608 kB\n")
    monkeypatch.setattr(resnet, "MACHINE", tmp_path / "meminfo")
    monkeypatch.setattr(resnet, "CONTAINER", tmp_path / "memory.max")
    monkeypatch.setattr(resnet, "count_cores", lambda: 2)
    for name in ("MEM_PER_NODE", "MEM_PER_CPU", "CPUS_ON_NODE"):
        monkeypatch.delenv(f"SLURM_{name}", raising=False)
    resnet.find_free_memory.cache_clear()
    yield resnet
    resnet.find_free_memory.cache_clear()


def test_jobs_side_by_side_share_the_free_memory_of_the_machine(memory, monkeypatch):
    monkeypatch.setattr(memory.os, "sysconf", lambda _name: 2**17)  # 16 GiB in all
    assert memory.find_free_memory() == 0.75 * 2**33 / 2
    memory.MACHINE.write_text("")
    assert memory.find_free_memory() == 0.75 * 2**33 / 2  # determined once per process


@pytest.mark.parametrize(("limit", "expected"), [("max", 2**33), (str(2**32), 2**32)])
def test_a_container_may_have_less_than_its_machine(memory, limit, expected):
    memory.CONTAINER.write_text(f"{limit}\n")
    assert memory._free_on_machine() == expected


@pytest.mark.parametrize(
    "given", [{"MEM_PER_NODE": "6000"}, {"MEM_PER_CPU": "3000", "CPUS_ON_NODE": "2"}]
)
def test_a_job_of_slurm_has_its_limit_less_what_it_uses(memory, monkeypatch, given):
    for name, value in given.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    monkeypatch.setattr(memory, "_used", lambda: 1000 * 2**20)
    assert memory.find_free_memory() == 5000 * 2**20


def test_a_job_that_is_over_its_limit_has_nothing_left(memory, monkeypatch):
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "1")
    assert memory.find_free_memory() == 0
