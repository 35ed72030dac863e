"""Whom the conformance suite passes, and whom it fails: SCRUB as it should be, and in its faults.

The suite runs once, in a process of its own, over SCRUB, the method of docs/add-a-method.md, and
copies of SCRUB with one fault each.
"""

import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

SUITE = Path(__file__).with_name("test_methods.py")
SCRUB = Path(__file__).parent / "plugins" / "scrub"
RIGHT = ("scrub", "neggrad")
GUIDE = Path(__file__).parents[2] / "docs" / "add-a-method.md"
LOOP = "for epoch in run.epochs(params.epochs, model, optimizer):"
TEACHER = "copy.deepcopy(model).eval()"

KILLED = "test_a_run_that_was_killed_in_either_phase_ends_in_the_same_bits"
EPOCHS = "test_it_has_as_many_epochs_as_it_is_told_and_learns_in_each"
NO_EPOCHS = "test_without_epochs_it_learns_nothing"
SAY = "test_every_parameter_has_a_say_and_those_of_prepare_in_what_is_prepared"
MODE = "test_the_mode_in_which_the_base_arrives_has_no_say"
# What is replaced in SCRUB's code, and the tests that see it.
FAULTS = {
    "always_passes_thrice": ({LOOP: LOOP.replace("params.epochs", "3")}, {EPOCHS, NO_EPOCHS, SAY}),
    "ascends_to_the_end": ({"epoch < params.max_epochs": "params.max_epochs"}, {SAY}),
    "has_a_loop_of_its_own": ({LOOP: "for epoch in range(params.epochs):"}, {EPOCHS, KILLED}),
    "loses_its_optimiser": ({LOOP: LOOP.replace(", optimizer", "")}, {KILLED}),
    "trains_its_teacher": ({TEACHER: "copy.deepcopy(model)"}, {MODE}),
    "copies_its_teacher_late": (
        {TEACHER: "None", LOOP: f"{LOOP}\n        teacher = teacher or {TEACHER}"},
        {KILLED},
    ),
}


def write_plugins(folder: Path) -> None:
    """Write the right methods and the wrong ones, each under a name of its own."""
    shutil.copytree(SCRUB, folder / "scrub")
    (folder / "neggrad").mkdir()
    blocks = re.findall(
        r"`my_methods/neggrad/(\w+\.py)`[^\n]*\n\n```python\n(.*?)```", GUIDE.read_text(), re.S
    )
    assert len(blocks) == 2
    for name, code in blocks:
        (folder / "neggrad" / name).write_text(code)
    for name, (changes, _) in FAULTS.items():
        shutil.copytree(SCRUB, folder / name)
        code = (SCRUB / "method.py").read_text()
        for right, wrong in {"methods.scrub.": f"methods.{name}.", **changes}.items():
            assert code.count(right) == 1
            code = code.replace(right, wrong)
        (folder / name / "method.py").write_text(code)


@pytest.fixture(scope="module")
def failed(tmp_path_factory) -> dict[str, set[str]]:
    """Run the suite; return the tests that each method has failed."""
    folder = tmp_path_factory.mktemp("plugins")
    write_plugins(folder)
    right, wrong = " or ".join(RIGHT), " or ".join(FAULTS)
    # The right ones take every test; the wrong ones those that see one of the faults.
    faults = f"{KILLED} or {EPOCHS} or {NO_EPOCHS} or {MODE} or ({SAY} and epochs)"
    which = f"{right} or (({wrong}) and ({faults}))"
    words = [sys.executable, "-m", "pytest", SUITE, "--plugins", folder, "-q", "-rA", "-k", which]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = defaultdict(set)
    for outcome, test, which in re.findall(r"^(\w+) \S+::(\w+)\[(\S+)\]", done.stdout, re.M):
        (name,) = (part for part in (*RIGHT, *FAULTS) if part in which)
        found[name] |= {test} if outcome != "PASSED" else set()
    assert found.keys() == {*RIGHT, *FAULTS}, done.stdout
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_method_passes_every_test(failed, name):
    assert failed[name] == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_wrong_method_fails_for_its_fault_alone(failed, name):
    assert failed[name] == FAULTS[name][-1]
