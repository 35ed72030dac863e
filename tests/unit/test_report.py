"""A benchmark's page: all that findings say, each in its place, and what they could not say."""

import math
import re
import sys
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from fake_results import (
    RUNS,
    FakeCell,
    full_cell,
    read_cell,
    read_cells,
    supports_cell,
    whole_class_cell,
    write_models,
)
from page_reading import TERM, Links, draw, report
from plug_ins import forgotten_after, write_files
from sealing import seal

from collateral.contract.conventions import FILE
from collateral.findings.locality.views import words
from collateral.findings.registry import (
    VIEWS,
    Problem,
    in_page_order,
    read_problems,
    view_function,
    write_problems,
)
from collateral.plots.plot import Panel, Plot
from collateral.plugins.find import FINDING, add_plugins
from collateral.report import forgotten
from collateral.report.forgotten import copies_table, describe_forget_set
from collateral.report.images import build_gallery
from collateral.report.page import as_order, benchmark_part, render, vega_library
from collateral.report.provenance import first_record
from collateral.report.sections import TABS
from collateral.results import layout
from collateral.results.dataset import Labels, Neighbours
from collateral.results.files import InvalidResultError, read_json
from collateral.results.plan import BenchmarkPlan, CellPlan, Sweep
from collateral.results.provenance import write_signed
from collateral.results.split import Split


@pytest.fixture
def benchmark_of(tmp_path):
    """Return a function: fake cells in, the folder of their benchmark out."""

    def build(*cells: FakeCell, **plans: CellPlan):
        folder = tmp_path / "digits"
        read_cells(folder, *cells)
        plan = {cell.name: plans.get("plan", CellPlan()) for cell in cells}
        BenchmarkPlan(RUNS, "matched", plan).save(folder / layout.PLAN)
        return folder

    return build


@pytest.fixture
def plugins(tmp_path):
    with forgotten_after():
        yield tmp_path / "plugins"


def page_of(folder):
    return render(gathered(folder))


def plain(page):
    """Return a page's text without escapes and without the definitions on hover."""
    return unescape(re.sub(TERM, r"\1", page))


def in_tab(cell, name):
    return [one.finding for one in cell.sections if one.place == name]


def gathered(folder):
    """Return what the page shows of a folder, in which all files have their records."""
    for place in (layout.TABLES, layout.FIGURES):
        (folder / place).mkdir(exist_ok=True)
    return benchmark_part(seal(folder))


# The words of locality.


def near_cell(half=0.01, num_seeds=2, **losses) -> FakeCell:
    """Return a cell with GA and FT: near 25 retained examples, far 100.

    The verdict's interval of each near loss is `half` wide on both sides.
    """
    cell = FakeCell()
    seeds = range(num_seeds)
    for run in ("retrain", "ft", "ga"):
        cell.add(run, "ua", *(0.5 for _ in seeds))
    for run, gap in (("ga", 0.031), ("ft", 0.02)):
        near, far = losses[run]
        cell.add_overall(run, "avg_gap", gap)
        cell.add(run, "near_loss", *(near for _ in seeds), set="retain")
        cell.add(run, "far_loss", *(far for _ in seeds), set="retain")
        if num_seeds > 1:
            cell.add_overall(run, "difference_low", near - half, at="near")
            cell.add_overall(run, "difference_high", near + half, at="near")
    for name, count in (("near_count", 25), ("far_count", 100)):
        cell.add_overall("retrain", name, count, "retain")
    return cell


def test_the_words_name_the_method_that_hurts_most(tmp_path):
    cell = read_cell(tmp_path, near_cell(half=0.254, ga=(0.32, 0.01), ft=(0.006, 0.0)))
    assert words(cell) == (
        "GA: an average gap of 3.1 points, but 32.0 points [6.6, 57.4] less accurate than Retrain "
        "on the 25 retained examples most similar to the forgotten ones (20 %) by the base "
        "model's features, against 1.0 points on all others. Open: FT (+0.6 [−24.8, +26.0])."
    )


def test_a_loss_smaller_than_the_gap_is_no_but(tmp_path):
    cell = read_cell(tmp_path, near_cell(half=0.001, ga=(0.03, 0.01), ft=(0.0, 0.0)))
    assert "of 3.1 points, and 3.0 points [2.9, 3.1] less" in words(cell)


