"""A printed reference: deviations from the paper's Retrain, its claims, and what is refused."""

import math
from dataclasses import replace

import pytest
from fake_results import FakeCell, read_cells
from sealing import seal
from small_config import complaints, config

from collateral.config.load import load
from collateral.findings.registry import PRINTED, make_tables
from collateral.jobs.retrain import RetrainJob
from collateral.plan.grid import build_grid
from collateral.plan.report_plan import make_plan
from collateral.report.page import benchmark_part, render, write
from collateral.results import layout
from collateral.results.plan import BenchmarkPlan, CellPlan
from paper.claims.evaluate import CLAIMS, evaluate

COUCH = {"data": {"name": "cifar100", "root": "x"}, "model": "resnet56", "classes": ["couch"]}
PLAN = BenchmarkPlan(
    {"ga": "GA", "ga-2": "GA-2"},
    "shared",
    {"couch-50": CellPlan()},
    {"name": "cifar100"},
    "resnet56",
    reference="original",
    printed="paper",
)
# The paper's training of the base on SVHN.
NINE = {"epochs": 100, "optimizer": "adamw", "lr": 0.001, "weight_decay": 0.05}
# The paper's Retrain: UA 47.4, RA 99.9, TA 72.1, MIA 71.3. Its GA: UA 68.6 ± 0.6, RA 98.6 ± 0.
OURS = {"ua": 0.674, "ra": 0.979, "ta": 0.711, "mia": 0.613, "ra_affected": 0.797}


def made_up() -> FakeCell:
    """Return a cell without Retrain whose GA is 20, -2, -1 and -10 points from the paper's."""
    cell = FakeCell("couch-50", "couch", "0.5")
    for run in ("original", "ga", "ga-2"):
        for metric, value in OURS.items():
            cell.add(run, metric, value)
    for metric, value in {"forget_count": 250, "train_count": 500}.items():
        cell.add_overall("original", metric, value, at="couch")
    cell.metrics = [
        row | {"kind": "reference" if row["run"] == "original" else "method"}
        for row in cell.metrics
    ]
    return cell


def read(folder, plan=PLAN):
    return read_cells(folder, made_up(), plan=plan)


def test_deviations_are_from_the_printed_means_in_the_papers_standard_deviations(tmp_path):
    (table,) = make_tables("printed", read(tmp_path).cells[0])
    found = {(record["run"], record["metric"]): record for record in table.records}
    deviations = [found["ga", metric]["deviation"] for metric in ("ua", "ra", "ta", "mia")]
    assert deviations == pytest.approx([0.20, -0.02, -0.01, -0.10])
    assert found["ga", "avg_gap"]["mean"] == pytest.approx(0.33 / 4)
    assert found["ga", "avg_gap_affected"]["mean"] == pytest.approx(0.2)  # of RA alone
    assert found["ga", "ua"]["paper_stds"] == pytest.approx((67.4 - 68.6) / 0.6)
    assert math.isnan(found["ga", "ra"]["paper_stds"])  # the paper prints a deviation of 0.0
    assert found["ga", "ua"]["paper_deviation"] == pytest.approx(0.212)


def test_the_papers_rows_are_below_ours(tmp_path):
    (table,) = make_tables("printed", read(tmp_path).cells[0])
    first, affected = table.grids
    lines = [(line.label, line.fields[0]) for group in first.groups for line in group]
    assert [label for label, _ in lines] == (
        ["Retrain, paper", "Original", "GA", "GA, paper", "GA, difference", "GA-2"]
    )
    shown = {label: f"{field.value} {field.deviation}".strip() for label, field in lines}
    assert shown["Retrain, paper"] == "47.4 ± 3.2"
    assert shown["GA"] == "67.4 (+20.0)" and shown["GA, paper"] == "68.6 ± 0.6 (+21.2)"
    assert shown["GA, difference"] == "−2.0"
    assert affected.headings[0].startswith("RA") and affected.headings[-1] == "Avg. Gap affected"


def test_every_table_says_first_what_the_reference_is(tmp_path):
    (cell,) = read(tmp_path).cells
    for finding in ("printed", "without_retrain", "membership"):
        for table in make_tables(finding, cell):
            assert table.caption.startswith(PRINTED.format(printed="paper"))
    none = replace(PLAN, printed="")
    assert list(make_tables("printed", read(tmp_path / "none", none).cells[0])) == []


def test_the_page_begins_with_the_printed_reference_and_gives_no_verdict(tmp_path):
    folder = tmp_path / "couch"
    read(folder)
    PLAN.save(folder / layout.PLAN)
    for place in (layout.TABLES, layout.FIGURES):
        (folder / place).mkdir()
    part = benchmark_part(seal(folder))
    assert part.problems == []
    top, found, _ = render(part).partition('<section class="cell')
    assert found and f"<h1>{write(part.decision, 'headline')}</h1>" in top
    assert write(part.decision, "headline").startswith("No verdict without Retrain: ")
    assert "Retrain was not run here" in top and "{printed: paper}" in top
    assert {"gap", "verdict", "klom"} <= {*part.left_out}
    (cell,) = part.cells
    (words,) = [one.words for one in cell.sections if one.finding == "printed"]
    assert words.startswith("Avg. Gap to the printed Retrain, in points: GA 8.")


def test_claims_use_printed_means_and_nothing_without_them(tmp_path):
    (with_means, without) = (
        {a.claim.id: a for a in evaluate({"b": read(tmp_path / plan.printed, plan)}, CLAIMS)}
        for plan in (PLAN, replace(PLAN, printed=""))
    )
    assert with_means[8].verdict == "holds"  # RA within 5 points of 99.9, affected RA far below
    assert "Δ UA: GA +20.0" in with_means[6].text
    assert without[8].verdict == "cannot be said"
    assert without[8].text.startswith("no RA of Retrain; ")
    assert with_means[10].verdict == with_means[11].verdict == "cannot be said"
    assert "no outputs of Retrain by example" in with_means[11].text


def test_nothing_is_retrained_and_the_plan_names_the_paper(tmp_path):
    benchmark = build_grid(load(config(**COUCH, retrain={"printed": "paper"})))["b"]
    assert benchmark.reference == "original"
    assert list(RetrainJob.list_in_cell(benchmark, benchmark.cells["couch-50"])) == []
    plan = make_plan(benchmark)
    plan.save(tmp_path / "plan.json")
    assert BenchmarkPlan.load(tmp_path / "plan.json") == plan and plan.printed == "paper"


@pytest.mark.parametrize(
    "changes",
    [
        {"data": {"name": "cifar100", "per_class": 250}},
        {"model": "resnet20"},
        {"classes": ["bed"]},
        {"fractions": [0.4]},
        {"order": "random"},
    ],
)
def test_a_setting_that_the_paper_does_not_print_is_refused(changes):
    lines = complaints(config(**COUCH | {"retrain": {"printed": "paper"}} | changes))
    assert all("no numbers of Retrain for" in line and "couch 0.9" in line for line in lines)


def test_a_base_of_ones_own_may_stand_beside_any_recipe_and_the_papers_recipe_is_accepted():
    printed = COUCH | {"retrain": {"printed": "paper"}}
    load(config(**printed, base={"weights": "a.pt", "epochs": 3}))
    load(config(**printed, base={"checkpoint": "best_test", "precision": "bfloat16"}))
    nine = {"data": {"name": "svhn"}, "model": "vit_tiny", "classes": ["digit_9"]}
    load(config(**printed | nine, base=NINE))
