"""The page in a real browser: it draws, answers clicks, asks for nothing, and anyone can use it."""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest
from expected_pictures import Long
from fake_results import RUNS, full_cell, read_cells, write_models
from made_benchmark import LABELS, PART, Made, compute
from made_benchmark import RUNS as MADE_RUNS
from opened_page import CHROMIUM, OVERLAPS, Opened, marks_by_figure, open_dialog
from page_reading import CHARTS, draw
from sealing import seal

from collateral.findings.registry import VIEWS, in_page_order
from collateral.report.page import benchmark_part, render
from collateral.results import layout
from collateral.results.plan import BenchmarkPlan, CellPlan

METHODS = {run: label for run, label in LABELS.items() if MADE_RUNS[run].kind == "method"}
pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="no chromium: apt install chromium"),
    pytest.mark.slow,
]
HOSTILE = "<script>alert(1)</script>"
PHONE = {"width": 390, "height": 800}
CHARTED = in_page_order(VIEWS)  # the findings that may have plots


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    """A page with a chart, tables, images, and a class that would like to be a script."""
    folder = tmp_path_factory.mktemp("page") / "digits"
    first, second = full_cell("digit_3-50"), full_cell("digit_8-90")
    for row in second.metrics + second.costs:
        row["class"] = HOSTILE
    over_all = {**first.metrics[0], "cell": "", "seed": "", "run": "ga", "kind": "method"}
    first.metrics += [
        over_all | {"set": "", "at": "avg_gap", "metric": name, "value": "2"}
        for name in ("ranked_cells", "lowest_cells")
    ]
    read_cells(folder, first, second)
    plan = {cell.name: CellPlan() for cell in (first, second)}
    BenchmarkPlan(RUNS, "matched", plan).save(folder / layout.PLAN)
    for cell in (first, second):
        draw(folder, cell.name, ("locality", "similarity"))
        hurt = [0.9, 0.85, 0.7, 0.1, 0.9, 0.9, 0.9, 0.9]
        runs = {"retrain": [0.9] * 8, "ft": [0.5] * 8, "ga": hurt, "rl": [0.9] * 8}
        write_models(folder, cell.name, runs, num_seeds=3)
    (folder / layout.TABLES).mkdir(exist_ok=True)
    page = folder / layout.REPORT
    page.write_text(render(benchmark_part(seal(folder))), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def deciding(tmp_path_factory):
    """A page with the picture and the verdicts of a cell."""
    made = Made(cells=(PART,))
    folder = compute(made, made.write(tmp_path_factory.mktemp("page")))
    draw(folder, PART, *CHARTS)
    (folder / layout.TABLES).mkdir()
    page = folder / layout.REPORT
    page.write_text(render(benchmark_part(seal(folder))), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def many_charts(animals, tmp_path_factory):
    """A page with every chart that there is, of numbers that are all unlike."""
    folder = tmp_path_factory.mktemp("page") / animals.root.name
    shutil.copytree(animals.root, folder)
    long = Long(folder)
    for place, source in (("", long.table), *((cell.name, cell.table) for cell in long.cells)):
        found = {finding: long.plots_by(finding, source) for finding in CHARTED}
        draw(folder, place, *((f, plot.name) for f, plots in found.items() for plot in plots))
    (folder / layout.TABLES).mkdir(exist_ok=True)
    page = folder / layout.REPORT
    page.write_text(render(benchmark_part(seal(folder))), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def opened(browser, page_file):
    return Opened(browser, page_file)


def test_nothing_is_said_and_nothing_asked_for(opened):
    opened.all_drawn()
    assert opened.said == []
    assert [url for url in opened.asked if not url.startswith(("file:", "data:"))] == []


def test_a_method_switched_off_is_off_in_every_chart(browser, many_charts):
    """On a page with all charts that there are, and each switch in turn."""
    opened = Opened(browser, many_charts)
    opened.all_drawn()
    figures = opened.tab.locator("figure.chart .plot svg")
    before = {label: marks_by_figure(figures, label) for label in METHODS.values()}
    assert figures.count() == len(before["LTD"]) > 20
    assert sum(count > 0 for count in before["LTD"]) == figures.count()  # it is in every one
    for run, label in METHODS.items():
        switch = opened.tab.locator(f"#methods input[value={run}]")
        switch.evaluate("(one) => one.click()")
        opened.tab.wait_for_timeout(1000)
        assert sum(marks_by_figure(figures, label)) == 0
        keys = opened.tab.locator(f".legend [data-run='{run}']")
        assert keys.count() == keys.and_(opened.tab.locator(".off")).count() > 0
        switch.evaluate("(one) => one.click()")
    opened.tab.wait_for_timeout(1000)
    assert {label: marks_by_figure(figures, label) for label in METHODS.values()} == before


def test_a_heading_sorts_its_table(opened):
    table = opened.tab.locator("figure.table[data-name=main] table").first
    column = "[...arguments[0].tBodies[1].rows].map((row) => +row.cells[1].dataset.order)"
    read = f"(table) => {column.replace('arguments[0]', 'table')}"
    table.locator("thead button.sort").first.click()
    rising = table.evaluate(read)
    table.locator("thead button.sort").first.click()
    assert rising == sorted(rising)
    assert table.evaluate(read) == sorted(rising, reverse=True)


def test_a_row_without_a_number_stays_last_in_both_directions(opened):
    table = opened.tab.locator("figure.table[data-name=main] table").first
    lost = table.evaluate(
        """(table) => {
          const cell = table.tBodies[1].rows[0].cells[1], order = cell.dataset.order;
          delete cell.dataset.order;
          return order;
        }"""
    )
    read = "(table) => [...table.tBodies[1].rows].map((row) => row.cells[1].dataset.order ?? '')"
    for _ in range(2):
        table.locator("thead button.sort").first.click()
        orders = table.evaluate(read)
        assert orders[-1] == "" and "" not in orders[:-1] and len(orders) > 1
    put = "(table, order) => { [...table.tBodies[1].rows].at(-1).cells[1].dataset.order = order; }"
    table.evaluate(put, lost)


def test_a_number_tells_where_it_comes_from(opened):
    cell = opened.tab.locator("section.cell").first
    dialog = open_dialog(opened.tab, cell.locator("button[data-source='ga|ua||']").first)
    said = dialog.inner_text()
    assert "metrics.csv, line" in said
    assert "lr=0.1" in said
    assert said.splitlines()[1].startswith("GA: ")  # the name of the method, not of its run
    assert "collateral verify --deep results/digits" in said
    opened.tab.keyboard.press("Escape")
    assert not dialog.is_visible()


def test_a_number_over_all_cells_tells_where_it_comes_from_too(opened):
    number = opened.tab.locator("#all button[data-source='ga|lowest_cells||avg_gap']").first
    said = open_dialog(opened.tab, number).inner_text()
    opened.tab.keyboard.press("Escape")
    assert "GA: Lowest in (Avg. Gap)" in said
    shown = r"over seeds\s+2 cells \(results/digits/metrics.csv, line \d+: 2\)"
    assert re.search(shown, said)


def test_arrows_go_from_number_to_number_and_the_tab_key_past_them(opened):
    table = opened.tab.locator("section.cell figure.table[data-name=main] table").first
    stops = table.locator("button[data-source][tabindex='0']")
    assert stops.count() == 1
    stops.focus()
    opened.tab.keyboard.press("ArrowDown")
    source = opened.tab.evaluate("document.activeElement.dataset.source")
    assert source.partition("|")[0] in RUNS  # one row below Retrain's, however they are sorted
    assert stops.count() == 1


def test_charts_of_a_tab_wait_until_it_is_chosen(browser, page_file):
    tab = browser.new_page()
    tab.goto(page_file.as_uri())
    tab.wait_for_timeout(500)
    assert tab.locator("section.cell figure.chart .plot svg").count() == 0
    tab.locator("section.cell [role=tab]", has_text="Neighbours").first.click()
    tab.wait_for_selector("section.cell figure.chart .plot svg")
    tab.close()


def test_the_zero_line_is_drawn_in_every_panel_of_the_similarity_chart(opened):
    """Zero in each panel of similarity: its data are not the chart's rows."""
    opened.all_drawn()
    figure = opened.tab.locator("section.cell figure.chart").first
    assert figure.locator("svg .mark-rule line[stroke='#888']").count() == 4


def test_a_table_can_be_saved(opened):
    figure = opened.tab.locator("figure.table[data-name=main]").first
    with opened.tab.expect_download() as download:
        figure.locator("button.csv").click()
    assert download.value.suggested_filename == "digit_3-50-main.csv"
    rows = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    assert {row["run"] for row in rows} >= {"retrain", "ft", "ga"}


def test_the_gallery_shows_one_method_at_a_time(opened):
    gallery = opened.tab.locator(".gallery").first
    shown = gallery.locator(".strip[data-run]:visible")
    assert [strip.get_attribute("data-run") for strip in shown.all()] == ["ft"]
    gallery.locator("select").first.select_option("ga")
    assert [strip.get_attribute("data-run") for strip in shown.all()] == ["ga"]


def test_a_name_stays_text(opened):
    assert HOSTILE in opened.tab.locator("main").inner_text()


def test_the_reader_of_a_link_sees_what_it_leads_to(browser, page_file):
    tab = browser.new_page()
    tab.goto(f"{page_file.as_uri()}#cell-digit_3-50/costs")
    tab.wait_for_selector("[id='cell-digit_3-50/costs'] table", state="visible")
    assert not tab.locator("[id='cell-digit_3-50/locality']").is_visible()
    tab.close()


def test_the_table_that_decides_tells_its_numbers(browser, deciding):
    opened = Opened(browser, deciding)
    number = opened.tab.locator("#decision button[data-source='ga|difference||near_test']")
    assert "line" in open_dialog(opened.tab, number).locator("dd").first.inner_text()
    assert opened.said == []
    opened.tab.close()


def test_drawn_means_are_those_of_the_long_table(browser, deciding):
    opened = Opened(browser, deciding)
    opened.all_drawn()
    marks = opened.tab.locator("svg path[aria-label*='forgetting error:']")
    labels = [one.get_attribute("aria-label") for one in marks.all()]
    drawn = {
        re.search("method: ([^;]+)", text)[1]: float(
            re.search(r"damage: ([+−-][\d.]+)", text)[1].replace("−", "-")
        )
        for text in labels
    }
    values = {}
    with (deciding.parent / layout.METRICS).open(newline="") as file:
        for row in csv.DictReader(file):
            if (row["metric"], row["set"]) == ("damage", "retain") and row["value"]:
                values.setdefault(row["run"], []).append(100 * float(row["value"]))
    for run, label in (("ft", "FT"), ("ga", "GA"), ("ltd", "LTD")):
        assert drawn[label] == pytest.approx(sum(values[run]) / len(values[run]), abs=0.051)
    opened.tab.close()


@pytest.mark.parametrize("width", [1440, 900, 390])
def test_no_two_labels_overlap_at_the_top(browser, deciding, width):
    opened = Opened(browser, deciding, viewport={"width": width, "height": 900})
    opened.tab.evaluate("scrollTo(0, 0)")
    assert opened.tab.evaluate(OVERLAPS) == []
    opened.tab.close()


def test_the_sentence_at_the_top_names_the_marked_row(browser, deciding):
    opened = Opened(browser, deciding)
    sentence = opened.tab.locator("h1").inner_text()
    marked = opened.tab.locator(".best-row th .method").all_inner_texts()
    assert marked == ([] if sentence.startswith("No ") else [sentence.split(" ")[0]])
    opened.tab.close()


def test_the_picture_that_decides_is_drawn(browser, deciding):
    opened = Opened(browser, deciding)
    opened.all_drawn()
    marks = opened.tab.locator("figure.chart svg path[aria-label*='forgetting error:']")
    assert marks.count() == 4  # all runs but RL, which diverged in a seed
    said = marks.first.get_attribute("aria-label")
    for word in ("method: FT", "damage: ", "[", "margin, ±: ", "seeds: 3"):
        assert word in said
    assert opened.said == []
    opened.tab.close()


@pytest.mark.parametrize("look", [{}, {"color_scheme": "dark"}, {"viewport": PHONE}])
@pytest.mark.parametrize("page", ["page_file", "deciding"])
def test_no_barrier_is_serious(browser, request, page, look):
    pytest.importorskip("axe_playwright_python.sync_playwright")
    opened = Opened(browser, request.getfixturevalue(page), **look)
    opened.all_drawn()
    bad = opened.barriers()
    opened.tab.close()
    assert bad == [], json.dumps(bad, indent=1)


def opened_pop_ups(tab) -> list[str]:
    """Return the ids of all pop-ups that are open, of dialogs too."""
    shown = ":popover-open, dialog[open]"
    return tab.evaluate(f"[...document.querySelectorAll('{shown}')].map((one) => one.id)")


@pytest.fixture
def fresh(browser, deciding):
    """A page of one cell with nothing unfolded, as it opens."""
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto(deciding.as_uri())
    yield tab
    tab.close()


# Ways in which a reader opens a pop-up, and the id of what opens.
OPENERS = {
    "main .term": "pop",
    "#decision button.chip": "pop",
    "#decision .term.method": "pop",
    "[popovertarget=glossary]": "glossary",
    "[popovertarget=checks]": "checks",
    "[popovertarget=methods]": "methods",
    "#decision button[data-source]": "provenance",
}


@pytest.mark.parametrize("opener", OPENERS)
def test_a_pop_up_opens_by_key_and_closes_on_escape_and_on_a_jump(fresh, opener):
    button = fresh.locator(opener).first
    for close in (
        lambda: fresh.keyboard.press("Escape"),
        lambda: fresh.evaluate(
            "location.hash = location.hash === '#reading' ? '#top' : '#reading'"
        ),
    ):
        button.focus()
        fresh.keyboard.press("Enter")
        fresh.wait_for_function("document.querySelector(':popover-open, dialog[open]')")
        assert opened_pop_ups(fresh) == [OPENERS[opener]]
        close()
        fresh.wait_for_function("!document.querySelector(':popover-open, dialog[open]')")


@pytest.mark.parametrize("opener", [one for one in OPENERS if OPENERS[one] != "provenance"])
def test_a_pop_up_closes_on_a_click_elsewhere_and_on_a_second_click(fresh, opener):
    button = fresh.locator(opener).first
    button.click()
    assert opened_pop_ups(fresh) == [OPENERS[opener]]
    fresh.mouse.click(4, 880)  # the margin of the page
    assert opened_pop_ups(fresh) == []
    button.click()
    assert opened_pop_ups(fresh) == [OPENERS[opener]]
    button.click()
    assert opened_pop_ups(fresh) == []


def test_one_pop_up_at_a_time_is_open(fresh):
    for opener, name in OPENERS.items():
        fresh.evaluate("(one) => document.querySelector(one).click()", opener)
        fresh.wait_for_function(f"document.querySelector('#{name}:popover-open, #{name}[open]')")
        assert opened_pop_ups(fresh) == [name]


def test_a_pop_up_has_the_text_of_what_opened_it_and_stays_in_the_window(fresh):
    for width, height in ((1280, 900), (390, 844)):
        fresh.set_viewport_size({"width": width, "height": height})
        chips = fresh.locator("#decision button.chip").all()
        assert len(chips) > 1
        for chip in chips:
            chip.scroll_into_view_if_needed()
            chip.click()
            text = fresh.locator("#pop").inner_text()
            assert chip.get_attribute("data-title") in text
            assert chip.get_attribute("data-text") in text
            box = fresh.locator("#pop").bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= width
            assert box["y"] >= 0 and box["y"] + box["height"] <= height
            fresh.keyboard.press("Escape")


def test_the_tab_key_leads_from_a_method_to_what_its_pop_up_links_to(fresh):
    button = fresh.locator("#decision .term.method[data-text]").first
    button.focus()
    fresh.keyboard.press("Enter")
    assert fresh.locator("#pop").inner_text().startswith(button.inner_text())
    if fresh.locator("#pop a").count():
        fresh.keyboard.press("Tab")
        assert fresh.evaluate("document.activeElement.closest('#pop') !== null")


def test_every_term_of_the_page_opens_its_meaning(fresh):
    terms = fresh.locator("main .term:visible").all()
    assert len(terms) > 10
    for term in terms:
        term.focus()
        fresh.keyboard.press("Enter")
        title, text = fresh.locator("#pop > b"), fresh.locator("#pop > p")
        # These made-up methods have no publication; their values are in other tests.
        is_method = "method" in term.get_attribute("class").split()
        assert title.inner_text() and (text.text_content() or is_method)
        fresh.keyboard.press("Escape")


def test_what_to_distrust_is_said_on_the_screen_on_a_phone_and_in_print(browser, deciding):
    amber = [g for g in json.loads((deciding.parent / layout.GATES).read_text())["gates"]]
    names = {gate["name"] for gate in amber if gate["colour"] in ("red", "amber")}
    assert names
    for options, media in (({}, "screen"), ({"viewport": PHONE}, "screen"), ({}, "print")):
        tab = browser.new_page(**options)
        tab.emulate_media(media=media)
        tab.goto(deciding.as_uri())
        assert tab.locator(".distrust").is_visible()
        said = tab.locator(".distrust").inner_text()
        assert said.startswith("Distrust:") and sum(name in said for name in names) == min(
            len(names), 4
        )
        tab.close()


def test_a_phone_needs_no_sideways_scrolling(browser, page_file):
    opened = Opened(browser, page_file, viewport=PHONE)
    width = opened.tab.evaluate("document.documentElement.scrollWidth")
    opened.tab.close()
    assert width <= 390
