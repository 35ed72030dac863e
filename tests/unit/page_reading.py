"""Figures for a page, the stage that writes it, and what a browser finds in it."""

import shutil
from html.parser import HTMLParser
from pathlib import Path

from drive import run_stage
from PIL import Image
from sealing import seal

from collateral.jobs.report import ReportJob
from collateral.results import layout
from collateral.results.files import write_json

# Figures of which the page has a chart: the finding, and the name.
CHARTS = (("verdict", "verdict"), ("locality", "similarity"), ("accuracy", "affected"))
# A term of a text, which opens its definition.
TERM = r"<button[^>]*class=.term[^>]*>(.*?)</button>"


def draw(folder: Path, cell: str, *figures: tuple[str, str]) -> None:
    """Write small figures and their captions, as the stage does; each is (finding, name)."""
    place = folder / layout.FIGURES / cell
    place.mkdir(parents=True, exist_ok=True)
    for _, name in figures:
        Image.new("L", (1350, 20)).save(place / f"{name}.png")
    captions = [{"finding": f, "name": n, "caption": f"About {n}."} for f, n in figures]
    write_json(place / layout.CAPTIONS, captions)


def report(folder: Path, out: Path) -> None:
    """Write the page of a benchmark, and copy what goes with it into a folder."""
    for place in (layout.TABLES, layout.FIGURES):
        (folder / place).mkdir(exist_ok=True)
    seal(folder)
    run_stage(ReportJob, folder, cells=[path.parent.name for path in folder.glob("*/pictures.npz")])
    out.mkdir(parents=True, exist_ok=True)
    for name in (layout.REPORT, layout.GLANCE, layout.REPORT_PROBLEMS):
        if out != folder:
            shutil.copy(folder / name, out / name)


class Links(HTMLParser):
    """What a browser would fetch, where a click leads, and the anchors of the page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.followed: list[str] = []
        self.anchors: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Sort what the attributes of a tag name."""
        for name, value in attrs:
            if name in ("src", "href", "srcset", "data", "action"):
                (self.followed if tag == "a" else self.fetched).append(value or "")
            if name == "id":
                self.anchors.append(value or "")
