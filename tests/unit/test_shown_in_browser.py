"""What a browser makes of the page: tables that are saved, the dialog of a number, print."""

import re
import shutil
from pathlib import Path

import pytest
from opened_page import CHROMIUM, PATIENCE, wait_for_dialog
from page_reading import CHARTS, draw
from sealing import seal

from collateral.contract.metrics import DIGITS
from collateral.findings.metric_index import find_metric
from collateral.report import page
from collateral.report.page import benchmark_part, render
from collateral.results import layout

pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="no chromium: apt install chromium"),
    pytest.mark.slow,
]
# What only a screen needs: the rail, what is clicked, and what is said only after a click.
ON_SCREEN = (
    "nav, .skip, .csv, .gallery form, .gallery .none, .files, dialog, script, style, #print-all, "
    "[role=tablist], #who option, #who .hurt[hidden], [popover], template, .on-screen"
)


@pytest.fixture(scope="module")
def tab(browser, animals):
    opened = browser.new_page()
    opened.set_default_timeout(PATIENCE)
    opened.goto((animals.root / layout.REPORT).as_uri())
    opened.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    return opened


def test_a_saved_table_is_the_tidy_file_of_the_table(animals, tab):
    buttons = tab.locator("figure.table > button.csv")
    count = buttons.count()
    assert count > 20
    for k in range(0, count, 9):
        with tab.expect_download() as download:
            name, cell = buttons.nth(k).evaluate(
                "(one) => { one.click(); return [one.parentElement.dataset.name,"
                " one.closest('[data-cell]')?.dataset.cell ?? '']; }"
            )
        assert download.value.suggested_filename == f"{cell}-{name}.csv".removeprefix("-")
        tidy = animals.root / layout.TABLES / cell / f"{name}.csv"
        assert Path(download.value.path()).read_text() == tidy.read_text()


def told(tab, button):
    """Click a number; return the title of the dialog and what it lists."""
    button.evaluate("(one) => one.click()")  # also in a tab that is not shown
    dialog = wait_for_dialog(tab)
    title = dialog.locator("h2").inner_text()
    terms, texts = (dialog.locator(f"div > dl {tag}").all_inner_texts() for tag in ("dt", "dd"))
    records = dialog.locator("summary").all_inner_texts()
    commands = dialog.locator("pre").all_inner_texts()
    dialog.evaluate("(one) => one.close()")
    return title, dict(zip(terms, texts, strict=False)), records, commands


@pytest.mark.parametrize("cell", ["ox-50", "zebra-100", "withdrawn"])
@pytest.mark.parametrize("source", ["ga|ua||", "ltd|near_loss|test|", "rl|rte||", "ltd|avg_gap||"])
def test_a_click_tells_the_lines_and_values_of_a_number(animals, tab, cell, source):
    section = tab.locator(f"section.cell[data-cell='{cell}']")
    button = section.locator(f"button[data-source='{source}']").first
    title, listed, records, commands = told(tab, button)
    run, metric, of, at = source.split("|")
    unit, label = find_metric(metric), animals.made.plan.labels[run]
    examples = {"": "", "test": ", test examples"}[of]
    assert title == f"{label}: {unit.label}{examples}"
    for row in animals.long.places(cell, run, metric, of, at):
        name = f"seed {row.seed}" if row.seed else "over seeds"
        value = float(f"{float(row.value):.4g}") if row.value else "undefined"
        text = listed[name]
        shown, _, place = text.partition(" (")
        if value == "undefined":
            assert (shown, place) == (value, f"results/animals/{row.file}, line {row.line})")
            continue
        number, _, of_unit = shown.partition(" ")
        assert of_unit == unit.unit
        digits = DIGITS[unit.unit] if unit.digits is None else unit.digits
        assert number == f"{unit.factor * value:.{digits}f}".replace("-", "−")
        start, _, stored = place.rpartition(": ")
        assert start == f"results/animals/{row.file}, line {row.line}"
        assert float(stored.removesuffix(")")) == value
    paths = [
        f"results/animals/{animals.made.folder_of(cell, run, s)}/record.json"
        for s in animals.made.seeds
    ]
    assert records == [
        f"seed {s}: {path}" for s, path in zip(animals.made.seeds, paths, strict=True)
    ]
    assert commands[-1].endswith(f"{' '.join(paths)} -- results/animals/{cell}/metrics.csv")


