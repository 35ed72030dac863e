"""What methods say they compute, against the images that go through models when they run."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

torch = pytest.importorskip("torch")

from test_methods import fields_of, inputs_of, method_of, tiny

from collateral.contract.params import MethodParams
from collateral.contract.plugins import METHOD
from collateral.contract.work import Sizes
from collateral.models._classifier import Classifier
from collateral.training.run_method import Method

# Parameters, besides the small defaults, that make a difference to the work.
OTHERS = {
    "amun": {"variant": "advonly"},
    "ga": {"steps": 5},
    "bad_teacher": {"share": 0.55, "epochs": 2},
    "neggrad_plus": {"batch_size": 16, "forget_batch_size": 7},
    "scrub": {"epochs": 1},
    "ltd": {"k": 30},
    "rl": {"retain": False, "steps": 7},
}
# 140 retained examples and 20 forget ones, of which rests join the batch before.
JOINED = [
    ("ft", {"batch_size": 16}),
    ("ga", {"batch_size": 9, "steps": 5}),
    ("rl", {"batch_size": 77, "steps": 5}),
    ("munba", {"batch_size": 17}),
    ("munba", {"batch_size": 18}),
    ("munba", {"batch_size": 138}),
    ("natmu", {"batch_size": 18}),
    ("neggrad_plus", {"batch_size": 23, "forget_batch_size": 7}),
    ("rfe", {"batch_size": 19, "ascent_batch": 9, "forget_batch": 17, "span_batches": 1}),
    ("rfe", {"remote_batch": 7, "forget_batch": 9, "span_batches": 2}),
    ("sfron", {"batch_size": 17, "steps": 30}),
]
CASES = [(name, {}) for name in [*METHOD.names(), "ideal"]] + list(OTHERS.items()) + JOINED
# What replaces k; of one cluster, because neighbours of several may be the same.
EACH = [{"k_each": 9, "k": "auto"}, {"k_each": 9, "support_by": "cluster", "clusters": 1}]
LOOKING = ("bad_teacher", "delete", "rfe", "scrub")  # they ask the base, or a teacher
IN_EVAL_MODE = ("rfe", "ssd")
# IU's gradients of single examples and AMUN's attack are guesses, and said to be.
EXACT = [case for case in CASES if case[0] in ("ltd", "neighbor", "salun")]
EXACT += [("ltd", values) for values in EACH]


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
def test_unlearning_is_as_much_work_as_the_method_says(small, monkeypatch, name, values):
    method, params = method_of(small, name), given(name, values)
    inputs = inputs_of(method, params)
    with counting(monkeypatch) as count:
        method.unlearn(params, *inputs)
    said = params.unlearn_work(sizes_of(method))
    if name == "amun":  # it cannot know how many examples will flip
        unflipped = len(method.task.forget) - len(inputs[0]["images"])
        count["trained"] += params.epochs * unflipped
    assert count["trained"] == sum(said.trained.values())
    assert count["seen"] == sum(said.seen.values())
    assert bool(count["seen"]) == (name in LOOKING)


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


def test_a_joined_batch_that_is_the_last_of_a_span_is_counted_whole():
    """34 examples are one batch of 34, where one of 32 would be left of a plain split."""
    sizes = Sizes(retain=34, forget=34, classes=4, pixels=64, weights=1)
    munba = tiny("munba", epochs=1, batch_size=32)
    assert sum(munba.unlearn_work(sizes).trained.values()) == 34 + 34
    sizes = Sizes(retain=35, forget=34, classes=4, pixels=64, weights=1)
    rfe = {"epochs": 1, "ascent_epochs": 0, "span_batches": 1, "adjacent_share": 0.01}
    work = tiny("rfe", **rfe, forget_batch=32, remote_batch=32).unlearn_work(sizes)
    assert sum(work.trained.values()) == 1 + 34 + 34


def test_a_share_without_a_forget_example_is_no_work():
    sizes = Sizes(retain=34, forget=0, classes=4, pixels=64, weights=1)
    assert sum(tiny("munba", epochs=1).unlearn_work(sizes).trained.values()) == 34
    assert sum(tiny("ga", steps=5).unlearn_work(sizes).trained.values()) == 0


@pytest.mark.parametrize(("name", "values"), EXACT)
def test_preparing_is_as_much_work_as_the_method_says(small, monkeypatch, name, values):
    method, params = method_of(small, name), given(name, values)
    with counting(monkeypatch) as count:
        prepared = method.prepare(params, None)
    sizes = sizes_of(method)
    said = params.prepare_work(sizes)
    assert count["trained"] == sum(said.trained.values())
    # LTD's teacher looks at the forget set in the end, which is not worth counting.
    assert 0 <= count["seen"] - sum(said.seen.values()) <= sizes.forget
    kept = sum(value.numel() for value in prepared.tensors.values())
    assert kept == pytest.approx(params.prepared_numbers(sizes), rel=0.2)


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
def test_ltds_teacher_learns_what_k_or_its_replacement_says_and_at_most_all(values, size):
    said = given("ltd", {"teacher_epochs": 2, "teacher": "resnet8", **values})
    work = said.prepare_work(Sizes(retain=5000, forget=20, classes=4, pixels=64, weights=1))
    assert work.trained["resnet8"] == 2 * size
    assert sum(work.seen.values()) == 5020
