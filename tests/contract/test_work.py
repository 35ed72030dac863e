"""What methods say they compute, against the images that go through models when they run."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

torch = pytest.importorskip("torch")

from test_methods import fields_of, inputs_of, method_of, tiny

from collateral.contract.params import MethodParams
from collateral.contract.work import FORWARD, Sizes
from collateral.models._classifier import Classifier
from collateral.plugins.find import METHOD, prepare_class
from collateral.training.run_method import Method

# Parameters, besides the small defaults, that make a difference to the work.
OTHERS = {
    "amun": {"variant": "advonly"},
    "ga": {"steps": 5},
    "neggrad_plus": {"batch_size": 16, "forget_batch_size": 7},
    "scrub": {"epochs": 1},
    "ltd": {"k": 30},
    "rl": {"retain": False, "steps": 7},
}
# SSD's gradients per example are taken by vmap, which hides the examples from the counter.
SEEN = {"ssd": {"gradients": "batch"}}
CASES = [(name, SEEN.get(name, {})) for name in [*METHOD.names(), "ideal"]] + [*OTHERS.items()]
# Parameters that replace k; only one cluster, because several may share neighbours.
EACH = [{"k_each": 9, "k": "auto"}, {"k_each": 9, "support_by": "cluster", "clusters": 1}]
CASES += [("ltd", values) for values in EACH]
ROUGH = 0.5  # relative error of an estimate
IN_EVAL_MODE = ("rfe", "ssd")


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Count the images that models embed inside: trained on, or only seen."""
    count: Counter[str] = Counter()
    features = Classifier.features

    def counted(model, x):
        count["trained" if torch.is_grad_enabled() else "seen"] += len(x)
        return features(model, x)

    with monkeypatch.context() as patch:
        patch.setattr(Classifier, "features", counted)
        yield count


def sizes_of(method: Method) -> Sizes:
    weights = sum(value.numel() for value in method.load_base().parameters())
    retain, forget = len(method.task.retain), len(method.task.forget)
    return Sizes(retain, forget, method.task.num_classes, 8 * 8, weights)


def given(name: str, values: dict) -> MethodParams:
    # A threshold of 1: the teacher needs all its epochs.
    return tiny(name, **values, **({"threshold": 1.0} if name == "ltd" else {}))


@pytest.mark.parametrize(("name", "values"), CASES)
def test_a_method_is_as_much_work_as_estimated(small, monkeypatch, name, values):
    """Both phases together; a forward pass is a third of a training step."""
    method, params = method_of(small, name), given(name, values)
    sizes = sizes_of(method)
    estimated = params.unlearn_work(sizes)
    with counting(monkeypatch) as count:
        method.unlearn(params, *inputs_of(method, params))
    if prepare_class(name):
        estimated += params.prepare_work(sizes)
    cost = sum(estimated.images.values())
    assert count["trained"] + count["seen"] / FORWARD == pytest.approx(cost, rel=ROUGH)


@pytest.mark.parametrize("name", ["ltd", "neighbor", "salun"])
def test_a_method_keeps_as_many_numbers_as_estimated(small, name):
    method, params = method_of(small, name), given(name, {})
    kept = sum(value.numel() for value in method.prepare(params, None).tensors.values())
    assert kept == pytest.approx(params.prepared_numbers(sizes_of(method)), rel=0.2)


BATCHED = [n for n in [*METHOD.names(), "ideal"] if any("batch_size" in f for f in fields_of(n))]


@pytest.mark.parametrize("name", BATCHED)
def test_no_method_trains_on_fewer_than_eight_examples_where_there_are_more(
    small, monkeypatch, name
):
    """Batches of nine leave rests of five, of 140 retained examples, and of two, of 20."""
    sizes: list[int] = []
    features = Classifier.features

    def seen(model, x):
        if model.training:
            sizes.append(len(x))
        return features(model, x)

    monkeypatch.setattr(Classifier, "features", seen)
    method, few = method_of(small, name), {"k": 20, "teacher_batch_size": 9, "teacher_epochs": 2}
    values = {"batch_size": 9, "forget_batch_size": 9, "epochs": 1, "batchnorm": "train", **few}
    params = tiny(name, **{key: value for key, value in values.items() if key in fields_of(name)})
    method.unlearn(params, *inputs_of(method, params))
    assert bool(sizes) == (name not in IN_EVAL_MODE)
    assert min(sizes, default=8) >= 8


@pytest.mark.parametrize(
    ("values", "size"),
    [
        ({"k": 30}, 30),
        ({"k": 30, "teacher_ensemble": 3}, 90),
        ({"k_each": 3, "support_by": "example"}, 60),
        ({"k_each": 3, "support_by": "cluster"}, 30),
        ({"k_each": 3, "support_by": "cluster", "clusters": 2}, 6),
        ({"k": 30, "min_similarity": 0.5}, 1000),
        ({"k_each": 900, "support_by": "example"}, 5000),
    ],
)
def test_the_work_of_ltds_teacher_follows_from_the_support_size(values, size):
    said = given("ltd", {"teacher_epochs": 2, "teacher": "resnet8", **values})
    work = said.prepare_work(Sizes(retain=5000, forget=20, classes=4, pixels=64, weights=1))
    assert work.images == pytest.approx({"resnet8": 2 * size, "own": 5020 / FORWARD})
