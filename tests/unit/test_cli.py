"""The command `collateral`: help, bad input in one line, and nothing written."""

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pytest

from collateral import __version__
from collateral.cli import HIDDEN, commands, main
from collateral.commands import unlock
from collateral.findings.registry import Problem, write_problems
from collateral.jobs import kinds
from collateral.jobs.check import CheckJob
from collateral.jobs.data import DataJob
from collateral.jobs.split import SplitJob
from collateral.plugins import find
from collateral.plugins.modules import FOLDER
from collateral.results import layout
from collateral.results.provenance import write_record
from collateral.stages import check

# Commands in the overview, in its order.
FOR_PEOPLE = ["init", "estimate", "forecast", "doctor", "list", "cite", "verify", "export"]
FOR_PEOPLE += ["evidence", "bundle", "unbundle", "publish", "submit", "judge", "board", "claims"]
COMMAND = "from collateral.cli import main; main()"


def collateral(*arguments):
    """Run the command in a process of its own."""
    command = [sys.executable, "-c", COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)


def leave(*arguments):
    """Run the command here, which must stop it; return what it stops with: a code or a message."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return stop.value.code


def data_stage(folder, **options):
    """Return the arguments with which the job `data` reads a user's own file."""
    given = {"path": str(folder / "own.npz"), **options}
    job = DataJob(benchmark="out", name="arrays", options=given)
    return ["run", job.text(), "--results", folder]


def write_arrays(folder, **changes):
    """Write own.npz: four images of two classes to train, two to test."""
    arrays = {
        "train_images": np.zeros((4, 2, 2), np.uint8),
        "train_labels": np.array([0, 1, 0, 1]),
        "test_images": np.zeros((2, 2, 2), np.uint8),
        "test_labels": np.array([0, 1]),
    }
    np.savez(folder / "own.npz", **(arrays | changes))


def test_help_names_the_commands(capsys):
    assert leave("--help") == 0
    said = capsys.readouterr().out
    assert "usage: collateral" in said
    entries = re.findall(r"^  (\w+) +\w", said, re.M)
    assert entries[: len(FOR_PEOPLE)] == FOR_PEOPLE
    assert "\n  unlearn" not in said  # a stage is no command


def test_commands_for_scripts_are_left_out_of_the_overview_but_have_help(capsys):
    leave("--help")
    overview = capsys.readouterr().out
    assert {*HIDDEN} == {*commands(), "run"} - {*FOR_PEOPLE}
    for name in HIDDEN:
        assert f"\n  {name} " not in overview
        assert leave(name, "--help") == 0
        assert f"usage: collateral {name} " in capsys.readouterr().out


