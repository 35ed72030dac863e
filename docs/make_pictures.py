"""Make the pictures of README and docs, with the code that is here.

    make run                               # results of the default run
    python docs/make_pictures.py           # every picture whose results are there
    python docs/make_pictures.py tour      # only pictures whose names begin so

Pictures of the default run are made from results/, and the numbers behind their captions are kept
in docs/data/default. Pictures of other runs are made from docs/data, or from results/ if these runs
were made here again; else they stay as they are. captions.json keeps the sentence of the page that
each picture shows; `python docs/generate.py` writes it below the picture, and a test compares it
with what the page says now. A picture of a page needs chromium.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd
from generators.atlas import keep_digits, known_parts, plot_digits, plot_public
from generators.results import DATA
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from collateral.config.load import read
from collateral.contract.conventions import FIGURE_WIDTH
from collateral.findings.locality.views import plots as plots_by_similarity
from collateral.plots.names import escape
from collateral.plots.plot import Panel, Plot, Series, fit_y
from collateral.plots.print import draw, draw_band, print_style
from collateral.plots.style import COLOURS
from collateral.plugins.find import FINDING
from collateral.report.board import read_kept
from collateral.report.decision import build_decision
from collateral.report.page import template
from collateral.results import layout
from collateral.results.table import BenchmarkTable, CellTable

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
CAPTIONS = IMAGES / "captions.json"
RESULTS = ROOT / "results"
DEFAULT = next(iter(read(ROOT / "config.yaml").benchmarks))  # benchmark of the default run
KEPT = DATA / "default"
# Findings whose numbers the captions and the table of results need; others are not kept.
NEEDED = ("accuracy", "forget_set", "gap", "gates", "locality", "membership", "rmia", "verdict")
NEEDED_COSTS = ("rte", "rte_share", "rte_share_with_tuning", "tuning_seconds", "paying_deletions")
BY_BIN = ("bin_", "delta_", "epoch_")  # beginnings of the names of numbers that are not kept
PANEL = 2  # index of the panel with the confidence of retained examples
COLUMNS = 6
LINEAR, TICKS = 5, (-5, 0, 5, 50)  # percentage points; beyond LINEAR the scale is logarithmic
DPI = 130
PAGE = (1440, 1180)  # window in which a page is photographed, in pixels
RECORD = (1000, 1300)  # window of a record of a request
MOST_BYTES = 200_000
COLOURS_KEPT = 96  # with half as many, the red of verdicts turns brown


class Missing(Exception):
    """Raised if the results of a picture are not there."""


@dataclass(frozen=True)
class Picture:
    """A picture of a figure: a finding of the first cell, or of the cell that is named."""

    benchmark: str  # folder of docs/data or results/; "" for the default run
    finding: str
    plot: str
    cell: str = ""
    has_sentence: bool = False  # whether the page's sentence on the finding is its caption
    width: float = FIGURE_WIDTH  # text width of the figure, in inches

    def make(self, path: Path) -> None:
        """Draw the figure."""
        cell = self.find_cell(results_of(self.benchmark))
        found = {plot.name: plot for plot in FINDING.load(self.finding, "views").plots(cell)}
        write(draw_figure(found[self.plot], self.width), path)

    def find_cell(self, table: BenchmarkTable) -> CellTable:
        """Return the cell that the picture shows."""
        return next(cell for cell in table.cells if self.cell in ("", cell.name))

    def sentence(self, table: BenchmarkTable) -> str:
        """Return the page's sentence on the finding."""
        words: str = FINDING.load(self.finding, "views").words(self.find_cell(table))
        return words


@dataclass(frozen=True)
class Special:
    """A picture that a function makes, of the default run unless a benchmark is named."""

    make: Callable[[Path], None]
    has_sentence: bool = False
    benchmark: str = ""

    def sentence(self, table: BenchmarkTable) -> str:
        """Return the sentences at the top of the page."""
        headline = template("sentences.html.j2").module.headline
        return " ".join(str(headline(build_decision(DEFAULT, table, ""))).split())


