"""The files that docs/generate.py writes are up to date."""

import sys

import generate
import pytest
from markdown_reading import ROOT

from paper.claims.evaluate import TABLE

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
    expected = {"docs/methods.md", "docs/config.md", "docs/claims.md", GRAPH}
    assert expected < generate.FILES.keys()


def test_every_set_of_results_in_the_docs_has_a_table_of_claims():
    pages = generate.pages_with_claims()
    shown = {match[2] for page in pages for match in TABLE.finditer(page.read_text())}
    kept = {f.name for f in (generate.DOCS / "data").iterdir() if f.is_dir()}
    # Rates of the calibration of verdicts, archives of single seeds and evidence about numbers
    # have no claims.
    assert shown == kept - {"calibration", "runs", "trust"}
    assert shown


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
