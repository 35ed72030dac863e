"""Where the numbers of the page come from."""

import json
import re
from html import unescape

from fake_results import full_cell, read_cell, read_cells, write_models

from collateral.contract.tables import Field, Grid, Line, Source, Table
from collateral.report.provenance import lines_of, provenance
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
    return folder, provenance(folder, cell, tables, lines_of(folder))


def test_a_number_has_its_file_its_line_and_what_stands_there(tmp_path):
    folder, said = said_of(tmp_path, UA)
    lines = (folder / layout.METRICS).read_text().splitlines()
    for seed in ("0", "1"):
        file, line, value = said["numbers"]["ga|ua||"][seed]
        row = lines[line - 1].split(",")
        assert file == layout.METRICS
        assert (row[3], row[4], row[6]) == (seed, "ga", "ua")
        assert row[9] == value


def test_a_run_has_its_record_of_every_seed(tmp_path):
    _, said = said_of(tmp_path, UA)
    run = said["runs"]["ga"]
    assert run["about"]["params"] == {"lr": 0.1}
    assert {seed: of["place"] for seed, of in run["seeds"].items()} == {
        "0": "digit_3-50/seed-0/ga/record.json",
        "1": "digit_3-50/seed-1/ga/record.json",
    }
    assert re.fullmatch("[0-9a-f]{12}", run["seeds"]["0"]["files"]["outputs.npz"])


def test_what_no_table_shows_is_left_out(tmp_path):
    _, said = said_of(tmp_path, UA, Source("ga", "nothing"))
    assert list(said["numbers"]) == ["ga|ua||"]
    assert list(said["runs"]) == ["ga"]
    assert json.loads(unescape(json.dumps(said))) == said