def results_of(benchmark: str) -> BenchmarkTable:
    """Return a benchmark's numbers, from docs/data or results/."""
    folders = [RESULTS / DEFAULT] if not benchmark else [DATA / benchmark, RESULTS / benchmark]
    for folder in folders:
        if (folder / layout.METRICS).is_file():
            return read_kept(folder)
    raise Missing(f"{folders[-1].relative_to(ROOT)} has no results")


def draw_figure(plot: Plot, width: float) -> Figure:
    """Draw a figure as it is printed."""
    return draw(plot, width)


def draw_methods(path: Path) -> None:
    """Draw the difference from Retrain by similarity, one small panel per method."""
    with print_style():
        write(_methods(results_of("field").cells[0]), path)


def _methods(cell: CellTable) -> Figure:
    [plot] = plots_by_similarity(cell)
    panel = plot.panels[PANEL]
    rows = -(-len(panel.series) // COLUMNS)
    fig = Figure(figsize=(7.2, 0.35 + 1.05 * rows), layout="constrained")
    panels = fig.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False)
    for axes in panels.flat[len(panel.series) :]:
        axes.set_axis_off()
    for axes, series in zip(panels.flat, panel.series, strict=False):
        draw_method(axes, panel, series)
    fig.supxlabel("Similarity to the forget set", fontsize=8)
    fig.supylabel("Retrain − unlearned (points)", fontsize=8)
    return fig


def draw_method(axes: Axes, panel: Panel, series: Series) -> None:
    """Draw one run in front of the differences between two retrained models."""
    low, high = fit_y(panel)
    axes.set_yscale("symlog", linthresh=LINEAR)
    axes.set_yticks(TICKS, [f"{tick:+d}".replace("-", "−") if tick else "0" for tick in TICKS])
    axes.set_yticks([], minor=True)
    axes.set(xlim=panel.x.limits, ylim=(min(low, TICKS[0]), max(high, TICKS[-1])))
    for band in panel.bands:
        draw_band(axes, band)
    axes.axhline(0, color="0.4", linewidth=0.6)
    axes.plot(series.x, series.y, color=COLOURS[0], marker="o", markersize=2)
    axes.set_title(escape(series.label), fontsize=8, pad=2)


def draw_digits_atlas(part: str, path: Path) -> None:
    """Draw which digits are hurt by forgetting a share of each other one."""
    write(draw_figure(plot_digits(part), 1.4 * FIGURE_WIDTH), path)


def draw_public_atlas(path: Path) -> None:
    """Draw whom gradient ascent hurts on the paper's public base."""
    write(draw_figure(plot_public("ga"), FIGURE_WIDTH), path)


def photograph_page(path: Path) -> None:
    """Photograph the top of the page of the default run."""
    page = RESULTS / DEFAULT / "report.html"
    if not page.is_file():
        raise Missing(f"{page.relative_to(ROOT)} is not there")
    photograph(page, path, PAGE)


