"""The contract of every method, and of every control that has code, found by their folders.

It holds for methods of your own as well:

    pytest tests/contract/test_methods.py --plugins my_plugins

Each runs with its defaults, made small: see `tiny`. What a method is allowed to leave out (a
learning rate, epochs, a phase) is not asked of it; everything else is. Whom the suite passes and
fails is tested in test_conformance.py.
"""

import copy
import hashlib
import math
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, get_origin

import numpy as np
import pytest
from pydantic import ValidationError

torch = pytest.importorskip("torch")


from pretend_gpu import on_gpu, pretended
from torch.optim.optimizer import register_optimizer_step_post_hook

import collateral
from collateral.contract.params import TOUCHABLE, MethodParams
from collateral.plugins.find import (
    CONTROL,
    METHOD,
    find_plugin_kinds,
    method_kind,
    params_class,
    prepare_class,
)
from collateral.training.checkpoints import Checkpoints
from collateral.training.examples import Examples, Task
from collateral.training.inference import compute_outputs
from collateral.training.job_io import find_status
from collateral.training.run import Run
from collateral.training.run_method import Method, Prepared

CPU = torch.device("cpu")
MOST = 40  # of any whole number among the parameters
ABSURD = 1e38  # close to the largest float32
STEP_LENGTHS = {"iu": "alpha"}  # where it is not called `lr`
# What defaults would do nothing here (SSD's alpha is above n / n_f), or much too long.
STRONGER = {
    "ssd": {"alpha": 1.0},
    # A step that takes some of the images across the boundary, and others not.
    "boundary": {"epsilon": 0.01},
    # With fewer epochs than these methods have by default.
    "rum": {
        "low": {"uses": "ga", "epochs": 1},
        "mid": {"uses": "ft", "epochs": 2},
        "high": {"uses": "salun", "epochs": 2},
    },
}
# What else moves weights, besides steps.
ALSO_ZERO = {"msg": {"ratio": 0.0}, "rfe": {"ascent_lr": 0.0}, "unsir": {"repair_lr": 0.0}}
# Where the first epoch would have most of the steps: a kill shall fall into a later one.
EVEN_EPOCHS = {"rfe": {"adjacent_share": 0.5}, "unsir": {"copies": 1}}
# What a parameter may be set to instead, by its type in JSON; values that it refuses are left out.
OTHERS = {
    "boolean": (True, False),
    "integer": (1, 20),
    "number": (0.5, 0.05, 0.0, 0.001, 10.0),
    "array": ([], [1]),
    "null": (None,),
}


STARTING_ANEW = (
    "A method that draws weights anew before it trains declares it in Params: "
    "`starts_anew: ClassVar[bool] = True`"
)
WITHOUT_REASON = (
    "Params.starts_anew is True, but without a step the model is the base: no weight is drawn "
    "anew; leave the declaration out"
)


def has_code(name: str) -> bool:
    """Tell whether a control is run by the rule `unlearn`; `original` needs no code."""
    return Path(method_kind(name).load(name, "params").__file__).with_name("method.py").exists()


def fields_of(name: str):
    return params_class(name).model_fields


def is_asked_for(name: str) -> bool:
    """Tell whether users name a control; others are known models, see test_control_trust.py."""
    return has_code(name) and not params_class(name).made_by


NAMES = [*METHOD.names(), *filter(is_asked_for, CONTROL.names())]
KNOWN = [name for name in CONTROL.names() if params_class(name).made_by]
TWO_PHASES = [name for name in NAMES if prepare_class(name)]
UNTOUCHED = [(name, d) for name in NAMES for d in TOUCHABLE if d not in params_class(name).touches]
IN_EPOCHS = [name for name in NAMES if "epochs" in fields_of(name)]
IN_STEPS = [name for name in NAMES if getattr(fields_of(name).get("steps"), "default", 0) is None]
WITH_STEP_LENGTH = [
    (name, field) for name in NAMES if (field := STEP_LENGTHS.get(name, "lr")) in fields_of(name)
]
PARAMETERS = [(name, field) for name in NAMES for field in fields_of(name)]
every_method = pytest.mark.parametrize("name", NAMES)


