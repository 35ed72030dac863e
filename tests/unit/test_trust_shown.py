"""Verdicts on numbers as users see them: the docs page, and the dialogs of the pages."""

import csv
import json
import re
from pathlib import Path

import pytest
from generators import trust
from generators.tables import fill_marks

from collateral.config.load import read
from collateral.contract.verdicts import MEASURES
from collateral.findings import verdict
from collateral.findings.trust.judged import list_claims
from collateral.findings.trust.rule import FAILURES, UNCLEAR
from collateral.report import page as report
from collateral.report.doubts import FILE, MEASURED, TESTED, read_doubts

COLUMNS = (
    "metric,set,label,about,cell,auc,auc_low,auc_high,silent,silent_low,silent_high,damaged,"
    "damaged_low,damaged_high,hurt,hurt_low,hurt_high,recipe,recipe_low,recipe_high,seeds,dose,"
    "adjacent,change,reference,verdict,code,failures"
)
SURE, EVEN, FOOLED, UNSURE = "0.97,0.91,0.99", "0.5,0.4,0.6", "0.1,0.05,0.3", "0.75,0.6,0.85"
HIGH = "0.9,0.8,0.95"
# Without the four last columns, which docs do not read: verdicts follow from the evidence.
ROWS = [
    f"ua,,UA,outputs,part,{SURE},{FOOLED},{SURE},{EVEN},{EVEN},40,0.91,0.8,0.1,0",
    f"ua,,UA,outputs,random,0.91,0.82,0.95,{FOOLED},{SURE},{EVEN},{EVEN},40,0.83,0.7,0.15,0.01",
    f"linear_accuracy,,Probe,inside,part,{SURE},{SURE},{SURE},{EVEN},{EVEN},40,0.9,0.8,,",
    f"js_divergence,forget,JS,distance,part,{SURE},{SURE},{FOOLED},{HIGH},0.7,0.55,0.8,40,0.9,"
    "0.8,0.12,0.31",
    f"relearn_accuracy last,,Relearned,inside,part,{EVEN},{SURE},{UNSURE},{HIGH},{EVEN},40,0.5,"
    "0.45,44,17.9",
    f"avg_gap,,Avg. Gap,distance,part,1,0.76,1,{SURE},{FOOLED},{HIGH},,,,8,0.9,0.8,0,0",
    f"ra,,RA,harm,part,0.5,0.5,0.5,{EVEN},{EVEN},{HIGH},{EVEN},40,0.5,0.5,9,",
    f"ta,,TA,harm,part,{HIGH},{EVEN},{EVEN},{SURE},{EVEN},40,0.5,0.5,,",
    f"ta,,TA,harm,random,{EVEN},{EVEN},{EVEN},{HIGH},{EVEN},40,0.5,0.5,,",
    f"locality_slope,test,Slope,locality,part,{EVEN},{EVEN},{EVEN},{FOOLED},{EVEN},40,0.5,0.5,,",
    f"locality_slope,test,Slope,locality,random,{EVEN},{EVEN},{EVEN},{EVEN},{EVEN},40,0.5,0.5,,",
]


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    file = tmp_path / "evidence.csv"
    rows = [f"{row},,," for row in ROWS]
    file.write_text("\n".join([COLUMNS, *rows]) + "\n", encoding="utf-8")
    return file


def test_without_results_the_docs_say_so_and_no_number_is_doubted(tmp_path):
    found = trust.which_number_tables(tmp_path / "none.csv")
    assert "Nothing is measured yet" in found["state"]
    assert found["verdicts"] == found["counts"] == ""
    assert trust.doubts(tmp_path / "none.csv") == "metric,set,code,text\n"


def rows_of(text):
    lines = [line for line in text.split("\n") if line.startswith("| ")]
    return {line.split(" | ")[0][2:]: line.split(" | ", 1)[1][:-2] for line in lines}


def test_the_tables_of_the_docs_have_a_row_per_number(evidence):
    found = trust.which_number_tables(evidence)
    rows = rows_of(found["verdicts"])
    assert {*rows} - {"number", "---"} == {
        *("UA", "Linear probe", "JS, forget set", "Relearned", "Avg. Gap", "RA", "TA"),
        "Slope, test",
    }
    assert rows["UA"] == (
        "0.97 [0.91, 0.99] | 0.91 [0.82, 0.95] | 0.83 | 0.70 | 0.15 | silent | – | – | "
        "only with Linear probe"
    )
    assert rows["Linear probe"].endswith("| – | 0.90 | 0.80 | – | – | – | – | **trust**")
    assert rows["JS, forget set"].endswith(
        "0.31 | damaged | damaged Retrain, other recipe | change of reference | do not trust"
    )
    assert found["counts"] == "Of 7 numbers: trust: 3; only with another: 1; do not trust: 3.\n"
    assert found["state"] == ""
    text = evidence.read_text().replace(",40,", ",31,")
    evidence.write_text(text)
    assert "At most 31 models" in trust.which_number_tables(evidence)["state"]


def test_each_claim_has_its_own_table(evidence):
    text = trust.which_number_tables(evidence)["verdicts"]
    parts = {part.split("\n")[0]: part for part in text.split("### ")[1:]}
    assert list(parts) == [*trust.SUBJECTS.values()]
    harm, locality = parts["Harm elsewhere"], parts["Harm is local"]
    head = "| number | part | random | "
    assert f"{head}dose | next dose | change | fooled by |" in parts["Far from Retrain"]
    for text in (harm, locality):
        assert f"{head}damaged Retrain | fails | verdict |" in text
    assert "where Retrain's test accuracy equals the base's (tested: random)" in harm
    # The lowest AUC of harm, and of locality the one that is farthest from chance.
    assert rows_of(harm)["TA"].endswith("0.50 [0.40, 0.60] | 0.90 [0.80, 0.95] | – | **trust**")
    assert "| 0.10 [0.05, 0.30] | moves anywhere |" in rows_of(locality)["Slope, test"] + " |"


