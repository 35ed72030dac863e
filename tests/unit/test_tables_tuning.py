"""The tuning table: what was chosen, and what another choice would have given."""

from collateral.tables.tuning import write_tuning

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
