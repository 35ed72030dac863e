"""`freeze:`: parts of a model that neither training nor a method changes."""

import copy
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from test_methods import NAMES, inputs_of, tiny
from torch import nn
from workshop import Workshop, main

from collateral.cli import main as command
from collateral.contract.data import ImageInfo
from collateral.contract.params import TrainingParams
from collateral.models._build import build_model, wrap_model
from collateral.models._classifier import Classifier
from collateral.results.provenance import content_hash
from collateral.training.fit import fit
from collateral.training.job_io import Session, read_tensors
from collateral.training.run import Run

CPU = torch.device("cpu")
INFO = ImageInfo(3, (8, 8, 1), (0.5,), (0.25,))
# A part with batch norm in it, and the head; the names are those of resnet8.
PARTS = ("body.4", "head")


def state_of(model: nn.Module, parts=PARTS) -> dict[str, torch.Tensor]:
    """Return copies of all weights and buffers in these parts."""
    state = model.state_dict()
    return {name: state[name].clone() for name in state if name.startswith(parts)}


def same(one, other) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("name", NAMES)
def test_no_method_changes_a_frozen_part_and_each_changes_others(small, name):
    def load_base() -> Classifier:
        base = copy.deepcopy(small.base)
        base.freeze(PARTS)
        return base

    forget = np.flatnonzero(small.data.labels.train == 2)[:9].tolist()
    method = replace(small.method(name, forget), load_base=load_base)
    params = tiny(name)
    model, _ = method.unlearn(params, *inputs_of(method, params))
    before = state_of(small.base)
    assert len(before) == 20 and any("running_mean" in key for key in before)
    assert same(state_of(model), before)
    others = ("body.0", "body.3", "body.5")
    assert not same(state_of(model, others), state_of(small.base, others))
    learns = {key for key, weight in model.named_parameters() if weight.requires_grad}
    assert learns == {key for key, _ in model.named_parameters() if not key.startswith(PARTS)}


def test_training_leaves_a_frozen_part_and_its_statistics(small):
    torch.manual_seed(0)
    model = build_model("resnet8", small.data.info)
    model.freeze(("body.3.0.residual", "head.weight"))
    frozen = ("body.3.0.residual", "head.weight")
    before, others = state_of(model, frozen), state_of(model, ("body.0", "head.bias", "body.1"))
    params = TrainingParams(epochs=1, batch_size=64, lr=0.05)
    train = small.task([0]).retain
    fit(model, train, train, params, Run(CPU, seed=0))
    assert len(before) == 13
    assert same(state_of(model, frozen), before)
    after = state_of(model, ("body.0", "head.bias", "body.1"))
    assert not any(torch.equal(after[name], others[name]) for name in others)


def test_names_are_the_models_or_those_of_the_wrapped_one():
    body = [nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    body += [nn.Identity() for _ in range(6)]
    inner = nn.Sequential(*body, nn.Linear(4, 3))
    model = wrap_model(inner, "10", lambda net, x: net(x), INFO)
    model.freeze(("1", "head"))  # not 10: that is the head, under its other name
    frozen = {name for name, weight in model.named_parameters() if not weight.requires_grad}
    assert frozen == {"body.inner.1.weight", "body.inner.1.bias", "head.weight", "head.bias"}
    model.train()
    assert not model.get_submodule("body.inner.1").training and model.body.training


def test_a_part_that_is_not_there_is_named_with_the_nearest():
    with pytest.raises(ValueError, match=r"freeze: no part of the model 'heed'; .*mean head\?"):
        build_model("small_cnn", INFO).freeze(("heed",))


def test_a_session_freezes_new_models_and_loaded_ones(small, tmp_path):
    train = small.task([0]).retain
    session = Session(CPU, small.data, train, train, tmp_path, freeze=("head",))
    model = session.new_model("small_cnn")
    assert [w.requires_grad for w in model.head.parameters()] == [False, False]
    assert all(w.requires_grad for w in model.body.parameters())


def test_jobs_of_the_base_and_of_methods_freeze_it(tmp_path_factory):
    workshop = Workshop(tmp_path_factory.mktemp("freeze"))
    main(workshop.train("start", epochs=1))
    start = workshop.folder / "start" / "model.safetensors"
    main(workshop.job(
        "base", "base", {}, {"weights": str(start)}, seed=0, freeze=("head",),
        params={"epochs": 2, "batch_size": 32},
        own={"key": "init.weights", "sha256": content_hash(start)},
    ))  # fmt: skip
    main(workshop.method("unlearn", "ft", "ft", {"epochs": 1}, freeze=("head",)))
    main(workshop.method("unlearn", "free", "ft", {"epochs": 1}))
    heads = {}
    for name in ("start", "base", "ft", "free"):
        state = read_tensors(workshop.folder / name / "model.safetensors")
        heads[name] = {key: value for key, value in state.items() if key.startswith("head.")}
        assert len(heads[name]) == 2
    assert same(heads["base"], heads["start"]) and same(heads["ft"], heads["start"])
    assert not same(heads["free"], heads["start"])


def test_the_command_before_any_job_names_a_wrong_part(monkeypatch, capsys):
    monkeypatch.setattr("json.load", lambda _: [])
    options = ["--model", "small_cnn", "--num-classes", "3", "--shape", "8", "8", "1"]
    command(["weights", *options, "--freeze", "body.0", "heed"])
    assert capsys.readouterr().out.startswith("freeze: no part of the model 'heed'; known: ")