def tiny(name: str, **changes) -> MethodParams:
    """Return the defaults with three `epochs`, two of other kinds, no whole number above MOST.

    So where only the first epochs are special, the last one is not.
    """
    values = {**STRONGER.get(name, {})}
    for field, info in fields_of(name).items():
        if type(info.default) is int:
            most = 2 if field.endswith("epochs") else MOST
            values[field] = 3 if field == "epochs" else min(info.default, most)
    return params_class(name).model_validate({**values, **changes})


def method_of(small, name: str, forget: list[int] | None = None) -> Method:
    """Return a method with data of its own, to be augmented: one that spoils it fails alone."""
    method = small.method(name, forget)
    task = copy.deepcopy(method.task)
    images = replace(task.retain.images, padding=1, flip=True)
    retain, forgotten = (replace(part, images=images) for part in (task.retain, task.forget))
    return replace(method, task=replace(task, retain=retain, forget=forgotten))


def inputs_of(method: Method, params: MethodParams, checkpoints: Checkpoints | None = None) -> list:
    """Return what `unlearn` is given besides the task."""
    if method.has_prepare:
        return [method.prepare(params, checkpoints).tensors]
    if params.needs_retrain:
        generator = torch.Generator().manual_seed(0)
        shape = len(method.task.forget), method.task.num_classes
        return [torch.rand(shape, generator=generator).softmax(1)]
    return []


def weights_after(method: Method, params: MethodParams) -> dict[str, torch.Tensor]:
    """Run both phases."""
    model, _ = method.unlearn(params, *inputs_of(method, params))
    assert isinstance(model, torch.nn.Module), f"unlearn returned {model!r}: return the model"
    return model.state_dict()


def differing(one: Mapping[str, torch.Tensor], other: Mapping[str, torch.Tensor]) -> list[str]:
    """Return the names of what is not the same bits, or in one of them only."""
    shared = one.keys() & other.keys()
    return [n for n in {**one, **other} if n not in shared or not torch.equal(one[n], other[n])]


@contextmanager
def counting_steps(kill_after: int | None = None) -> Iterator[list[None]]:
    """Count the steps of all optimisers inside; raise Killed after one of them."""
    steps = []

    def count(*_) -> None:
        steps.append(None)
        if len(steps) == kill_after:
            raise Killed

    hook = register_optimizer_step_post_hook(count)
    try:
        yield steps
    finally:
        hook.remove()


class Killed(Exception):
    """Ends a method as a kill does."""


def spied(params: MethodParams) -> tuple[MethodParams, set[str]]:
    """Return the same parameters, and the set of those that have been read."""
    fields, reads = type(params).model_fields, set()

    class Spy(type(params)):
        def __getattribute__(self, name):
            if name in fields:
                reads.add(name)
            return super().__getattribute__(name)

    spy = Spy.model_construct(**{field: getattr(params, field) for field in fields})
    reads.clear()
    return spy, reads


def surroundings() -> dict[str, object]:
    """Return what no method may change: the state of every global generator, and torch's modes."""
    return {
        "torch": torch.get_rng_state().tolist(),
        "numpy": np.random.get_state()[1].tolist(),  # noqa: NPY002
        "random": random.getstate(),
        "grad": torch.is_grad_enabled(),
        "dtype": torch.get_default_dtype(),
        "threads": torch.get_num_threads(),
    }


def digest(task: Task) -> str:
    """Return a hash of everything that a method is shown."""
    tensors = (task.retain.images.pixels, task.retain.rows, task.retain.labels)
    tensors += (task.forget.rows, task.forget.labels)
    return hashlib.sha256(b"".join(tensor.numpy().tobytes() for tensor in tensors)).hexdigest()


@dataclass
class Observed:
    """What was seen while a method's functions ran."""

    weights: dict[str, torch.Tensor]
    prepared: dict[str, torch.Tensor]
    reported: dict[str, dict[str, float]]  # by phase
    reads: dict[str, set[str]]  # by phase
    requires_grad: dict[str, bool]  # by parameter of the model that is returned
    surroundings: list[tuple[dict[str, object], dict[str, object]]]  # before and after each phase


