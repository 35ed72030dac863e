"""The finding `atlas`: accuracies by receiver of a cell, and maps and tests over all cells."""

import math
from itertools import pairwise

import numpy as np
import pytest
from fake_cell import FakeCell as CellOfOutputs
from fake_cell import FakeRun, fake_neighbours
from fake_results import FakeCell, read_cells

from collateral.findings.atlas import maps, numbers, views
from collateral.findings.atlas.matrices import find_atlases
from collateral.plots import page
from collateral.plots import print as printed
from collateral.results.dataset import Labels
from collateral.results.outputs import Outputs
from collateral.results.plan import BenchmarkPlan, CellNumbers, CellPlan
from collateral.results.split import Split
from collateral.results.table import BenchmarkTable

SEEDS, IMAGES = 5, 40
NAMES = ("class_a", "class_b", "class_c", "class_d", "class_e", "class_f", "class_g")
# Similar in pairs that are not neighbours in the order of the data: a-d, b-f, c-e; g is alone.
PAIRS = {("class_a", "class_d"), ("class_b", "class_f"), ("class_c", "class_e")}
GROUP = 3  # d, e, f and g lose more than others, whoever is forgotten


def similarity(emitter: str, receiver: str) -> float:
    if emitter == receiver:
        return 1.0
    is_pair = {(emitter, receiver), (receiver, emitter)} & PAIRS
    return 0.9 if is_pair else 0.1 + 0.02 * abs(NAMES.index(emitter) - NAMES.index(receiver))


def planted_cell(emitter: str, part: str, rng: np.random.Generator) -> FakeCell:
    """GA takes 30 points from the similar class; RL takes from weak classes, whoever is forgotten.

    Forgetting itself costs the similar class 10 points.
    """
    cell = FakeCell(f"{emitter}-{part}", emitter, str(float(part) / 100))
    for receiver in NAMES:
        is_pair = similarity(emitter, receiver) > 0.5 and emitter != receiver
        weakness = 0.1 if NAMES.index(receiver) >= GROUP else 0.0
        lost = {"retrain": 0.0, "ga": 0.3 * is_pair, "rl": weakness, "original": -0.1 * is_pair}
        cell.add_overall("retrain", "atlas_images", IMAGES, "test", receiver)
        similar = similarity(emitter, receiver) + 0.001 * rng.random(SEEDS)
        cell.add("retrain", "atlas_similarity", *similar, set="test", at=receiver)
        for run, loss in lost.items():
            for metric, factor in (("atlas_accuracy", 1.0), ("atlas_confidence", 0.5)):
                values = 0.8 - factor * loss + 0.01 * rng.normal(size=SEEDS)
                cell.add(run, metric, *values, set="test", at=receiver)
    return cell


def read_atlas(folder, names=NAMES, parts=("50", "100"), seeds=None) -> BenchmarkTable:
    """Return a table whose over-cells numbers are those of the finding."""
    rng = np.random.default_rng(3)
    cells = [planted_cell(name, part, rng) for name in names for part in parts]
    plans = {}
    for cell in cells:
        emitter, _, part = cell.name.rpartition("-")
        place = {"each": "class", "part": part, "emitter": emitter}
        plans[cell.name] = CellPlan(
            numbers=CellNumbers(seeds=tuple(range(SEEDS)), base_seeds=(0,), atlas=place)
        )
        if seeds is not None:
            cell.metrics = [row for row in cell.metrics if row["seed"] in ("", *seeds)]
    labels = {"ga": "GA", "rl": "RL", "original": "Original"}
    table = read_cells(folder, *cells, plan=BenchmarkPlan(labels, "matched", plans))
    found = {
        (row.run, row.metric, row.set, str(row.at)): row.value for row in numbers.across(table)
    }
    return BenchmarkTable(table.plan, table.cells, found)


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> BenchmarkTable:
    return read_atlas(tmp_path_factory.mktemp("atlas"))


def number(table, run, metric, at="50"):
    return table.number(run, metric, "test", at)