@pytest.mark.parametrize("name", ["", "run", *find.COMMAND.names()])
def test_no_line_of_help_is_longer_than_80_characters(capsys, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    assert leave(*filter(None, [name, "--help"])) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 8
    assert [line for line in lines if len(line) > 80] == []


def test_help_keeps_the_paragraphs_of_a_description(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    leave("run", "--help")
    said = capsys.readouterr().out
    assert "and write its record.\n\nThe job is a description as JSON:" in said


def test_init_has_the_options_of_its_request(capsys):
    assert leave("init", "--help") == 0
    said = capsys.readouterr().out
    assert all(option in said for option in ("--forget-where COLUMN=", "--minutes", "--out"))


def test_help_is_in_the_order_of_use_and_has_an_example(capsys):
    leave("--help")
    said = capsys.readouterr().out
    order = ["init", "estimate", "doctor", "list", "cite", "verify", "export", "evidence"]
    order += ["Examples:"]
    places = [said.index(f"\n  {word}" if word.islower() else word) for word in order]
    assert places == sorted(places)
    assert "collateral estimate config.yaml" in said
    assert sorted(commands()) == sorted(find.COMMAND.names())


def test_the_log_of_every_stage_ends_with_its_memory(tmp_path):
    write_arrays(tmp_path)
    done = collateral(*data_stage(tmp_path))
    found = re.fullmatch(
        r"collateral data: [\d.]+ s of CPU, peak memory (\d+) MB", done.stderr.splitlines()[-1]
    )
    assert found and 10 < int(found[1]) < 10_000


def test_help_of_run_says_what_it_does_and_takes(capsys):
    assert leave("run", "--help") == 0
    said = capsys.readouterr().out
    assert "usage: collateral run" in said
    assert "Run a job: check its inputs, call its stage, and write its record." in said
    assert "--code CODE" in said


@pytest.mark.parametrize(("given", "meant"), [("verifi", "verify"), ("doctro", "doctor")])
def test_a_misspelt_command_is_answered_with_the_nearest_one(capsys, given, meant):
    assert leave(given) == 2
    said = capsys.readouterr().err
    assert f"error: no command '{given}'; did you mean {meant}?" in said


def test_an_unknown_command_is_answered_with_the_known_ones(capsys):
    assert leave("xyzzy") == 2
    said = capsys.readouterr().err
    assert "no command 'xyzzy'" in said
    assert all(name in said for name in [*commands(), "run"])


def test_without_a_command_the_known_ones_are_listed(capsys):
    assert leave() == 0
    assert "verify" in capsys.readouterr().out


def test_an_unknown_option_is_refused(capsys):
    assert leave("run", "{}", "--seed", 3) == 2
    assert "collateral run: error:" in capsys.readouterr().err


# The command line is made from the signature.


@pytest.fixture
def calls(monkeypatch):
    """Put a function with every kind of parameter in a command's place; collect its calls."""
    made = []

    def example(  # noqa: PLR0913
        folder: Annotated[Path, "a folder"] = Path("results"),
        more: Annotated[Sequence[Path], "other folders", {"metavar": "MORE"}] = (),
        *,
        num_seeds: Annotated[int, "how many seeds"],
        names: Annotated[Sequence[str], "names"] = (),
        sizes: Annotated[Sequence[float], "sizes"],
        shape: Annotated[tuple[int, int], "height and width"] = (1, 1),
        rule: Annotated[Literal["a", "b"], "the rule"] = "a",
        for_: Annotated[str | None, "a purpose"] = None,
        deep: Annotated[bool, "look closer"] = False,
        values: Annotated[Mapping[str, int], "as JSON", {"type": json.loads}],
    ):
        made.append(locals())

    monkeypatch.setattr(unlock, "unlock", example)
    return made


REQUIRED = ["--num-seeds", "3", "--sizes", "0.5", "--values", '{"a": 1}']


def test_a_command_line_argument_has_the_type_of_the_function_parameter(calls):
    main(["unlock", *REQUIRED])
    least = {
        **{"folder": Path("results"), "more": (), "num_seeds": 3, "names": (), "sizes": [0.5]},
        **{"shape": (1, 1), "rule": "a", "for_": None, "deep": False, "values": {"a": 1}},
    }
    more = ["--names", "x", "y", "--shape", "4", "5", "--rule", "b", "--for", "you", "--deep"]
    main(["unlock", "one", "two", "three", *REQUIRED, *more])
    most = {
        **{"folder": Path("one"), "more": [Path("two"), Path("three")], "names": ["x", "y"]},
        **{"shape": [4, 5], "rule": "b", "for_": "you", "deep": True},
    }
    assert [{key: call[key] for key in least} for call in calls] == [least, least | most]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (REQUIRED[2:], "the following arguments are required: --num-seeds"),
        (REQUIRED[:-2], "the following arguments are required: --values"),
        ([*REQUIRED, "--num-seeds", "x"], "argument --num-seeds: invalid int value: 'x'"),
        ([*REQUIRED, "--sizes"], "argument --sizes: expected at least one argument"),
        ([*REQUIRED, "--shape", "1"], "argument --shape: expected 2 arguments"),
        ([*REQUIRED, "--rule", "c"], "argument --rule: invalid choice: 'c'"),
        ([*REQUIRED, "--values", "{"], "argument --values: invalid loads value: '{'"),
    ],
)
def test_arguments_that_do_not_fit_the_signature_are_refused(calls, capsys, words, said):
    assert leave("unlock", *words) == 2
    assert said in capsys.readouterr().err
    assert not calls


def test_the_help_is_that_of_the_annotations(calls, capsys):
    assert leave("unlock", "--help") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "--num-seeds NUM_SEEDS how many seeds" in text
    assert "[folder] [MORE ...]" in text
    assert "--plugins" in text


def test_no_stage_reads_a_namespace():
    files = [
        path for folder in (FOLDER, FOLDER.with_name("paper")) for path in folder.rglob("*.py")
    ]
    assert len(files) > 200
    found = {path.stem for path in files if "argparse" in path.read_text(encoding="utf-8")}
    assert found == {"cli", "_proposal"}  # `init` refuses a value with an error of argparse


def test_modules_that_are_no_stages_are_not_listed():
    assert not {"__init__", "_workspace"} & {*find.STAGE.names(), *commands()}
    assert not {*find.STAGE.names()} & {*commands()}


def test_help_imports_no_stage():
    code = "import sys; from collateral import cli; cli._overview(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "collateral.cli" in done.stdout.split()
    assert "collateral.stages." not in done.stdout
    assert "collateral.commands." not in done.stdout
    assert "numpy" not in done.stdout.split()


def test_a_stage_that_succeeds_writes_its_files(tmp_path):
    write_arrays(tmp_path)
    main([str(argument) for argument in data_stage(tmp_path)])
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"dataset.npz", "labels.npz", "data.json"}


