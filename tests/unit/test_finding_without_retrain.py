"""Without Retrain: what is held against the base, and what is left out by name."""

import logging
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from fake_cell import FakeCell, FakeRun
from fake_results import FakeCell as FakeRows
from fake_results import read_cells
from page_reading import TERM
from plug_ins import forgotten_after, write_files
from sealing import seal

from collateral.findings.checks import CHECKS, NEED_RETRAIN, run_checks
from collateral.findings.columns import number_source
from collateral.findings.registry import (
    WITHOUT_RETRAIN,
    cell_numbers,
    excluded_findings,
    make_tables,
    with_part,
)
from collateral.metrics.divergence import mean_probabilities, rf_js
from collateral.plugins.find import FINDING, add_plugins
from collateral.report.page import benchmark_part, render, write
from collateral.results import layout
from collateral.results.dataset import Labels, Neighbours
from collateral.results.outputs import Outputs
from collateral.results.plan import BenchmarkPlan, CellPlan
from collateral.results.split import Split

N, SEEDS = 40, (0, 1)
LABELS = Labels(np.arange(N) % 2, np.arange(N) % 2, ("a", "b"))
SPLIT = Split(np.arange(0, 10, 2), N, (0,), {"class": "a"})
NEEDING = {"gap", "verdict", "rmia", "klom", "divergence", "tug_of_war", "tuning", "sweeps"} | {
    "nearer"
}


def answers(num_wrong: int) -> Outputs:
    """Return answers of which the first few are wrong."""
    is_wrong = np.arange(N) < num_wrong
    prediction = np.where(is_wrong, 1 - LABELS.train, LABELS.train)
    logits = np.full((N, 2), 0, np.float16)
    logits[np.arange(N), prediction] = 2
    return Outputs(logits, np.where(is_wrong, 0.1, 0.9).astype(np.float32), prediction)


def made_up(**extra: float) -> FakeCell:
    """Return a cell whose base is always right, and whose FT is wrong about the first half."""
    nothing, similarity = np.array([], dtype=np.int64), np.linspace(1, 0, N, dtype=np.float32)
    neighbours = Neighbours(
        seeds=np.array(SEEDS),
        train_similarity=np.stack([similarity] * len(SEEDS)),
        test_similarity=np.stack([similarity] * len(SEEDS)),
        class_similarity=np.ones((len(SEEDS), 2), np.float32),
        shown_set=nothing.astype(str),
        shown_index=nothing,
    )
    runs = {("original", seed): FakeRun(answers(0), answers(0)) for seed in SEEDS}
    runs |= {("ft", seed): FakeRun(answers(20), answers(0), extra=extra) for seed in SEEDS}
    return FakeCell(LABELS, SPLIT, neighbours, runs)


def test_losses_are_the_bases_accuracy_minus_the_runs(tmp_path):
    found = made_up().numbers(tmp_path, reference="original")
    near, far = (found["original", None, f"{part}_count", "retain"] for part in ("near", "far"))
    lost = near * found["ft", 0, "near_loss", "retain"] + far * found["ft", 0, "far_loss", "retain"]
    assert lost == pytest.approx(15)  # of the first twenty, five are forgotten
    # A quarter of the 35 retained ones is near, and FT is wrong about all of them.
    assert (near, found["ft", 0, "near_loss", "retain"]) == (8, 1)
    assert found["original", 0, "ua"] == 1 and found["ft", 0, "ua"] == 0


