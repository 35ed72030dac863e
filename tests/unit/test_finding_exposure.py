"""U-LiRA: laws and ratios worked out by hand, known answers of AUC, neighbours, table and words."""

import math

import numpy as np
import pytest
from fake_cell import FakeCell, FakeRun
from fake_results import full_cell, read_cell
from scipy.stats import norm
from sealing import seal
from table_reading import texts_of

from collateral.findings.locality.numbers import numbers as locality
from collateral.findings.ulira.numbers import compare_rows, numbers, pooled_tpr
from collateral.findings.ulira.views import plots, tables, words
from collateral.metrics.likelihood_attacks import (
    PRIOR_MODELS,
    auc,
    find_partners,
    fit_gaussians,
    likelihood_ratios,
    log_density,
    min_learned_share,
)
from collateral.plots.plot import fit_x
from collateral.results import layout
from collateral.results.dataset import Labels, Neighbours
from collateral.results.files import write_json
from collateral.results.outputs import Exposure, Outputs
from collateral.results.plan import BenchmarkPlan, CellPlan
from collateral.results.split import Split
from collateral.results.table import COLUMNS, write_cell
from collateral.results.table import read_tables as read_table

MODELS, EXAMPLES = 16, 400


def halves(rng: np.random.Generator, num_examples: int = EXAMPLES) -> np.ndarray:
    """Return a pool in which every example is seen by half of the models."""
    return rng.random((MODELS, num_examples)).argsort(axis=0) < MODELS // 2


def mean_auc(margins: np.ndarray, is_in: np.ndarray) -> float:
    ratios = likelihood_ratios(margins, is_in)
    return float(np.mean([auc(*one) for one in zip(ratios, is_in, strict=True)]))


def test_a_law_is_mean_and_variance_drawn_towards_that_of_all_examples():
    margins = np.array([[1.0, 0.0], [3.0, 10.0], [5.0, 20.0], [99.0, 99.0]])
    chosen = np.array([[True, True], [True, True], [True, True], [False, False]])
    # By hand: squares 8 and 200, two degrees of freedom each, so 208 / 4 = 52 for all.
    mean, variance = fit_gaussians(margins, chosen)
    assert mean == pytest.approx([3, 10])
    assert variance == pytest.approx([(8 + 4 * 52) / 6, (200 + 4 * 52) / 6])
    assert PRIOR_MODELS == 4


def test_a_density_is_the_gaussians_but_for_a_constant():
    found = log_density(np.array([3.0, -2.5]), np.array([1.0, -2.0]), np.array([4.0, 0.25]))
    by_scipy = norm.logpdf([3.0, -2.5], [1.0, -2.0], [2.0, 0.5])
    assert found - by_scipy == pytest.approx([math.log(2 * math.pi) / 2] * 2)


def test_the_partner_of_a_model_is_the_next_on_the_other_side():
    is_in = np.array([[True, True], [True, False], [False, False], [False, True]])
    assert find_partners(is_in, 0).tolist() == [2, 1]
    assert find_partners(is_in, 3).tolist() == [0, 1]


def test_a_partner_is_found_where_it_is_the_last_of_the_others():
    is_in = np.array([[True], [False], [False], [False]])
    assert [find_partners(is_in, model).tolist() for model in (1, 2, 3)] == [[0]] * 3


def test_a_ratio_is_by_all_models_but_the_attacked_one_and_its_partner():
    rng = np.random.default_rng(0)
    margins = rng.normal(size=(6, 1))
    is_in = np.array([[True], [True], [True], [False], [False], [False]])
    seen, unseen = (
        log_density(margins[0], *fit_gaussians(margins[part], np.ones((2, 1), bool)))
        for part in ([1, 2], [4, 5])
    )
    assert likelihood_ratios(margins, is_in)[0] == pytest.approx(seen - unseen)


def test_equal_laws_have_an_auc_of_one_half():
    """Over many pools, so that a bias of one in a hundred would be seen."""
    rng = np.random.default_rng(1)
    found = [mean_auc(rng.normal(size=(MODELS, 200)), halves(rng, 200)) for _ in range(30)]
    error = np.std(found, ddof=1) / math.sqrt(len(found))
    assert error < 0.004
    assert abs(np.mean(found) - 0.5) < 3 * error


