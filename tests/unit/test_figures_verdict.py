"""The picture of a cell: where runs lie, how large they are, and what is said below."""

from dataclasses import replace

import numpy as np
import pytest
from counted_cell import table_of
from figure_reading import legend_of, note_of
from matplotlib.patches import Rectangle
from test_finding_verdict import ALIKE, CASES, ENDS

from collateral.findings._shared.style import NOISE_LABEL
from collateral.findings.verdict.figure import draw, figures
from collateral.findings.verdict.picture import AREA, LEAST_AREA, area, points

AWAY = replace(ALIKE, forget=(50,) * 5, near=(40,) * 5, test=(90,) * 5)


@pytest.fixture(scope="module")
def cell(tmp_path_factory):
    runs = {"ft": CASES["did not forget"], "ga": CASES["hurt the neighbours"], "iu": AWAY}
    return table_of(tmp_path_factory.mktemp("cell"), {**ENDS, **runs})


@pytest.fixture(scope="module")
def figure(cell):
    return draw(cell, points(cell))


def places_of(figure):
    marks = [c.get_offsets().tolist() for c in figure.axes[0].collections if len(c.get_offsets())]
    return [tuple(place) for [place] in marks if place != [0, 0]]


def test_every_run_is_where_its_numbers_are(cell, figure):
    frame = points(cell)
    assert len(frame) == 4
    expected = list(zip(frame["x"], frame["y"], strict=True))
    assert [place for place in places_of(figure) if place in expected] == expected


def test_the_box_in_the_corner_is_the_noise_floor(cell, figure):
    [box] = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    row = points(cell).iloc[0]
    assert box.get_label() == NOISE_LABEL
    assert (box.get_x(), box.get_width()) == (0, pytest.approx(row["floor_error"]))
    assert (box.get_y(), box.get_height()) == pytest.approx(
        (-row["floor_damage"], 2 * row["floor_damage"])
    )


def test_what_collapsed_is_hollow_at_the_edge_and_named_below(cell, figure):
    low, high = figure.axes[0].get_ylim()
    row = points(cell).set_index("run").loc["iu"]
    assert row["y"] < high < row["damage"]
    assert "Collapsed, at the edge: IU (error 51, damage 90)." in note_of(figure)
    assert low < 0


def test_the_legend_and_the_note_name_runs_and_verdicts(figure):
    assert legend_of(figure) == [NOISE_LABEL, "ORIGINAL", "FT", "GA", "IU"]
    assert "hurt the neighbours: GA" in note_of(figure)
    assert "FT 100 %" in note_of(figure)


def test_a_marks_area_is_the_price():
    assert area(1.0) == AREA and area(0.5) == AREA / 2
    assert area(0.0) == area(np.nan) == LEAST_AREA
    assert area(100.0) == area(1.5)


def test_one_seed_has_a_picture_without_a_box(tmp_path):
    runs = {run: replace_seeds(wrong) for run, wrong in {**ENDS, "ft": ALIKE}.items()}
    [picture] = figures(table_of(tmp_path, runs))
    assert not picture.figure.axes[0].patches
    assert "One seed." in note_of(picture.figure)


def replace_seeds(wrong):
    parts = {name: getattr(wrong, name)[:1] for name in ("forget", "near", "far", "test")}
    return replace(wrong, **parts)


def test_a_run_that_collapsed_in_every_seed_is_drawn_and_not_said_to_be_left_out(tmp_path):
    gone = replace(AWAY, status=("collapsed",) * 5)
    [picture] = figures(table_of(tmp_path, {**ENDS, "iu": gone, "ft": ALIKE}))
    assert "Collapsed, at the edge: IU (error 51, damage 90)." in note_of(picture.figure)
    assert "not drawn" not in note_of(picture.figure)


def test_a_run_that_diverged_in_one_seed_is_left_out_and_named_once(tmp_path):
    lost = replace(ALIKE, status=("ok", "ok", "diverged", "ok", "ok"))
    [picture] = figures(table_of(tmp_path, {**ENDS, "rl": lost, "ft": ALIKE}))
    assert "RL" not in legend_of(picture.figure)
    assert note_of(picture.figure).count("RL diverged (1 of 5 seeds): not drawn.") == 1
    assert "at the edge" not in note_of(picture.figure)


def test_without_numbers_there_is_no_picture(tmp_path):
    lost = replace(ALIKE, status=("diverged",) * 5)
    assert not list(figures(table_of(tmp_path, {"retrain": ENDS["retrain"], "ft": lost})))