def observe(method: Method, params: MethodParams) -> Observed:
    """Call both functions, each with parameters that tell when they are read."""
    module, task = method.module, method.task
    seen, reads, runs, prepared = [], {}, {}, {}
    inputs = [] if method.has_prepare else inputs_of(method, params)
    if prepare := prepare_class(method.name):
        values = {field: getattr(params, field) for field in prepare.model_fields}
        spy, reads["prepare"] = spied(prepare.model_validate(values))
        runs["prepare"], before = Run(CPU, 1), surroundings()
        prepared = module.prepare(method.load_base(), task, spy, runs["prepare"])
        inputs = [prepared]
        seen.append((before, surroundings()))
    spy, reads["unlearn"] = spied(params)
    runs["unlearn"], before = Run(CPU, 2), surroundings()
    model = module.unlearn(method.load_base(), task, spy, runs["unlearn"], *inputs)
    assert isinstance(model, torch.nn.Module), f"unlearn returned {model!r}: return the model"
    seen.append((before, surroundings()))
    reported = {phase: run.reported for phase, run in runs.items()}
    learns = {key: weight.requires_grad for key, weight in model.named_parameters()}
    return Observed(model.state_dict(), prepared, reported, reads, learns, seen)


@pytest.fixture(autouse=True)
def _gradients_stay_on() -> Iterator[None]:
    yield
    torch.set_grad_enabled(True)


@pytest.fixture(scope="module")
def observed(small):
    """Return a function that observes a method with parameters, with each only once.

    Parts of two families are forgotten, so that methods that look for clusters find some.
    """
    forget = [i for label in (0, 2) for i in np.flatnonzero(small.data.labels.train == label)[:9]]
    return cache(lambda name, params: observe(method_of(small, name, forget), params))


@pytest.fixture(scope="module")
def reference(small):
    """Return a function that gives the weights after a method with tiny parameters, made once."""
    return cache(lambda name: weights_after(method_of(small, name), tiny(name)))


# Being found


def test_every_folder_on_disk_is_a_method_or_control_that_is_tested(pytestconfig):
    folders = pytestconfig.getoption("plugin_folders")
    plugged = [
        found for folder in folders for found in find_plugin_kinds(folder) if found[0] is METHOD
    ]
    roots = [Path(collateral.__file__).parent / kind for kind in ("methods", "controls")]
    roots += [inner for _, inner in plugged]
    folders = {file.parent.name for root in roots for file in root.glob("*/method.py")}
    apart = sorted(folders ^ {*NAMES, *filter(has_code, KNOWN)})
    assert not apart, f"{apart}: a method is a folder with both params.py and method.py; one lacks"
    assert {"ft", "ga", "rl"} <= folders


@every_method
def test_its_card_is_complete(name):
    params = params_class(name)
    assert params.label, "Params.label is empty: tables and figures print it"
    assert params.__doc__, "Params has no docstring: say there what it does, and whose it is"
    strange = sorted(params.touches - {*TOUCHABLE})
    assert not strange, f"Params.touches: {strange}; a method can touch {', '.join(TOUCHABLE)}"
    mute = [field for field, info in params.model_fields.items() if not info.description]
    assert not mute, f"{mute}: give Field(..., description=...), which docs and `list` print"


# What comes out


@every_method
def test_the_model_keeps_its_names_shapes_and_types_and_stays_finite(small, observed, name):
    before, after = small.base.state_dict(), observed(name, tiny(name)).weights
    same = "return the model that was given, updated in place"
    renamed = sorted({*after} ^ {*before})
    assert list(after) == list(before), (
        f"the state_dict has other names or order ({renamed}); {same}"
    )
    reshaped = [key for key in before if after[key].shape != before[key].shape]
    assert not reshaped, f"{reshaped} have other shapes; {same}"
    retyped = [key for key in before if after[key].dtype != before[key].dtype]
    assert not retyped, f"{retyped} have other dtypes; {same}"
    lost = [key for key in before if not torch.isfinite(after[key]).all()]
    assert not lost, f"{lost} are infinite or NaN with small defaults: lower the default of `lr`"


@every_method
def test_unlearning_with_the_default_parameters_changes_the_weights(small, reference, name):
    is_changed = bool(differing(reference(name), small.base.state_dict()))
    assert is_changed, (
        "with its defaults, made small, all weights are those of the base: unlearn has to update "
        "`model` in place and return it, and its defaults must not be too weak to do so"
    )


