"""File names: patterns with Snakemake's wildcards, logs and checkpoints."""

import re
from pathlib import Path

from small_grid import grid

from collateral.jobs.base import BaseJob
from collateral.plan import paths
from collateral.stages._workspace import Workspace

# As docs/formats.md names them.
OF_BENCHMARK = {
    "DATA": "dataset.npz",
    "LABELS": "labels.npz",
    "DATA_RECORD": "data.json",
    "PLAN": "plan.json",
    "METRICS": "metrics.csv",
    "COSTS": "costs.csv",
    "METRICS_RECORD": "metrics.json",
    "COSTS_RECORD": "costs.json",
    "PROBLEMS": "problems.json",
    "GATES": "gates.json",
    "TABLES": "tables",
    "FIGURES": "figures",
    "BASE": "base/seed-{seed}",
    "EMBEDDINGS": "base/seed-{seed}/embeddings.npz",
    "CELL": "{cell}",
    "SPLIT": "{cell}/split.json",
    "NEIGHBOURS": "{cell}/neighbours.npz",
    "NEIGHBOURS_RECORD": "{cell}/neighbours.json",
    "PICTURES": "{cell}/pictures.npz",
    "PICTURES_RECORD": "{cell}/pictures.json",
    "CELL_METRICS": "{cell}/metrics.csv",
    "CELL_METRICS_RECORD": "{cell}/metrics.json",
    "CELL_COSTS_RECORD": "{cell}/costs.json",
    "CELL_COSTS": "{cell}/costs.csv",
    "CELL_PROBLEMS": "{cell}/problems.json",
    "TUNE": "{cell}/tune/{method}",
    "TRIALS": "{cell}/tune/{method}/trials.csv",
    "SELECTED": "{cell}/tune/{method}/selected.json",
    "TEACHER": "{cell}/local_teacher",
    "TEACHER_RESULT": "{cell}/local_teacher/teacher.json",
    "SUPPORT_SIZE": "{cell}/support_size/seed-{seed}",
    "SUPPORT_SIZES": "{cell}/support_size/seed-{seed}/support_sizes.npz",
    "PROBE": "{cell}/probe/seed-{seed}",
    "PROBE_RESULT": "{cell}/probe/seed-{seed}/probe.npz",
    "SHADOW": "shadows/member-{member}",
    "EXPOSURE": "{cell}/exposure/{run}",
    "EXPOSED": "{cell}/exposure/{run}/exposure.npz",
    "RUN": "{cell}/seed-{seed}/{run}",
    "RETRAIN": "{cell}/seed-{seed}/retrain",
    "EPOCHS": "{cell}/seed-{seed}/{run}/epochs.npz",
    "REPORT": "report.html",
    "REPORT_PROBLEMS": "report-problems.json",
    "GLANCE": "glance.json",
    "CHECKED": "check.done",
}
OF_ALL = {
    "BENCHMARK": "{benchmark}",
    "THEORY": "theory",
    "THEORY_PAGE": "theory/report.html",
    "INDEX": "report.html",
}


def test_results_lie_where_the_docs_say():
    below = {name: f"{{benchmark}}/{place}" for name, place in OF_BENCHMARK.items()}
    for name, place in (below | OF_ALL).items():
        assert getattr(paths, name) == f"results/{place}", name


def test_the_files_of_a_run_are_in_its_folder():
    assert paths.run_files("some/folder") == {
        "model": "some/folder/model.safetensors",
        "outputs": "some/folder/outputs.npz",
        "history": "some/folder/history.csv",
        "record": "some/folder/record.json",
        "cost": "some/folder/cost.json",
    }


def test_a_run_is_of_the_rule_that_tracks_or_of_the_other():
    one, other = grid(methods={"ft": {}, "ltd": {}}, track=["ltd"]), grid()
    patterns = [
        paths.run_constraint({"b": one, "b2": other}, rule) for rule in ("unlearn", "track")
    ]
    begin, by_hand = f"{paths.RESULTS}/", {("b", "ltd"): [False, True]}
    for benchmark in ("b", "b2"):
        for run in ("ft", "ltd", "ltd@beta=2"):
            path = f"{begin}{benchmark}/digit_3-50/seed-3/{run}/outputs.npz"
            found = [bool(re.match(f"{begin}(?:{pattern})/", path)) for pattern in patterns]
            assert found == by_hand.get((benchmark, run), [True, False])


def test_a_given_run_is_of_its_own_rule_alone():
    given = {"theirs": {"weights": "theirs-{cell}-{seed}.pt"}}
    benchmarks = {"b": grid(given=given, methods={"ft": {}, "ltd": {}}, track=["ltd"])}
    path, by_rule = "b/digit_3-50/seed-3/{}/outputs.npz", {}
    for rule in ("unlearn", "track", "given"):
        pattern = f"(?:{paths.run_constraint(benchmarks, rule)})/"
        runs = ("ft", "ltd", "theirs", "theirs2")
        by_rule[rule] = [run for run in runs if re.match(pattern, path.format(run))]
    assert by_rule == {"unlearn": ["ft", "theirs2"], "track": ["ltd"], "given": ["theirs"]}


def test_nothing_is_tracked_where_the_config_says_so():
    pattern = paths.run_constraint({"b": grid()}, "track")
    assert not re.match(pattern, "b/digit_3-50/seed-3/ft/outputs.npz")


def test_record_and_cost_of_a_job_are_in_its_folder():
    assert paths.record("some/folder") == "some/folder/record.json"
    assert paths.cost("some/folder") == "some/folder/cost.json"


def test_a_log_has_the_stages_folder_and_a_wildcard_a_level():
    assert paths.log("theory") == "logs/theory.log"
    assert paths.log("base", "benchmark", "seed") == "logs/base/{benchmark}/{seed}.log"


def test_checkpoints_are_outside_the_folder_that_is_declared():
    place = Workspace(BaseJob.model_construct(benchmark="results", seed=0), Path("results"))
    assert place.out == Path("results/results/base/seed-0")
    assert place.checkpoints == Path("results/.checkpoints/results/base/seed-0")
