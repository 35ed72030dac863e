"""Where the numbers of the page come from."""

import re
from itertools import accumulate

import pytest
from fake_results import RUNS, full_cell, read_cell, read_cells, whole_class_cell, write_models

from collateral.contract.tables import Field, Grid, Line, Source, Table
from collateral.plugins.find import FINDING
from collateral.report.provenance import index_rows, list_sources, provenance
from collateral.results import layout

UA = Source("ga", "ua")


def said_of(tmp_path, *sources):
    folder = tmp_path / "digits"
    fake = full_cell(num_seeds=2, runs=("ga",))
    read_cells(folder, fake)
    write_models(folder, fake.name, {"retrain": [0.9] * 8, "ga": [0.9] * 8}, num_seeds=2)
    fields = [Field("x", source=source) for source in sources]
    tables = [Table("t", "", [Grid("", ["a"], [[Line("GA", fields), Line("", [Field("")])]])])]
    cell = read_cell(tmp_path / "same", fake)
    return folder, provenance(folder, cell, list_sources(tables), index_rows(folder))


def by_seed(said, source):
    """Return line and value of every seed."""
    rows = said["numbers"][source]
    lines = accumulate(step for _, _, step, _ in rows)
    return {seed: (line, value) for (_, seed, _, value), line in zip(rows, lines, strict=True)}


def test_a_number_has_its_file_its_line_and_what_stands_there(tmp_path):
    folder, said = said_of(tmp_path, UA)
    lines = (folder / layout.METRICS).read_text().splitlines()
    for seed in ("0", "1"):
        line, value = by_seed(said, "ga|ua||")[seed]
        row = lines[line - 1].split(",")
        assert (row[3], row[4], row[6]) == (seed, "ga", "ua")
        assert value == float(f"{float(row[9]):.4g}")


def test_a_run_has_its_record_of_every_seed(tmp_path):
    _, said = said_of(tmp_path, UA)
    run = said["runs"]["ga"]
    assert run["about"]["params"] == {"lr": 0.1}
    assert {seed: of["place"] for seed, of in run["seeds"].items()} == {
        "0": "digit_3-50/seed-0/ga/record.json",
        "1": "digit_3-50/seed-1/ga/record.json",
    }
    assert re.fullmatch("[0-9a-f]{12}", run["seeds"]["0"]["files"]["outputs.npz"])


def test_numbers_that_no_table_shows_are_left_out(tmp_path):
    _, said = said_of(tmp_path, UA, Source("ga", "nothing"))
    assert {source: {row[:2] for row in rows} for source, rows in said["numbers"].items()} == {
        "ga|ua||": {(layout.METRICS, "0"), (layout.METRICS, "1")}
    }
    assert list(said["runs"]) == ["ga"]


def test_a_number_over_all_cells_stands_in_a_row_without_a_cell(tmp_path):
    fake = full_cell(num_seeds=2, runs=("ga",))
    row = {**fake.metrics[0], "cell": "", "seed": "", "run": "ga", "metric": "mean_rank"}
    fake.metrics.append(row | {"set": "", "at": "avg_gap", "value": "1.5"})
    read_cells(tmp_path, fake)
    source = Source("ga", "mean_rank", at="avg_gap")
    said = provenance(tmp_path, None, [source], index_rows(tmp_path))
    assert by_seed(said, str(source)) == {"": (len(fake.metrics) + 1, 1.5)}


@pytest.mark.parametrize("name", ["gap", "locality", "classes", "costs", "membership"])
def test_every_number_of_a_run_that_a_table_shows_has_a_source(tmp_path, name):
    cell = read_cell(tmp_path, whole_class_cell())
    tables = list(FINDING.load(name, "views").tables(cell))
    assert tables
    for table in tables:
        lines = [line for grid in table.grids for group in grid.groups for line in group]
        fields = [one for line in lines if line.label in RUNS.values() for one in line.fields]
        fields += [one for line in lines if line.label == "Slope" for one in line.fields]
        assert len(fields) >= len(RUNS)
        assert {one.value for one in fields if not one.source} <= {"–", ""}, table.name


def test_a_field_of_several_numbers_names_them_all():
    both = Field("1 [0, 2]", source=UA, also=(Source("ga", "ra"), UA))
    tables = [Table("t", "", [Grid("", ["a"], [[Line("GA", [both])]])])]
    assert list_sources(tables) == [UA, Source("ga", "ra")]