@every_method
def test_the_same_seed_gives_the_same_bits(small, reference, name):
    torch.rand(3), np.random.random(3), random.random()  # noqa: NPY002
    other = differing(weights_after(method_of(small, name), tiny(name)), reference(name))
    assert not other, (
        f"two runs of one seed differ in {other}: all that is random has to come from "
        "`run.generator`, `run.random_seed()` or `with run.seeded():`, and nothing may be kept "
        "from one run to the next"
    )


@every_method
def test_on_a_gpu_it_gives_the_same_bits_and_nothing_is_left_to_chance(small, name):
    """A GPU that is pretended; that a method mixes devices is found here."""
    few, params = small.half_a_class()[:4], tiny(name)
    here = weights_after(method_of(small, name, few), params)
    with pretended() as gpu:
        after = weights_after(on_gpu(method_of(small, name, few)), params)
        there = {key: value.cpu() for key, value in after.items()}
    other = differing(there, here)
    assert not other, (
        f"on a GPU, {other} differ from those of a CPU: draw random numbers and new weights on "
        "the CPU, and move them by `.to(run.device)`"
    )
    assert not gpu.refused, (
        f"{gpu.refused}: a GPU cannot do these deterministically, and refuses them here: take "
        "other operations (docs/scale.md)"
    )


@pytest.mark.parametrize(("name", "length"), WITH_STEP_LENGTH)
def test_a_step_of_length_zero_leaves_the_weights_unchanged(small, name, length):
    method = method_of(small, name)
    params = tiny(name, **{length: 0.0, **ALSO_ZERO.get(name, {})})
    model, _ = method.unlearn(params, *inputs_of(method, params))
    given = small.base.named_parameters()
    moved = [key for key, start in given if not torch.equal(model.get_parameter(key), start)]
    if params.starts_anew:
        assert moved, WITHOUT_REASON
    else:
        assert not moved, (
            f"with {length}: 0 the weights {moved} are no longer the base's: what moves them does "
            f"not follow from `params.{length}`. {STARTING_ANEW}"
        )


@pytest.mark.parametrize(("name", "length"), WITH_STEP_LENGTH)
def test_a_run_that_explodes_is_a_result_called_diverged(small, name, length):
    method, params = method_of(small, name), tiny(name, **{length: ABSURD})
    model, _ = method.unlearn(params, *inputs_of(method, params))
    train, test = small.task([0]).retain, small.test()
    everything = Examples(train.images, torch.arange(len(train.images.pixels)), labels(small))
    outputs, _ = compute_outputs(model, everything, test)
    status = find_status(outputs, small.data.labels)
    assert status == "diverged", (
        f"with {length}: {ABSURD} the run is called {status}: its outputs should be infinite or "
        "NaN, so that all can see it; do not bound or replace them"
    )


def labels(small) -> torch.Tensor:
    return torch.from_numpy(small.data.labels.train)


# What goes in


@every_method
def test_the_data_is_left_alone_and_each_phase_gets_a_base_of_its_own(small, name):
    loaded = []

    def load_base() -> torch.nn.Module:
        loaded.append(copy.deepcopy(small.base))
        return loaded[-1]

    method = replace(method_of(small, name), load_base=load_base)
    shown, base = digest(method.task), copy.deepcopy(small.base.state_dict())
    weights_after(method, tiny(name))
    assert digest(method.task) == shown, (
        "images, rows or labels of `task` were changed in place: other runs read them too; work on "
        "a copy, as `.clone()` and `relabelled` make one"
    )
    assert len(loaded) == (2 if method.has_prepare else 1)
    changed = differing(small.base.state_dict(), base)
    assert not changed, f"{changed} of the base itself were changed: only `model` may be"