def test_an_interval_without_width_is_put_into_words(tmp_path):
    cell = read_cell(tmp_path, near_cell(half=0.0, ga=(0.32, 0.01), ft=(0.006, 0.0)))
    assert "but 32.0 points [32.0, 32.0] less accurate" in words(cell)
    assert words(cell).endswith(" Also less accurate there: FT (0.6).")


def test_a_loss_that_was_not_tested_is_open(tmp_path):
    cell = read_cell(tmp_path, near_cell(half=math.nan, ga=(0.32, 0.01), ft=(-0.5, 0.0)))
    start = "No method is shown to be less accurate than Retrain on the 25 retained"
    assert words(cell).startswith(start)
    assert words(cell).endswith(" Open: GA (+32.0), FT (−50.0).")


def test_what_is_open_is_not_called_equal_and_what_is_equal_not_open(tmp_path):
    fake = near_cell(half=0.3, ga=(0.236, 0.0), ft=(0.004, 0.0))
    fake.add_overall("ft", "within", 1.0, at="near")
    fake.add_overall("ga", "within", 0.0, at="near")
    said = words(read_cell(tmp_path, fake))
    assert said.endswith(
        " Within the margin: FT (+0.4 [−29.6, +30.4]). Open: GA (+23.6 [−6.4, +53.6])."
    )
    assert "chance" not in said


def test_the_words_say_when_nobody_is_hurt(tmp_path):
    cell = read_cell(tmp_path, near_cell(half=0.254, ga=(0.004, 0.0), ft=(-0.5, 0.0)))
    start = "No method is shown to be less accurate than Retrain on the 25 retained"
    assert words(cell).startswith(start)
    assert words(cell).endswith(
        "More accurate than Retrain there: FT (50.0). Open: GA (+0.4 [−25.0, +25.8])."
    )


def test_one_seed_makes_no_claim(tmp_path):
    cell = read_cell(tmp_path, near_cell(num_seeds=1, ga=(0.32, 0.01), ft=(0.0, 0.0)))
    assert words(cell).startswith("One seed, so no noise floor and no claim")
    assert words(cell).endswith("GA's, 32.0 points, and 1.0 points on all others.")


def test_the_words_pass_over_diverged_methods(tmp_path):
    assert "GA" not in words(read_cell(tmp_path, full_cell(diverged=("ga",))))
    alone = read_cell(tmp_path, full_cell(runs=("ga",), diverged=("ga",)))
    assert words(alone).startswith("No method ended well here")


# What is on the page, and where.


def test_the_page_has_every_field_of_every_table(benchmark_of):
    folder = benchmark_of(full_cell("digit_3-50"), full_cell("digit_8-90"))
    part, page = gathered(folder), plain(page_of(folder))
    assert part.problems == []
    tables = [b.table for c in part.cells for one in c.sections for b in one.blocks]
    assert {table.name for table in tables} >= {"main", "affected", "near-and-far", "costs"}
    for table in tables:
        assert table.caption in page
        for line in (line for grid in table.grids for group in grid.groups for line in group):
            for field in line.fields:
                assert f">{field.value}<" in page
                assert f">{field.deviation}<" in page or not field.deviation


def test_findings_follow_each_other_in_their_order_each_in_its_place(benchmark_of):
    [cell] = gathered(benchmark_of(supports_cell())).cells
    names = [section.finding for section in cell.sections]
    order = in_page_order(VIEWS)
    assert names == sorted(names, key=order.index)
    assert in_tab(cell, "neighbours")[0] == "locality"
    assert "gap" in in_tab(cell, "summary")
    assert in_tab(cell, "ablations") == ["support_size"]
    assert "costs" in in_tab(cell, "cost")
    assert [name for name, _, sections in cell.tabs if sections] == [
        name for name in TABS if in_tab(cell, name)
    ]


def test_every_section_is_headed_by_its_title_and_its_answer(benchmark_of, tmp_path):
    page = plain(page_of(benchmark_of(full_cell())))
    _, _, section = page.partition("<h3>Do neighbours lose more?</h3>")
    answer = words(read_cell(tmp_path / "same", full_cell()))
    assert section.lstrip().startswith(f'<p class="words">{answer}</p>')
    assert "<h3>What did each run cost?</h3>" in page


