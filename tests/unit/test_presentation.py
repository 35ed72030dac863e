"""What the presenting stages are told: plan.json, and which code their jobs depend on."""

import json
import shutil

import pytest
from made_benchmark import PART, RUNS, Made, compute, present
from plug_ins import ONE_PHASE, forgotten_after, write_method
from small_grid import grid

from collateral.plan.fingerprint import stage_code
from collateral.plan.report_plan import (
    PARTS,
    TEMPLATES,
    make_plan,
    plan_hash,
    presenting_code,
    templates_hash,
)
from collateral.plugins.find import FINDING, add_plugins
from collateral.results import layout
from collateral.results.plan import About, BenchmarkPlan, Sweep

SWEEPS = {"s": {"method": "ft", "vary": {"lr": [0.5]}, "cells": ["digit_3-50"]}}


def test_the_plan_says_labels_sharing_sweeps_and_trials():
    plan = make_plan(grid(methods={"ft": {}, "ga": {"lr": [0.1, 0.2]}}, sweeps=SWEEPS))
    assert plan.labels == {
        "ft": "FT",
        "ga": "GA",
        "original": "Original",
        "ft@lr=0.5": "FT, lr 0.5",
    }
    assert plan.sharing == "matched"
    assert list(plan.cells) == ["digit_3-50", "digit_3-90", "digit_8-50", "digit_8-90"]
    values, labels = {"ft@lr=0.5": 0.5, "ft": 0.01}, {"ft@lr=0.5": "0.5", "ft": "0.01"}
    trials = {"ga": [{"lr": 0.1}, {"lr": 0.2}, {"lr": 0.0001}]}
    sweep = Sweep("s", "FT", "lr", "ft", values, labels)
    swept, plain = plan.cells["digit_3-50"], plan.cells["digit_8-50"]
    assert (swept.sweeps, plain.sweeps) == ((sweep,), ())
    for cell in (swept, plain):
        assert (cell.trials, cell.candidates) == (trials, {"ga": 2})


def test_the_plan_says_what_the_numbers_of_a_cell_are_made_of():
    plan = make_plan(grid(methods={"ft": {}, "ga": {"lr": [0.1, 0.2]}}, sweeps=SWEEPS))
    swept, plain = (plan.cells[name].numbers for name in ("digit_3-50", "digit_8-50"))
    assert (swept.methods, plain.methods) == (("ft", "ga", "ft@lr=0.5"), ("ft", "ga"))
    assert (plain.seeds, plain.controls, plain.tuned) == ((3, 1, 2), ("original",), ("ga",))


def test_the_plan_names_tracked_runs_of_which_no_epoch_is_a_shorter_run(tmp_path):
    schedule = """    epochs: int = 3
    schedule: Literal["cosine", "constant"] = Field("cosine", description="Of the rate.")
"""
    folder = write_method(tmp_path / "methods", "mine", ONE_PHASE + schedule).parent
    methods = {"ft": {}, "mine": {}, "flat": {"uses": "mine", "schedule": "constant"}}
    with forgotten_after():
        plan = make_plan(grid(folder, methods=methods, track="all"))
        untracked = make_plan(grid(folder, methods=methods, track=["flat", "ft"]))
    assert plan.cells["digit_3-50"].paced == ("mine",)
    assert untracked.cells["digit_3-50"].paced == ()
    plan.save(tmp_path / "plan.json")
    assert BenchmarkPlan.load(tmp_path / "plan.json") == plan


@pytest.mark.parametrize(
    ("data", "drawn"),
    [
        ({"name": "digits"}, False),
        ({"name": "folder", "path": "x"}, False),
        ({"name": "folder", "path": "x", "test_share": 0.2}, True),
        ({"name": "parquet", "path": "x", "test_share": 0.2}, True),
        ({"name": "torchvision", "dataset": "CIFAR10"}, False),
        ({"name": "torchvision", "dataset": "EuroSAT"}, True),  # 0.2 unless told
    ],
)
def test_the_plan_says_whether_a_given_base_may_have_seen_the_test_set(tmp_path, data, drawn):
    cells = {"some": {"forget": {"kind": "random_part", "fraction": 0.5}}}
    changes = {"data": data, "cells": cells, "classes": [], "fractions": []}
    plan = make_plan(grid(**changes, base={"weights": "mine.pt"}))
    assert plan.test_drawn is drawn
    plan.save(tmp_path / "plan.json")
    assert BenchmarkPlan.load(tmp_path / "plan.json") == plan
    assert make_plan(grid(**changes)).test_drawn is None


def test_the_plan_does_not_say_where_files_lie_and_who_is_to_be_forgotten():
    where = {"train_where": {"subject": ["017"]}, "test_by": "subject"}
    lists = {"table": "/home/me/people.csv", "train_list": "/home/me/gone.txt"}
    data = {"name": "folder", "path": "/home/me/x", "test_share": 0.2, **where, **lists}
    cells = {"some": {"forget": {"kind": "random_part", "fraction": 0.5}}}
    plan = make_plan(grid(data=data, cells=cells, classes=[], fractions=[]))
    assert plan.data == {"name": "folder", "test_share": 0.2, "test_by": "subject"}


def test_the_plan_has_the_configs_model_reference_and_rule_of_tuning():
    methods = {"ft": {"lr": [0.1, 0.2]}}
    plan = make_plan(grid(model="vit_tiny", select="interval", retrain="none", methods=methods))
    assert (plan.model, plan.select, plan.reference) == ("vit_tiny", "interval", "original")
    assert make_plan(grid()).reference == "retrain"
    assert plan.figure_width == grid().figure_width > 0


