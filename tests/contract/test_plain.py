"""The plain flow of the benchmarks runs whole, and comes to what ours comes to."""

import copy
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.nn.utils import parameters_to_vector

from collateral.methods.amun.attack import attack
from collateral.methods.amun.params import Prepare
from collateral.metrics.accuracy import accuracies
from collateral.metrics.membership import non_member_rate
from collateral.plugins.find import params_class
from collateral.training.examples import train_examples
from collateral.training.inference import compute_outputs

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from bench_cell import config_of
from plain import attack as plain_attack
from plain import evaluation
from plain.data import PlainTask
from plain.methods import METHODS

CPU, PATIENT = torch.device("cpu"), Prepare(give_up=False)
LITTLE = {"epochs": 1, "batch_size": 32, "samples": 8, "k": 32, "teacher_epochs": 2}


@pytest.fixture(scope="module")
def task(small) -> PlainTask:
    return PlainTask.of(small.data, small.split(small.half_a_class()))


def test_all_methods_of_the_cell_are_there():
    (benchmark,) = config_of(quick=False)["benchmarks"].values()
    assert METHODS.keys() >= benchmark["methods"].keys()


@pytest.mark.parametrize("name", METHODS)
def test_every_method_moves_the_weights(name, small, task):
    torch.manual_seed(0)
    kind = params_class(name)
    params = kind(**{key: value for key, value in LITTLE.items() if key in kind.model_fields})
    model = METHODS[name](copy.deepcopy(small.base), task, params)
    weights, before = (parameters_to_vector(each.parameters()) for each in (model, small.base))
    assert weights.isfinite().all() and not weights.equal(before)


def test_accuracies_are_ours(small, task):
    outputs, _ = compute_outputs(small.base, train_examples(small.data, CPU), small.test())
    split = small.split(small.half_a_class())
    labels = small.data.labels
    prediction = split.divide(outputs.train.prediction, outputs.test.prediction)
    ours = accuracies(prediction, split.divide(labels.train, labels.test), split.affected)
    plain = evaluation.accuracies(small.base, task)
    assert plain == pytest.approx({name: ours[name] for name in plain})


def test_a_model_is_no_other_than_itself(small, task):
    numbers = evaluation.evaluate(small.base, evaluation.base_looks(small.base, task), task)
    np.testing.assert_allclose(numbers["confidence:retain"], 0, atol=1e-6)


def test_the_membership_attack_on_rounded_confidences_is_ours():
    rng = np.random.default_rng(0)
    groups = [rng.beta(a, 1, size).round(3) for a, size in ((8, 300), (2, 300), (4, 200))]
    assert 0 < non_member_rate(*groups) == evaluation.non_member_rate(*groups) < 1


@pytest.mark.parametrize("kind", ["attack", "whole_batch", "one_by_one"])
def test_the_attack_with_all_steps_is_ours(kind, small):
    some = train_examples(small.data, CPU).select(torch.arange(0, 160, 33))
    ours = attack(small.base, some, PATIENT)
    plain = getattr(plain_attack, kind)(small.base, some.pixels(), some.labels, PATIENT)
    assert ours["index"].tolist() == list(range(len(some)))
    assert plain["labels"].equal(ours["labels"])
    torch.testing.assert_close(plain["epsilon"], ours["epsilon"])