def test_several_cells_are_summed_up_first(benchmark_of):
    folder = benchmark_of(full_cell("digit_3-50"), full_cell("digit_8-50"))
    with (folder / layout.METRICS).open("a") as file:
        file.write(",,,,ft,method,ranked_cells,,avg_gap,2.0,ok\n")
    before, heading, after = page_of(folder).partition("<h2>All cells together</h2>")
    assert heading
    assert "Ranked in" not in before
    assert "2 of 2" in after


def test_a_single_cell_is_not_summed_up(benchmark_of):
    assert "<h2>All cells together</h2>" not in page_of(benchmark_of(full_cell()))


def test_what_holds_for_all_tables_of_a_kind_is_said_once(benchmark_of):
    folder = benchmark_of(full_cell("digit_3-50"), full_cell("digit_8-90"))
    conventions = gathered(folder).conventions
    assert conventions
    page = unescape(re.sub(TERM, r"\1", re.sub("</?code>", "`", page_of(folder))))
    assert [page.count(text) for text in conventions] == [1] * len(conventions)


def test_figures_stand_in_their_findings_with_their_captions(benchmark_of):
    folder = benchmark_of(full_cell())
    drawn = [("locality", "similarity"), ("accuracy", "affected")]
    draw(folder, "digit_3-50", *drawn)
    [cell] = gathered(folder).cells
    assert [
        (one.finding, [p.name for p in one.pictures]) for one in cell.sections if one.pictures
    ] == [
        ("locality", ["similarity"]),
        ("accuracy", ["affected"]),
    ]
    assert page_of(folder).count('<figure class="chart">') == 2


def test_a_figure_follows_the_table_that_it_is_called_after(benchmark_of, monkeypatch):
    labels = {"ft": "1", "ga": "2"}
    sweeps = [Sweep(name, "FT", name, "ft", {"ft": 1, "ga": 2}, labels) for name in ("k", "k-each")]
    folder = benchmark_of(full_cell(), plan=CellPlan(tuple(sweeps)))
    names = ("sweep-k-each-main", "sweep-k-main", "sweep-k", "sweep-other")
    draw(folder, "digit_3-50", *(("sweeps", name) for name in names))
    plots = [Plot(name, "A title", "A caption.", [Panel([])]) for name in names]
    module = sys.modules[view_function("sweeps", "plots").__module__]
    monkeypatch.setattr(module, "plots", lambda cell: plots)
    [cell] = gathered(folder).cells
    [section] = [one for one in cell.sections if one.finding == "sweeps"]
    blocks = {block.table.name: [p.name for p in block.pictures] for block in section.blocks}
    assert blocks == {"sweep-k": ["sweep-k-main", "sweep-k"], "sweep-k-each": ["sweep-k-each-main"]}
    assert [picture.name for picture in section.pictures] == ["sweep-other"]


def test_ablations_are_apart_and_where_there_are_some(benchmark_of):
    fakes = supports_cell(), full_cell("digit_8-90")
    folder = benchmark_of(*fakes)
    draw(folder, "digit_3-50", ("locality", "similarity"), ("support_size", "support-retrain"))
    _, first, second = page_of(folder).split('<section class="cell')
    main, heading, ablations = first.partition('id="cell-digit_3-50/ablations"')
    assert heading
    figure = "figures/digit_3-50/support-retrain.pdf"
    assert figure in ablations and figure not in main
    assert "by similarity to the forget set" in main and "by similarity" not in ablations
    assert "/ablations" not in second


def test_what_uses_retrain_after_the_fact_stands_with_the_table_that_says_so(benchmark_of):
    folder = benchmark_of(supports_cell())
    names = ("support-kl", "support-accuracy", "support-drop", "support-retrain")
    draw(folder, "digit_3-50", *(("support_size", name) for name in names))
    [section] = [one for one in gathered(folder).cells[0].sections if one.place == "ablations"]
    after = {
        block.table.name: [picture.name for picture in block.pictures] for block in section.blocks
    }
    assert after["support-retrain"] == ["support-retrain"]
    assert [picture.name for picture in section.pictures] == [*names[:-1]]