def test_a_number_over_all_cells_tells_each_of_them(animals, tab):
    button = tab.locator("#all button[data-of='*']").first
    source = button.get_attribute("data-source")
    _, listed, _, _ = told(tab, button)
    wanted = {
        f"{cell}, seed {row.seed}": row
        for cell in animals.made.cells
        for row in animals.long.places(cell, *source.split("|"))
    }
    assert set(listed) >= set(wanted) and len(wanted) == 9
    for name, row in wanted.items():
        assert f"{row.file}, line {row.line}" in re.split("[:)]", listed[name])[0]


# Print.

HIDDEN = """(of) => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const at = walker.currentNode, element = at.parentElement;
    if (!at.textContent.trim() || element.closest(of)) continue;
    const range = document.createRange();
    range.selectNode(at);
    const box = range.getBoundingClientRect(), style = getComputedStyle(element);
    const isSeen = box.width && box.height && style.visibility === "visible";
    if (!isSeen) found.push(at.textContent.trim());
  }
  return found;
}"""


@pytest.fixture(scope="module")
def charted(animals, tmp_path_factory):
    """The page of the same benchmark with charts in each cell."""
    root = tmp_path_factory.mktemp("charted") / animals.root.name
    shutil.copytree(animals.root, root)
    for cell in animals.made.cells:
        draw(root, cell, *CHARTS)
    page = root / layout.REPORT
    page.write_text(render(benchmark_part(seal(root))), encoding="utf-8")
    return page


@pytest.fixture(scope="module", params=["light", "dark"])
def printed(request, browser, charted):
    """The page as it is printed, on paper as wide as A4 within its margins."""
    opened = browser.new_page(viewport={"width": 718, "height": 1000}, color_scheme=request.param)
    opened.goto(charted.as_uri())
    opened.emulate_media(media="print", color_scheme=request.param)
    opened.evaluate("document.documentElement.classList.add('print-all')")
    opened.evaluate("dispatchEvent(new Event('beforeprint'))")
    yield opened
    opened.close()


def test_every_printed_chart_has_a_legend(printed):
    charts = printed.locator("figure.chart").all()
    assert len(charts) > 3
    assert all(one.locator(".legend").is_visible() for one in charts)
    assert all(one.locator(".legend li").count() for one in charts)


def test_a_brief_of_two_pages_is_printed_unless_everything_is_wanted(browser, charted):
    opened = browser.new_page()
    opened.set_default_timeout(PATIENCE)
    opened.goto(charted.as_uri())
    opened.evaluate("dispatchEvent(new Event('beforeprint'))")
    opened.wait_for_function("document.querySelectorAll('.brief .brief .plot svg').length > 0")
    paper = opened.pdf(
        format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), "12mm")
    )
    opened.emulate_media(media="print")
    shown = opened.locator("figure.chart:visible")
    assert shown.count() == 1 and shown.first.locator(".legend").is_visible()
    assert opened.locator("table.decision").is_visible()
    assert [int(count) for count in re.findall(rb"/Count (\d+)", paper)] == [2]
    opened.close()


def test_all_that_the_page_says_is_printed(printed):
    assert printed.evaluate(HIDDEN, ON_SCREEN) == []


def test_what_only_a_screen_needs_is_not_printed(printed):
    buttons = ("[role=tablist]", "#print-all", ".csv", ".gallery form")
    for selector in ("nav", *buttons, ".files", "#methods", "dialog", ".on-screen"):
        assert not any(one.is_visible() for one in printed.locator(selector).all()), selector


def test_every_image_of_every_method_is_printed(printed, animals):
    strips = printed.locator(".strip").all()
    assert len(strips) > 3 * len(animals.made.cells)
    assert all(one.is_visible() for one in strips)


def test_print_is_black_on_white(printed):
    ink, paper = printed.evaluate(
        "['color', 'backgroundColor'].map((name) => getComputedStyle(document.body)[name])"
    )
    assert (ink, paper) == ("rgb(0, 0, 0)", "rgb(255, 255, 255)")


def test_nothing_is_cut_off_at_the_edge_of_a_box(printed):
    overflows = printed.locator(".scroll, .strip ol").evaluate_all(
        "(boxes) => boxes.map((box) => getComputedStyle(box).overflowX)"
    )
    assert set(overflows) == {"visible"}


