"""What runs again when code changes: every job has run once, with a stand-in for the package."""

import re
import shutil
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY, Job, Project, copy_project

from collateral.plugins.find import STAGE

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
# Four models: the benchmark's, and as teachers that of a run, of a sweep and of a default trial.
CONFIG = """
benchmarks:
  small:
    data: {name: digits}
    model: small_cnn
    seeds: [0, 1]
    classes: [digit_3]
    fractions: [0.5]
    methods:
      ft: {}
      ltd: {k: 100, teacher: [small_cnn, mlp_frozen]}
      own: {uses: ltd, k: 100, teacher: mnist_cnn}
    controls: [original, ideal]
    sweeps:
      teacher: {method: own, vary: {teacher: [mlp]}}
      beta: {method: own, vary: {beta: [3]}}
    support_size: {method: own, k: [50, 100]}
"""
THEORY = ["theory.csv", "findings.csv", "checks.csv", "statements.json", "figures/captions.json"]
THEORY += [
    f"figures/{n}.{s}" for n in ("synthetic", "retain-residual", "support") for s in ("pdf", "png")
]
# In place of `collateral`: makes the files that the description names, with their records.
PRETEND = f"""#!{sys.executable}
import sys
from pathlib import Path
from collateral.jobs import read_job
job = read_job(sys.argv[2])
root = Path("results", job.benchmark)
names = [*job.files.values(), *job.records] + [f"{{job.out}}/cost.json"] * job.has_cost
if job.kind == "theory":
    names += ["theory/" + name for name in {THEORY}]
if job.kind == "index":
    names += ["report.html", "theory/report.html"]
for file in (root / name for name in names):
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix:
        file.exists() or file.touch()
    else:
        file.mkdir(exist_ok=True)
"""
OPTIONS = ("--configfile", "small.yaml")
# The rules that a change of a module reruns, without those that only come after them.
CHANGED = {
    "stages/data.py": {"data"},
    "stages/split.py": {"split"},
    "stages/train.py": {"base", "retrain"},
    "stages/tune.py": {"tune"},
    "stages/unlearn.py": {"unlearn"},
    "stages/support_size.py": {"support_size"},
    "stages/neighbours.py": {"neighbours"},
    "stages/pictures.py": {"pictures"},
    "stages/metrics.py": {"metrics"},
    "stages/gather.py": {"gather"},
    "stages/tables.py": {"tables"},
    "stages/figures.py": {"figures"},
    "stages/report.py": {"report"},
    "stages/index.py": {"index"},
    "stages/check.py": {"check"},
    "../paper/stages/theory.py": {"theory"},
    "../paper/theory/checks.py": {"theory"},
    "../paper/printed.py": {"tables", "figures"},  # by views.py, which has both
    "data/digits.py": {"data"},
    "data/forget/class_part.py": {"split"},
    "models/small_cnn.py": {"base", "retrain"},
    "training/fit.py": {"base", "retrain"},
    "training/run_method.py": {"tune", "unlearn", "support_size"},
    "findings/classes/numbers.py": {"metrics"},
    "findings/classes/views.py": {"tables", "figures"},
    "findings/classes/__init__.py": {"metrics"},
    "findings/membership/__init__.py": {"metrics"},
    "contract/metrics.py": {"metrics"},
    "plots/style.py": {"tables", "figures", "theory"},  # by views.py; the theory has this style
    "report/page.html.j2": {"report"},
}
# All jobs of methods that it reruns, by run or tuned method.
OWN = {("unlearn", "own"), ("unlearn", "own@beta=3"), ("support_size", None)}
SWEPT = {("unlearn", "own@teacher=mlp")}
TUNED = {("tune", "ltd"), ("unlearn", "ltd"), ("unlearn", "ideal")}  # which follows LTD's choice
OF_METHODS = {
    "methods/ft/method.py": {("unlearn", "ft")},
    "methods/ltd/teachers.py": {*OWN, *SWEPT, *TUNED},
    "controls/ideal/method.py": {("unlearn", "ideal")},
    "models/mnist_cnn.py": OWN,
    "models/mlp.py": SWEPT,
    "models/resnet.py": TUNED,
}