def test_a_finding_of_the_users_own_is_on_the_page(benchmark_of, plugins):
    head = "from collateral.contract.tables import Field, Grid, Line, Table\n"
    grid = '[Grid("Run", ["Luck"], [[Line("FT", [Field("77 %")])]])]'
    add_plugins([write_files(plugins, {
        "findings/luck/__init__.py": '"""Who is lucky?"""\nMETRICS = {}\nORDER = 1\n',
        "findings/luck/views.py": f'{head}def tables(cell):\n    yield Table("luck", "", {grid})\n'
        "def words(cell):\n    return f'Nobody in {cell.name}.'\n",
    })])  # fmt: skip
    folder = benchmark_of(full_cell())
    page = page_of(folder)
    assert page.index("<h3>Luck</h3>") < page.index("<h3>How far is each run from Retrain?</h3>")
    assert '<p class="words">Nobody in digit_3-50.</p>' in page
    assert ">77 %<" in page


# What could not be made.


def test_a_finding_that_raises_is_named_and_the_rest_is_there(benchmark_of, plugins):
    add_plugins([write_files(plugins, {
        "findings/mute/__init__.py": '"""Is it?"""\nMETRICS = {}\n',
        "findings/mute/views.py": "def words(cell):\n    raise KeyError('nothing')\n",
        "findings/lost/__init__.py": '"""Where?"""\nMETRICS = {}\n',
        "findings/lost/views.py": "import nowhere\n",
    })])  # fmt: skip
    folder = benchmark_of(full_cell())
    lost, mute = gathered(folder).problems
    assert (lost.finding, lost.part, lost.cell) == ("lost", "table", "digit_3-50")
    assert lost.error.endswith("views.py', line 1: ModuleNotFoundError: No module named 'nowhere'")
    assert mute == Problem("mute", "words", "digit_3-50", "KeyError: 'nothing'")
    page = page_of(folder)
    assert page.count('role="alert"') == 1
    assert "finding mute: its words in digit_3-50 could not be made: KeyError" in page
    assert "Near and far" in page


def test_an_answer_that_raises_is_named_and_one_of_the_test_set_is_given(benchmark_of, plugins):
    table = "from collateral.findings.columns import plain_table\n\n\ndef tables(cell):\n"
    table += '    yield plain_table(cell, "{0}", "{0}", ["ua"])\n'
    files = {}
    for name, answer in (("astray", ("ua", "nowhere")), ("tested", ("ua", "test"))):
        files[f"findings/{name}/__init__.py"] = f'"""Is it?"""\nMETRICS = {{}}\nANSWER = {answer}\n'
        files[f"findings/{name}/views.py"] = table.format(name)
    add_plugins([write_files(plugins, files)])
    cell = full_cell()
    own = next(row for row in cell.metrics if (row["run"], row["metric"]) == ("ft", "ua"))
    cell.metrics += [
        own | {"run": run, "set": subset, "value": value}
        for subset in ("nowhere", "test")
        for run, value in (("ft", "0.5"), ("ga", "0.25"), ("retrain", "0.5"))
    ]
    folder = benchmark_of(cell)
    assert gathered(folder).problems == [
        Problem("astray", "words", "digit_3-50", "KeyError: 'nowhere'")
    ]
    assert " on test examples is nearest to " in page_of(folder)


def test_what_failed_before_the_page_is_named_on_it_once(benchmark_of):
    folder = benchmark_of(full_cell())
    known = Problem("gap", "numbers", "digit_3-50", "ValueError: <b>")
    for place in ("", layout.TABLES, layout.FIGURES):
        (folder / place).mkdir(exist_ok=True)
        write_problems(folder / place / layout.PROBLEMS, [known])
    assert gathered(folder).problems == [known]
    assert "could not be made: ValueError: &lt;b&gt;" in page_of(folder)


def test_without_a_problem_there_is_no_box(benchmark_of):
    assert 'role="alert"' not in page_of(benchmark_of(full_cell()))


# Any results, any browser.


def test_the_page_loads_nothing_from_elsewhere(benchmark_of):
    folder = benchmark_of(full_cell("digit_3-50"), full_cell("digit_8-90"))
    draw(folder, "digit_3-50", ("locality", "similarity"))
    page = page_of(folder)
    links = Links(page)
    assert links.fetched and all(target.startswith("data:") for target in links.fetched)
    assert len(links.anchors) == len({*links.anchors})
    ours = page.replace(vega_library(), "").replace("https://vega.github.io/schema/", "")
    assert not re.search(r"https?:|@import|url\((?!data:)", ours)


