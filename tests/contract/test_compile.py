"""`compile: true`: another way to compute the same training, and nothing else of it changes."""

import shutil
from functools import partial

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file
from workshop import Workshop, main

from collateral.contract.params import TrainingParams
from collateral.models._build import build_model
from collateral.training import fit as engine
from collateral.training.checkpoints import Checkpoints
from collateral.training.examples import train_examples
from collateral.training.run import Run

pytestmark = pytest.mark.slow
CPU = torch.device("cpu")


@pytest.fixture
def quickly(monkeypatch):
    """Let the compiler trace and differentiate, but write no code: that takes a minute."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))


@pytest.fixture(autouse=True)
def _start_anew():
    torch.compiler.reset()


def train(small, checkpoints=None, model: str = "small_cnn", **params):
    """Train on 160 examples, whose last batch is a smaller one."""
    run, examples = Run(CPU, 0, checkpoints=checkpoints), train_examples(small.data, CPU)
    given = TrainingParams.model_validate({"epochs": 3, "batch_size": 48, "lr": 0.05, **params})
    new = build_model(model, small.data.info).to(memory_format=torch.channels_last)
    return engine.fit(new, examples, examples, given, run), run


def close(one: Run, other: Run) -> bool:
    """Tell whether two runs saw the same losses but for rounding."""
    losses = [[row["loss"] for row in run.history] for run in (one, other)]
    return losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_compiled_training_is_the_same_training(small, quickly):
    plain, run = train(small)
    model, again = train(small, compile=True)
    assert list(model.state_dict()) == list(plain.state_dict())
    assert close(again, run)


def test_a_batch_size_is_compiled_once(small, monkeypatch):
    shapes = []

    def backend(graph, inputs):
        shapes.extend({x.shape[0] for x in inputs if x.dim() == 4 and x.shape[2:] == (8, 8)})
        return graph.forward

    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=backend))
    train(small, compile=True, model="mlp")
    assert shapes == [48, 16]


def test_a_killed_compiled_training_ends_in_the_same_bits(small, quickly, tmp_path, monkeypatch):
    undisturbed, _ = train(small, compile=True)
    epoch, done = engine._epoch, []

    def killed_in_the_third(*args):
        done.append(None)
        if len(done) == 3:
            raise InterruptedError
        return epoch(*args)

    with monkeypatch.context() as patch, pytest.raises(InterruptedError):
        patch.setattr(engine, "_epoch", killed_in_the_third)
        train(small, Checkpoints(tmp_path, "job", 0), compile=True)
    torch.compiler.reset()
    model, run = train(small, Checkpoints(tmp_path, "job", 0), compile=True)
    assert [row["epoch"] for row in run.history] == [0, 1, 2]
    for name, value in undisturbed.state_dict().items():
        assert torch.equal(model.state_dict()[name], value)


def test_the_files_of_a_compiled_model_have_the_models_own_names(quickly, tmp_path):
    workshop = Workshop(tmp_path)
    main(workshop.train("plain", 1))
    main(workshop.train("base", 1, params={"epochs": 1, "batch_size": 32, "compile": True}))
    plain = load_file(workshop.folder / "plain" / "model.safetensors")
    assert load_file(workshop.base).keys() == plain.keys()
    ft = {"epochs": 1, "batch_size": 32}
    main(workshop.method("unlearn", "ft", "ft", ft, run="ft"))  # and a method takes it


@pytest.mark.skipif(not shutil.which("g++"), reason="torch.compile needs a C++ compiler")
def test_code_that_the_compiler_writes_computes_the_same(small, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    options = {"epochs": 2, "batch_size": 160, "model": "mlp"}
    assert close(train(small, compile=True, **options)[1], train(small, **options)[1])