def test_what_is_undefined_is_blank(evidence):
    rows = rows_of(trust.which_number_tables(evidence)["verdicts"])
    # Nothing is to be divided by where the groups are not told apart: 44 and 17.9 are not shown.
    assert rows["Relearned"].split(" | ")[2:5] == ["0.50", "0.45", "–"]
    # The same number for all models has no interval.
    assert rows["RA"].startswith("0.50 | – |")


def test_what_is_unclear_is_not_called_fooled(evidence):
    rows = rows_of(trust.which_number_tables(evidence)["verdicts"])
    assert "| damaged (unclear) |" in rows["Relearned"]
    text = trust.doubts(evidence)
    (relearned,) = [line for line in text.split("\n") if line.startswith("relearn_accuracy,")]
    assert UNCLEAR["damaged"] in relearned and FAILURES["damaged"] not in relearned
    (distance,) = [line for line in text.split("\n") if line.startswith("js_divergence,forget")]
    assert FAILURES["damaged"] in distance and UNCLEAR["damaged"] not in distance


def test_too_few_models_give_no_verdict_but_what_they_show(evidence, tmp_path):
    row = rows_of(trust.which_number_tables(evidence)["verdicts"])["Avg. Gap"]
    assert row.endswith("| damaged | damaged Retrain | – | not judged")
    doubt = doubts_of(evidence, tmp_path)["avg_gap|"]
    assert doubt["unjudged"] and not doubt["grey"]
    assert doubt["text"].startswith("Not judged: 8 values per group of known models are too few")
    assert FAILURES["damaged"] in doubt["text"] and FAILURES["tells"] not in doubt["text"]


def test_sentences_to_remember_follow_from_the_evidence(evidence):
    found = trust.which_number_tables(evidence)
    listed, relied = found["remember"].strip().split("\n\n")
    assert listed.split("\n") == [
        "1. Of 4 numbers that claim something of forgetting, 1 can be trusted alone: Linear probe.",
        "2. Of 1 numbers of the outputs, 1 do not expose a model that hides what it still knows: "
        "UA.",
        "3. Of 1 distances from Retrain, 1 accuse a Retrain that is damaged or has another "
        "recipe, and so never saw the forget set: JS, forget set.",
    ]
    assert relied.startswith("**Relied on most, and should not be: UA.** Use this number only with")
    assert found["surprises"] == (
        "- Relearned looks inside the model, but fails: damaged, accuses damage.\n"
    )


def test_the_page_has_at_most_900_words_besides_its_tables():
    page = Path(trust.__file__).parents[1] / "which-number.md"
    text = fill_marks(page, trust.which_number_tables())
    lines = [line for line in text.split("\n") if not line.startswith(("|", "    ", "<!--"))]
    assert 500 < len(" ".join(lines).split()) <= 900


def test_the_committed_verdicts_follow_from_the_committed_evidence():
    judged = trust.read_judged(trust.FILE)
    with trust.FILE.open(newline="") as file:
        committed = {
            (row["metric"], row["set"]): (row["verdict"], row["failures"])
            for row in csv.DictReader(file)
        }
    found = {
        (claim.name, claim.set): (one.words, " ".join(one.failures))
        for claim, one in judged.verdicts.items()
    }
    assert len(found) == 46
    assert {key: text for key, text in committed.items() if text != ("", "")} == found


def test_the_page_counts_the_seeds_of_the_config():
    config = read(Path(trust.__file__).parents[2] / "configs" / "trust.yaml", "config")
    trusted = config.benchmarks["trust"]
    assert len(trusted.seeds) - trusted.trust.references == trust.PLANNED


def doubts_of(evidence, tmp_path):
    file = tmp_path / "doubts.csv"
    file.write_text(trust.doubts(evidence), encoding="utf-8")
    return read_doubts(file)


def test_pages_doubt_what_is_not_simply_trusted(evidence, tmp_path):
    found = doubts_of(evidence, tmp_path)
    judged = {key for key, doubt in found.items() if not doubt["unjudged"]}
    assert judged == {*("ua|", "js_divergence|forget", "relearn_accuracy|", "locality_slope|test")}
    assert not found["ua|"]["grey"]
    assert found["ua|"]["text"].startswith(
        "Use this number only with Linear probe as a sign of forgetting"
    )
    assert found["ua|"]["text"].endswith("Verdicts use it as a distance from Retrain only.")
    assert found["mia|"]["text"] == trust.UNMEASURED
    assert {f"{one.metric}|{one.set}" for one in list_claims()} - {*found} == {
        *("linear_accuracy|", "ra|", "ta|")
    }
    assert found["js_divergence|forget"]["grey"]
    assert "As a distance from Retrain it may be used." in found["js_divergence|forget"]["text"]
    assert Path(FILE.parents[3], "docs", Path(found["ua|"]["link"]).name).exists()


def test_what_is_wrong_with_a_number_is_wrong_with_its_tests():
    assert MEASURED.keys() == {*MEASURES}
    assert {*TESTED} <= {*verdict.METRICS}
    claimed = {f"{one.metric}|{one.set}": one.about for one in list_claims()}
    assert {*MEASURED.values()} <= claimed.keys()
    found = read_doubts()
    grey = {at for at, number in MEASURED.items() if found.get(number, {}).get("grey")}
    assert grey == {"ua", "mia", "near", "near_test", "damage"}
    for at in ("ua", "mia"):
        assert "as a distance from Retrain only" in found[MEASURED[at]]["text"]


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