def test_the_plan_says_of_every_method_its_name_or_purpose_and_its_publication():
    methods = {"ft": {}, "sparse": {"uses": "l1_sparse"}}
    about = make_plan(grid(methods=methods, sweeps=SWEEPS)).about
    paper = "https://arxiv.org/abs/"
    assert about == {
        "ft": About("fine-tuning", "Warnecke et al., NDSS 2023", f"{paper}2108.11577"),
        "sparse": About(
            "fine-tune on retained examples with an l1 penalty that falls to zero",
            "Jia et al., NeurIPS 2023",
            f"{paper}2304.04934",
        ),
        "original": About("The unchanged base model, which forgets nothing"),
    }


def test_a_finding_is_shown_by_its_views_and_computed_by_its_numbers():
    numbers, views = (
        dict.fromkeys(("metrics", "gather"), "numbers"),
        ("tables", "figures", "report"),
    )
    assert {**numbers, **dict.fromkeys(views, "views")} == PARTS


def test_the_plan_is_read_as_it_was_written(tmp_path):
    plan = make_plan(grid(methods={"ga": {"lr": [0.1, 0.2]}, "ft": {}}, sweeps=SWEEPS))
    plan.save(tmp_path / "plan.json")
    assert BenchmarkPlan.load(tmp_path / "plan.json") == plan
    assert list(json.loads((tmp_path / "plan.json").read_text())["labels"])[:2] == ["ga", "ft"]


def test_the_plans_hash_changes_with_what_it_says_alone():
    before = plan_hash(grid(methods={"ft": {}, "ga": {}}))
    assert len(before) == 16
    # The page says which values the config gives, so the plan names their keys, not the values.
    five, nine = (grid(methods={"ft": {"epochs": number}, "ga": {}}) for number in (5, 9))
    assert plan_hash(five) == plan_hash(nine) != before
    for changes in (
        {"methods": {"ga": {}, "ft": {}}},  # rows of tables follow the config's order
        {"methods": {"ft": {}, "ga": {"lr": [0.1, 0.2]}}},
        {"methods": {"ft": {}, "ga": {}}, "sweeps": SWEEPS},
        {"methods": {"ft": {}, "ga": {}}, "base": {"sharing": "shared"}},
        {"methods": {"ft": {}, "ga": {}}, "fractions": [0.5]},
        {"methods": {"ft": {}, "ga": {}}, "seeds": [4]},  # metrics are made from these seeds
    ):
        assert plan_hash(grid(**changes)) != before


@pytest.mark.parametrize("stage", PARTS)
def test_the_code_of_a_stage_is_that_of_all_findings_that_it_shows(stage):
    parts = FINDING.parts(PARTS[stage])
    assert parts
    assert presenting_code(stage) != stage_code(stage)
    packages = [FINDING.module(name) for name in FINDING.names()]
    assert presenting_code(stage) == stage_code(stage, *packages, *parts)


def test_a_finding_of_the_users_own_is_part_of_the_code(tmp_path):
    before = {stage: presenting_code(stage) for stage in PARTS}
    finding = tmp_path / "findings/mine"
    finding.mkdir(parents=True)
    (finding / "__init__.py").write_text('"""Is it mine?"""\n')
    (finding / "views.py").write_text("def plots(cell): return iter(())\n")
    with forgotten_after():
        add_plugins([tmp_path])
        after = {stage: presenting_code(stage) for stage in PARTS}
    assert not {*before.values()} & {*after.values()}


def test_a_stage_looks_up_no_part_of_a_finding_that_its_code_leaves_out(tmp_path, monkeypatch):
    """What a stage loads while it runs is what makes it run again when it changes."""
    made, loaded = Made(cells=(PART,), runs={run: RUNS[run] for run in ("retrain", "ft")}), {}
    root, load = made.write(tmp_path), type(FINDING).load

    def spy(self, name, part=""):
        loaded.setdefault(running[-1], set()).add(part)
        return load(self, name, part) if part else load(self, name)

    running = ["metrics"]
    monkeypatch.setattr(type(FINDING), "load", spy)
    compute(made, root, stage=running.append)
    present(root, *(layout.TABLES, layout.FIGURES), stage=running.append)
    assert set(loaded) == set(PARTS)
    for stage, parts in loaded.items():
        assert parts - {""} == {PARTS[stage]}, stage


def test_every_template_of_the_page_is_hashed(tmp_path):
    """Whatever file of its folder the page is made of: markup, style or script."""
    shutil.copytree(TEMPLATES, tmp_path, dirs_exist_ok=True)
    used = [path for path in tmp_path.iterdir() if path.suffix == ".j2"]
    assert {"page.html.j2", "style.css.j2", "charts.js.j2"} <= {path.name for path in used}
    for path in used:
        before = templates_hash(tmp_path)
        path.write_text(path.read_text() + "x")
        assert templates_hash(tmp_path) != before, path.name


def test_the_pages_templates_are_hashed(tmp_path):
    names = {path.name for path in TEMPLATES.glob("*.j2")}
    assert "page.html.j2" in names
    (tmp_path / "page.html.j2").write_text("a")
    (tmp_path / "page.py").write_text("a")
    before = templates_hash(tmp_path)
    (tmp_path / "page.py").write_text("b")
    assert templates_hash(tmp_path) == before
    (tmp_path / "page.html.j2").write_text("b")
    assert templates_hash(tmp_path) != before
    assert templates_hash() == templates_hash(TEMPLATES)
