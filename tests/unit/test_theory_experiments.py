"""The experiments behind the theory's figures, with few runs."""

import numpy as np
import pytest

from paper.theory import experiments
from paper.theory.checks import Check, identity_checks, limit_checks, state

RUNS = 10


@pytest.fixture(scope="module")
def panels():
    run = experiments.PANELS.items()
    return {name: experiment(np.random.default_rng(3), RUNS) for name, experiment in run}


def test_every_panel_has_points(panels):
    assert len(panels) == 6
    assert all(len(panel.points) for panel in panels.values())


def test_ascent_costs_what_the_leading_term_says_within_its_interval(panels):
    findings = panels["gradient_ascent"].findings
    measured = findings["slope of measured on predicted"]
    exact = findings["slope of exact expectation on predicted"]
    assert measured.low < exact.value < measured.high
    # -2 alpha h_qf is the remainder: relative 2 / (n gain), 2 / (5000 * 0.0094) = 4.3 %
    assert exact.value == pytest.approx(1 - 0.043, abs=0.005)


def test_only_the_step_of_the_mean_loss_leaves_a_mean_over_runs(panels):
    findings = panels["gradient_ascent"].findings
    share = {
        name: findings[f"eta = {name}: largest run's share of the mean"].value
        for name in ("lr", "lr / mean |x|^2", "lr / n")
    }
    assert share["lr"] > 0.99
    assert share["lr / mean |x|^2"] > 0.5
    assert share["lr / n"] < 0.5


def test_random_labels_move_a_query_by_its_alignment_alone(panels):
    findings = panels["random_labels"].findings
    assert findings["largest error relative to the largest discrepancy"].value < 1e-9
    assert findings["rank correlation of bin and |alignment|"].value > 0.95


def test_retain_finetuning_restores_retained_points_only(panels):
    findings = panels["retain_residual"].findings
    # lam = 1e-8 times a rate of some tens, against residuals of some tenths
    assert findings["largest |residual| on retained points"].value < 1e-5
    assert findings["root mean square residual on queries"].value > 0.05
    assert findings["slope of measured on predicted"].value == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("logits", ["noise", "linear"])
def test_no_support_point_deviates_beyond_the_bound(panels, logits):
    findings = panels[f"support_with_{logits}_logits"].findings
    assert findings["largest deviation over its bound"].value <= 1


def test_the_nearest_support_point_is_better_where_logits_follow_the_features():
    panel = experiments.support_with_linear_logits(np.random.default_rng(0), 200)
    assert panel.findings["rank correlation of |cos| and deviation, per run"].high < 0
    assert panel.findings["share of runs where the nearest support beats the median"].low > 0.5


def test_all_checks_hold():
    rng = np.random.default_rng(0)
    checks = [*identity_checks(rng, 10), *limit_checks(rng, 30)]
    assert len(checks) == 34
    assert [check.identity for check in checks if not check.holds] == []


def test_each_proposition_is_stated_with_whether_it_holds():
    checks = [
        Check("P1", "P1.1 a", "relative error", 2e-13, 1e-9, 10),
        Check("P1", "P1.7 b tends to c", "|slope + 1|", 0.3, 0.05, 10),
        *(Check(f"P{n}", f"P{n}.1 d", "relative error", 1e-14, 1e-9, 10) for n in (2, 3, 4)),
    ]
    first, *others = state(checks)
    assert first.startswith("Proposition 1, ") and "does not hold: P1.7 b tends to c" in first
    assert "1 identity on random data (largest relative error 2e-13)" in first
    assert len(others) == 3 and all(": holds. Checked: " in text for text in others)


def test_bins_average_within_runs_first_and_leave_out_those_a_run_misses():
    alignment = np.array([[0.1, 0.2, 0.3, -0.5], [0.1, 0.1, 0.1, 0.1]])
    measured = np.array([[0.0, 0.0, 3.0, 9.0], [3.0, 3.0, 3.0, 3.0]])
    binned = experiments.binned("measured", alignment, measured, measured, width=1.0)
    assert [*binned["x"]] == pytest.approx([0.15])
    assert [*binned["y"]] == pytest.approx([2.0])  # of run means 1 and 3
    assert [*binned["low"]] == pytest.approx([2 - 12.7062])  # t(0.975, 1), standard error 1


def test_slopes_pass_through_the_origin():
    assert experiments.slopes(np.array([[1.0, 2.0]]), np.array([[2.0, 4.0]])) == pytest.approx([2])