def test_laws_far_apart_have_an_auc_near_one_whichever_is_above():
    rng = np.random.default_rng(2)
    is_in = halves(rng)
    for step in (8.0, -8.0):
        assert mean_auc(rng.normal(size=is_in.shape) + step * is_in, is_in) > 0.999


def test_known_laws_have_the_auc_of_the_gaussians():
    """Two standard deviations apart, the best there is has 0.921; sixteen models lose some."""
    rng = np.random.default_rng(3)
    is_in = halves(rng, 2000)
    best = norm.cdf(2 / math.sqrt(2))
    assert best - 0.03 < mean_auc(rng.normal(size=is_in.shape) + 2.0 * is_in, is_in) < best


def test_an_auc_counts_pairs_and_ties_as_half():
    assert auc(np.array([3.0, 1.0, 2.0, 1.0]), np.array([True, True, False, False])) == 5 / 8
    assert math.isnan(auc(np.array([3.0, 1.0]), np.array([True, True])))
    assert auc(np.array([np.nan, 2.0, 1.0]), np.array([False, True, False])) == 1


def test_the_tpr_is_over_all_models_at_the_price_of_one_in_a_hundred():
    rng = np.random.default_rng(4)
    is_in = halves(rng, 2000)
    noise = rng.normal(size=is_in.shape)
    assert pooled_tpr(noise, is_in) == pytest.approx(0.01, abs=0.004)  # 16,000 of either side
    # Three standard deviations apart: those above the 99th percentile of the others.
    told = pooled_tpr(noise + 3 * is_in, is_in)
    assert told == pytest.approx(norm.cdf(3 - norm.ppf(0.99)), abs=0.03)


def test_below_a_thousand_not_seen_there_is_no_tpr():
    scores, is_in = np.arange(2000.0)[None], np.arange(2000)[None] >= 1000
    assert pooled_tpr(scores, is_in) == 1
    assert math.isnan(pooled_tpr(scores[:, 1:], is_in[:, 1:]))


def test_the_model_that_learned_least_is_told_by_what_it_saw():
    margins = np.array([[2.0, 3.0, -1.0, -1.0], [2.0, 3.0, -1.0, 5.0]], np.float32)
    is_in = np.array([[True, True, False, False], [True, True, True, True]])
    assert min_learned_share(margins, is_in) == 0.75
    assert min_learned_share(np.full_like(margins, np.nan), is_in) == 0


# 60 forgotten examples of class 0, 240 retained: 40 of class 0 are near, 200 of class 1 are far.
LABELS = Labels(np.array([0] * 100 + [1] * 200), np.array([0, 1]), ("a", "b"))
SPLIT = Split(np.arange(60), 300, (0,), {"class": "a", "fraction": 0.6})
NEAR = slice(60, 100)


def fake_cell(reference: str = layout.RETRAIN) -> FakeCell:
    rng = np.random.default_rng(0)
    near, far = rng.uniform(0.95, 1, 100), rng.uniform(0, 0.9, 200)
    similarity = np.concatenate([near, far])[None].astype(np.float32)
    nothing = np.array([], dtype=np.int64)
    neighbours = Neighbours(
        seeds=np.arange(1),
        train_similarity=similarity,
        test_similarity=np.ones((1, 2), np.float32),
        class_similarity=np.ones((1, 2), np.float32),
        shown_set=nothing.astype(str),
        shown_index=nothing,
    )
    model = FakeRun(*map(outputs, (LABELS.train, LABELS.test)))
    return FakeCell(LABELS, SPLIT, neighbours, {(r, 0): model for r in (reference, "ga", "ft")})


def outputs(labels: np.ndarray) -> Outputs:
    logits = np.zeros((len(labels), 2), np.float16)
    return Outputs(logits, np.full(len(labels), 0.9, np.float32), labels)


def pool(rng: np.random.Generator, shift: np.ndarray) -> Exposure:
    """Return a pool: seen examples are a standard deviation above, after unlearning `shift`."""
    is_in = halves(rng, 300)
    noise = rng.normal(size=is_in.shape)
    return Exposure(
        is_in, (noise + is_in).astype(np.float32), (noise + shift * is_in).astype(np.float32)
    )


@pytest.fixture
def cell(tmp_path):
    return exposed_cell(tmp_path)


