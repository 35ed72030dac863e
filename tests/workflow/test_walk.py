"""docs/tutorial.md, walked: what it tells to type is typed, and what it shows is what comes out.

`pytest tests/workflow/test_walk.py --fix` writes what came out into the page.
"""

import json
import re
import runpy
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from conftest import REPOSITORY, Project, copy_project
from docs_commands import commands_on
from markdown_reading import blocks
from tutorial import (
    PAGE,
    checks,
    columns,
    fenced,
    hold,
    hold_nearly,
    hurt,
    masked,
    prose_of_walk,
    rows_of,
    shown,
    table,
)

pytest.importorskip("torch")
pytest.importorskip("safetensors")

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
CONFIG, RESULTS = "my-digits.yaml", "results/my-digits"
TABLES = f"{RESULTS}/tables/withdrawn"
RECORD = "evidence/my-digits-withdrawn-retrain-0/evidence.json"
SMOKE_RESULTS = "results/smoke"
OF_SMOKE = ("Retrain", "FT", "SalUn", "AMUN", "*Original*")
# Checks that the page speaks of.
TO_READ = ("something to forget", "Retrain as the base", "near copies")
MEASURES = ("Method", "UA (%)", "RA (%)", "TA (%)", "MIA (%)", "Avg. Gap")


@dataclass(frozen=True)
class Walk:
    """A folder in which the page was followed, and what `init` and `evidence` said."""

    folder: Path
    said: str
    recorded: str


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Walk:
    """All that they have, what they type, and the run."""
    project = copy_project(tmp_path_factory.mktemp("walk"))
    runpy.run_path(str(REPOSITORY / "docs/tutorial_files.py"))["make"](project.folder)
    said = typed(project, "collateral", "init")
    edit(project.folder / CONFIG)
    done = project.snakemake("--configfile", CONFIG)
    assert done.returncode == 0, done.stdout + done.stderr
    return Walk(project.folder, said, typed(project, "collateral", "evidence"))