def test_what_would_need_retrain_is_not_computed_and_the_log_says_so(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    cell = made_up().write(tmp_path, reference="original")
    rows, problems = cell_numbers(cell)
    assert problems == []
    metrics = {row.metric for row in rows}
    assert not metrics & {"avg_gap", "floor", "verdict", "near_loss_sd", "rte_share", "rmia_tpr"}
    (said,) = [r.getMessage() for r in caplog.records if "There is no Retrain" in r.getMessage()]
    assert all(name in said for name in NEEDING)


def test_findings_are_left_out_for_one_of_both_references_alone():
    assert excluded_findings("retrain") == []
    assert {*excluded_findings("original")} >= NEEDING
    assert "without_retrain" not in with_part("numbers")
    assert "without_retrain" in with_part("numbers", "original")
    both = {"accuracy", "membership", "locality", "costs", "forget_set", "gates", "reported"}
    for reference in ("retrain", "original"):
        assert both <= {*with_part("numbers", reference)}


def test_a_finding_after_one_that_is_left_out_is_left_out_too(tmp_path):
    with forgotten_after():
        init = '"""Why?"""\nAFTER = ("gap",)\n'
        files = {"__init__.py": init, "numbers.py": "def numbers(cell):\n    return ()\n"}
        write_files(tmp_path, {f"findings/later/{name}": text for name, text in files.items()})
        add_plugins([tmp_path])
        assert "later" in with_part("numbers")
        assert "later" in excluded_findings("original") and "later" not in with_part(
            "numbers", "original"
        )


def test_reading_retrain_is_an_error_if_there_is_none(tmp_path):
    cell = made_up().write(tmp_path, reference="original")
    with pytest.raises(ValueError, match="there is no Retrain"):
        cell.retrain(0)
    assert cell.reference_result(0).run == "original"


# The divergence without Retrain.


def test_a_model_that_takes_forgotten_examples_as_the_base_takes_new_ones_is_at_zero(tmp_path):
    found = made_up().numbers(tmp_path, reference="original")
    assert found["original", 0, "rf_js"] == pytest.approx(0, abs=1e-12)
    assert found["ft", 0, "rf_js"] > 0.1


def test_the_divergence_is_the_mean_over_classes_that_both_have():
    one = np.array([[1.0, 0, 0], [0.5, 0.5, 0], [np.nan] * 3])
    other = np.array([[0, 1.0, 0], [0.5, 0.5, 0], [0, 0, 1.0]])
    assert rf_js(one, other) == pytest.approx(math.log(2) / 2)
    assert math.isnan(rf_js(one[2:], other[2:]))


def test_class_means_are_means_of_probabilities():
    logits = np.log(np.array([[0.2, 0.8], [0.6, 0.4], [0.5, 0.5]]))
    means = mean_probabilities(logits, np.array([0, 0, 0]), 2)
    assert means[0] == pytest.approx([1.3 / 3, 1.7 / 3]) and np.isnan(means[1]).all()


def test_a_methods_own_teacher_is_an_estimate_of_retrains_ua(tmp_path):
    found = made_up(teacher_ua=0.7).numbers(tmp_path / "taught", reference="original")
    assert found["original", None, "estimated_ua"] == pytest.approx(0.7)
    untaught = made_up().numbers(tmp_path / "untaught", reference="original")
    assert math.isnan(untaught["original", None, "estimated_ua"])


# The page.

PLAN = BenchmarkPlan({"ft": "FT"}, "matched", {"digit_3-50": CellPlan()}, reference="original")


def rows_without_retrain() -> FakeRows:
    cell = FakeRows()
    for run, ua in (("original", 1.0), ("ft", 0.25)):
        for metric in ("ua", "ra", "ta", "mia", "rf_js"):
            cell.add(run, metric, ua, ua)
    for metric in ("near_loss", "far_loss"):
        cell.add("ft", metric, 0.1, 0.1, set="retain")
    for metric in ("near_count", "far_count"):
        cell.add_overall("original", metric, 20.0, "retain")
    cell.add_overall("original", "estimated_ua", 0.5)
    cell.metrics = [
        row | {"kind": "reference" if row["run"] == "original" else "method"}
        for row in cell.metrics
    ]
    return cell


def test_the_base_is_the_first_row_and_every_table_says_what_the_reference_is(tmp_path):
    (cell,) = read_cells(tmp_path, rows_without_retrain(), plan=PLAN).cells
    assert cell.runs("reference") == ["original"] and cell.labels["original"] == "Original"
    (table,) = make_tables("without_retrain", cell)
    lines = [line for group in table.grids[0].groups for line in group]
    assert [line.label for line in lines] == ["Original", "FT", "Local teacher"]
    assert [line.fields[0].value for line in lines] == ["100.0 ± 0.0", "25.0 ± 0.0", "50.0"]
    assert lines[-1].fields[0].source == number_source("original", "estimated_ua")
    assert "The local teacher is not trained on the forget set" in table.caption
    for finding in ("without_retrain", "locality", "membership"):
        for table in make_tables(finding, cell):
            assert table.caption.endswith(WITHOUT_RETRAIN)


def test_without_a_teacher_none_is_mentioned(tmp_path):
    rows = rows_without_retrain()
    rows.metrics = [row for row in rows.metrics if row["metric"] != "estimated_ua"]
    (cell,) = read_cells(tmp_path, rows, plan=PLAN).cells
    (table,) = make_tables("without_retrain", cell)
    lines = [line for group in table.grids[0].groups for line in group]
    assert [line.label for line in lines] == ["Original", "FT"]
    assert "teacher" not in table.caption


def test_with_retrain_no_table_says_more_than_it_did(tmp_path):
    cell = rows_without_retrain()
    cell.metrics = [
        row | {"run": row["run"].replace("original", "retrain")} for row in cell.metrics
    ]
    plan = replace(PLAN, reference="retrain")
    (read,) = read_cells(tmp_path, cell, plan=plan).cells
    (table,) = make_tables("membership", read)
    assert WITHOUT_RETRAIN not in table.caption


def test_the_page_begins_with_what_is_left_out_and_gives_no_verdict(tmp_path):
    folder = tmp_path / "digits"
    read_cells(folder, rows_without_retrain(), plan=PLAN)
    PLAN.save(folder / layout.PLAN)
    for place in (layout.TABLES, layout.FIGURES):
        (folder / place).mkdir()
    part = benchmark_part(seal(folder))
    assert part.problems == [] and {*part.left_out} >= NEEDING
    page = render(part)
    top, found, _ = page.partition('<section class="cell')
    assert found and "because there is no Retrain" in write(part.decision, "setting")
    setting = "Reference: Original, the model before unlearning, because there is no"
    assert setting in re.sub(TERM, r"\1", top)
    _, _, left_out = top.partition("are left out: ")
    assert {*left_out.partition(".")[0].split(", ")} == {*part.left_out}
    assert "The ideal is Retrain" not in page
    assert write(part.decision, "headline") == (
        "No verdict without Retrain: runs are compared with the model before unlearning."
    )
    assert f"<h1>{write(part.decision, 'headline')}</h1>" in top
    (cell,) = part.cells
    assert "UA: FT 25.0 %; the base's is 100.0 %." in "".join(one.words for one in cell.sections)


def test_checks_of_retrain_are_left_out(tmp_path):
    gates, problems = run_checks(read_cells(tmp_path, rows_without_retrain(), plan=PLAN))
    assert problems == []
    assert {*NEED_RETRAIN} < {*CHECKS}
    # No pool, no base of the user's own, and no accuracies on classes that are kept.
    absent = {"shadow models learned", "test set unseen", "above guessing"}
    assert {gate.name for gate in gates} == {*CHECKS} - {*NEED_RETRAIN} - absent


def test_every_finding_that_needs_a_reference_names_one_of_both():
    needs = {name: getattr(FINDING.load(name), "NEEDS", None) for name in FINDING.names()}
    assert {*needs.values()} == {None, "retrain", "original"}
