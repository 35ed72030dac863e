"""The page of two hundred cells, each with all its numbers and charts, is no heavy file."""

import base64
import re
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from fake_cell import Wrong, table_of
from opened_page import CHROMIUM, launch
from page_reading import CHARTS, Links, draw
from sealing import seal

from collateral.report.page import benchmark_part, render
from collateral.results import layout
from collateral.results.plan import BenchmarkPlan, CellPlan

NAMES = [f"c{place}" for place in range(200)]
METHODS = ("ft", "ga", "iu", "rl", "ltd", "salun", "amun", "neighbor")
MOST_BYTES = 10_000_000
SEEDS = 5
FRACTIONS = ["50 %", "50 %", "90 %"] * 66 + ["50 %"] * 2


def write_cells(folder: Path, names: list[str]) -> Path:
    """Write the numbers of the methods once for every cell, sealed; the later, the worse."""
    runs = {
        run: Wrong(spread(20 + place), spread(3 * place), spread(place), spread(15 + place))
        for place, run in enumerate(("retrain", *METHODS))
    }
    table_of(folder / "single", runs)
    for file in (layout.METRICS, layout.COSTS):
        head, *rows = (folder / "single" / file).read_text().splitlines()
        named = [f"{name},{row.partition(',')[2]}" for name in names for row in rows]
        (folder / file).write_text("\n".join([head, *named, ""]))
    labels = {run: run.upper() for run in METHODS}
    plan = BenchmarkPlan(labels, "matched", {name: CellPlan() for name in names})
    plan.save(folder / layout.PLAN)
    for name in names:
        draw(folder, name, *CHARTS)
    (folder / layout.TABLES).mkdir()
    return seal(folder)


def spread(around: int) -> tuple[int, ...]:
    return tuple(around + seed for seed in range(SEEDS))


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    """Two cells of eight methods and five seeds; one of them 200 times, by other names."""
    part = benchmark_part(write_cells(tmp_path_factory.mktemp("results") / "many", NAMES[:2]))
    cells = [replace(part.cells[-1], name=name) for name in NAMES]
    columns = [
        replace(
            part.decision.cells[-1], name=name, classes=[f"class {k % 4}"], fraction=FRACTIONS[k]
        )
        for k, name in enumerate(NAMES)
    ]
    methods = [replace(row, scores=row.scores[-1:] * len(NAMES)) for row in part.decision.methods]
    decision = replace(part.decision, cells=columns, methods=methods)
    return render(replace(part, cells=cells, decision=decision))


def unpack(text: str) -> str:
    return zlib.decompress(base64.b64decode(text)).decode()


def test_all_cells_are_there_with_all_their_charts(page):
    assert {f"cell-{name}" for name in NAMES} <= {*Links(page).anchors}
    packed = re.findall(r'<script type="text/plain" class="packed">(.*?)</script>', page)
    assert len(packed) == len(NAMES)
    for cell in packed[::50]:
        assert unpack(cell).count('<figure class="chart">') == len(CHARTS)


def test_the_top_is_a_matrix_with_counts_of_verdicts(page):
    top, _, _ = page.partition('<section class="cell')
    assert '<table class="matrix">' in top
    assert top.count('<tr data-classes="') == len(NAMES)
    assert re.search(rf'<span class="chip \w+">{len(NAMES)} [^<]+</span>', top)


def test_it_is_no_larger_than_ten_megabytes(page):
    assert len(page.encode()) < MOST_BYTES, len(page.encode())


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM, reason="no chromium: apt install chromium")
def test_cells_are_filtered_by_class_fraction_and_verdict(page, tmp_path):
    pytest.importorskip("playwright.sync_api")
    (tmp_path / "page.html").write_text(page)
    with launch() as browser:
        tab = browser.new_page()
        tab.goto((tmp_path / "page.html").as_uri())
        of_class, fraction, verdict = tab.locator(".filter select").all()
        rows, sections = (
            tab.locator(f"{one}:not([hidden])") for one in (".matrix tbody tr", "section.cell")
        )
        assert rows.count() == sections.count() == len(NAMES)
        of_class.select_option("class 1")
        assert rows.count() == sections.count() == 50
        fraction.select_option("90 %")
        wanted = [k for k in range(200) if k % 4 == 1 and FRACTIONS[k] == "90 %"]
        assert rows.count() == sections.count() == len(wanted)
        of_class.select_option("")
        assert rows.count() == FRACTIONS.count("90 %")
        verdict.select_option(index=1)
        chosen = verdict.input_value()
        assert rows.count() == rows.filter(has=tab.locator(f"[data-verdict='{chosen}']")).count()
