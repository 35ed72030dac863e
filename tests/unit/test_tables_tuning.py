"""The tuning table: what was chosen, and what another choice would have given."""

from collateral.findings.reported.table import write_reported
from collateral.results.table import cells, read
from collateral.findings.tuning.table import write_tuning

HEADER = "cell,run,chosen,nearest,gap_chosen,gap_default,gap_nearest,regret\n"


def test_gaps_are_shown_in_points_with_the_methods_label(tmp_path):
    cell = tmp_path / "cell.csv"
    cell.write_text(HEADER + "digit_3-50,ft,lr 0.1,lr 0.01,0.0512,,0.0201,0.0311\n")
    write_tuning([cell], {"ft": "FT"}, tmp_path / "tables")
    row = (tmp_path / "tables/tuning.md").read_text().splitlines()[2]
    assert row == "| digit_3-50 | FT | lr 0.1 | 5.1 | – | lr 0.01 | 2.0 | 3.1 |"
    latex = (tmp_path / "tables/tuning.tex").read_text()
    assert r"digit\_3-50 & FT & lr 0.1 & 5.1" in latex
    assert latex.index(r"\midrule") < latex.index("FT") < latex.index(r"\bottomrule")


def test_a_benchmark_without_tuning_has_a_table_without_rows(tmp_path):
    cell = tmp_path / "cell.csv"
    cell.write_text(HEADER)
    write_tuning([cell], {}, tmp_path / "tables")
    assert len((tmp_path / "tables/tuning.md").read_text().splitlines()) == 4
    assert r"\midrule" in (tmp_path / "tables/tuning.tex").read_text()


def test_numbers_that_methods_report_have_a_table_of_their_own(tmp_path):
    rows = [
        *("c,,,0,retrain,reference,ua,0.5,ok", "c,,,1,retrain,reference,ua,0.7,ok"),
        *("c,,,0,ltd,method,ua,0.5,ok", "c,,,1,ltd,method,ua,0.5,ok"),
        *("c,,,0,ltd,method,teacher_ua,0.4,ok", "c,,,1,ltd,method,teacher_ua,0.6,ok"),
    ]
    head = "cell,class,fraction,seed,run,kind,metric,value,status"
    (tmp_path / "metrics.csv").write_text("\n".join([head, *rows, ""]))
    (cell,) = cells(read(tmp_path / "metrics.csv"), {"ltd": "LTD"})
    write_reported(cell, tmp_path)
    text = (tmp_path / "reported.md").read_text()
    assert "| LTD | teacher_ua | 0.5 | 0.1414 |" in text
    assert "Retrain's UA of 0.600" in text
    assert "| ua |" not in text
