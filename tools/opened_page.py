"""A page of results in a real browser, for the tests that look at it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
PATIENCE = 120_000  # milliseconds: the machine may have other work
# Program that returns the pairs of texts at the top of the page that cover one another.
OVERLAPS = """() => {
  const main = document.querySelector("main"), aside = "option, script, [hidden], .hidden";
  const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  const boxes = [], end = document.querySelector("section.cell").getBoundingClientRect().top;
  while (walker.nextNode()) {
    const at = walker.currentNode, text = at.textContent.trim();
    if (!text || at.parentElement.closest(aside)) continue;
    const range = document.createRange();
    range.selectNodeContents(at);
    const shown = [...range.getClientRects()].filter((box) => box.width && box.bottom < end);
    boxes.push(...shown.map((box) => [text, box]));
  }
  const across = (a, b) => a.left < b.right - 1 && b.left < a.right - 1;
  const cross = (a, b) => across(a, b) && a.top < b.bottom - 3 && b.top < a.bottom - 3;
  return boxes.flatMap(([text, a], k) => boxes.slice(k + 1)
    .filter(([, b]) => cross(a, b)).map(([other]) => [text, other]));
}"""


@contextmanager
def launch() -> Iterator[Any]:
    """Start a browser, and close it at the end."""
    with import_module("playwright.sync_api").sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Opened:
    """A page in a tab, and what it said and asked for."""

    def __init__(self, browser: Any, file: Path, **options: Any) -> None:
        """Open the page, with all that is folded or in a tab shown."""
        self.tab = browser.new_page(**options)
        self.tab.set_default_timeout(PATIENCE)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.tab.on("console", lambda one: self.said.append(one.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.goto(file.as_uri())
        self.tab.evaluate(
            "document.querySelectorAll('main details').forEach((d) => { d.open = true; })"
        )
        self.tab.evaluate("document.querySelectorAll('.tab').forEach((t) => { t.hidden = false; })")
        self.tab.locator("figure.chart").first.scroll_into_view_if_needed()
        self.drawn(1)

    def drawn(self, count: int) -> None:
        """Wait for so many charts."""
        self.tab.wait_for_function(
            f"document.querySelectorAll('figure.chart .plot svg').length >= {count}"
        )

    def all_drawn(self) -> None:
        """Wait for all charts."""
        figures = self.tab.locator("figure.chart").all()
        for figure in figures:
            figure.scroll_into_view_if_needed()
        self.drawn(len(figures))

    def barriers(self) -> list[tuple[str, str]]:
        """Return the findings of axe that are serious, each with the first element that has it."""
        axe = import_module("axe_playwright_python.sync_playwright").Axe()
        found = axe.run(self.tab).response["violations"]
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        return [(one["id"], one["nodes"][0]["html"][:200]) for one in serious]


def marks_by_figure(figures: Any, label: str) -> list[int]:
    """Return how many marks of a method each figure has; of LTD's teacher too."""
    marks = f"[aria-label*='method: {label}']"
    return [figures.nth(k).locator(marks).count() for k in range(figures.count())]


def open_dialog(tab: Any, number: Any) -> Any:
    """Click a number; return the dialog that says where it comes from, once it is open."""
    number.click()
    return wait_for_dialog(tab)


def wait_for_dialog(tab: Any) -> Any:
    """Return the dialog that says where a number comes from, once it is open."""
    tab.wait_for_selector("#provenance[open]")
    return tab.locator("#provenance")
