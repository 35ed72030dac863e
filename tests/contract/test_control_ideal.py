"""Ideal: with Retrain's own soft labels, LTD's objective leads towards Retrain."""

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F

from collateral.contract.params import StudentParams, TrainingParams
from collateral.controls.ideal.params import Params
from collateral.methods.ltd.params import Params as LtdParams
from collateral.models._build import build_model
from collateral.training.fit import fit
from collateral.training.inference import infer
from collateral.training.run import Run

CPU = torch.device("cpu")
SEEDS = (0, 1, 2)


def probabilities(model, examples) -> torch.Tensor:
    return infer(model, examples)[1].softmax(1)


def distance(p: torch.Tensor, q: torch.Tensor) -> float:
    """Return the mean total variation between two models' predictions."""
    return (p - q).abs().sum(1).mean().item() / 2


def retrain(small, task, seed: int):
    """Train as the base model of `small` was, without the forget set."""
    run = Run(CPU, seed)
    model = build_model("resnet8", small.data.info)
    params = TrainingParams(epochs=15, batch_size=32, lr=0.05)
    return fit(model, task.retain, task.retain, params, run)


def test_ideal_targets_end_closer_to_retrain_than_random_targets(small):
    params = Params(epochs=5, lr=1e-3, batch_size=32)
    ideal, random = [], []
    for seed in SEEDS:
        method = small.method("ideal", seed=seed)
        retrained = retrain(small, method.task, seed)
        soft = probabilities(retrained, method.task.forget)
        generator = torch.Generator().manual_seed(seed)
        labels = torch.randint(4, (len(soft),), generator=generator)
        for targets, found in ((soft, ideal), (F.one_hot(labels, 4).float(), random)):
            model, _ = method.unlearn(params, targets)
            # On the test set, which neither has seen.
            expected = probabilities(retrained, small.test())
            found.append(distance(probabilities(model, small.test()), expected))
    assert sum(ideal) < sum(random)


def test_the_control_ideal_has_the_parameters_of_ltds_student():
    assert Params.model_fields.keys() == StudentParams.model_fields.keys()
    for name, field in Params.model_fields.items():
        assert field.default == LtdParams.model_fields[name].default, name
    assert Params.inherits == "ltd"


def test_only_the_control_needs_retrain():
    assert Params.needs_retrain
    assert not LtdParams.needs_retrain


def test_a_learning_rate_of_zero_leaves_the_weights(small):
    targets = torch.full((20, 4), 0.25)
    model, _ = small.method("ideal").unlearn(Params(epochs=1, lr=0.0), targets)
    for after, before in zip(model.parameters(), small.base.parameters(), strict=True):
        assert after.equal(before)
