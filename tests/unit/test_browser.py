"""The page in a real browser: it draws, answers clicks, asks for nothing, and anyone can use it."""

import json
import re
import shutil
from pathlib import Path

import pytest
from expected_pictures import Long
from fake_results import RUNS, full_cell, read_cells, write_models
from made_benchmark import PART, Made, compute
from page_reading import CHARTS, draw
from sealing import seal
from unlike_benchmark import METHODS, write_unlike

from collateral.findings.registry import in_page_order
from collateral.report.page import benchmark_part, render
from collateral.results import layout
from collateral.results.plan import BenchmarkPlan, CellPlan

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no chromium: apt install chromium")
HOSTILE = "<script>alert(1)</script>"
PHONE = {"width": 390, "height": 800}
CHARTED = in_page_order("plots")  # the findings that have plots
SERIOUS = ("serious", "critical")
PATIENCE = 120_000  # milliseconds: the machine may have other work


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
        for name in ("ranked_cells", "mean_rank")
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
def many_charts(tmp_path_factory):
    """A page with every chart that there is, of numbers that are all unlike."""
    folder = write_unlike(tmp_path_factory.mktemp("page") / "unlike")
    long = Long(folder)
    for place, source in (("", long.table), *((cell.name, cell.table) for cell in long.cells)):
        found = {finding: long.plots_by(finding, source) for finding in CHARTED}
        draw(folder, place, *((f, plot.name) for f, plots in found.items() for plot in plots))
    (folder / layout.TABLES).mkdir(exist_ok=True)
    page = folder / layout.REPORT
    page.write_text(render(benchmark_part(seal(folder))), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Opened:
    """A page in a tab, and what it said and asked for."""

    def __init__(self, browser, file: Path, **options):
        self.tab = browser.new_page(**options)
        self.tab.set_default_timeout(PATIENCE)
        self.said, self.asked = [], []
        self.tab.on("console", lambda one: self.said.append(one.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.goto(file.as_uri())
        self.tab.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        self.tab.locator("figure.chart").first.scroll_into_view_if_needed()
        self.drawn(1)

    def drawn(self, count: int) -> None:
        """Wait for so many charts."""
        self.tab.wait_for_function(
            f"document.querySelectorAll('figure.chart svg').length >= {count}"
        )

    def all_drawn(self) -> None:
        figures = self.tab.locator("figure.chart").all()
        for figure in figures:
            figure.scroll_into_view_if_needed()
        self.drawn(len(figures))


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
    figures = opened.tab.locator("figure.chart svg")
    before = {label: marks_by_figure(figures, label) for label in METHODS.values()}
    assert figures.count() == len(before["LTD"]) > 20
    assert sum(count > 0 for count in before["LTD"]) == figures.count()  # it is in every one
    for run, label in METHODS.items():
        opened.tab.locator(f"#methods input[value={run}]").uncheck()
        opened.tab.wait_for_timeout(1000)
        assert sum(marks_by_figure(figures, label)) == 0
        opened.tab.locator(f"#methods input[value={run}]").check()
    opened.tab.wait_for_timeout(1000)
    assert {label: marks_by_figure(figures, label) for label in METHODS.values()} == before


def marks_by_figure(figures, label: str) -> list[int]:
    """Return how many marks of a method each figure has; of LTD's teacher too."""
    marks = f"[aria-label*='method: {label}']"
    return [figures.nth(k).locator(marks).count() for k in range(figures.count())]


def test_a_heading_sorts_its_table(opened):
    table = opened.tab.locator("figure.table[data-name=main] table").first
    column = "[...arguments[0].tBodies[1].rows].map((row) => +row.cells[1].dataset.order)"
    read = f"(table) => {column.replace('arguments[0]', 'table')}"
    table.locator("thead button").first.click()
    rising = table.evaluate(read)
    table.locator("thead button").first.click()
    assert rising == sorted(rising)
    assert table.evaluate(read) == sorted(rising, reverse=True)


def test_a_number_tells_where_it_comes_from(opened):
    cell = opened.tab.locator("section.cell").first
    cell.locator("button[data-source='ga|ua||']").first.click()
    dialog = opened.tab.locator("#provenance")
    said = dialog.inner_text()
    assert "metrics.csv, line" in said
    assert '{"lr":0.1}' in said
    assert "collateral verify --deep results/digits" in said
    opened.tab.keyboard.press("Escape")
    assert not dialog.is_visible()


def test_a_number_over_all_cells_tells_where_it_comes_from_too(opened):
    opened.tab.locator("#all button[data-source='ga|mean_rank||avg_gap']").first.click()
    said = opened.tab.locator("#provenance").inner_text()
    opened.tab.keyboard.press("Escape")
    assert "Mean rank of ga, avg_gap" in said
    assert re.search(r"over seeds\s+2 \(results/digits/metrics.csv, line \d+\)", said)


def test_arrows_go_from_number_to_number_and_the_tab_key_past_them(opened):
    table = opened.tab.locator("section.cell figure.table[data-name=main] table").first
    stops = table.locator("button[data-source][tabindex='0']")
    assert stops.count() == 1
    stops.focus()
    opened.tab.keyboard.press("ArrowDown")
    source = opened.tab.evaluate("document.activeElement.dataset.source")
    assert source.partition("|")[0] in RUNS  # one row below Retrain's, however they are sorted
    assert stops.count() == 1


def test_charts_of_a_folded_cell_wait_until_it_is_opened(browser, page_file):
    tab = browser.new_page()
    tab.goto(page_file.as_uri())
    tab.wait_for_timeout(500)
    assert tab.locator("section.cell figure.chart svg").count() == 0
    tab.locator("section.cell > details > summary").first.click()
    tab.wait_for_selector("section.cell figure.chart svg")
    tab.close()


def test_what_is_drawn_once_whatever_the_rows_is_drawn(opened):
    """Zero in each panel of similarity: its data are not the chart's rows."""
    opened.all_drawn()
    figure = opened.tab.locator("section.cell figure.chart").first
    assert figure.locator("svg .mark-rule line[stroke='#888']").count() == 4


def test_a_table_can_be_saved(opened):
    figure = opened.tab.locator("figure.table[data-name=main]").first
    with opened.tab.expect_download() as download:
        figure.locator("button.csv").click()
    assert download.value.suggested_filename == "digit_3-50-main.csv"
    rows = Path(download.value.path()).read_text().splitlines()
    assert rows[0].startswith('"Method"')
    assert any(row.startswith('"GA"') for row in rows)


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
    assert tab.locator("[id='cell-digit_3-50/costs']").get_attribute("open") is not None
    tab.close()


def test_the_picture_that_decides_is_drawn_and_its_verdict_tells_its_numbers(browser, deciding):
    opened = Opened(browser, deciding)
    top = opened.tab.locator("section.decision")
    marks = top.locator("figure.chart svg path[aria-label*='forgetting error:']")
    assert marks.count() == 4  # all runs but RL, which diverged in a seed
    said = marks.first.get_attribute("aria-label")
    for word in ("method: FT", "damage: ", "[", "noise floor, ±: ", "seeds: 3"):
        assert word in said
    top.locator("button[data-source='ga|verdict||']").click()
    assert "line" in opened.tab.locator("#provenance dd").first.inner_text()
    assert opened.said == []
    opened.tab.close()


@pytest.mark.parametrize("look", [{}, {"color_scheme": "dark"}, {"viewport": PHONE}])
@pytest.mark.parametrize("page", ["page_file", "deciding"])
def test_no_barrier_is_serious(browser, request, page, look):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    opened = Opened(browser, request.getfixturevalue(page), **look)
    opened.all_drawn()
    found = axe.Axe().run(opened.tab).response["violations"]
    opened.tab.close()
    bad = [(one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in SERIOUS]
    assert bad == [], json.dumps(bad, indent=1)


def test_a_phone_needs_no_sideways_scrolling(browser, page_file):
    opened = Opened(browser, page_file, viewport=PHONE)
    width = opened.tab.evaluate("document.documentElement.scrollWidth")
    opened.tab.close()
    assert width <= 390
