"""The page of a hundred cells, each with all its numbers and charts, is no heavy file."""

from dataclasses import replace

import pytest
from counted_benchmark import CHARTS, write_benchmark
from page_reading import Links

from collateral.report.page import benchmark_part, render

NAMES = [f"c{place}" for place in range(100)]
METHODS = ("ft", "ga", "iu", "rl", "ltd", "salun", "amun", "neighbor")
MOST_BYTES = 20_000_000


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    """Two cells of eight methods and five seeds; one of them a hundred times, by other names."""
    folder = write_benchmark(tmp_path_factory.mktemp("results") / "many", METHODS, NAMES[:2])
    part = benchmark_part(folder)
    return render(replace(part, cells=[replace(part.cells[-1], name=name) for name in NAMES]))


def test_all_cells_are_there_with_all_their_charts(page):
    assert {f"cell-{name}" for name in NAMES} <= {*Links(page).anchors}
    assert page.count('<figure class="chart">') == len(CHARTS) * len(NAMES)


def test_it_is_no_larger_than_twenty_megabytes(page):
    assert len(page.encode()) < MOST_BYTES, len(page.encode())
