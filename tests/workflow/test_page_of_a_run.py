"""The page that a real run makes, in a real browser."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from opened_page import CHROMIUM, OVERLAPS, Opened

pytestmark = [
    pytest.mark.workflow,
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="no chromium: apt install chromium"),
]
NUMBER = r"([+−-]?\d+\.\d)"
PHONE = {"width": 390, "height": 800}


@pytest.fixture(scope="module")
def page(finished) -> Path:
    return finished.folder / "results" / "smoke" / "report.html"


@pytest.fixture(scope="module")
def opened(browser, page):
    found = Opened(browser, page)
    found.all_drawn()
    return found


def values_of(page: Path, *place: str) -> dict[str, float]:
    """Return the mean over seeds of a metric in the first cell, in percent, by run."""
    found: dict[str, list[float]] = {}
    with (page.parent / "metrics.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["cell"]]
    for row in (row for row in rows if row["cell"] == rows[0]["cell"] and row["seed"]):
        if (row["metric"], row["set"], row["at"]) == place and row["value"]:
            found.setdefault(row["run"], []).append(100 * float(row["value"]))
    return {run: float(np.mean(values)) for run, values in found.items()}


def drawn_by_method(opened: Opened, kind: str, value: str) -> list[tuple[str, str, float]]:
    """Return label, text and value of each mark of the first cell whose tooltip has `kind`."""
    cell = opened.tab.locator("section.cell").first
    texts = [
        one.get_attribute("aria-label")
        for one in cell.locator(f"svg path[aria-label*='{kind}']").all()
    ]
    found = [(re.search("method: ([^;]+)", t), re.search(rf"{value}: {NUMBER}", t)) for t in texts]
    return [
        (label[1], text, float(number[1].replace("−", "-")))
        for text, (label, number) in zip(texts, found, strict=True)
        if label and number
    ]


def runs_of(page: Path) -> dict[str, str]:
    """Return the runs of methods, by label."""
    labels = json.loads((page.parent / "plan.json").read_text())["labels"]
    return {label: run for run, label in labels.items()}


def test_nothing_is_said_and_nothing_asked_for(opened):
    assert opened.said == []
    assert [url for url in opened.asked if not url.startswith(("file:", "data:"))] == []


def own_marks(figures, label: str, labels: list[str]) -> list[int]:
    """Return how many marks of a method each figure has, without those of longer labels."""
    longer = [one for one in labels if one.startswith(label) and one != label]
    others = "".join(f":not([aria-label*='method: {one}'])" for one in longer)
    marks = f"[aria-label*='method: {label}']{others}"
    return [figures.nth(k).locator(marks).count() for k in range(figures.count())]


def test_every_switch_acts_in_every_chart(opened):
    figures = opened.tab.locator("figure.chart .plot svg")
    switches = opened.tab.locator("#methods input")
    assert figures.count() > 8 and switches.count() > 8
    labels = [one.strip() for one in opened.tab.locator("#methods label").all_text_contents()]
    for place, label in enumerate(labels):
        counts = [own_marks(figures, label, labels)]
        for _ in range(2):  # off and on again before a check can fail: other tests share the tab
            switches.nth(place).evaluate("(one) => one.click()")
            opened.tab.wait_for_timeout(1000)
            counts.append(own_marks(figures, label, labels))
        before, off, after = counts
        assert sum(before) > 0 == sum(off), label
        assert after == before, label


def test_drawn_means_are_those_of_the_long_table(opened, page):
    runs, damages = runs_of(page), values_of(page, "damage", "retain", "")
    marks = drawn_by_method(opened, "; verdict: ", "damage")
    assert len(marks) > 8
    for label, _, value in marks:
        assert value == pytest.approx(damages[runs[label]], abs=0.051), label


def test_drawn_bars_are_differences_of_means_of_the_long_table(opened, page):
    runs = runs_of(page)
    marks = drawn_by_method(opened, "affected; difference: ", "difference")
    assert len(marks) > 20
    for label, text, value in marks:
        name = re.search("of: (..) affected", text)[1].lower()
        means = values_of(page, f"{name}_affected", "", "")
        assert value == pytest.approx(means[runs[label]] - means["retrain"], abs=0.051), text


def test_drawn_epochs_are_means_of_the_long_table(opened, page):
    runs = runs_of(page)
    marks = [m for m in drawn_by_method(opened, "; epoch: ", "mean") if m[0] in runs]
    assert len(marks) > 8
    for label, text, value in marks:
        name = re.search("of: ([^;]+);", text)[1].lower().replace(" ", "_")
        means = values_of(page, f"epoch_{name}", "", re.search("; epoch: ([0-9]+)", text)[1])
        assert value == pytest.approx(means[runs[label]], abs=0.051), text


@pytest.mark.parametrize("width", [1440, 1280, 900, 600, 390])
def test_no_two_labels_overlap_at_the_top_and_nothing_is_wider_than_the_page(browser, page, width):
    found = Opened(browser, page, viewport={"width": width, "height": 900})
    found.tab.evaluate("scrollTo(0, 0)")
    overlaps = found.tab.evaluate(OVERLAPS)
    needed = found.tab.evaluate("document.documentElement.scrollWidth")
    found.tab.close()
    assert overlaps == [] and needed <= width


def test_labels_beside_marks_do_not_overlap(opened):
    """Names in charts on linear and on logarithmic axes."""
    crossing = opened.tab.evaluate(
        """() => [...document.querySelectorAll("figure.chart")].flatMap((figure) => {
          const named = (text) => /^[A-Z]/.test(text.textContent);
          const boxes = [...figure.querySelectorAll(".mark-text text")].filter(named)
            .map((text) => [text.textContent, text.getBoundingClientRect()]);
          const across = (a, b) => a.left < b.right - 2 && b.left < a.right - 2;
          const cross = (a, b) => across(a, b) && a.top < b.bottom - 4 && b.top < a.bottom - 4;
          return boxes.flatMap(([text, a], k) => boxes.slice(k + 1)
            .filter(([, b]) => cross(a, b)).map(([other]) => [text, other]));
        })"""
    )
    assert crossing == []


def test_the_sentence_at_the_top_follows_from_the_table(opened):
    sentence = opened.tab.locator("h1").inner_text()
    marked = opened.tab.locator(".best-row th b").all_inner_texts()
    named = re.match(r"(?:Of the methods [^,]+, )?(?!No )(\S+) is ", sentence)
    assert marked == ([named[1]] if named else [])
    hurt = opened.tab.locator(".decision tr:has(.chip.red) th b").all_inner_texts()
    if len(hurt) <= 3:
        assert [name for name in hurt if name not in sentence] == []


def test_a_saved_table_is_its_tidy_file(opened, page):
    button = opened.tab.locator("figure.table[data-name=main] button.csv").first
    with opened.tab.expect_download() as download:
        button.evaluate("(one) => one.click()")
    saved = Path(download.value.path()).read_text()
    assert saved == (page.parent / "tables/digit_3-50/main.csv").read_text()


@pytest.mark.parametrize("look", [{}, {"color_scheme": "dark"}, {"viewport": PHONE}])
def test_no_barrier_is_serious(browser, page, look):
    pytest.importorskip("axe_playwright_python.sync_playwright")
    found = Opened(browser, page, **look)
    found.all_drawn()
    bad = found.barriers()
    found.tab.close()
    assert bad == [], json.dumps(bad, indent=1)


def test_print_is_two_pages_with_a_legend_and_pictures(browser, page):
    found = Opened(browser, page)
    found.tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    found.tab.wait_for_function("document.querySelectorAll('.brief .brief .plot svg').length > 0")
    margins = dict.fromkeys(("top", "bottom", "left", "right"), "12mm")
    paper = found.tab.pdf(format="A4", margin=margins)
    found.tab.emulate_media(media="print")
    charts = found.tab.locator("figure.chart:visible")
    assert charts.count() == 1 and charts.first.locator(".legend").is_visible()
    thumbs = found.tab.locator("#who .thumb:visible")
    if thumbs.count():
        exact = "(one) => getComputedStyle(one).printColorAdjust"
        assert thumbs.first.evaluate(exact) == "exact"
    found.tab.close()
    assert [int(count) for count in re.findall(rb"/Count (\d+)", paper)] == [2]