def test_a_cell_may_be_called_as_a_part_of_the_page(benchmark_of):
    fakes = [full_cell(), full_cell("digit_8-90"), full_cell("digit_1-50"), full_cell("digit_2-50")]
    for fake, name in zip(fakes, ("all", "top", "checks", "top-costs"), strict=True):
        fake.name = name
        for row in fake.metrics + fake.costs:
            row["cell"] = name
    anchors = Links(page_of(benchmark_of(*fakes))).anchors
    assert {"top", "cell-all", "cell-top", "cell-top/costs", "cell-top-costs"} <= {*anchors}
    assert len(anchors) == len({*anchors})


def test_what_never_pays_is_sorted_last():
    assert [as_order(value) for value in (2.0, math.inf)] == ["2", "Infinity"]


def test_the_page_leads_to_its_cells_and_back_to_the_index(benchmark_of):
    folder = benchmark_of(full_cell("digit_3-50"), full_cell("digit_8-90"))
    links = Links(page_of(folder))
    _, index, *inside = links.followed
    assert index == "../report.html"
    assert {"#cell-digit_3-50", "#cell-digit_8-90", "#reading"} <= {*inside}
    anchors = [target for target in inside if target.startswith("#")]
    assert {target.removeprefix("#") for target in anchors} <= {*links.anchors}
    files = {"metrics.csv", "costs.csv", "tables/", "figures/", "plan.json", "gates.json"}
    assert {*inside} - {*anchors} >= files


def test_figures_can_be_had_for_print(benchmark_of):
    folder = benchmark_of(full_cell())
    draw(folder, "digit_3-50", ("locality", "similarity"))
    place = "figures/digit_3-50/similarity"
    drawn = [one for one in Links(page_of(folder)).followed if one.startswith("figures/digit")]
    assert drawn == [f"{place}.pdf", f"{place}.png"]


def test_the_page_is_called_after_its_benchmark(benchmark_of):
    page = page_of(benchmark_of(full_cell()))
    found = re.search(r"<h1>(.*?)</h1>", page)[1]
    assert found and f"<title>digits: {found}</title>" in page


@pytest.mark.parametrize(
    "fake",
    [
        full_cell(runs=("ft", "ga")),
        full_cell(num_seeds=1),
        full_cell(diverged=("ga",)),
        full_cell(runs=()),
        whole_class_cell(),
        supports_cell(num_seeds=1),
    ],
    ids=["no control", "one seed", "a diverged run", "no method", "a whole class", "supports"],
)
def test_the_page_works_for(benchmark_of, fake):
    folder = benchmark_of(fake)
    assert gathered(folder).problems == []
    assert ">nan" not in page_of(folder)


def test_a_diverged_run_is_named_in_the_page(benchmark_of):
    assert "diverged (2 of 3 seeds)" in page_of(benchmark_of(full_cell(diverged=("ga",))))


def test_names_are_escaped(benchmark_of):
    fake = full_cell()
    for row in fake.metrics + fake.costs:
        row["class"] = "<script>x"
    page = page_of(benchmark_of(fake))
    assert "<script>x" not in page
    assert "&lt;script&gt;x" in page


# The very images, and what ran.


def test_the_images_hurt_most_come_first(benchmark_of, tmp_path):
    fake = full_cell(num_seeds=2, runs=("ft", "ga"))
    folder = benchmark_of(fake)
    sure = [0.9] * 8
    unsure = [0.9, 0.85, 0.7, 0.1, 0.9, 0.9, 0.9, 0.9]
    write_models(folder, "digit_3-50", {"retrain": sure, "ft": sure, "ga": unsure}, num_seeds=2)
    shown = build_gallery(folder, read_cell(tmp_path / "same", fake))
    [ga], forgotten = shown.hurt, shown.forgotten
    assert (forgotten.title, ga.title, ga.set) == ("Forgotten", "GA", "test")
    worst = ga.examples[0]
    assert (worst.name, worst.origin, worst.predicted) == (
        "digit_8",
        "test",
        "digit_3 in 2 of 2 seeds",
    )
    # Of the sheet, which holds what is shown alone: two hurt ones, then two forgotten ones.
    assert [(example.place, example.nearest) for example in ga.examples] == [(1, 2), (0, 2)]
    assert (shown.count, [example.place for example in forgotten.examples]) == (4, [2, 3])
    # 85 % is no great loss.
    assert [example.change for example in ga.examples] == ["90 → 10 %", "90 → 70 %"]
    assert [(example.name, example.change) for example in forgotten.examples] == [
        ("digit_3", ""),
        ("digit_8", ""),
    ]
    assert "taken for digit_3" in page_of(folder)


