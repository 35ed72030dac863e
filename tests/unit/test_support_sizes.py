"""Support sizes as figures and page show them: from metrics.csv alone."""

import numpy as np
import pytest
from fake_results import RUNS, FakeCell, full_cell, supports_cell

from collateral.cli import main
from collateral.figures import support
from collateral.findings._shared.style import save
from collateral.report.page import Source, render
from collateral.results.table import cells, concatenate, read
from collateral.findings.support_size.words import Step, Supports, auto_in_words, supports_of

NAMES = ["support-kl", "support-accuracy", "support-drop", "support-retrain"]


@pytest.fixture
def cell_of(tmp_path):
    def build(fake: FakeCell | None = None):
        (fake or supports_cell()).write(tmp_path)
        return cells(read(tmp_path / "metrics.csv"), RUNS)[0]

    return build


@pytest.fixture
def supports(cell_of) -> Supports:
    found = supports_of(cell_of())
    assert found is not None
    return found


def changed(changes: dict[str, tuple[float, ...]]) -> FakeCell:
    """Return the cell with other values of some of FT's numbers, one a seed."""
    fake = supports_cell()
    fake.metrics = [row for row in fake.metrics if row["metric"] not in changes]
    for metric, values in changes.items():
        fake.add("ft", metric, *values)
    return fake


def step(drop: list[float], counts: list[int], auto: int) -> Step:
    assert len(drop) == len(counts) == 10
    return Step(0, 0.5, auto, np.array(drop), np.linspace(0, 0.9, 10), np.array(counts))


# Reading


def test_a_cell_without_teachers_has_none(cell_of):
    assert supports_of(cell_of(full_cell())) is None


def test_sizes_are_in_order_and_values_by_size_and_seed(supports):
    assert (supports.run, supports.label, supports.sizes) == ("ft", "FT", (20, 50, 80))
    assert supports.values("teacher_ua") == pytest.approx(
        np.array([[1, 1.001, 1.002], [0.8, 0.801, 0.802], [0.7, 0.701, 0.702]])
    )
    assert supports.floors() == pytest.approx([0.05] * 3)
    assert supports.auto.tolist() == [60] * 3
    assert supports.own.tolist() == [50] * 3


def test_what_auto_takes_is_counted_in_bins_from_the_top(supports):
    assert [s.num_taken for s in supports.steps] == [2, 2, 2]
    assert supports.steps[0].least_similarity == 0.8
    empty = step([0.0] * 7 + [0.4, np.nan, 0.4], [5, 5, 5, 5, 5, 5, 5, 7, 0, 9], auto=16)
    assert empty.num_taken == 3
    assert empty.least_similarity == pytest.approx(0.7)


def test_the_largest_loss_may_be_in_another_bin_than_the_top():
    small = step([0.0] * 8 + [1.0, 0.4], [5] * 8 + [1, 50], auto=50)
    assert small.largest == 8
    assert small.top_is_short
    assert not step([0.0] * 8 + [0.7, 0.4], [5] * 10, auto=10).top_is_short


# In words


def test_the_words_say_what_auto_takes_and_why(supports):
    text = auto_in_words(supports)
    assert text.startswith("k: auto takes 60 examples, because one step of gradient ascent")
    assert "(here 0.25)" in text
    assert "it cost it 40. From that bin down" in text
    assert "here those from similarity 0.80 up." in text
    assert "A support of 20 or fewer is of one class in every seed." in text
    assert "seeds" not in text


def test_the_words_say_where_the_top_bin_was_taken_for_want_of_a_better(cell_of):
    # In the last two seeds a bin further down loses everything.
    fake = changed({"support_drop:07": (0.0, 1.0, 1.0), "support_auto": (60, 30, 30)})
    text = auto_in_words(supports_of(cell_of(fake)))
    assert text.startswith("k: auto takes 30 to 60 examples")
    assert "from similarity 0.80 to 0.90 up" in text
    assert "In seeds 1, 2 another bin loses more than twice as much as the most similar" in text


def test_the_words_say_where_no_rate_was_enough(cell_of):
    fake = changed({"support_drop:09": (0.4, 0.04, 0.4), "support_drop:08": (0.3, 0.04, 0.3)})
    text = auto_in_words(supports_of(cell_of(fake)))
    assert "In seed 1 no rate of the series costs it 5 points" in text


def test_no_support_of_one_class_is_no_words(cell_of):
    fake = changed({"support_num_classes:00020": (1, 1, 2)})
    assert "one class" not in auto_in_words(supports_of(cell_of(fake)))


# Figures


