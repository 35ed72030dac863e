"""RUM: parts by score in their order, each by its method as it is, the later ones rehearsed."""

import copy
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from pydantic import ValidationError
from torch.nn import functional as F

from collateral.contract.conventions import Skipped
from collateral.contract.work import FORWARD, Sizes
from collateral.methods.rum import method
from collateral.methods.rum.method import compute_scores, select_part, unlearn
from collateral.methods.rum.params import Params
from collateral.plugins.find import METHOD, params_class, prepare_class
from collateral.training.run import Run
from collateral.training.run_method import run_within

CPU = torch.device("cpu")
FORGET = [3, 60, 61, 7, 90, 12, 130, 33, 44, 101, 2]
FT = {"uses": "ft", "epochs": 1, "batch_size": 32}


def state(model) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(one, other) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def after(small, **params) -> dict[str, torch.Tensor]:
    model = copy.deepcopy(small.base)
    return state(unlearn(model, small.task(FORGET), Params(**params), Run(CPU, 7)))


ONE = {"low_share": 0, "high_share": 0, "low": FT, "high": FT}  # all examples are in the middle


@pytest.mark.parametrize("name", ["ft", "ga", "rl", "neggrad_plus", "scrub", "delete", "cf_k"])
def test_of_one_part_it_is_the_method_of_that_part(small, name):
    given = {"epochs": 2, "lr": 0.01, "batch_size": 8}
    model = copy.deepcopy(small.base)
    module, params = METHOD.load(name, "method"), params_class(name).model_validate(given)
    alone = state(module.unlearn(model, small.task(FORGET), params, Run(CPU, 7)))
    assert same(after(small, **ONE, mid={"uses": name, **given}), alone)
    assert not same(alone, state(small.base))


@pytest.mark.parametrize("name", ["salun", "ltd", "unsir"])
def test_of_one_part_a_method_with_two_phases_is_run_in_both(small, name):
    small_values = {"salun": {"epochs": 2}, "ltd": {"k": 20, "epochs": 1, "teacher_epochs": 1}}
    given = small_values.get(name, {"noises": 4, "noise_steps": 3, "per_class": 5, "lr": 1e-3})
    params, run = params_class(name).model_validate(given), Run(CPU, 7)
    values = params.model_dump(include={*prepare_class(name).model_fields})
    module, task = METHOD.load(name, "method"), small.task(FORGET)
    made = module.prepare(
        copy.deepcopy(small.base), task, prepare_class(name).model_validate(values), run
    )
    alone = state(module.unlearn(copy.deepcopy(small.base), task, params, run, made))
    assert same(after(small, **ONE, mid={"uses": name, **given}), alone)


def test_without_a_method_in_any_part_rum_returns_the_base_model(small):
    assert same(after(small, low=None, mid=None, high=None), state(small.base))


def test_a_part_without_examples_is_left_out(small):
    some = after(small, low=FT, mid=None, high=FT, low_share=0, high_share=0)
    assert same(some, state(small.base))


def test_parts_are_thirds_by_loss_and_the_low_one_is_first(small, monkeypatch):
    task, seen = small.task(FORGET), []

    def spy(name, params, model, step, run):
        seen.append((name, step))
        return model

    monkeypatch.setattr(method, "run_within", spy)
    parts = {"low": {"uses": "ga"}, "mid": {"uses": "ft"}, "high": {"uses": "rl"}}
    unlearn(copy.deepcopy(small.base), task, Params(**parts), Run(CPU, 7))
    assert [name for name, _ in seen] == ["ga", "ft", "rl"]
    assert [len(step.forget) for _, step in seen] == [4, 3, 4]
    model = copy.deepcopy(small.base).eval()
    with torch.no_grad():
        loss = F.cross_entropy(model(task.forget.pixels()), task.forget.labels, reduction="none")
    ranked = [FORGET[place] for place in loss.argsort().tolist()]
    wanted = [ranked[:4], ranked[4:7], ranked[7:]]
    for (_, step), rows in zip(seen, wanted, strict=True):
        # In the order of the forget set, with its labels.
        assert step.forget.rows.tolist() == [row for row in FORGET if row in rows]
        assert step.forget.labels.tolist() == small.data.labels.train[step.forget.rows].tolist()


def test_memorisation_of_the_forget_set_may_be_the_score(small, monkeypatch):
    values = [0.3, -0.1, 0.9, 0.2, 0.5, 0.45, 0.0, 0.8, 0.1, 0.7, 0.6]
    seen = []
    monkeypatch.setattr(method, "run_within", lambda *args: seen.append(args[3]) or args[2])
    task = replace(small.task(FORGET), memorised=torch.tensor(values))
    given = Params(score="memorisation", low={"uses": "ga"})
    unlearn(copy.deepcopy(small.base), task, given, Run(CPU, 7))
    ranked = [FORGET[place] for place in sorted(range(11), key=values.__getitem__)]
    found = [{*step.forget.rows.tolist()} for step in seen]
    assert found == [{*ranked[:4]}, {*ranked[4:7]}, {*ranked[7:]}]