def test_missing_pictures_beside_outputs_are_an_error(benchmark_of, tmp_path):
    fake = full_cell(num_seeds=1, runs=("ft",))
    folder, cell = benchmark_of(fake), read_cell(tmp_path / "same", fake)
    assert build_gallery(folder, cell) is None
    write_models(folder, fake.name, {"retrain": [0.9] * 8, "ft": [0.9] * 8}, num_seeds=1)
    for place in (layout.NEIGHBOURS, layout.PICTURES):
        (folder / place.format(cell=fake.name)).unlink()
    with pytest.raises(InvalidResultError):
        build_gallery(folder, cell)


def write_files_and_copies(folder, cell, copies, forget=(0, 2, 5)):
    """Give the examples of `write_models` files, forget some of them, and say who is copied."""
    place = np.arange(8)
    files = [
        {FILE: np.array([f"{top}/<script>{i}.png" for i in place])} for top in ("train", "test")
    ]
    labels = Labels(place % 2, place % 2, ("digit_3", "digit_8"), *files)
    labels.save(folder / layout.LABELS)
    path = folder / layout.NEIGHBOURS.format(cell=cell)
    replace(Neighbours.load(path), copies=np.array(copies, np.int64).reshape(-1, 3)).save(path)
    seal(folder)
    chosen = {"kind": "files", "path": "gone <b>.txt", "sha256": "0"}
    affected = tuple(sorted({index % 2 for index in forget}))
    split = Split(np.array(forget), 8, affected, chosen)
    split.save(folder / layout.SPLIT.format(cell=cell), labels, folder / layout.LABELS)


def test_the_page_says_what_is_forgotten_and_which_exact_copies_stay_behind(benchmark_of):
    folder = benchmark_of(full_cell(num_seeds=1, runs=("ft",)))
    write_models(folder, "digit_3-50", {"retrain": [0.9] * 8, "ft": [0.1] * 8}, num_seeds=1)
    write_files_and_copies(folder, "digit_3-50", [[0, 6, -1], [2, 7, 3]])
    said = gathered(folder).cells[0].forgotten
    assert said.words == (
        "3 of 8 train examples are forgotten: 2 of 4 digit_3, 1 of 4 digit_8. "
        "Chosen by a list of files (path gone <b>.txt). "
        "Forgotten examples with an exact copy among the retained: 1."
    )
    [[line]] = said.copies[0].grids[0].groups
    assert line.label == "train/<script>0.png"
    assert [field.value for field in line.fields] == ["digit_3", "train/<script>6.png", "digit_3"]
    page = page_of(folder)
    assert "train/&lt;script&gt;6.png" in page
    assert '<span class="file">test/&lt;script&gt;' in page
    assert "/<script>" not in page


def test_all_copies_of_a_forgotten_image_are_listed_and_it_counts_once(benchmark_of):
    folder = benchmark_of(full_cell(num_seeds=1, runs=("ft",)))
    write_models(folder, "digit_3-50", {"retrain": [0.9] * 8, "ft": [0.1] * 8}, num_seeds=1)
    write_files_and_copies(folder, "digit_3-50", [[0, 6, -1], [0, 7, -1]])
    said = gathered(folder).cells[0].forgotten
    assert said.words.endswith("with an exact copy among the retained: 1.")
    [lines] = said.copies[0].grids[0].groups
    kept = [line.fields[1].value for line in lines]
    assert kept == ["train/<script>6.png", "train/<script>7.png"]


def test_one_example_is_forgotten(benchmark_of):
    folder = benchmark_of(full_cell(num_seeds=1, runs=("ft",)))
    write_models(folder, "digit_3-50", {"retrain": [0.9] * 8, "ft": [0.9] * 8}, num_seeds=1)
    write_files_and_copies(folder, "digit_3-50", [], forget=(0,))
    said = describe_forget_set(folder, "digit_3-50")
    assert said.words.startswith("1 of 8 train examples is forgotten: 1 of 4 digit_3. ")


def test_classes_that_are_not_named_are_counted_with_their_examples(benchmark_of, monkeypatch):
    monkeypatch.setattr(forgotten, "MOST_CLASSES", 1)
    folder = benchmark_of(full_cell(num_seeds=1, runs=("ft",)))
    write_models(folder, "digit_3-50", {"retrain": [0.9] * 8, "ft": [0.9] * 8}, num_seeds=1)
    write_files_and_copies(folder, "digit_3-50", [], forget=(0, 1, 2, 3, 4))
    said = describe_forget_set(folder, "digit_3-50")
    assert ": 3 of 4 digit_3, 2 in 1 more class. " in said.words