def test_each_share_is_an_atlas_of_its_own_and_the_smaller_comes_first(table):
    assert [atlas.part for atlas in find_atlases(table)] == ["50", "100"]


def test_similar_classes_stand_side_by_side_and_in_one_order_everywhere(table):
    orders = {atlas.emitters for atlas in find_atlases(table)}
    (order,) = orders
    for one, other in PAIRS:
        assert abs(order.index(one) - order.index(other)) == 1
    shown = [panel.y.ticks for plot in views.plots_across(table) for panel in plot.panels[:-1]]
    assert all([*ticks.values()] == [name[-1] for name in order] for ticks in shown)


def test_damage_by_similarity_is_found_where_it_is_planted_and_only_there(table):
    assert number(table, "ga", "atlas_p") < 0.05
    assert number(table, "ga", "atlas_slope") == pytest.approx(0.3 / 0.75, rel=0.15)
    assert number(table, "ga", "atlas_slope_low") > 0
    assert number(table, "rl", "atlas_p") > 0.05
    # RL's damage is of the receiver alone, so nothing is left when habits are subtracted.
    assert abs(number(table, "rl", "atlas_slope")) < 0.02


def test_exactly_the_hurt_pairs_are_shown(table):
    for atlas in find_atlases(table):
        found = atlas.found("ga")
        for e, emitter in enumerate(atlas.emitters):
            for r, receiver in enumerate(atlas.receivers):
                is_pair = emitter != receiver and similarity(emitter, receiver) > 0.5
                assert found[e, r] == is_pair
    assert number(table, "ga", "atlas_found") == 6
    assert number(table, "retrain", "atlas_pairs") == 42
    assert number(table, "rl", "atlas_found") == sum(
        NAMES.index(r) >= GROUP for e in NAMES for r in NAMES if e != r
    )


def test_the_floor_finds_nothing_and_the_legitimate_part_is_the_base_minus_retrain(table):
    assert number(table, "retrain", "atlas_floor") <= 0.05
    # Six of 42 pairs, each 10 points.
    assert number(table, "retrain", "atlas_legitimate") == pytest.approx(0.1 * 6 / 42, abs=0.004)
    assert number(table, "ga", "atlas_loss") == pytest.approx(0.3 * 6 / 42, abs=0.004)


def test_confidence_is_measured_beside_accuracy(table):
    ratio = number(table, "ga", "atlas_loss", "50 confidence") / number(table, "ga", "atlas_loss")
    assert ratio == pytest.approx(0.5, abs=0.1)


def test_mutual_damage_has_little_asymmetry(table):
    assert number(table, "ga", "atlas_asymmetry") < 0.05
    low, high = (number(table, "ga", f"atlas_asymmetry_{end}") for end in ("low", "high"))
    assert low <= number(table, "ga", "atlas_asymmetry") <= high


def test_a_sentence_says_whether_similarity_explains_the_damage(table):
    (first, _) = views.tables_across(table)
    words = {line.label: line.fields[0].value for line in first.grids[1].groups[0]}
    assert words["GA"].startswith("GA changes 6 of 42 pairs against Retrain; it takes more from")
    assert "similarity is not shown to explain its damage" in words["RL"]


def test_the_table_names_the_pair_that_is_hurt_most_and_its_records_are_the_map(table):
    (first, _) = views.tables_across(table)
    ga = first.grids[0].groups[0][0]
    emitter, receiver = ga.fields[3].value.partition(":")[0].split(" → ")
    assert {(emitter, receiver), (receiver, emitter)} & PAIRS
    assert len(first.records) == 2 * 49
    hurt = [row for row in first.records if row["run"] == "ga" and row["is_shown"]]
    assert all(row["loss"] == pytest.approx(0.3, abs=0.03) for row in hurt)
    assert all(row["legitimate"] == pytest.approx(0.1, abs=0.03) for row in hurt)
    # Two means of five values whose standard deviation is 0.01; t with 28 degrees of freedom.
    noise = 2.05 * 0.01 * (2 / 5) ** 0.5
    assert all(row["noise"] == pytest.approx(noise, rel=0.4) for row in first.records)