def exposed_cell(tmp_path, reference: str = layout.RETRAIN):
    """GA leaves no trace of the forgotten and exposes their neighbours; FT does nothing."""
    shift = np.ones(300)
    shift[:60], shift[NEAR] = 0, 3
    found = fake_cell(reference).write(tmp_path, exposed=("ga", "ft"), reference=reference)
    for run, of_run in (("ga", shift), ("ft", np.ones(300))):
        folder = tmp_path / layout.EXPOSURE.format(cell="cell", run=run)
        pool(np.random.default_rng(7), of_run).save(folder / layout.EXPOSURE_MARGINS)
        write_json(folder / layout.RECORD, {"run": run})
    seal(tmp_path)
    found.add(locality(found))
    return found


def read(cell) -> dict:
    return {(row.run, row.metric, row.set, row.at): row.value for row in numbers(cell)}


def test_forgotten_and_near_and_far_examples_are_attacked_apart(cell):
    found = read(cell)
    assert found["retrain", "exposure_count", "forget", None] == 60
    assert found["retrain", "exposure_count", "retain", "near"] == 40
    assert found["retrain", "exposure_count", "retain", "far"] == 200
    assert found["ga", "exposure_models", "", None] == 16
    for part in (("forget", None), ("retain", "near"), ("retain", "far")):
        low, auc, high = (
            found["retrain", f"lira_auc{end}", *part] for end in ("_low", "", "_high")
        )
        assert 0.6 < auc < 0.76  # at best, 0.760
        assert 0.5 < low < auc < high < 0.8
    assert found["ga", "ulira_auc", "forget", None] == pytest.approx(0.5, abs=0.04)
    assert found["ga", "ulira_auc", "retain", "near"] > 0.95


def test_a_change_is_after_minus_before_with_an_interval_that_finds_it(cell):
    found = read(cell)
    near = [found["ga", f"exposure_change{end}", "retain", "near"] for end in ("_low", "", "_high")]
    assert 0 < near[0] < near[1] < near[2]
    assert 0.2 < near[1] < 0.4  # from 0.760 to 0.983, had the laws been known
    assert near[1] == pytest.approx(
        found["ga", "ulira_auc", "retain", "near"] - found["retrain", "lira_auc", "retain", "near"]
    )
    assert found["ga", "exposure_change", "retain", "far"] == pytest.approx(0, abs=0.03)


def test_equal_margins_before_and_after_give_no_change(cell):
    found = read(cell)
    changes = [v for (run, metric, *_), v in found.items() if run == "ft" and "change" in metric]
    assert len(changes) == 3 * 14
    assert {v for v in changes if not math.isnan(v)} == {0.0}


def test_of_many_methods_an_auc_has_an_interval_by_holm_and_of_a_bin_its_own():
    by_model = 0.5 + 0.01 * np.array([3.0] * 6 + [-1.0] * 4 + [0.5] * 6)

    def lows(at, num_methods: int) -> list[float]:
        same = {f"m{i}": by_model for i in range(num_methods)}
        rows = compare_rows("ulira_auc", ("retain", at), same, 0.5)
        return [row.value for row in rows if row.metric == "ulira_auc_low"]

    assert lows(None, 1)[0] > 0.5
    assert max(lows(None, 20)) < 0.5
    assert lows(3, 20) == pytest.approx(lows(None, 1) * 20)


def test_an_auc_stays_within_one_and_of_one_model_has_no_interval():
    found = [
        row.value
        for row in compare_rows("ulira_auc", ("retain", 0), {"m": np.array([1.0, 0.98, 1, 1])}, 0.5)
    ]
    assert found[2] == 1
    alone = compare_rows("ulira_auc", ("retain", 0), {"m": np.array([0.7, np.nan])}, 0.5)
    assert [row.value for row in alone] == pytest.approx([0.7, np.nan, np.nan], nan_ok=True)


def test_the_bins_are_those_of_similarity(cell):
    found = read(cell)
    counts = [found["retrain", "exposure_count", "retain", b] for b in range(10)]
    assert sum(counts) == 240
    assert counts[9] == 40
    assert found["ga", "exposure_change", "retain", 9] == pytest.approx(
        found["ga", "exposure_change", "retain", "near"]
    )


def diverge(root, run, side):
    """Let the fourth shadow model have diverged, `before` unlearning or `after` it."""
    path = root / layout.EXPOSURE.format(cell="cell", run=run) / layout.EXPOSURE_MARGINS
    whole = Exposure.load(path)
    getattr(whole, side)[3] = np.nan
    whole.save(path)
    seal(root)