@every_method
def test_generators_and_modes_are_left_as_found(observed, name):
    seen = observed(name, tiny(name))
    assert len(seen.surroundings) == len(seen.reads) > 0
    for before, after in seen.surroundings:
        left = [what for what in before if after[what] != before[what]]
        assert not left, (
            f"the global state of {left} was changed: draw from `run.generator`, or inside `with "
            "run.seeded():`; use torch.no_grad() as a context; set no default of torch"
        )
    frozen = [key for key, learns in seen.requires_grad.items() if not learns]
    assert seen.requires_grad and not frozen, (
        f"{frozen} have requires_grad False in the model that is returned: what comes after takes "
        "gradients of all weights; set requires_grad_(True) again, or freeze by torch.no_grad()"
    )


@every_method
def test_the_mode_in_which_the_base_arrives_has_no_say(small, name):
    """A copy of it that is a teacher has to be put into eval mode."""
    method = method_of(small, name)
    modes = [lambda mode=mode: copy.deepcopy(small.base).train(mode) for mode in (True, False)]
    one, other = (weights_after(replace(method, load_base=base), tiny(name)) for base in modes)
    apart = differing(one, other)
    assert not apart, (
        f"{apart} depend on whether the base arrives in train or in eval mode: set the mode "
        "yourself, by `start_training(model, params)`, `model.train()` or, of a copy that is a "
        "teacher, `copy.deepcopy(model).eval()`"
    )


def scrambled(task: Task, what: str) -> Task:
    """Return the task with that part of the data made senseless."""
    if what == "forget labels":
        return replace(task, forget=task.forget.relabelled(other_labels(task.forget, task)))
    part = task.retain if what == "retain" else task.forget
    pixels, generator = task.retain.images.pixels.clone(), torch.Generator().manual_seed(0)
    noise = torch.randint(256, pixels.shape, generator=generator, dtype=pixels.dtype)
    pixels[part.rows] = noise[part.rows]
    images = replace(task.retain.images, pixels=pixels)
    retain, forget = replace(task.retain, images=images), replace(task.forget, images=images)
    if what == "retain":
        retain = retain.relabelled(other_labels(retain, task))
    return replace(task, retain=retain, forget=forget)


def other_labels(examples: Examples, task: Task) -> torch.Tensor:
    return (examples.labels + 1) % task.num_classes


@pytest.mark.parametrize(("name", "what"), UNTOUCHED)
def test_data_that_it_does_not_claim_to_touch_has_no_say(small, reference, name, what):
    method = method_of(small, name)
    blind = replace(method, task=scrambled(method.task, what))
    assert digest(blind.task) != digest(method.task)
    other = differing(weights_after(blind, tiny(name)), reference(name))
    assert not other, (
        f"with senseless {what}, {other} are other weights, but Params.touches does not name "
        f"{what!r}: add it there, or do not read it"
    )


def test_the_papers_methods_claim_what_the_paper_says():
    assert {("ft", "forget images"), ("ft", "forget labels"), ("ga", "retain")} <= set(UNTOUCHED)
    assert {("ltd", "forget labels"), ("neighbor", "forget labels")} <= set(UNTOUCHED)


@every_method
@pytest.mark.parametrize("forget", ["one example", "more than a batch", "a whole class"])
def test_it_works_on_any_forget_set(small, name, forget):
    of_class = np.flatnonzero(small.data.labels.train == 0).tolist()
    chosen = {"one example": of_class[:1]}.get(forget, of_class)
    changes = {"batch_size": 16, "epochs": 1} if forget == "more than a batch" else {}
    params = tiny(name, **{key: value for key, value in changes.items() if key in fields_of(name)})
    after = weights_after(method_of(small, name, chosen), params)
    lost = [key for key, weight in after.items() if not torch.isfinite(weight).all()]
    assert not lost, f"where {forget} is forgotten, {lost} are infinite or NaN"


# How it runs


def states_by_epoch(method: Method, params: MethodParams) -> list[str]:
    """Return a hash of the model as it is before the first epoch, and after each."""
    states = []

    def tracker(model: torch.nn.Module) -> dict[str, torch.Tensor]:
        content = b"".join(tensor.numpy().tobytes() for tensor in model.state_dict().values())
        states.append(hashlib.sha256(content).hexdigest())
        return {}

    method.unlearn(params, *inputs_of(method, params), tracker=tracker)
    return states