def test_bad_input_is_one_line_and_the_code_1(tmp_path):
    write_arrays(tmp_path, test_labels=np.array([0, 7]))
    done = collateral(*data_stage(tmp_path))
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"collateral data: data.path: {tmp_path / 'own.npz'}: test_labels: ")
    assert "7; expected 0 to 1" in line
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"train_images": np.zeros((4, 2), np.uint8)}, "train_images"),
        ({"train_labels": np.array([0, 1, 0])}, "train_labels"),
        ({"train_labels": np.array([0, 1, 0, -1])}, "train_labels"),
        ({"test_images": np.full((2, 2, 2), 1.5)}, "test_images"),
    ],
    ids=["shape", "length", "range", "pixels"],
)
def test_bad_arrays_write_nothing(tmp_path, changes, named):
    write_arrays(tmp_path, **changes)
    message = leave(*data_stage(tmp_path))
    assert message.startswith(f"collateral data: data.path: {tmp_path / 'own.npz'}: {named}: ")
    assert [path.name for path in tmp_path.iterdir()] == ["own.npz"]


def test_a_file_that_is_not_there_writes_nothing(tmp_path):
    message = leave(*data_stage(tmp_path))
    assert message.startswith(f"collateral data: data.path: {tmp_path / 'own.npz'}: no .npz file")
    assert list(tmp_path.iterdir()) == []


def test_bad_input_leaves_what_was_there_before(tmp_path):
    write_arrays(tmp_path, test_labels=np.array([0, 7]))
    (tmp_path / "out").mkdir()
    (tmp_path / "out/dataset.npz").write_text("before")
    leave(*data_stage(tmp_path))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["dataset.npz"]
    assert (tmp_path / "out/dataset.npz").read_text() == "before"


def test_an_error_inside_a_library_keeps_its_traceback(monkeypatch, tmp_path):
    monkeypatch.setattr(check, "read_problems", lambda _: int("no number"))
    write_found(tmp_path)
    with pytest.raises(ValueError, match="invalid literal") as error:
        main(run_check(tmp_path))
    assert error.traceback


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device; free some"),
        (
            OSError(errno.EROFS, "Read-only file system", "out/a.csv"),
            "out/a.csv: Read-only file system; free some space, or start in a folder that can be",
        ),
    ],
)
def test_a_full_disk_is_a_sentence_also_from_a_library(monkeypatch, tmp_path, error, said):
    """pandas and safetensors raise it without the name of the file."""

    def write(_):
        raise error

    monkeypatch.setattr(check, "read_problems", write)
    write_found(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(run_check(tmp_path))
    assert str(ended.value).startswith(f"collateral check: {said}")


def test_a_broken_file_is_named_in_one_line(tmp_path):
    labels = tmp_path / "labels.npz"
    labels.write_text("no zip file")
    write_record(layout.record_path(labels), {}, root=tmp_path, files=[labels])
    job = SplitJob(benchmark=tmp_path.name, cell="c", forget="class_part", params={})
    done = collateral("run", job.text(), "--results", tmp_path.parent)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"collateral split: {labels}: broken: ")
    assert line.endswith(f"delete and run again: rm -r {labels}")
    assert not (tmp_path / "c/split.json").exists()


def write_found(folder, *problems):
    """Write the findings that failed, as the rule `report` does."""
    path = folder / layout.REPORT_PROBLEMS
    write_problems(path, problems)
    write_record(layout.record_path(path), {}, root=folder, files=[path])


def run_check(folder):
    return ["run", CheckJob(benchmark=folder.name).text(), "--results", str(folder.parent)]


def test_check_names_every_problem_in_a_line_and_the_remedy_and_fails(tmp_path, capsys):
    broken = Problem("mine", "plots", "couch-50", "KeyError: 'x'\nand more")
    lost = Problem("summary", "across", "", "it needs gap")
    write_found(tmp_path, broken, lost)
    assert leave(*run_check(tmp_path)) == 1
    assert capsys.readouterr().out.splitlines() == [
        "finding mine: its plots in couch-50 could not be made: KeyError: 'x' and more",
        "finding summary: its across could not be made: it needs gap",
        "Mend it; or, if the cause has passed: snakemake --forcerun figures gather",
    ]


def test_check_knows_the_rule_of_every_part_of_a_finding():
    assert {*check.RULES} == {"numbers", "across", "checks", "table", "plots", "words"}
    assert {*check.RULES.values()} < {*kinds()}


def test_check_is_content_with_no_problem(tmp_path, capsys):
    write_found(tmp_path)
    main(run_check(tmp_path))
    assert capsys.readouterr().out == ""


def test_a_reader_that_has_enough_is_no_error():
    command = f"{sys.executable} -c '{COMMAND}' list methods | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("amun ") and done.stdout.count("\n") == 1
    assert not done.stderr


def test_the_version_is_printed():
    done = collateral("--version")
    assert (done.returncode, done.stdout) == (0, f"collateral {__version__}\n")