def test_without_memorisation_the_run_is_skipped(small):
    with pytest.raises(Skipped, match="not of the kind `memorised`"):
        after(small, score="memorisation", mid=FT)


@pytest.mark.parametrize("rehearse", [True, False])
def test_later_parts_are_retained_until_their_turn(small, rehearse):
    task, order = small.task(FORGET), torch.tensor([10, 0, 9, 1, 8, 2, 7, 3, 6, 4, 5])
    num_retained = len(task.retain)
    for ranks in (range(4), range(4, 7), range(7, 11)):
        step = select_part(task, order, ranks, rehearse=rehearse)
        later = [FORGET[place] for place in order[ranks.stop :].tolist()] if rehearse else []
        assert step.retain.rows[:num_retained].tolist() == task.retain.rows.tolist()
        assert sorted(step.retain.rows[num_retained:].tolist()) == sorted(later)
        assert not {*step.retain.rows.tolist()} & {*step.forget.rows.tolist()}


def test_each_method_starts_from_the_model_of_the_part_before(small):
    """By hand: three calls, one after the other, with the parts of the score."""
    parts = {"low": {**FT, "lr": 0.02}, "mid": {"uses": "ga", "epochs": 1}, "high": FT}
    task, model, run = small.task(FORGET), copy.deepcopy(small.base), Run(CPU, 7)
    params = Params(**parts)
    order = compute_scores(model, task, "loss").argsort(stable=True)
    for (name, inner), ranks in zip(
        params.parts, (range(4), range(4, 7), range(7, 11)), strict=True
    ):
        model = run_within(name, inner, model, select_part(task, order, ranks, rehearse=True), run)
    assert same(state(model), after(small, **parts))


def test_the_similarity_is_to_the_nearest_retained_example(small):
    task, model = small.task(FORGET), copy.deepcopy(small.base).eval()
    with torch.no_grad():
        features, others = (model.features(part.pixels()) for part in (task.forget, task.retain))
    expected = -F.cosine_similarity(features[:, None], others[None], dim=2).amax(1)
    found = compute_scores(model, task, "similarity")
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_the_labels_of_random_labels_are_random_on_every_data_set(small, monkeypatch):
    """RUM's own code trains on the true labels, but for CIFAR-10 and SVHN."""
    drawn = []
    module = METHOD.load("rl", "method")

    def spy(task, which, generator):
        drawn.append((module_draw(task, which, generator), task.forget.labels))
        return drawn[-1][0]

    module_draw = module.draw_labels
    monkeypatch.setattr(module, "draw_labels", spy)
    after(small, **ONE, mid={"uses": "rl", "labels": "wrong", "epochs": 2, "batch_size": 32})
    assert len(drawn) == 2
    assert all((given != true).all() for given, true in drawn)


def test_epochs_and_work_are_those_of_its_parts():
    params = Params(
        low={"uses": "ga", "epochs": 5}, mid={"uses": "ft", "epochs": 2}, high={"uses": "salun"}
    )
    sizes = Sizes(retain=1000, forget=30, classes=4, pixels=64, weights=100)
    assert params.count_epochs(sizes) == 5 + 2 + 20
    # GA sees 10 examples; FT 1000 and 10 later ones; SalUn 1010 in each epoch, and once before.
    expected = 5 * 10 + 2 * 1010 + 20 * 1010 + 1010
    expected += 30 / FORWARD  # the score: one forward pass over the forget set
    assert params.unlearn_work(sizes).images == {"own": pytest.approx(expected)}
    without = params.model_copy(update={"rehearse": False}).unlearn_work(sizes)
    assert without.images == {"own": pytest.approx(expected - 2 * 10)}


def test_the_record_has_all_parameters_of_the_parts():
    params = Params(high={"uses": "ft", "lr": 0.5})
    own = params_class("ft").model_validate({"lr": 0.5}).model_dump(mode="json")
    assert params.high == {"uses": "ft", **own}
    assert Params.model_validate(params.model_dump(mode="json")) == params
    assert [name for name, _ in params.parts] == ["ft", "ft"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"low": {"uses": "original"}}, "low\n.*uses: no method 'original'; known: "),
        ({"mid": {"lr": 0.1}}, "mid\n.*uses: missing; known: "),
        ({"mid": {"uses": "ft", "epoch": 3}}, "no parameter of ft 'epoch'; .*mean epochs?"),
        ({"high": {"uses": "ft", "lr": -1}}, "high\n.*lr: -1: .*greater than or equal to 0"),
        ({"low_share": 0.7, "high_share": 0.4}, "0.7 .+ 0.4: should be at most 1 together"),
    ],
)
def test_a_part_that_cannot_be_meant_is_refused(values, said):
    with pytest.raises(ValidationError, match=said):
        Params(**values)
