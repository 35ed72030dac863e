"""Draw the small pictures of docs/images from finished results.

    python docs/make_pictures.py methods results/digits   # one panel per method
    python docs/make_pictures.py tour results/digits      # thumbnails of figures; the page's top

The picture of the page needs chromium; the rest needs neither torch nor data.
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from collateral.findings.locality.views import plots
from collateral.plots.names import escape
from collateral.plots.plot import Panel, Series, fit_y
from collateral.plots.print import draw_band, print_style
from collateral.plots.style import COLOURS
from collateral.results.plan import BenchmarkPlan
from collateral.results.table import CellTable, read_tables

IMAGES = Path(__file__).parent / "images"
PANEL = 2  # index of the panel with the confidence of retained examples
COLUMNS = 6
LINEAR, TICKS = 5, (-5, 0, 5, 50)  # percentage points; beyond LINEAR the scale is logarithmic
THUMBNAIL = 420  # width of a thumbnail, in pixels
PAGE = (1440, 900)  # window in which the page is photographed, in pixels
FIGURES = ("similarity", "verdict")
MOST_BYTES = 40_000
MOST_BYTES_OF_PAGE = 200_000


def main() -> None:
    """Draw the pictures that the command line selects."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["methods", "tour"])
    parser.add_argument("results", type=Path, help="the folder of a benchmark")
    args = parser.parse_args()
    cell = first_cell(args.results)
    if args.what == "methods":
        write(draw_methods(cell), IMAGES / "methods.png")
    else:
        for name in FIGURES:
            shrink(
                args.results / "figures" / cell.name / f"{name}.png", IMAGES / f"tour-{name}.png"
            )
        photograph(args.results / "report.html", IMAGES / "tour-page.png")


def first_cell(results: Path) -> CellTable:
    """Return the numbers of a benchmark's first cell."""
    plan = BenchmarkPlan.load(results / "plan.json")
    return read_tables(plan, results / "metrics.csv", results / "costs.csv").cells[0]


@print_style()
def draw_methods(cell: CellTable) -> Figure:
    """Draw the difference from Retrain by similarity, one panel per run."""
    [plot] = plots(cell)
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


def write(fig: Figure, path: Path) -> None:
    """Save a picture with few colours, which makes its file four times smaller."""
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder, path.name)
        fig.savefig(whole, dpi=130)
        save_small(Image.open(whole), path)


def shrink(source: Path, path: Path) -> None:
    """Save a thumbnail of a figure."""
    picture = Image.open(source).convert("RGB")
    height = round(picture.height * THUMBNAIL / picture.width)
    save_small(picture.resize((THUMBNAIL, height), Image.Resampling.LANCZOS), path)


def photograph(page: Path, path: Path) -> None:
    """Save the top of a page."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("make_pictures: no chromium: the page cannot be photographed")
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder, "page.png")
        size = f"--window-size={PAGE[0]},{PAGE[1]}"
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", size, f"--screenshot={shot}"]
        subprocess.run(
            [browser, *options, page.resolve().as_uri()],
            check=True,
            capture_output=True,
            timeout=120,
        )
        save_small(Image.open(shot), path, MOST_BYTES_OF_PAGE)


def save_small(picture: Image.Image, path: Path, most: int = MOST_BYTES) -> None:
    """Save an image with a palette; raise if its file is too large for a repository."""
    path.parent.mkdir(exist_ok=True)
    picture.convert("RGB").quantize(48).save(path, optimize=True)
    if path.stat().st_size > most:
        raise SystemExit(f"make_pictures: {path}: more than {most} bytes; draw less")
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