@pytest.mark.parametrize("name", IN_EPOCHS)
@pytest.mark.parametrize("count", [1, 3])
def test_a_method_runs_the_given_number_of_epochs_and_changes_in_each(small, name, count):
    states = states_by_epoch(method_of(small, name), tiny(name, epochs=count))
    assert len(states) == 1 + count, (
        f"with epochs: {count}, {len(states) - 1} epochs were seen: loop by `for epoch in "
        "run.epochs(params.epochs, model, optimizer):`, once"
    )
    same = 1 + count - len({*states})
    assert not same, f"with epochs: {count}, {same} of them left the model as it was"


@pytest.mark.parametrize("name", IN_EPOCHS)
def test_a_short_run_is_the_beginning_of_a_long_one_unless_the_method_is_paced(small, name):
    if tiny(name).is_paced:
        pytest.skip("what an epoch does depends on how many there are")
    short, long = (
        states_by_epoch(method_of(small, name), tiny(name, epochs=count)) for count in (2, 5)
    )
    assert len(short) == 3 and len(set(long)) == 6, "an epoch is missing, or left the model alone"
    assert short == long[:3], (
        "the second epoch of five is another model than that of two: what an epoch does depends on "
        "how many there are. Where that is meant (a schedule, phases), say so by a property "
        "`is_paced` of Params that returns True"
    )


def test_no_epoch_of_ours_depends_on_how_many_there_are():
    ours = {"amun", "ft", "ga", "ltd", "neighbor", "rl", "salun", "ideal"}
    assert ours <= {*IN_EPOCHS}
    assert not any(tiny(name).is_paced for name in ours)


@pytest.mark.parametrize("name", IN_EPOCHS)
def test_without_epochs_it_learns_nothing(small, name):
    params = tiny(name, epochs=0)
    states = states_by_epoch(method_of(small, name), params)
    assert len(states) == 2, f"with epochs: 0, {len(states) - 1} epochs were seen"
    before, after = states
    if params.starts_anew:
        assert after != before, WITHOUT_REASON
    else:
        assert after == before, (
            "with epochs: 0 the model is not the base: something changes it, weights or statistics "
            f"of batch norm, outside `run.epochs(...)`. {STARTING_ANEW}"
        )


@pytest.mark.parametrize("name", IN_STEPS)
def test_a_budget_in_steps_is_kept(small, name):
    method, params = method_of(small, name), tiny(name, steps=5, batch_size=8)
    inputs = inputs_of(method, params)
    with counting_steps() as steps:
        method.unlearn(params, *inputs)
    assert len(steps) == 5, (
        f"with steps: 5 it took {len(steps)}: where `steps` is given it stands in for `epochs`, as "
        "`steps_by_epoch` of training/optimizers.py counts them"
    )


def variants(name: str) -> Iterator[MethodParams]:
    """Yield the tiny parameters, then all that may differ from them in one choice alone."""
    yield tiny(name)
    for field, info in fields_of(name).items():
        if get_origin(info.annotation) is Literal or info.annotation is bool:
            yield from changed(tiny(name), field)