def test_a_cell_begins_on_a_new_page_and_a_table_is_on_one(printed):
    begins = printed.evaluate(
        "[...document.querySelectorAll('section.cell')].map((c) => getComputedStyle(c).breakBefore)"
    )
    assert begins[1:] == ["page"] * (len(begins) - 1) and len(begins) == 3
    inside = printed.evaluate(
        "[...document.querySelectorAll('figure')].map((c) => getComputedStyle(c).breakInside)"
    )
    assert set(inside) == {"avoid"}


PLACES = ("near", "near_test")
BLIND = "Do not trust this number as a sign of harm: on digits, it is blind to damage."
FEW = "Not judged: too few values."
DOUBT = "Do not trust this number as a sign of forgetting: on digits, it is fooled."


@pytest.fixture(scope="module")
def doubted(browser, animals):
    """The page if two numbers are not to be trusted, MIA only with another, and one not judged."""
    link = {"link": "../../docs/which-number.md"}
    doubts = {
        "ua|": {"text": DOUBT, "grey": True, **link},
        "mia|": {"text": "Use this number only with Probe.", "grey": False, **link},
        "near_loss|retain": {"text": BLIND, "grey": True, **link},
        "avg_gap|": {"text": FEW, "grey": False, "unjudged": True, **link},
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "read_doubts", lambda: doubts)
        file = animals.root / "doubted.html"
        file.write_text(render(benchmark_part(seal(animals.root))), encoding="utf-8")
    opened = browser.new_page()
    opened.set_default_timeout(PATIENCE)
    opened.goto(file.as_uri())
    yield opened
    file.unlink()


def test_a_number_that_is_not_to_be_trusted_is_grey_and_says_why(doubted):
    numbers = doubted.locator("button[data-source*='|ua|']")
    colours = {
        metric: {
            one.evaluate("(one) => getComputedStyle(one).color")
            for one in doubted.locator(f"button[data-source$='|{metric}||']").all()[:5]
        }
        for metric in ("ua", "mia", "ta")
    }
    assert numbers.count() > 5 and all(colours.values())
    assert not colours["ua"] & colours["ta"]
    assert colours["mia"] & colours["ta"]
    for metric, text in (("ua", DOUBT), ("mia", "Use this number only with Probe."), ("ta", "")):
        doubted.locator(f"button[data-source$='|{metric}||']").first.evaluate(
            "(one) => one.click()"
        )
        dialog = wait_for_dialog(doubted)
        links = dialog.locator("a[href$='which-number.md']")
        assert links.count() == bool(text)
        assert text in dialog.inner_text()
        if text:
            assert links.first.inner_text() == "See docs/which-number.md."
        dialog.evaluate("(one) => one.close()")


def style_of(button, name):
    return button.evaluate(f"(one) => getComputedStyle(one).{name}")


def test_what_is_wrong_with_a_number_is_said_of_its_differences_in_the_decision_table(doubted):
    decision = doubted.locator("#decision")
    kept, new = (decision.locator(f"button[data-source$='|difference||{at}']") for at in PLACES)
    assert kept.count() > 5 and kept.count() == new.count()
    assert {style_of(one, "color") for one in kept.all()} == {
        style_of(doubted.locator("button[data-source$='|ua||']").first, "color")
    }
    assert not {style_of(one, "color") for one in [kept.first]} & {style_of(new.first, "color")}
    for button, text in ((kept.first, BLIND), (new.first, "")):
        button.evaluate("(one) => one.click()")
        dialog = wait_for_dialog(doubted)
        assert (BLIND in dialog.inner_text()) == bool(text)
        dialog.evaluate("(one) => one.close()")


def test_a_number_that_was_not_judged_is_italic_and_says_why(doubted):
    gap = doubted.locator("button[data-source$='|avg_gap||']").first
    assert style_of(gap, "fontStyle") == "italic"
    assert style_of(gap, "color") == style_of(
        doubted.locator("button[data-source$='|ta||']").first, "color"
    )
    assert style_of(doubted.locator("button[data-source$='|ua||']").first, "fontStyle") == "normal"
    gap.evaluate("(one) => one.click()")
    dialog = wait_for_dialog(doubted)
    assert FEW in dialog.inner_text()
    dialog.evaluate("(one) => one.close()")
