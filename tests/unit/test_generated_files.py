"""The files that docs/generate.py writes are up to date."""

import csv
import sys
from statistics import fmean

import generate
import pytest
from generators.claims import RESULTS
from generators.results import find_results, kept_results
from markdown_reading import ROOT

from collateral.report.board import read_kept

REPAIR = "run `python docs/generate.py`"
GRAPH = "docs/images/workflow.svg"


@pytest.mark.parametrize("file", generate.FILES)
def test_a_generated_file_is_up_to_date(file):
    if file == GRAPH:
        pytest.importorskip("snakemake")
        pytest.importorskip("torch")
    is_stale = (ROOT / file).read_text(encoding="utf-8") != generate.FILES[file]()
    assert not is_stale, f"{file} is stale: {REPAIR}"


def test_the_generated_files_are_found():
    expected = {"docs/methods.md", "docs/config.md", "docs/results.md", GRAPH}
    assert expected < generate.FILES.keys()


def test_every_set_of_results_in_the_docs_has_a_column_of_claims():
    # Of the default run docs keep no sweeps and bins, which claims need.
    assert {folder.name for folder in kept_results()} == {*RESULTS, "default"}
    assert len(RESULTS) >= 6


def test_the_table_of_results_has_every_method_of_every_kept_benchmark():
    found = find_results()
    cells = {result.cell for result in found}
    assert len(found) == len({(*result.cell, result.method) for result in found}) >= 76
    for folder in kept_results():
        if not (folder / "metrics.csv").is_file():  # the theory
            continue
        with (folder / "metrics.csv").open() as file:
            rows = {(row["cell"], row["run"], row["kind"]) for row in csv.DictReader(file)}
        runs = {(cell, run) for cell, run, kind in rows if kind == "method" and cell}
        plain = {(cell, run) for cell, run in runs if "@" not in run}
        benchmark = read_kept(folder)
        shown = {(c.name, run) for c in benchmark.cells for run in c.runs("method")}
        assert plain == shown, folder.name
        assert {cell for cell, _ in plain} <= {forget_set for _, forget_set, _ in cells}


def test_the_table_of_results_has_the_numbers_of_the_long_table():
    [result] = [
        one
        for one in find_results()
        if one.cell == ("cifar100 (20 classes), resnet14", "couch-90", -3) and one.method == "GA"
    ]
    with (generate.DOCS / "data/cifar-small/metrics.csv").open() as file:
        rows = [
            row for row in csv.DictReader(file) if (row["cell"], row["run"]) == ("couch-90", "ga")
        ]
    means = {
        key: fmean(
            float(row["value"]) for row in rows if (row["metric"], row["set"], row["at"]) == key
        )
        for key in (("near_loss", "retain", ""), ("near_loss", "test", ""), ("avg_gap", "", ""))
    }
    assert [result.near, result.near_test, result.gap] == pytest.approx([*means.values()])
    assert result.near > result.near_test > 0.05


def test_a_stale_file_is_named_by_a_check_and_written_without(tmp_path, monkeypatch, capsys):
    (tmp_path / "page.md").write_text("old")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "FILES", {"page.md": lambda: "new"})
    outcomes = []
    for words in (["--check"], ["other.md", "--check"], [], ["--check"]):
        monkeypatch.setattr(sys, "argv", ["generate.py", *words])
        with pytest.raises(SystemExit) as ended:
            generate.main()
        first = capsys.readouterr().out.splitlines()[0]
        outcomes.append((ended.value.code, first, (tmp_path / "page.md").read_text()))
    assert outcomes == [
        (1, "page.md: stale", "old"),
        (0, "0 of 0 files were up to date", "old"),
        (0, "page.md: written", "new"),
        (0, "1 of 1 files were up to date", "new"),
    ]