def test_print_and_page_draw_a_coloured_rectangle_for_every_pair(table, tmp_path):
    (plot, _) = views.plots_across(table)
    *panels, scale = plot.panels
    assert [panel.title for panel in panels] == ["GA", "RL", "Legitimate", "Retrain, halves"]
    assert scale.title == "Points lost"
    ga = plot.panels[0]
    by_place = {(band.low + 0.5, band.left + 0.5): band.colour for band in ga.bands}
    order = [*ga.y.ticks.values()]
    for r, emitter in enumerate(order):
        for c, receiver in enumerate(order):
            red, green, blue = (int(by_place[r, c][i : i + 2], 16) for i in (1, 3, 5))
            is_pair = r != c and similarity(f"class_{emitter}", f"class_{receiver}") > 0.5
            assert (red > green + 40 and red > blue + 40) == is_pair
    figure = printed.draw(plot)
    for axes in figure.axes[: len(plot.panels)]:
        assert not any(line.get_visible() for line in axes.get_xgridlines())
    # The maps above another map have labels below their columns as well.
    assert [one.get_text() for one in figure.axes[0].get_xticklabels()] == order
    assert all(one.get_visible() for one in figure.axes[0].get_xticklabels())
    printed.save(figure, tmp_path / "atlas")
    assert (tmp_path / "atlas.pdf").stat().st_size > 1000
    chart = page.draw(plot)
    for layer in chart.spec["concat"][0]["layer"]:
        for axis in (layer["encoding"][name]["axis"] for name in "xy"):
            assert (axis["grid"], axis["labelOverlap"]) == (False, False)
    shown = [row for row in chart.rows if row["panel"] == 0 and row["label"] == maps.SHOWN]
    assert len(shown) == 6


def test_the_table_has_the_legitimate_part_beside_the_loss(table):
    (first, _) = views.tables_across(table)
    grid = first.grids[0]
    place = grid.headings.index("Legitimate")
    by_accuracy, by_confidence = (
        100 * number(table, "retrain", "atlas_legitimate", at) for at in ("50", "50 confidence")
    )
    shown = {line.fields[place].value for line in grid.groups[0]}
    assert shown == {f"{by_accuracy:.1f} ({by_confidence:.1f})"}
    # 10 points in six of 42 pairs, and half of it by confidence.
    assert by_accuracy / by_confidence == pytest.approx(2, rel=0.3)
    assert all(line.fields[place].source.run == "retrain" for line in grid.groups[0])


def test_the_scale_shows_white_within_the_floor_and_the_colours_of_the_maps_beyond(table):
    (plot, _) = views.plots_across(table)
    scale = plot.panels[-1]
    bands = scale.bands
    middle = [one.colour for one, after in pairwise(bands) if one.low <= 0 <= after.low]
    assert set(middle) == {"#ffffff"}
    # The largest change is about 30 points; ticks are at whole points.
    assert [*scale.y.ticks.values()] in (
        ["−32", "−16", "0", "+16", "+32"],
        ["−30", "−15", "0", "+15", "+30"],
    )
    top = max(band.high for band in bands)
    assert top == -bands[0].low == max(scale.y.ticks)
    # The page finds the text of a tick by its position, written with six digits.
    assert all(float(f"{end:g}") == end for end in scale.y.ticks)
    red, green, _ = (int(bands[-1].colour[i : i + 2], 16) for i in (1, 3, 5))
    assert red > green + 100


@pytest.mark.parametrize(("count", "columns"), [(7, 4), (12, 4), (20, 2), (100, 1)])
def test_every_class_has_a_label_however_many_there_are(count, columns):
    names = [f"kind of thing {place}" for place in range(count)]
    values = np.random.default_rng(count).normal(size=(count, count))
    one = maps.Map("GA", values, np.zeros((count, count), bool))
    scale = maps.Scale.fit([one], ~np.eye(count, dtype=bool), np.full(count, 0.3))
    assert maps.count_columns(count) == columns
    (panel, _) = maps.draw_panels([one], scale, names, names)
    for axis in (panel.x, panel.y):
        assert [*axis.ticks.values()] == names


