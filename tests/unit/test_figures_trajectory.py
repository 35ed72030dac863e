"""The ways of tracked runs towards Retrain."""

import numpy as np
import pytest
from fake_results import COURSES, RUNS, FakeCourse, full_cell, read_cell, tracked_cell
from figure_reading import STUDENT_95, legend_of, note_of, span_of, title_of
from matplotlib.colors import to_hex

from collateral.findings._shared.style import NOISE_LABEL, look_of
from collateral.findings.trajectory.figure import figures
from collateral.results.plan import BenchmarkPlan, CellPlan


def drawn(tmp_path, cell=None, plan=None):
    """Return the cell and its one figure."""
    table = read_cell(tmp_path, cell or tracked_cell(), plan)
    [picture] = figures(table)
    return table, picture.figure


def way(axes, cell, run):
    """Return the line of a run."""
    colour = look_of(cell, run).colour
    lines = [line for line in axes.lines if to_hex(line.get_color()) == to_hex(colour)]
    [found] = [line for line in lines if line.get_linestyle() not in ("None", "")]
    return found


def names_in(axes) -> set[str]:
    return {text.get_text() for text in axes.texts}


def test_ways_are_drawn_in_points_from_the_base_to_the_end(tmp_path):
    cell, figure = drawn(tmp_path)
    plane, course = figure.axes
    x, y = way(plane, cell, "rl").get_data()
    assert x == pytest.approx([40, 20, 10, 15])
    assert y == pytest.approx([20, 10, 5, 7.5])
    x, y = way(course, cell, "rl").get_data()
    assert x == pytest.approx([2, 3, 4])  # the base costs nothing
    assert y == pytest.approx([20, 10, 15])
    assert course.get_xscale() == "log"


def test_every_way_has_its_name_at_its_end_and_no_legend(tmp_path):
    _, figure = drawn(tmp_path)
    plane, course = figure.axes
    assert names_in(plane) == {"FT", "GA", "RL", "Original", "Retrain"}
    shares = {f"{share} %" for share in (1, 2, 5, 10, 20)}
    assert names_in(course) == {"FT", "GA", "RL", "Original", "Retrain", *shares}
    assert legend_of(figure) == [NOISE_LABEL]
    assert title_of(figure) == "digit_3, 50 % forgotten: towards Retrain"


def test_retrains_time_is_marked_and_in_sight(tmp_path):
    _, figure = drawn(tmp_path)
    course = figure.axes[1]
    marked = [line for line in course.lines if line.get_linestyle() == "--"]
    assert [list(line.get_xdata()) for line in marked] == [[100, 100]]
    assert course.get_xlim()[0] < 0.5 and course.get_xlim()[1] > 100


def test_the_noise_of_damage_is_grey(tmp_path):
    _, figure = drawn(tmp_path)
    limit = 100 * STUDENT_95 * 0.01
    assert span_of(figure.axes[0], NOISE_LABEL) == pytest.approx((-limit, limit))
    assert "Means over 3 seeds." in note_of(figure)


def test_one_seed_has_no_noise(tmp_path):
    _, figure = drawn(tmp_path, tracked_cell(num_seeds=1))
    assert not any(len(axes.patches) for axes in figure.axes)
    assert "One seed." in note_of(figure)


def test_a_paced_way_is_dashed_and_named(tmp_path):
    plan = BenchmarkPlan(RUNS, "matched", {"digit_3-50": CellPlan(paced=("rl",))})
    cell, figure = drawn(tmp_path, plan=plan)
    styles = {run: way(figure.axes[0], cell, run).get_linestyle() for run in COURSES}
    assert styles == {"ft": "-", "ga": "-", "rl": "--"}
    assert "Dashed: an epoch is no shorter run (RL)." in note_of(figure)


def test_a_run_that_goes_far_off_does_not_set_the_scale(tmp_path):
    far = FakeCourse((0.4, 0.9, 0.95), (0, 1, 2))
    cell, figure = drawn(tmp_path, tracked_cell(ga=far, rl=COURSES["rl"]))
    for axes in figure.axes:
        assert axes.get_ylim()[1] < 50
        x, y = way(axes, cell, "ga").get_data()
        assert (x <= axes.get_xlim()[1]).all() and (y <= axes.get_ylim()[1]).all()
    assert "At the edge, as they end beyond: GA (a gap of 95 points)." in note_of(figure)


def test_a_run_that_collapsed_in_every_seed_is_named_below(tmp_path):
    bad = FakeCourse((0.4, 0.9), (0, 1), status="collapsed")
    _, figure = drawn(tmp_path, tracked_cell(ga=bad, rl=COURSES["rl"]))
    assert "GA" not in names_in(figure.axes[0])
    assert "GA collapsed (3 of 3 seeds): not drawn." in note_of(figure)


def test_a_run_that_ends_nowhere_is_drawn_as_far_as_it_goes(tmp_path):
    lost = FakeCourse((0.4, 0.3, np.nan), (0, 1, 2))
    _, figure = drawn(tmp_path, tracked_cell(ga=lost, rl=COURSES["rl"]))
    figure.draw_without_rendering()
    assert "GA (undefined)" in note_of(figure)


def test_names_do_not_lie_on_one_another(tmp_path):
    """Runs that end at almost one place."""
    close = {run: FakeCourse((0.4, 0.1 + 0.001 * i), (0, 2 + i)) for i, run in enumerate(COURSES)}
    _, figure = drawn(tmp_path, tracked_cell(**close))
    figure.draw_without_rendering()
    for axes in figure.axes:
        names = [text for text in axes.texts if text.get_text() in ("FT", "GA", "RL")]
        boxes = [super(type(text), text).get_window_extent() for text in names]
        assert len(boxes) == 3
        pairs = [(a, b) for i, a in enumerate(boxes) for b in boxes[:i]]
        assert not any(a.overlaps(b) for a, b in pairs)


def test_only_where_runs_are_tracked(tmp_path):
    assert not list(figures(read_cell(tmp_path, full_cell())))
