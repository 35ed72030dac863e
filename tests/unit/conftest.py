"""What tests of this folder share: one benchmark, written and computed once."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from long_table import LongTable
from made_benchmark import Made, compute, present
from made_requests import Requests, compute_requests
from page_tree import Element, Shown, read_page, shown_in

from collateral.results import layout
from collateral.results.gates import read_gates


@dataclass(frozen=True)
class Computed:
    """The one benchmark after all stages but the figures: its outputs, its numbers, its page."""

    made: Made
    root: Path
    long: LongTable
    page: Element
    fields: list[Shown]

    @staticmethod
    def read(made: Made, root: Path) -> "Computed":
        """Read what the stages wrote."""
        page = read_page((root / layout.REPORT).read_text(encoding="utf-8"))
        return Computed(made, root, LongTable(root), page, shown_in(page))

    def run_of(self, label: str) -> str:
        """Return the run that tables call so."""
        runs = {text: run for run, text in self.made.plan.labels.items()}
        return {"Retrain": "retrain", "Do nothing": "original", **runs}[label]

    def is_red(self, cell: str) -> bool:
        """Tell whether a check of a cell is red, so that no verdict is given there."""
        gates = read_gates(self.root / layout.GATES)
        return any(gate.cell == cell and gate.colour == "red" for gate in gates)

    def idle_gap(self, cell: str) -> float:
        """Return the average gap of doing nothing, from which every tracked run starts."""
        return self.long.number(cell, "ft", "epoch_avg_gap", "", 0)


@pytest.fixture(scope="session")
def animals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Computed]:
    """The one benchmark; tests read it and change nothing."""
    project = tmp_path_factory.mktemp("made")
    made = Made()
    root = present(compute(made, made.write(project)), layout.TABLES)
    yield Computed.read(made, root)
    shutil.rmtree(project)


@dataclass(frozen=True)
class ComputedRequests:
    """The second benchmark: its outputs, its numbers, and those that there are without Retrain."""

    made: Requests
    root: Path
    long: LongTable
    without: LongTable


@pytest.fixture(scope="session")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComputedRequests]:
    """Requests in rounds, groups and looks; tests read the benchmark and change nothing."""
    project, made = tmp_path_factory.mktemp("requests"), Requests()
    root = compute_requests(made, project)
    yield ComputedRequests(made, root, LongTable(root), LongTable(root / "without"))
    shutil.rmtree(project)
