"""Whom the contract tests pass, and whom they fail: plug-ins of every kind, right and at fault.

They run in processes of their own over tests/contract/plugins, over what the guides in docs show,
and over copies of the package's SCRUB and of the plug-ins with one fault each.
"""

import ast
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
RIGHT = ("last_layer", "eu_1", "stripes", "every_other", "softmax")
LOOP = "for epoch in run.epochs(params.epochs, model, optimizer):"
TEACHER = "copy.deepcopy(model).eval()"

KILLED = "test_a_run_that_was_killed_in_either_phase_ends_in_the_same_bits"
EPOCHS = "test_a_method_runs_the_given_number_of_epochs_and_changes_in_each"
NO_EPOCHS = "test_without_epochs_it_learns_nothing"
SAY = "test_every_parameter_has_a_say_and_those_of_prepare_in_what_is_prepared"
MODE = "test_the_mode_in_which_the_base_arrives_has_no_say"
SAME = "test_every_data_set_is_the_same_when_loaded_again"
WRITTEN = "test_the_stage_writes_what_was_loaded"
SIZE = "test_the_size_is_known_without_the_labels"
NORMALISED = "test_images_are_normalised_inside"
ZERO = "test_a_step_of_length_zero_leaves_the_weights_unchanged"
FOUND = "test_generators_and_modes_are_left_as_found"
SCRUB, STRIPES = "methods/scrub/method.py", "data/stripes.py"
EU_1 = "methods/eu_1"
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
    guide = (DOCS / "extend.md").read_text()
    found = re.findall(rf"`my_methods/(last_layer/\w+\.py)`[^\n]*\n\n{block}", guide, re.S)
    assert len(found) == 2
    (folder / "methods/last_layer").mkdir()
    for name, code in found:
        (folder / "methods" / name).write_text(code)
    blocks = re.findall(block, (DOCS / "your-data.md").read_text(), re.S)
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


ANEW = "    starts_anew: ClassVar[bool] = True\n"
# Methods that draw weights anew, with one fault each, and what is said of it.
TOLD = {
    "says_nothing": ("params.py", {ANEW: ""}, {ZERO, NO_EPOCHS}, "declares it in Params: `starts_"),
    "keeps_its_head": (
        "method.py",
        {"model.head.load_state_dict(fresh.state_dict())": "assert fresh is not None"},
        {ZERO, NO_EPOCHS},
        "Params.starts_anew is True, but without a step the model is the base",
    ),
    "stays_frozen": (
        "method.py",
        {"    return model\n": "    return model.requires_grad_(False)\n"},
        {FOUND},
        "set requires_grad_(True) again",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TOLD)
def test_a_method_that_reinitialises_weights_gets_the_hint_to_declare_starts_anew(tmp_path, name):
    file, changes, expected, said = TOLD[name]
    shutil.copytree(HERE / "plugins" / EU_1, tmp_path / "methods" / name)
    path = tmp_path / "methods" / name / file
    for old, new in changes.items():
        assert path.read_text().count(old) == 1
        path.write_text(path.read_text().replace(old, new))
    asked = f"{name} and ({' or '.join((ZERO, NO_EPOCHS, FOUND))})"
    words = [sys.executable, "-m", "pytest", HERE / "test_methods.py", "--plugins", tmp_path]
    done = subprocess.run(
        [*words, "-q", "-rA", "-p", "no:cacheprovider", "-k", asked],
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"^FAILED \S+::(\w+)\[", done.stdout, re.M)
    assert {*found} == expected, done.stdout
    assert said in done.stdout


# How tests are marked that a plug-in may fail, and helpers that they share.
OF_PLUG_INS = re.compile(
    r"every_method|EVERY_MODEL|(DATA|METHOD|FORGET|MODEL)\.names\(\)|CASES|FINDINGS|"
    r"FINDING\.parts\(.(table|figure|words).\)|WITH_STEP_LENGTH|UNTOUCHED|IN_EPOCHS|IN_STEPS|"
    r"PARAMETERS|TWO_PHASES"
)
SHARED = {"check_contract", "check_size", "weights_after", "observe"}
# Not of what the plug-in does: that the test itself has something to look at.
OF_THE_TEST = (
    "len(seen.surroundings)",
    "digest(blind.task)",
    "len(loaded)",
    "module in loaded",
)


def asked_of_plug_ins(suite: str) -> list[ast.FunctionDef]:
    tree = ast.parse((HERE / suite).read_text())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [f for f in functions if f.name in SHARED or OF_PLUG_INS.search(decorators(f))]


# What docs/extend.md calls the rules, and the tests that ask them.
RULES = {
    "The card.": {"test_its_card_is_complete"},
    "The model.": {
        "test_the_model_keeps_its_names_shapes_and_types_and_stays_finite",
        "test_unlearning_with_the_default_parameters_changes_the_weights",
        FOUND,  # requires_grad
    },
    "Random numbers.": {"test_the_same_seed_gives_the_same_bits", FOUND},
    "A GPU": {"test_on_a_gpu_it_gives_the_same_bits_and_nothing_is_left_to_chance"},
    "No step, no change.": {ZERO, NO_EPOCHS},
    "Divergence.": {"test_a_run_that_explodes_is_a_result_called_diverged"},
    "The data.": {
        "test_the_data_is_left_alone_and_each_phase_gets_a_base_of_its_own",
        "test_data_that_it_does_not_claim_to_touch_has_no_say",
    },
    "Train or eval mode.": {MODE},
    "Any forget set.": {"test_it_works_on_any_forget_set"},
    "Epochs.": {
        EPOCHS,
        "test_a_short_run_is_the_beginning_of_a_long_one_unless_the_method_is_paced",
    },
    "Steps.": {"test_a_budget_in_steps_is_kept"},
    "Parameters.": {SAY},
    "Two phases.": {"test_it_does_not_matter_which_job_prepared"},
    "A kill": {KILLED},
}


def test_the_guide_lists_every_conformance_test_of_methods():
    text = (DOCS / "extend.md").read_text()
    guide = text.partition("### What is tested of a method")[2].partition("\n## ")[0]
    assert re.findall(r"^- \*\*(.+?)\*\*", guide, re.M) == [*RULES]
    asked = {function.name for function in asked_of_plug_ins("test_methods.py")} - SHARED
    assert set().union(*RULES.values()) == asked


@pytest.mark.parametrize("suite", [*SUITES, "test_findings.py"])
def test_no_contract_that_a_plug_in_may_break_is_a_bare_assert(suite):
    asked = asked_of_plug_ins(suite)
    assert len(asked) > 1
    bare = [
        f"{function.name}: {ast.unparse(node.test)}"
        for function in asked
        for node in ast.walk(function)
        if isinstance(node, ast.Assert) and node.msg is None
    ]
    assert [one for one in bare if not one.split(": ", 1)[1].startswith(OF_THE_TEST)] == []


def decorators(function: ast.FunctionDef) -> str:
    return " ".join(map(ast.unparse, function.decorator_list))


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_correct_methods_pass_every_test(failed, name):
    assert failed[name] == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_wrong_methods_fail_only_the_test_of_their_fault(failed, name):
    assert failed[name] == FAULTS[name][-1]