def changed(params: MethodParams, field: str) -> Iterator[MethodParams]:
    """Yield the same parameters with other values of one of them."""
    schema, value = type(params).model_json_schema()["properties"][field], getattr(params, field)
    others = [value // 2] if type(value) is int else []
    for part in schema.get("anyOf", [schema]):
        others += part.get("enum") or [part[key] for key in ("const",) if key in part]
        others += OTHERS.get(part.get("type"), ())
    for other in others:
        with suppress(ValidationError):
            given = type(params).model_validate({**params.model_dump(), field: other})
            if given != params:
                yield given


@pytest.mark.parametrize(("name", "field"), PARAMETERS)
def test_every_parameter_has_a_say_and_those_of_prepare_in_what_is_prepared(observed, name, field):
    """Under some choice of the others, another value ends in other weights or reported numbers."""
    prepare = prepare_class(name)
    phase = "prepare" if prepare and field in prepare.model_fields else "unlearn"
    if not any(True for given in variants(name) for _ in changed(given, field)):
        pytest.skip("no other value is known")
    readers = (given for given in variants(name) if field in observed(name, given).reads[phase])
    pairs = ((given, other) for given in readers for other in changed(given, field))
    has_a_say = any(differ(*(observed(name, params) for params in pair), phase) for pair in pairs)
    assert has_a_say, (
        f"no other value of `{field}` ends in other weights or reported numbers of {phase}: use "
        f"`params.{field}` there, or take the field out. A parameter that `prepare` does not read "
        "belongs into Params, and not into Prepare"
    )


def differ(one: Observed, other: Observed, phase: str) -> bool:
    """Tell whether a phase made or reported something else."""
    made = {"prepare": "prepared", "unlearn": "weights"}[phase]
    is_reported_alike = one.reported[phase] == other.reported[phase]
    return not is_reported_alike or bool(differing(getattr(one, made), getattr(other, made)))


@pytest.mark.parametrize("name", TWO_PHASES)
def test_it_does_not_matter_which_job_prepared(small, reference, tmp_path, name):
    method, params = method_of(small, name), tiny(name)
    method.prepare(params, None).save(tmp_path, CPU, tmp_path, {})
    model, _ = method.unlearn(params, Prepared.load(tmp_path, tmp_path).tensors)
    other = differing(model.state_dict(), reference(name))
    assert not other, (
        f"from prepared tensors that were saved and read again, {other} are other weights: unlearn "
        "may use what prepare returned, and nothing else that it left behind"
    )


@every_method
def test_a_run_that_was_killed_in_either_phase_ends_in_the_same_bits(small, tmp_path, name):
    # 13 batches of retained examples an epoch, two of forget examples: they do not go together.
    small_batches = {"batch_size": 11} if "batch_size" in fields_of(name) else {}
    params = tiny(name, **small_batches, **EVEN_EPOCHS.get(name, {}))
    undisturbed, taken = run_with_checkpoints(
        method_of(small, name), params, tmp_path / "undisturbed"
    )
    for phase, count in taken.items():
        if count:
            kill_after = {phase: math.ceil(0.75 * count)}
            with pytest.raises(Killed):
                run_with_checkpoints(method_of(small, name), params, tmp_path / phase, kill_after)
            again, needed = run_with_checkpoints(method_of(small, name), params, tmp_path / phase)
            other = differing(again, undisturbed)
            assert not other, (
                f"killed in {phase} and started again, {other} are other weights: give all that "
                "changes from epoch to epoch to `run.epochs(n, model, optimizer, ...)`, make "
                "iterators inside the loop, and copy a teacher before it"
            )
            assert needed[phase] < count, (
                f"killed in {phase} and started again, it took {needed[phase]} steps where a whole "
                f"run takes {count}: loop by `run.epochs(...)`, which saves after every epoch"
            )


@pytest.mark.parametrize("name", ["rl", "ltd"])
def test_a_killed_run_in_bfloat16_ends_in_the_same_bits(small, tmp_path, name):
    params = tiny(name, batch_size=11, epochs=4, precision="bfloat16")
    undisturbed, taken = run_with_checkpoints(method_of(small, name), params, tmp_path / "whole")
    with pytest.raises(Killed):
        half = {"unlearn": taken["unlearn"] // 2}
        run_with_checkpoints(method_of(small, name), params, tmp_path / "killed", half)
    again, needed = run_with_checkpoints(method_of(small, name), params, tmp_path / "killed")
    assert differing(again, undisturbed) == []
    assert needed["unlearn"] < taken["unlearn"]
    plain = tiny(name, batch_size=11, epochs=4)
    assert differing(weights_after(method_of(small, name), plain), undisturbed)


def run_with_checkpoints(
    method: Method, params: MethodParams, folder: Path, kill_after: Mapping[str, int] = {}
) -> tuple[dict[str, torch.Tensor], dict[str, int]]:
    """Run both phases, saving after every epoch; return the weights and the steps of each phase."""
    checkpoints = Checkpoints(folder, "job", interval_seconds=0)
    with counting_steps(kill_after.get("prepare")) as prepare:
        inputs = inputs_of(method, params, checkpoints.within("prepare"))
    with counting_steps(kill_after.get("unlearn")) as unlearn:
        model, _ = method.unlearn(params, *inputs, checkpoints=checkpoints)
    return model.state_dict(), {"prepare": len(prepare), "unlearn": len(unlearn)}