def test_a_model_that_diverged_is_left_out(cell, tmp_path):
    diverge(tmp_path, "ga", "after")
    found = read(cell)
    assert found["ga", "exposure_models", "", None] == 15
    assert found["ga", "ulira_auc", "retain", "near"] > 0.95


def test_a_model_that_diverged_as_trained_is_not_counted(cell, tmp_path):
    for run in ("ga", "ft"):
        diverge(tmp_path, run, "before")
    found = read(cell)
    assert found["ga", "exposure_models", "", None] == 15
    assert found["retrain", "shadow_sure", "", None] == 0


def test_a_set_has_a_tpr_before_and_after_and_a_bin_has_none(cell):
    found = read(cell)
    assert math.isnan(found["retrain", "lira_tpr", "forget", None])  # 480 pairs were not seen
    before, after = (
        found["retrain", "lira_tpr", "retain", None],
        found["ga", "ulira_tpr", "retain", None],
    )
    assert 0.01 < before < after
    assert ("ga", "ulira_tpr", "retain", 9) not in found


def test_without_a_pool_there_are_no_numbers(tmp_path):
    assert list(numbers(fake_cell().write(tmp_path))) == []


def test_without_retrain_numbers_are_as_with_it_in_originals_name(tmp_path):
    found = read(exposed_cell(tmp_path / "with"))
    without = read(exposed_cell(tmp_path / "without", "original"))
    renamed = {("original" if r == "retrain" else r, *k): v for (r, *k), v in found.items()}
    assert without == pytest.approx(renamed, nan_ok=True)


def test_without_retrain_there_are_rows_to_write_and_a_table_figure_and_words(tmp_path):
    cell = exposed_cell(tmp_path, "original")
    rows = [*locality(cell), *numbers(cell)]
    write_cell(tmp_path / "metrics.csv", cell, rows, COLUMNS)
    plan = BenchmarkPlan(
        {"ga": "GA", "ft": "FT"}, "matched", {"cell": CellPlan()}, reference="original"
    )
    (shown,) = read_table(plan, tmp_path / "metrics.csv").cells
    (table,) = tables(shown)
    assert table.grids[0].headings[:2] == ["Forgotten (60)", "Near (40)"]
    assert [plot.name for plot in plots(shown)] == ["exposure"]
    assert "Retained examples near the forgotten ones" in words(shown)


PARTS = {("forget", None): 0.7, ("retain", "near"): 0.6, ("retain", "far"): 0.55}


def shown(tmp_path, unknown=(), **near: float):
    """Return a cell: of each method, how much the AUC of near examples changes, within 0.02."""
    cell = full_cell(runs=("ft", "ga", "rl"))
    parts = PARTS | {("retain", b): 0.55 for b in range(10)}
    for (name, at), value in parts.items():
        for end, step in (("", 0), ("_low", -0.02), ("_high", 0.02)):
            cell.add_overall("retrain", f"lira_auc{end}", value + step, name, at)
            step = math.nan if (name, at) in unknown else step
            for run, change in near.items():
                own = change if at in ("near", 9) else 0.0
                cell.add_overall(run, f"exposure_change{end}", own + step, name, at)
                trace = 0.5 + abs(change) if name == "forget" else value + own
                cell.add_overall(run, f"ulira_auc{end}", trace + step, name, at)
        cell.add_overall("retrain", "exposure_count", 30.0, name, at)
    for run in near:
        cell.add_overall(run, "exposure_models", 0.0 if math.isnan(near[run]) else 16.0)
    return read_cell(tmp_path, cell)


def test_the_table_has_what_is_left_of_the_forgotten_and_how_neighbours_changed(tmp_path):
    (table,) = tables(shown(tmp_path, ga=0.1, ft=0.0))
    rows = texts_of(table.grids[0])
    assert rows["GA"][0] == "0.600 [0.580, 0.620]"
    assert rows["GA"][2] == "+0.100 [+0.080, +0.120]"
    assert rows["Before unlearning"] == [
        "0.700 [0.680, 0.720]", "0.600 [0.580, 0.620]", "–", "0.550 [0.530, 0.570]", "–",
    ]  # fmt: skip
    assert table.grids[0].headings == [
        "Forgotten (30)", "Near (30)", "Near, change", "Far (30)", "Far, change",
    ]  # fmt: skip
    near = {line.label: line.fields[2].is_chance for line in table.grids[0].groups[0]}
    assert near == {"FT": True, "GA": False}
    assert "over 16 shadow models" in table.caption