@pytest.fixture(scope="module")
def pretended(tmp_path_factory) -> Project:
    """A project in which every job has left its files; tests must leave it as it is."""
    project = copy_project(tmp_path_factory.mktemp("pretended"))
    (project.folder / "small.yaml").write_text(CONFIG)
    program = project.folder / "bin/collateral"
    program.parent.mkdir()
    program.write_text(PRETEND)
    program.chmod(0o755)
    done = project.snakemake(*OPTIONS, programs=program.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert project.jobs(*OPTIONS) == []
    return project


@pytest.fixture
def copy(pretended, tmp_path) -> Project:
    """A copy of it that a test may change."""
    shutil.copytree(pretended.folder, tmp_path / "project", symlinks=True)
    return Project(tmp_path / "project")


def change(project: Project, module: str) -> None:
    """Add a line to a module of the package, or of the plug-in that ships."""
    path = project.folder / "workflow/collateral" / module
    path.write_text(f"{path.read_text()}\nCHANGED = True\n")


def names(jobs: list[Job]) -> set[tuple[str, str | None]]:
    """Return jobs by rule, and by run or tuned method."""
    return {(job.rule, job.wildcards.get("run", job.wildcards.get("method"))) for job in jobs}


def test_every_stage_is_tried():
    # These jobs are in test_optional_jobs and test_given alone.
    elsewhere = {"teacher", "given", "probe", "shadow", "expose"}
    running = {*STAGE.names()} - {"run", *elsewhere}
    assert {Path(name).stem for name in CHANGED if "stages" in Path(name).parts} == running


@pytest.mark.parametrize("module", CHANGED)
def test_a_change_reruns_what_depends_on_it_alone(copy, module):
    change(copy, module)
    changed = [job for job in copy.jobs(*OPTIONS) if "Params have changed" in job.reason]
    assert {job.rule for job in changed} == CHANGED[module]


def test_other_pictures_rerun_pictures_and_page_alone(copy):
    config = copy.folder / "small.yaml"
    config.write_text(f"{config.read_text()}    pictures: none\n")
    rules = {job.rule for job in copy.jobs(*OPTIONS)}
    assert rules == {"pictures", "report", "check", "index", "all"}


@pytest.mark.parametrize("module", OF_METHODS)
def test_a_change_of_a_method_or_a_model_reruns_its_users_alone(copy, module):
    change(copy, module)
    rules = ("base", "retrain", "tune", "unlearn", "support_size")
    jobs = [job for job in copy.jobs(*OPTIONS) if job.rule in rules]
    assert names(jobs) == OF_METHODS[module]
    assert len(jobs) == 2 * len(names(jobs)) - any(job.rule == "tune" for job in jobs)


def test_adding_a_forget_set_does_not_hide_a_changed_parameter(copy):
    """Snakemake looks at no value of a job that waits, however it waits, for one that runs."""
    copy.edit("small.yaml", "fractions: [0.5]", "fractions: [0.5, 0.9]")
    copy.edit("small.yaml", "ft: {}", "ft: {lr: 0.3}")
    jobs = [job for job in copy.jobs(*OPTIONS) if job.wildcards.get("cell") == "digit_3-50"]
    assert names(jobs) == {("unlearn", "ft"), ("pictures", None), ("metrics", None)}


def test_one_more_forget_set_trains_no_base_again(copy):
    copy.edit("small.yaml", "fractions: [0.5]", "fractions: [0.5, 0.9]")
    planned = copy.jobs(*OPTIONS)
    assert {"data", "base"}.isdisjoint(job.rule for job in planned)
    assert "digit_3-50" not in {job.wildcards.get("cell") for job in planned}


def test_no_input_is_ancient():
    """After a job that reruns, those that wait for something ancient would keep what is stale."""
    rules = (REPOSITORY / "workflow/rules").glob("*.smk")
    assert not [file.name for file in rules if re.search(r"\bancient\(", file.read_text())]


def test_another_label_or_order_makes_the_plan_again_and_what_shows_it(copy):
    copy.edit("small.yaml", "beta: {method", "slope: {method")
    assert {job.rule for job in copy.jobs(*OPTIONS)} == {
        "plan", "gather", "tables", "figures", "report", "index", "check", "all",
    }  # fmt: skip


def test_one_more_folder_of_plug_ins_reruns_nothing(copy):
    method = copy.folder / "mine/methods/unused"
    shutil.copytree(copy.folder / "workflow/collateral/methods/ft", method)
    config = copy.folder / "small.yaml"
    config.write_text(f"plugins: [mine]\n{config.read_text()}")
    assert copy.jobs(*OPTIONS) == []