def test_copies_that_are_not_listed_are_counted():
    labels = Labels(np.zeros(200, int), np.zeros(1, int), ("a",))
    pairs = [(index, 100 + index) for index in range(60)]
    [lines] = copies_table(pairs, labels).grids[0].groups
    assert len(lines) == 50
    caption = copies_table(pairs, labels).caption
    assert caption.endswith("There are 60 pairs of copies; 10 more are not listed.")
    assert "listed" not in copies_table(pairs[:50], labels).caption


def test_without_copies_the_page_says_that_none_stays_behind(benchmark_of):
    folder = benchmark_of(full_cell(num_seeds=1, runs=("ft",)))
    write_models(folder, "digit_3-50", {"retrain": [0.9] * 8, "ft": [0.9] * 8}, num_seeds=1)
    write_files_and_copies(folder, "digit_3-50", [])
    said = gathered(folder).cells[0].forgotten
    assert said.words.endswith("with an exact copy among the retained: 0.")
    assert said.copies == []


def test_what_ran_has_the_exact_parameters(benchmark_of):
    folder = benchmark_of(full_cell(num_seeds=1, runs=("ft", "original")))
    write_models(folder, "digit_3-50", {"retrain": [0.9] * 8, "ft": [0.9] * 8}, num_seeds=1)
    base = folder / layout.BASE.format(seed=0)
    write_signed(base / layout.RECORD, {"model": "mlp", "params": {"epochs": 7}}, folder)
    [table] = gathered(folder).cells[0].what_ran
    lines = table.grids[0].groups[0]
    assert [(line.label, [field.value for field in line.fields]) for line in lines] == [
        ("Retrain", ["retrain", "–", "–", "lr=0.1"]),
        ("FT", ["ft", "–", "–", "lr=0.1"]),
        ("Original", ["mlp", "–", "–", "epochs=7"]),
    ]
    assert "Computed with numpy 2." in page_of(folder)


def test_a_folder_of_a_run_without_its_record_is_an_error(benchmark_of, tmp_path):
    fake = full_cell(num_seeds=1, runs=("ft",))
    folder, cell = benchmark_of(fake), read_cell(tmp_path / "same", fake)
    assert first_record(folder, cell, "ft") == {}
    write_models(folder, fake.name, {"retrain": [0.9] * 8, "ft": [0.9] * 8}, num_seeds=1)
    assert first_record(folder, cell, "ft")
    run = folder / layout.run_folder("ft").format(cell=fake.name, seed=0, run="ft")
    (run / layout.RECORD).unlink()
    with pytest.raises(InvalidResultError):
        first_record(folder, cell, "ft")


def test_without_cached_models_the_page_has_neither(benchmark_of):
    page = page_of(benchmark_of(full_cell()))
    assert "Who are they?" not in page
    assert "What ran" not in page


# The stage.


def test_the_stage_writes_the_same_page_twice_its_glance_and_what_it_could_not_show(
    benchmark_of, tmp_path
):
    folder = benchmark_of(full_cell())
    problem = Problem("gap", "numbers", "", "x")
    write_problems(folder / layout.PROBLEMS, [problem])
    for name in ("one", "two"):
        report(folder, tmp_path / name)
    assert (tmp_path / "one/report.html").read_bytes() == (
        tmp_path / "two/report.html"
    ).read_bytes()
    page = (tmp_path / "one/report.html").read_text()
    assert "its own base model and its own Retrain (matched)" in page
    assert read_problems([tmp_path / "one" / layout.REPORT_PROBLEMS]) == [problem]
    glance = read_json(tmp_path / "one" / layout.GLANCE)
    assert glance["problems"] == [str(problem)]
    [cell] = glance["decision"]["cells"]
    assert (cell["name"], cell["title"]) == ("digit_3-50", "digit_3, 50 % forgotten")
    assert f"<h1>{glance['headline']}</h1>" in page


def test_every_finding_that_is_shown_says_where_and_has_a_short_title():
    for name in in_page_order(VIEWS):
        assert FINDING.load(name).PLACE in TABS
        assert 1 < len(FINDING.load(name).TITLE.split()) <= 8