def photograph_record(path: Path) -> None:
    """Make a record of gradient ascent in the last cell of the default run, and photograph it."""
    cell = results_of("").cells[-1].name
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "record")
        words = ["evidence", f"{DEFAULT}/{cell}", "ga", "--seed", "0", "--out", str(out)]
        done = subprocess.run(
            [sys.executable, "-c", "from collateral.cli import main; main()", *words],
            check=False,
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise Missing(done.stderr.strip().splitlines()[-1])
        photograph(out / "evidence.html", path, RECORD)


def photograph(page: Path, path: Path, window: tuple[int, int]) -> None:
    """Save the top of a page."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise Missing("there is no chromium")
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder, "page.png")
        size = f"--window-size={window[0]},{window[1]}"
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", size, f"--screenshot={shot}"]
        subprocess.run(
            [browser, *options, page.resolve().as_uri()],
            check=True,
            capture_output=True,
            timeout=120,
        )
        save_small(Image.open(shot), path)


# Every picture of docs/images that this script makes, by file name without .png.
PICTURES: dict[str, Picture | Special] = {
    "tour-page": Special(photograph_page, has_sentence=True),
    "tour-similarity": Picture("", "locality", "similarity", has_sentence=True),
    "tour-verdict": Picture("", "verdict", "verdict", has_sentence=True),
    "evidence": Special(photograph_record),
    "methods": Special(draw_methods, benchmark="field"),
    "field-resurface": Picture("field", "probe", "resurface", "digit_8-90"),
    "digits-threshold": Picture("ablations", "sweeps", "sweep-threshold-standard", "digit_3-50"),
    "digits-epochs": Picture("ablations", "epochs", "epochs", "digit_3-50"),
    "mnist-classes-shared": Picture("mnist", "classes", "classes"),
    "mnist-classes-matched": Picture("mnist_matched", "classes", "classes"),
    "atlas-public-ga": Special(draw_public_atlas),
    **{
        f"atlas-digits-{part}": Special(partial(draw_digits_atlas, part))
        for part in known_parts(RESULTS)
    },
    "cifar-small-similarity-90": Picture("cifar-small", "locality", "similarity", "couch-90"),
    "cifar-small-trajectory-50": Picture("cifar-small", "trajectory", "trajectory", "couch-50"),
    "cifar-small-trajectory-90": Picture("cifar-small", "trajectory", "trajectory", "couch-90"),
    "cifar-more-trajectory-90": Picture("cifar-more", "trajectory", "trajectory", "couch-90"),
    "cifar-teacher-noise": Picture("cifar-teacher", "sweeps", "teacher-noise", "couch-50"),
}


def keep_numbers() -> None:
    """Keep the numbers of the default run that captions and tables of docs need."""
    source = RESULTS / DEFAULT
    known = {name for finding in NEEDED for name in FINDING.load(finding).METRICS}
    wanted = {name for name in known if not name.startswith(BY_BIN)} | {"mia"}
    KEPT.mkdir(exist_ok=True)
    shutil.copyfile(source / layout.PLAN, KEPT / layout.PLAN)
    for file, names in ((layout.METRICS, wanted), (layout.COSTS, {*NEEDED_COSTS})):
        rows = pd.read_csv(source / file, dtype=str, keep_default_na=False)
        is_kept = rows["metric"].isin(names) & ~rows["run"].map(layout.is_sweep)
        rows[is_kept].to_csv(KEPT / file, index=False, lineterminator="\n")


def current_sentences() -> dict[str, str]:
    """Return the sentence of each picture of the default run by the present code."""
    table = read_kept(KEPT)
    return {name: one.sentence(table) for name, one in PICTURES.items() if one.has_sentence}


def write(figure: Figure, path: Path) -> None:
    """Save a figure with few colours, which makes its file four times smaller."""
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder, path.name)
        with print_style():
            figure.savefig(whole, dpi=DPI)
        save_small(Image.open(whole), path)


def save_small(picture: Image.Image, path: Path) -> None:
    """Save an image with few colours; raise if its file is too large for a repository."""
    path.parent.mkdir(exist_ok=True)
    # An octree keeps rare colours, such as the green of the one method that is like Retrain.
    few = picture.convert("RGB").quantize(COLOURS_KEPT, method=Image.Quantize.FASTOCTREE)
    few.save(path, optimize=True)
    if path.stat().st_size > MOST_BYTES:
        raise SystemExit(f"make_pictures: {path}: more than {MOST_BYTES} bytes; draw less")
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


def main() -> None:
    """Make the pictures that the command line names; all by default."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=[""], help="beginnings of names; default: all")
    names = tuple(parser.parse_args().names)
    chosen = {name: one for name, one in PICTURES.items() if name.startswith(names)}
    sentences = json.loads(CAPTIONS.read_text(encoding="utf-8")) if CAPTIONS.exists() else {}
    if (RESULTS / DEFAULT / layout.METRICS).is_file():
        keep_numbers()
    keep_digits(RESULTS)
    for name, picture in chosen.items():
        try:
            picture.make(IMAGES / f"{name}.png")
        except Missing as error:
            print(f"docs/images/{name}.png stays: {error}")
            continue
        if picture.has_sentence:
            sentences[name] = picture.sentence(read_kept(KEPT))
    CAPTIONS.write_text(json.dumps(sentences, indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