def typed(project: Project, *beginning: str) -> str:
    """Run the command of the page that begins so; return what it says."""
    (words,) = {
        command.words
        for command in commands_on(PAGE)
        if command.is_whole and command.words[: len(beginning)] == beginning
    }
    program = str(Path(sys.executable).with_name(words[0]))
    done = subprocess.run(
        [program, *words[1:]],
        cwd=project.folder,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def edit(path: Path) -> None:
    """Put into the config what the page says to put there."""
    config = yaml.safe_load(path.read_text())
    (benchmark,) = config["benchmarks"].values()
    (told,) = blocks(PAGE, "yaml")
    benchmark |= yaml.safe_load(told)
    path.write_text(yaml.safe_dump(config))


def test_the_users_model_is_the_base_unchanged(walked):
    rows = {row[0]: row for row in rows_of(walked.folder / TABLES / "main.md")}
    # It knows what was withdrawn; Retrain cannot know all of it.
    assert rows["*Original*"][1].startswith("100.0 ± 0.0")
    assert float(rows["Retrain"][1].split(" ")[0]) < 90


@pytest.mark.parametrize("name", ["main", "verdict"])
def test_weights_unlearned_elsewhere_stand_beside_ours(walked, name):
    assert "theirs (given)" in [row[0] for row in rows_of(walked.folder / TABLES / f"{name}.md")]


def test_the_page_says_what_was_withdrawn(walked):
    page = (walked.folder / RESULTS / "report.html").read_text()
    assert "withdrawn.txt" in page
    assert "24 of" in page


def not_passed(results: Path) -> list[str]:
    """Return the names of the checks that were made and did not pass."""
    rows = [row.split(" | ") for row in checks(results).splitlines()[2:]]
    return [name for colour, name, *_ in rows if colour not in ("| green", "| grey")]


def test_of_the_digits_two_checks_are_amber(finished):
    assert not_passed(finished.folder / SMOKE_RESULTS) == ["something to forget", "seeds"]


def test_the_tutorial_shows_the_results_on_digits(finished, pytestconfig):
    head, *rows = columns(
        rows_of(finished.folder / SMOKE_RESULTS / "tables/digit_3-50/main.md"), *MEASURES
    )
    some = [row for row in rows if row[0] in OF_SMOKE]
    hold("smoke: results", table(head, some), pytestconfig, masked)


def test_the_tutorial_shows_the_model_and_the_request(walked, pytestconfig):
    net = (walked.folder / "mine/models/net.py").read_text()
    hold("walk: model", fenced(net, "python"), pytestconfig)
    lines = (walked.folder / "withdrawn.txt").read_text().splitlines()
    hold("walk: request", fenced("\n".join([*lines[:3], "..."])), pytestconfig)


def test_the_tutorial_shows_what_init_says(walked, pytestconfig):
    hold("walk: init", fenced(walked.said), pytestconfig, without_time)


def without_time(text: str) -> str:
    """Leave out how long it will take, and on what."""
    return re.sub(r"about .* on .*", "about # on #", text)


def test_the_tutorial_shows_the_checks(walked, pytestconfig):
    assert not_passed(walked.folder / RESULTS) == []
    hold("walk: checks", checks(walked.folder / RESULTS, *TO_READ), pytestconfig, masked)


def test_the_tutorial_shows_the_results(walked, pytestconfig):
    head, *rows = columns(rows_of(walked.folder / TABLES / "main.md"), *MEASURES)
    hold_nearly("walk: results", table(head, rows), pytestconfig)


def test_the_tutorial_shows_the_verdicts(walked, pytestconfig):
    head, *rows = rows_of(walked.folder / TABLES / "verdict.md")
    some = [row for row in rows if row[0] in ("FT", "SalUn")]  # one of each verdict
    assert (len(rows), len(some)) == (4, 2)
    hold("walk: verdicts", table(head, some), pytestconfig, masked)


def test_the_tutorial_shows_the_neighbours(walked, pytestconfig):
    head, *rows = rows_of(walked.folder / TABLES / "near-and-far.md")
    hold("walk: neighbours", table(head, rows), pytestconfig, masked)


def test_the_tutorial_shows_who_was_hurt(walked, pytestconfig):
    page = (walked.folder / RESULTS / "report.html").read_text()
    hold("walk: pictures", hurt(page, "GA", "SalUn"), pytestconfig, without_values)


def test_the_tutorial_ends_with_the_record(walked, pytestconfig):
    hold("walk: evidence", fenced(walked.recorded), pytestconfig)
    record = json.loads((walked.folder / RECORD).read_text())
    assert record["requested"] == "2026-06-03" and record["request"]["images"] == 24
    rows = [[row["label"], row["numbers"]["original"]["text"]] for row in record["losses"]]
    made = table(["Points lost against Retrain", "Model before"], rows)
    hold("walk: record", made, pytestconfig, masked)
    checked = Project(walked.folder).collateral("verify", RECORD)
    assert checked.returncode == 0, checked.stdout


def without_values(text: str) -> str:
    """Leave out all but the runs: elsewhere another picture is first."""
    return "\n".join(line.split(" | ")[0] for line in text.splitlines()[1:])


def test_every_output_of_the_tutorial_is_one_of_these():
    held = set(re.findall(r'hold(?:_nearly)?\(\s*"(\w+: \w+)"', Path(__file__).read_text()))
    assert shown().keys() == held
    inside = "".join(shown().values())
    assert [text for text in blocks(PAGE, "text") if text not in inside] == []


def test_numbers_that_the_tutorial_speaks_of_are_among_those_it_shows():
    words = prose_of_walk()
    spoken = re.findall(r"\b\d+\.\d\b", words)
    assert spoken
    assert [number for number in spoken if number not in "".join(shown().values())] == []
