"""Whom the contract tests pass, and whom they fail: plug-ins of every kind, right and at fault.

They run in processes of their own over tests/contract/plugins, over what the guides in docs show,
and over copies of the package's SCRUB and of the plug-ins with one fault each.
"""

import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import collateral

HERE = Path(__file__).parent
PACKAGE = Path(collateral.__file__).parent
DOCS = Path(__file__).parents[2] / "docs"
SUITES = ("test_methods.py", "test_datasets.py", "test_forget_sets.py", "test_models.py")
RIGHT = ("last_layer", "stripes", "every_other", "softmax")
LOOP = "for epoch in run.epochs(params.epochs, model, optimizer):"
TEACHER = "copy.deepcopy(model).eval()"

KILLED = "test_a_run_that_was_killed_in_either_phase_ends_in_the_same_bits"
EPOCHS = "test_it_has_as_many_epochs_as_it_is_told_and_learns_in_each"
NO_EPOCHS = "test_without_epochs_it_learns_nothing"
SAY = "test_every_parameter_has_a_say_and_those_of_prepare_in_what_is_prepared"
MODE = "test_the_mode_in_which_the_base_arrives_has_no_say"
SAME = "test_every_data_set_is_the_same_when_loaded_again"
WRITTEN = "test_the_stage_writes_what_was_loaded"
SIZE = "test_the_size_is_known_without_the_labels"
NORMALISED = "test_images_are_normalised_inside"
SCRUB, STRIPES = "methods/scrub/method.py", "data/stripes.py"
EVERY_OTHER, SOFTMAX = "forget/every_other.py", "models/softmax.py"
# What is replaced in which file, and the tests that see it.
FAULTS = {
    "passes_thrice": (SCRUB, {LOOP: LOOP.replace("params.epochs", "3")}, {EPOCHS, NO_EPOCHS, SAY}),
    "ascends_always": (SCRUB, {"epoch < params.max_epochs": "params.max_epochs"}, {SAY}),
    "has_an_own_loop": (SCRUB, {LOOP: "for epoch in range(params.epochs):"}, {EPOCHS, KILLED}),
    "loses_its_optimiser": (SCRUB, {LOOP: LOOP.replace(", optimizer", "")}, {KILLED}),
    "trains_its_teacher": (SCRUB, {TEACHER: "copy.deepcopy(model)"}, {MODE}),
    "copies_its_teacher_late": (
        SCRUB,
        {TEACHER: "None", LOOP: f"{LOOP}\n        teacher = teacher or {TEACHER}"},
        {KILLED},
    ),
    "has_no_seed": (STRIPES, {"default_rng(0)": "default_rng()"}, {SAME, WRITTEN}),
    "miscounts": (EVERY_OTHER, {"-(-size.num_train // params.step)": "size.num_train"}, {SIZE}),
    "takes_raw_pixels": (
        SOFTMAX,
        {"(info,": "(ImageInfo(info.num_classes, info.shape, (0.0,), (1.0,)),"},
        {NORMALISED},
    ),
}


def write_plugins(folder: Path) -> None:
    """Write what is right, and then what is wrong under names of their own."""
    shutil.copytree(HERE / "plugins", folder, dirs_exist_ok=True)
    block = r"```python\n(.*?)```"
    guide = (DOCS / "add-a-method.md").read_text()
    found = re.findall(rf"`my_methods/(last_layer/\w+\.py)`[^\n]*\n\n{block}", guide, re.S)
    assert len(found) == 2
    (folder / "methods/last_layer").mkdir(parents=True)
    for name, code in found:
        (folder / "methods" / name).write_text(code)
    blocks = re.findall(block, (DOCS / "add-a-dataset.md").read_text(), re.S)
    (folder / "data").mkdir()
    (folder / STRIPES).write_text(next(code for code in blocks if "INFO" in code))
    for name, (file, changes, _) in FAULTS.items():
        write_fault(folder, name, file, changes)


def write_fault(folder: Path, name: str, file: str, changes: dict[str, str]) -> None:
    """Write a copy of a plug-in with one fault."""
    right, wrong = folder / file, (folder / file).with_stem(name)
    if file == SCRUB:
        right, wrong = PACKAGE / file, folder / "methods" / name / "method.py"
        shutil.copytree(right.parent, wrong.parent)
        changes = {"methods.scrub.": f"methods.{name}.", **changes}
    code = right.read_text()
    for old, new in changes.items():
        assert code.count(old) == 1
        code = code.replace(old, new)
    wrong.write_text(code)


@pytest.fixture(scope="module")
def failed(tmp_path_factory) -> dict[str, set[str]]:
    """Run the contract tests; return those that each plug-in has failed."""
    folder = tmp_path_factory.mktemp("plugins")
    write_plugins(folder)
    # The right ones take every test; a wrong method only those that see one of the faults.
    seen = " or ".join(["not test_methods", KILLED, EPOCHS, NO_EPOCHS, MODE, f"({SAY} and epochs)"])
    which = f"{' or '.join(RIGHT)} or (({' or '.join(FAULTS)}) and ({seen}))"
    suites = [HERE / suite for suite in SUITES]
    words = [sys.executable, "-m", "pytest", *suites, "--plugins", folder, "-q", "-rA", "-k", which]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = defaultdict(set)
    for outcome, test, case in re.findall(r"^(\w+) \S+::(\w+)\[(.+)\]", done.stdout, re.M):
        for name in (*RIGHT, *FAULTS):
            if name in case:
                found[name] |= {test} if outcome != "PASSED" else set()
    assert found.keys() == {*RIGHT, *FAULTS}, done.stdout
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_passes_every_test(failed, name):
    assert failed[name] == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_what_is_wrong_fails_for_its_fault_alone(failed, name):
    assert failed[name] == FAULTS[name][-1]
