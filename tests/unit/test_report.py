import json
import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from fake_results import RUNS, FakeCell, full_cell, whole_class_cell, write_models

from collateral.cli import main
from collateral.results.dataset import Labels
from collateral.figures import affected, classes, similarity
from collateral.findings._shared.style import save
from collateral.report.grids import of_costs, of_locality, of_summary
from collateral.report.images import strips
from collateral.findings.locality.words import finding, near_and_far
from collateral.report.page import Source, render
from collateral.findings._shared.compare import tables
from collateral.findings._shared.display import show
from collateral.results.table import cells, concatenate, read


@pytest.fixture
def benchmark_of(tmp_path):
    """Return a function: fake cells in, the folder of their benchmark with its figures out."""

    def build(*fakes: FakeCell):
        folder = tmp_path / "digits"
        for fake in fakes:
            fake.write(folder / fake.name)
        for name in ("metrics.csv", "costs.csv"):
            concatenate([folder / fake.name / name for fake in fakes], folder / name)
        return folder

    return build


def cells_of(folder):
    return cells(read(folder / "metrics.csv", folder / "costs.csv"), RUNS)


def page_of(folder, **options):
    return render({"digits": Source(folder, RUNS, "matched")}, **options)


class Links(HTMLParser):
    """Everything that a browser would fetch, and the anchors of the page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("src", "href", "srcset", "data", "action"):
                self.targets.append(value)
            if name == "id":
                self.anchors.add(value)


def bins_by_hand(counts, deltas, floors) -> FakeCell:
    """Return a cell with two seeds, where all but the last three bins are empty."""
    cell = FakeCell()
    for run in ("retrain", "ft", "ga"):
        cell.add(run, "ua", 0.5, 0.5)
    cell.add_overall("ga", "avg_gap", 0.031)
    cell.add_overall("ft", "avg_gap", 0.02)
    for set_name in ("retain", "test"):
        for b in range(10):
            place, known = f"{set_name}:{b:02}", b >= 7
            count = counts[b - 7] if known else 0
            cell.add("retrain", f"bin_count:{place}", count, count)
            cell.add_overall("retrain", f"floor_acc:{place}", floors[b - 7] if known else np.nan)
            for run, values in deltas.items():
                value = values[b - 7] if known else np.nan
                cell.add(run, f"delta_acc:{place}", value, value)
    return cell


DELTAS = {"ga": (0.01, 0.2, 0.5), "ft": (0.0, 0.01, 0.0)}


def test_near_is_the_fewest_top_bins_with_twenty_examples(benchmark_of):
    fake = bins_by_hand((100, 15, 10), DELTAS, (0.01,) * 3)
    near, far = near_and_far(cells_of(benchmark_of(fake))[0], "retain")
    assert (near.bins, near.size, far.size) == ((8, 9), 25, 100)


def test_near_holds_one_percent_of_a_large_set(benchmark_of):
    fake = bins_by_hand((10_000, 200, 30), DELTAS, (0.01,) * 3)
    near, _ = near_and_far(cells_of(benchmark_of(fake))[0], "retain")
    assert near.bins == (8, 9)


def test_bins_are_pooled_by_their_examples(benchmark_of):
    fake = bins_by_hand((100, 15, 10), DELTAS, (0.01, 0.02, 0.07))
    [cell] = cells_of(benchmark_of(fake))
    near, _ = near_and_far(cell, "retain")
    assert near.difference(cell, "ga") == pytest.approx([(15 * 0.2 + 10 * 0.5) / 25] * 2)
    assert near.chance(cell) == pytest.approx(
        12.7062 * (15 * 0.02 + 10 * 0.07) / 25  # Student's t for two seeds
    )


def test_the_finding_names_the_method_that_hurts_most(benchmark_of):
    fake = bins_by_hand((100, 15, 10), DELTAS, (0.01, 0.02, 0.02))
    text = finding(cells_of(benchmark_of(fake))[0])
    assert text == (
        "GA: an average gap of 3.1 points, but 32.0 points less accurate than Retrain on the 25 "
        "retained examples most similar to the forgotten ones (20 %), against 1.0 points on all "
        "others. Chance explains ±25.4 points there. Within chance: FT (0.6)."
    )


def test_several_cells_are_summed_up_first(benchmark_of):
    folder = benchmark_of(full_cell("digit_3-50"), full_cell("digit_8-50"))
    page = page_of(folder)
    head, _, after = page.partition("<h3>All cells</h3>")
    summary = after.partition('<section class="cell"')[0]
    assert head and "Mean rank" not in head
    # FT has the lowest gap of FT, GA and RL in both cells; Original is a control.
    assert "2 of 2" in summary
    assert summary.index("FT") < summary.index("GA") < summary.index("RL")
    assert "Original" not in summary
    assert [grid.groups[0][0].fields[3].order for grid in of_summary(cells_of(folder))] == [1, 1]


def test_a_single_cell_needs_no_summary(benchmark_of):
    assert "All cells" not in page_of(benchmark_of(full_cell()))


def test_a_noise_floor_of_zero_is_put_into_words(benchmark_of):
    fake = bins_by_hand((100, 15, 10), DELTAS, (0.0,) * 3)
    text = finding(cells_of(benchmark_of(fake))[0])
    assert "Chance explains less than 0.1 points there." in text
    assert "Also less accurate there: FT (0.6)." in text


def test_the_finding_says_when_there_is_none(benchmark_of):
    fake = bins_by_hand((100, 15, 10), {"ga": (0, 0, 0.01), "ft": (0, -0.5, -0.5)}, (0.02,) * 3)
    text = finding(cells_of(benchmark_of(fake))[0])
    assert text.startswith("No method is less accurate than Retrain on the 25 retained examples")
    assert "More accurate than Retrain there: FT (50.0). Within chance: GA (0.4)." in text


def test_one_seed_makes_no_claim(benchmark_of):
    text = finding(cells_of(benchmark_of(full_cell(num_seeds=1)))[0])
    assert text.startswith("One seed, so no noise floor and no claim")
    assert "GA's" in text


def test_the_finding_passes_over_diverged_methods(benchmark_of):
    text = finding(cells_of(benchmark_of(full_cell(diverged=("ga",))))[0])
    assert "GA" not in text
    none = finding(cells_of(benchmark_of(full_cell(runs=("ga",), diverged=("ga",))))[0])
    assert none.startswith("No method ended well here")


def test_the_page_loads_nothing_from_elsewhere(benchmark_of):
    folder = benchmark_of(full_cell())
    [cell] = cells_of(folder)
    save(similarity.draw(cell, RUNS), folder / "figures" / cell.name / "similarity")
    page = page_of(folder)
    links = Links(page)
    assert len(links.targets) > 5
    for target in links.targets:
        assert target.startswith(("data:", "#"))
    assert {t[1:] for t in links.targets if t[0] == "#"} <= links.anchors
    assert not re.search(r"https?:|@import|url\(", page)


def test_the_page_has_every_number_of_every_table(benchmark_of):
    folder = benchmark_of(full_cell("digit_3-50"), full_cell("digit_8-90"))
    page = page_of(folder)
    found = cells_of(folder)
    assert len(found) == 2
    for cell in found:
        assert f'id="digits-{cell.name}"' in page
        assert finding(cell) in page
        for table in tables(cell, "matched"):
            assert table.caption in page
            for row in table.rows:
                for metric in table.layout.columns:
                    shown = show(row, metric)
                    assert f">{shown.value}<" in page
                    assert shown.deviation in page


def test_figures_are_embedded_with_their_captions(benchmark_of):
    folder = benchmark_of(full_cell())
    [cell] = cells_of(folder)
    for name, draw in (("affected", affected.draw), ("similarity", similarity.draw)):
        save(draw(cell, RUNS), folder / "figures" / cell.name / name)
    page = page_of(folder)
    images = re.findall(r'<img src="data:image/png;base64,\w[^"]*" alt="(\w+)', page)
    assert images == ["similarity", "affected"]
    assert affected.CAPTION in unescape(page)


def test_the_classes_are_shown_where_a_whole_class_is_deleted(benchmark_of):
    folder = benchmark_of(whole_class_cell())
    [cell] = cells_of(folder)
    for name, draw in (("affected", affected.draw), ("classes", classes.draw)):
        save(draw(cell, RUNS), folder / "figures" / cell.name / name)
    page = page_of(folder)
    assert re.findall(r'base64,\w[^"]*" alt="(\w+)', page) == ["classes", "affected"]
    assert classes.CAPTION in unescape(page)


@pytest.mark.parametrize(
    "fake",
    [
        full_cell(runs=("ft", "ga")),
        full_cell(num_seeds=1),
        full_cell(diverged=("ga",)),
        full_cell(runs=()),
    ],
    ids=["no control", "one seed", "a diverged run", "no method"],
)
def test_the_page_works_for(benchmark_of, fake):
    page = page_of(benchmark_of(fake))
    assert "Retrain" in page
    assert ">nan" not in page


def test_a_diverged_run_is_named_in_the_page(benchmark_of):
    assert "diverged (2 of 3 seeds)" in page_of(benchmark_of(full_cell(diverged=("ga",))))


def test_names_are_escaped(benchmark_of):
    fake = full_cell()
    for row in fake.metrics + fake.costs:
        row["class"] = "<script>x"
    page = page_of(benchmark_of(fake))
    assert "<script>x" not in page
    assert "&lt;script&gt;x" in page


def test_the_images_hurt_most_come_first(benchmark_of):
    folder = benchmark_of(full_cell(num_seeds=2, runs=("ft", "ga")))
    sure = [0.9] * 8
    unsure = [0.9, 0.85, 0.7, 0.1, 0.9, 0.9, 0.9, 0.9]
    confidence = {"retrain": sure, "ft": sure, "ga": unsure}
    write_models(folder, "digit_3-50", confidence, num_seeds=2)
    [cell] = cells_of(folder)
    forgotten, ga = strips(folder / cell.name, cell, Labels.load(folder / "labels.npz"))
    assert (forgotten.title, ga.title) == ("Forgotten", "Hurt most by GA")
    worst = ga.examples[0]
    assert (worst.name, worst.origin, worst.predicted) == ("digit_8", "test", "digit_3")
    assert (worst.retrain, worst.unlearned) == pytest.approx((0.9, 0.1), rel=1e-6)  # float32
    assert [round(e.unlearned, 1) for e in ga.examples] == [0.1, 0.7]  # 0.85 is no great loss
    assert len(forgotten.examples) == 2
    assert "taken for digit_3" in page_of(folder)


def test_without_cached_models_the_page_has_no_images(benchmark_of):
    page = page_of(benchmark_of(full_cell()))
    assert "The very images" not in page
    assert "What ran" not in page


def test_near_and_far_shows_the_limit_of_chance_last(benchmark_of):
    fake = bins_by_hand((100, 15, 10), DELTAS, (0.01, 0.02, 0.02))
    grid = of_locality(cells_of(benchmark_of(fake))[0])
    assert grid.headings[:2] == ["retained, most similar (25)", "retained, others (100)"]
    ft, ga = grid.groups[0]
    assert (ga.fields[0].shown.value, ga.fields[0].shown.chance) == ("+32.0 ± 0.0", False)
    assert (ft.fields[0].shown.value, ft.fields[0].shown.chance) == ("+0.6 ± 0.0", True)
    assert grid.groups[1][-1].fields[0].shown.value == "±25.4"


def test_costs_are_compared_with_retraining(benchmark_of):
    fake = full_cell(runs=("ft",))
    fake.costs = []
    fake.add("retrain", "rte", 40.0, 40.0, 40.0)
    fake.add("ft", "rte", 1.0, 2.0, 3.0)
    grid = of_costs(cells_of(benchmark_of(fake))[0])
    assert grid.headings == ["RTE (s)", "of Retrain's RTE", "Phases (s)"]
    [_, ft] = grid.groups[0]
    assert [field.shown.value for field in ft.fields[:2]] == ["2.00 ± 1.00", "5.0 %"]


def test_the_theory_has_its_own_section(benchmark_of, tmp_path):
    theory = tmp_path / "theory"
    (theory / "figures").mkdir(parents=True)
    (theory / "figures" / "synthetic.png").write_bytes(b"png")
    (theory / "figures" / "captions.json").write_text('{"synthetic": "A caption."}')
    (theory / "checks.csv").write_text("identity,error,holds\nprop 3.1,1.23456e-12,True\n")
    page = page_of(benchmark_of(full_cell()), theory=theory)
    assert "A caption." in page
    assert "1.235e-12" in page


def test_the_stage_writes_the_same_page_twice(benchmark_of, tmp_path):
    folder = benchmark_of(full_cell())
    benchmarks = {"digits": {"folder": str(folder), "runs": RUNS, "protocol": "shared"}}
    for name in ("one.html", "two.html"):
        main(["report", "--benchmarks", json.dumps(benchmarks), "--out", str(tmp_path / name)])
    page = (tmp_path / "one.html").read_text(encoding="utf-8")
    assert page == (tmp_path / "two.html").read_text(encoding="utf-8")
    assert "All seeds share one base model" in page