def test_with_one_seed_nothing_is_tested_and_the_sentence_says_so(tmp_path):
    table = read_atlas(tmp_path, parts=("50",), seeds=("0",))
    assert math.isnan(number(table, "ga", "atlas_found"))
    (only,) = views.tables_across(table)
    text = only.grids[1].groups[0][0].fields[0].value
    assert "cannot be tested: it needs two seeds" in text
    assert len([*views.plots_across(table)]) == 1


def test_with_four_classes_similarity_is_not_tested(tmp_path):
    table = read_atlas(tmp_path, names=NAMES[:4], parts=("50",))
    (atlas,) = find_atlases(table)
    assert len(atlas.emitters) == 4
    assert len(atlas.receivers) == 7
    assert math.isnan(number(table, "ga", "atlas_p"))
    assert not math.isnan(number(table, "ga", "atlas_found"))


def test_a_benchmark_without_an_atlas_has_none(tmp_path):
    cell = planted_cell("class_a", "50", np.random.default_rng(0))
    table = read_cells(tmp_path, cell)
    assert [*find_atlases(table)] == [] == [*numbers.across(table)]
    assert [*views.tables_across(table)] == [] == [*views.plots_across(table)]


def outputs(correct: np.ndarray, label: np.ndarray) -> Outputs:
    prediction = np.where(correct, label, (label + 1) % 3)
    confidence = np.where(correct, 0.9, 0.2).astype(np.float32)
    return Outputs(np.zeros((len(label), 3), np.float16), confidence, prediction)


def made_cell(columns=None) -> CellOfOutputs:
    """Six test images of three classes; FT is wrong on one image of class 1 and both of class 2."""
    label = np.array([0, 0, 1, 1, 2, 2])
    sites = columns or {}
    labels = Labels(label, label, ("a", "b", "c"), sites, sites)
    right, wrong = np.ones(6, bool), np.array([1, 1, 0, 1, 0, 0], bool)
    runs = {
        (run, seed): FakeRun(outputs(right, label), outputs(ok, label))
        for run, ok in (("retrain", right), ("ft", wrong))
        for seed in (4, 7)
    }
    runs["ft", 7] = FakeRun(outputs(right, label), outputs(wrong, label), "diverged")
    near = fake_neighbours((4, 7), np.arange(6) / 10, np.arange(6) / 10, 3)
    return CellOfOutputs(labels, Split(np.array([0, 1]), 6, (0,), {"class": "a"}), near, runs)


def rows_of(folder, cell, each):
    found = cell.write(folder, atlas={"each": each, "part": "100", "emitter": "a"})
    return {(r.run, r.seed, r.metric, r.at): r.value for r in numbers.numbers(found)}


def test_a_cell_gives_the_accuracy_of_every_class_on_test_images(tmp_path):
    rows = rows_of(tmp_path, made_cell(), "class")
    assert [rows["ft", 4, "atlas_accuracy", name] for name in "abc"] == [1.0, 0.5, 0.0]
    assert rows["ft", 4, "atlas_confidence", "b"] == pytest.approx(0.55)
    assert rows["retrain", 7, "atlas_accuracy", "c"] == 1.0
    assert math.isnan(rows["ft", 7, "atlas_accuracy", "a"])
    assert rows["retrain", None, "atlas_images", "b"] == 2


def test_groups_are_receivers_and_their_similarity_is_the_mean_over_their_examples(tmp_path):
    sites = {"site": np.array(["x", "y", "y", "x", "y", "y"])}
    rows = rows_of(tmp_path, made_cell(sites), "site")
    assert rows["ft", 4, "atlas_accuracy", "x"] == 1.0
    assert rows["ft", 4, "atlas_accuracy", "y"] == 0.25
    assert rows["retrain", 4, "atlas_similarity", "x"] == pytest.approx(0.15)


def test_a_cell_that_is_in_no_atlas_gives_nothing(tmp_path):
    assert [*numbers.numbers(made_cell().write(tmp_path))] == []
