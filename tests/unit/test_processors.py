"""The processors that a page names, from the files with the costs of Retrain."""

import json

from fake_cell import table_of
from test_finding_verdict import ALIKE, ENDS

from collateral.report.page import list_processors
from collateral.results.table import BenchmarkTable


def test_the_page_names_each_processor_of_retrain_once(tmp_path):
    cell = table_of(tmp_path / "numbers", {**ENDS, "ga": ALIKE})
    table = BenchmarkTable(cell.benchmark, (cell,))
    assert list_processors(tmp_path, table) == ()
    names = ["AMD EPYC", "AMD EPYC", "", "Xeon"]  # of the last seed there is no file
    for seed, name in zip(cell.seeds, names, strict=False):
        folder = tmp_path / cell.name / f"seed-{seed}" / "retrain"
        folder.mkdir(parents=True)
        (folder / "cost.json").write_text(json.dumps({"processor": name}))
    assert len(cell.seeds) > len(names)
    assert list_processors(tmp_path, table) == ("AMD EPYC", "Xeon")