def test_every_number_of_the_table_and_of_the_bins_is_in_its_file(tmp_path):
    (table,) = tables(shown(tmp_path, ga=0.1))
    found = {(r["run"], r["metric"], r["set"], r["at"]): r["mean"] for r in table.records}
    assert len(found) == len(table.records) == 3 * 13
    assert found["ga", "exposure_change", "retain", "9"] == pytest.approx(0.1)
    assert found["retrain", "lira_auc", "forget", ""] == pytest.approx(0.7)


def test_a_tpr_is_a_column_where_there_are_examples_enough(tmp_path):
    cell = full_cell(runs=("ga",))
    cell.add_overall("ga", "exposure_models", 16.0)
    cell.add_overall("ga", "ulira_tpr", 0.031, "forget")
    cell.add_overall("retrain", "lira_tpr", 0.2, "forget")
    (table,) = tables(read_cell(tmp_path, cell))
    assert table.grids[0].headings[1] == "Forgotten, TPR (%)"
    rows = texts_of(table.grids[0])
    assert (rows["GA"][1], rows["Before unlearning"][1]) == ("3.1", "20.0")


def test_words_name_who_exposes_and_who_hides_the_neighbours(tmp_path):
    said = words(shown(tmp_path, ga=0.1, ft=0.0, rl=-0.05))
    assert said == (
        "Retained examples near the forgotten ones (AUC before: 0.600): more exposed after GA "
        "(+0.100); less exposed after RL (−0.050); 16 shadow models show no clear change after FT "
        "(0.000). Forgotten examples (AUC before: 0.700): a trace is left by GA (0.600), RL "
        "(0.550); 16 shadow models find no trace after FT (0.500)."
    )


def test_a_method_that_was_skipped_keeps_its_row_and_is_not_spoken_of(tmp_path):
    cell = shown(tmp_path, ga=0.1, rl=math.nan)
    assert {line.label for line in next(tables(cell)).grids[0].groups[0]} == {"GA", "RL"}
    (plot,) = plots(cell)
    assert [*plot.panels[1].y.ticks.values()] == ["GA"]
    assert "RL" not in words(cell)


def test_words_say_so_where_nobody_differs(tmp_path):
    said = words(shown(tmp_path, ft=0.0))
    assert "(AUC before: 0.600): 16 shadow models show no clear change after FT (0.000)." in said
    assert "(AUC before: 0.700): 16 shadow models find no trace after FT (0.500)." in said


def test_sentences_leave_out_runs_without_an_auc(tmp_path):
    """A model has the one example of a forget set or not: it has no AUC. Nor have no neighbours."""
    forgotten, near = ("forget", None), ("retain", "near")
    said = words(shown(tmp_path / "forgotten", unknown=[forgotten], ga=0.1))
    assert said.endswith("more exposed after GA (+0.100).")
    said = words(shown(tmp_path / "near", unknown=[near], ga=0.1))
    assert said == "Forgotten examples (AUC before: 0.700): a trace is left by GA (0.600)."
    assert words(shown(tmp_path / "all", unknown=list(PARTS), ga=0.1)) == ""


def test_without_a_pool_nothing_is_said_or_shown(tmp_path):
    cell = read_cell(tmp_path, full_cell())
    assert words(cell) == ""
    assert [*tables(cell), *plots(cell)] == []


def test_the_plot_has_a_line_for_each_method_and_the_forgotten_beside_it(tmp_path):
    (plot,) = plots(shown(tmp_path, ga=0.1, ft=0.0))
    changes, forgotten, counts = plot.panels
    heights = {one.label: one.y for one in changes.series}
    assert heights.keys() == {"FT", "GA"}
    assert heights["GA"][9] == pytest.approx(0.1)
    assert counts.y.title == "Examples"
    assert {*forgotten.y.ticks.values()} == {"GA", "FT"}
    assert fit_x(forgotten)[0] < 0.5
    assert "intervals over 16 models cover 83 to 91 %" in plot.notes[0]
