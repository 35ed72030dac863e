"""Verdicts on numbers as users see them: the docs page, and the dialogs of the pages."""

import json
import re
from pathlib import Path

import pytest
from generators import trust
from generators.tables import fill_marks

from collateral.config.load import read
from collateral.report import page as report
from collateral.report.doubts import FILE, read_doubts

COLUMNS = (
    "metric,set,label,about,cell,auc,auc_low,auc_high,silent,silent_low,silent_high,damaged,"
    "damaged_low,damaged_high,hurt,hurt_low,hurt_high,recipe,recipe_low,recipe_high,seeds,dose,"
    "adjacent,change,reference,verdict,code,failures"
)
SURE, EVEN, FOOLED = "0.97,0.91,0.99", "0.5,0.4,0.6", "0.1,0.05,0.3"
ROWS = [
    f"ua,,UA,outputs,part,{SURE},{FOOLED},{SURE},{EVEN},{EVEN},40,0.91,0.8,0.1,0,"
    "only with Probe,1,silent",
    f"ua,,UA,outputs,random,0.81,0.7,0.9,{FOOLED},{SURE},{EVEN},{EVEN},40,0.83,0.7,0.15,0.01,"
    "only with Probe,1,silent",
    f"linear_accuracy,,Probe,inside,part,{SURE},{SURE},{SURE},{EVEN},{EVEN},40,0.9,0.8,,,trust,2,",
    f"js_divergence,forget,JS,distance,part,{SURE},{SURE},{EVEN},0.9,0.8,0.95,0.7,0.55,0.8,40,0.9,"
    "0.8,0.12,0.31,do not trust,0,damaged hurt recipe",
    f"relearn_accuracy last,,Relearned,inside,part,{EVEN},{EVEN},{EVEN},{EVEN},{EVEN},40,0.5,0.5,,,"
    "do not trust,0,tells dose",
    f"avg_gap,,Avg. Gap,distance,part,{SURE},{SURE},{SURE},{EVEN},,,,8,,,,,,,",
]


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    file = tmp_path / "evidence.csv"
    file.write_text("\n".join([COLUMNS, *ROWS]) + "\n", encoding="utf-8")
    return file


def test_without_results_the_docs_say_so_and_no_number_is_doubted(tmp_path):
    found = trust.which_number_tables(tmp_path / "none.csv")
    assert "Nothing is measured yet" in found["state"]
    assert found["verdicts"] == found["counts"] == ""
    assert trust.doubts(tmp_path / "none.csv") == "metric,set,code,text\n"


def test_the_table_of_the_docs_has_a_row_per_number(evidence):
    found = trust.which_number_tables(evidence)
    rows = found["verdicts"].strip().split("\n")
    assert len(rows) == 2 + 5
    assert rows[2] == (
        "| UA | forgot, by outputs | 0.97 [0.91, 0.99] | 0.81 [0.70, 0.90] | 0.83 | silent | – | "
        "0.15 | only with Probe |"
    )
    assert "| – | 0.90 | – | – | – | **trust** |" in rows[3]
    (distance,) = [row for row in rows if row.startswith("| JS ")]
    assert "| damaged | damaged Retrain, other recipe | 0.31 | do not trust |" in distance
    assert "| Avg. Gap | far from Retrain | 0.97 [0.91, 0.99] | – | – | – | – | – | – |" in rows
    assert found["counts"] == "Of 4 numbers: trust: 1; only: 1; do not trust: 2.\n"
    assert found["state"] == ""
    text = evidence.read_text().replace(",40,", ",31,")
    evidence.write_text(text)
    assert "At most 31 models" in trust.which_number_tables(evidence)["state"]


def test_sentences_to_remember_follow_from_the_evidence(evidence):
    found = trust.which_number_tables(evidence)
    listed, relied = found["remember"].strip().split("\n\n")
    assert listed.split("\n") == [
        "1. Of 4 numbers that claim something of forgetting, 1 can be trusted alone: Probe.",
        "2. Of 1 numbers of the outputs, 1 do not expose a model that hides what it still knows: "
        "UA.",
        "3. Of 1 distances from Retrain, 1 accuse a Retrain that is damaged or has another "
        "recipe, and so never saw the forget set: JS.",
    ]
    assert relied.startswith("**Relied on most, and should not be: UA.** Use this number only with")
    assert found["surprises"] == ("- Relearned looks inside the model, but fails: saw, dose.\n")


def test_the_page_has_at_most_900_words_besides_its_tables(evidence):
    page = Path(trust.__file__).parents[1] / "which-number.md"
    text = fill_marks(page, trust.which_number_tables(evidence))
    lines = [line for line in text.split("\n") if not line.startswith(("|", "    ", "<!--"))]
    assert 500 < len(" ".join(lines).split()) <= 900


def test_the_page_counts_the_seeds_of_the_config():
    config = read(Path(trust.__file__).parents[2] / "configs" / "trust.yaml", "config")
    trusted = config.benchmarks["trust"]
    assert len(trusted.seeds) - trusted.trust.references == trust.PLANNED


def test_pages_doubt_what_is_not_simply_trusted(evidence, tmp_path):
    file = tmp_path / "doubts.csv"
    file.write_text(trust.doubts(evidence), encoding="utf-8")
    found = read_doubts(file)
    assert found.keys() == {"ua|", "js_divergence|forget", "relearn_accuracy|"}
    assert not found["ua|"]["grey"]
    assert found["ua|"]["text"].startswith(
        "Use this number only with Probe as a sign of forgetting"
    )
    assert found["js_divergence|forget"]["grey"]
    assert "As a distance from Retrain it may be used." in found["js_divergence|forget"]["text"]
    assert Path(FILE.parents[3], "docs", Path(found["ua|"]["link"]).name).exists()


def test_the_committed_doubts_are_those_of_the_committed_evidence():
    assert FILE.read_text(encoding="utf-8") == trust.doubts()


def test_the_page_carries_the_doubts(monkeypatch):
    doubt = {"text": "Do not trust <this>.", "grey": True, "link": "../../docs/which-number.md"}
    monkeypatch.setattr(report, "read_doubts", lambda: {"ua|": doubt})
    source = report.template("page.html.j2")
    assert source.globals["doubts"] == {"ua|": doubt}
    text = (
        report.template("page.html.j2")
        .environment.from_string(
            '<script type="application/json" id="doubts">{{ doubts | tojson }}</script>'
        )
        .render()
    )
    content = re.search(r">(.*)</script>", text)[1]
    assert "<this>" not in content
    assert json.loads(content) == {"ua|": doubt}