def lines_of(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def note_of(figure) -> str:
    return figure.get_supxlabel()


def test_the_change_is_drawn_from_the_second_size_on(cell_of):
    axes = support.draw_kl(cell_of(), RUNS).axes[0]
    line = lines_of(axes)["FT's teacher"]
    assert line.get_xdata().tolist() == [50, 80]
    assert line.get_ydata() == pytest.approx([0.501, 0.021])
    assert axes.get_yscale() == "log"


@pytest.mark.parametrize("name", ["support-kl", "support-accuracy", "support-retrain"])
def test_the_runs_k_and_autos_are_marked(cell_of, name):
    lines = lines_of(support.FIGURES[name](cell_of(), RUNS).axes[0])
    assert list(lines["k of the runs: 50"].get_xdata()) == [50, 50]
    assert list(lines["k: auto: 60"].get_xdata()) == [60, 60]


@pytest.mark.parametrize("name", ["support-kl", "support-accuracy"])
def test_the_least_similarity_stands_above_its_size(cell_of, name):
    (above,) = support.FIGURES[name](cell_of(), RUNS).axes[0].child_axes
    assert above.get_xticks().tolist() == [20, 50, 80]
    assert [tick.get_text() for tick in above.get_xticklabels()] == ["0.90", "0.75", "0.50"]


def test_accuracy_is_in_percent_above_the_classes(cell_of):
    upper, lower = support.draw_accuracy(cell_of(), RUNS).axes
    assert lines_of(upper)["FT's teacher"].get_ydata() == pytest.approx([100.1, 80.1, 70.1])
    assert lines_of(lower)["FT's teacher"].get_ydata() == pytest.approx([1, 2, 4])


def test_the_drop_is_a_bar_a_bin_and_a_point_a_seed(cell_of):
    upper, lower = support.draw_drop(cell_of(), RUNS).axes
    (bars,) = upper.containers
    heights = [bar.get_height() for bar in bars]
    assert heights[8:] == pytest.approx([30.1, 40.1])
    assert np.isnan(heights[2])
    points = [line for line in upper.get_lines() if line.get_marker() == "o"]
    assert [len(line.get_xdata()) for line in points] == [10, 10, 10, 0]
    assert [bar.get_height() for bar in lower.containers[0]][:3] == [30, 30, 0]


def test_retrain_is_in_the_one_figure_that_is_called_after_the_fact(cell_of):
    cell = cell_of()
    for name, draw in support.FIGURES.items():
        figure = draw(cell, RUNS)
        title = figure.legends[0].get_title().get_text()
        drawn = [label for axes in figure.axes for label in lines_of(axes)]
        if name == support.AFTER_THE_FACT:
            assert title == "digit_3, 50 % forgotten: support size after the fact: uses Retrain"
            assert "Retrain" in drawn
        else:
            assert title == "digit_3, 50 % forgotten: support size, without Retrain"
            assert "Retrain" not in drawn


def test_the_divergence_from_retrain_is_beside_the_teachers_accuracy(cell_of):
    cell = cell_of()
    left, right = support.draw_retrain(cell, RUNS).axes
    assert lines_of(left)["FT's teacher"].get_ydata() == pytest.approx([1.501, 0.101, 0.201])
    level = lines_of(right)["Retrain"].get_ydata()
    assert level[0] == pytest.approx(100 * cell.values("retrain", "ua").mean())


@pytest.mark.parametrize("name", NAMES)
def test_one_seed_has_no_grey_and_says_so(cell_of, name):
    figure = support.FIGURES[name](cell_of(supports_cell(num_seeds=1)), RUNS)
    assert "One seed." in note_of(figure)
    assert "Two seeds' teachers of one k" not in figure.axes[0].get_legend_handles_labels()[1]


def test_equal_figures_are_equal_files(cell_of, tmp_path):
    for place in ("one", "two"):
        save(support.draw_drop(cell_of(), RUNS), tmp_path / place)
    for suffix in (".pdf", ".png"):
        one, two = ((tmp_path / place).with_suffix(suffix) for place in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()


def test_the_stage_draws_them_where_there_are_teachers(tmp_path):
    supports_cell().write(tmp_path)
    words = ["--metrics", str(tmp_path / "metrics.csv"), "--runs", '{"ft": "FT"}']
    main(["figures", *words, "--out", str(tmp_path / "figures")])
    drawn = {path.stem for path in (tmp_path / "figures" / "digit_3-50").iterdir()}
    assert set(NAMES) <= drawn
    assert set(support.CAPTIONS) == set(support.FIGURES) == set(NAMES)


# The page


def test_the_page_keeps_after_the_fact_apart(tmp_path):
    folder = tmp_path / "digits"
    fake = supports_cell()
    fake.write(folder / fake.name)
    for name in ("metrics.csv", "costs.csv"):
        concatenate([folder / fake.name / name], folder / name)
    cell = cells(read(folder / "metrics.csv"), RUNS)[0]
    for name, draw in support.FIGURES.items():
        save(draw(cell, RUNS), folder / "figures" / cell.name / name)
    page = render({"digits": Source(folder, RUNS, "matched")})
    free, _, after = page.partition("Support size after the fact: this uses Retrain")
    assert "<h5>Support size, without Retrain</h5>" in free
    assert "k: auto takes 60 examples" in free
    for name in NAMES:
        assert (f'alt="{name}:' in after) == (name == support.AFTER_THE_FACT)
        assert page.count(f'alt="{name}:') == 1
