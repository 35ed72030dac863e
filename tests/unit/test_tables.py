import csv
import math
import re

import pytest
from fake_results import RUNS, FakeCell, full_cell

from collateral.cli import main
from collateral.findings._shared.compare import Table, tables
from collateral.findings._shared.display import show, signed
from collateral.results.table import cells, concatenate, read
from collateral.findings.tuning.table import NUMBERS
from collateral.findings._shared.write import escape, latex, markdown, numbers

MAIN = ("ua", "ra", "ta", "mia")


@pytest.fixture
def tables_of(tmp_path):
    """Return a function: a fake cell in, its two tables out, through the CSV files."""

    def build(cell: FakeCell, runs=RUNS, protocol=None) -> list[Table]:
        cell.write(tmp_path)
        [read_back] = cells(read(tmp_path / "metrics.csv", tmp_path / "costs.csv"), runs)
        return tables(read_back, protocol)

    return build


def by_hand(**ua: tuple[float, ...]) -> FakeCell:
    """Return a cell with the given UA of each run, and 0.5 in all other metrics."""
    cell = FakeCell()
    for run, values in ua.items():
        cell.add(run, "ua", *values)
        for metric in MAIN[1:]:
            cell.add(run, metric, *(None if v is None else 0.5 for v in values))
        cell.add_overall(run, "avg_gap", abs(sum(v or 0 for v in values) / len(values) - 0.5) / 4)
    return cell


def row_of(table: Table, run: str):
    [row] = [row for row in table.rows if row.run == run]
    return row


def best_of(table: Table, metric: str) -> list[str]:
    return [row.run for row in table.rows if row.entries[metric].best]


def test_an_entry_is_mean_std_and_deviation_in_percent(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.4, 0.5, 0.6), ft=(0.7, 0.8, 0.9)))
    assert show(row_of(main, "retrain"), "ua").value == "50.0 ± 10.0"
    shown = show(row_of(main, "ft"), "ua")
    assert (shown.value, shown.deviation) == ("80.0 ± 10.0", "(+30.0)")


def test_the_nearest_method_is_best_in_its_column(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.5, 0.5), ft=(0.7, 0.7), ga=(0.4, 0.4)))
    assert best_of(main, "ua") == ["ga"]
    assert best_of(main, "avg_gap") == ["ga"]


def test_ties_are_all_marked(tables_of):
    # 0.5 - 0.3 and 0.7 - 0.5 are equal but for the last bit.
    main, _ = tables_of(by_hand(retrain=(0.5,), ft=(0.7,), ga=(0.3,), rl=(0.9,)))
    assert best_of(main, "ua") == ["ft", "ga"]


def test_a_difference_in_the_sixth_decimal_is_no_tie(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.5,), ft=(0.700001,), ga=(0.7,)))
    assert best_of(main, "ua") == ["ga"]


def test_controls_and_retrain_are_never_marked(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.5, 0.5), ft=(0.9, 0.9), original=(0.5, 0.5)))
    assert {run for metric in MAIN for run in best_of(main, metric)} == {"ft"}


def test_a_diverged_run_says_so_and_is_not_ranked(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.5,) * 3, ft=(0.9,) * 3, ga=(0.5, None, None)))
    row = row_of(main, "ga")
    assert row.status == "diverged (2 of 3 seeds)"
    assert show(row, "ua").value == "50.0"
    assert best_of(main, "ua") == ["ft"]
    assert "GA, diverged (2 of 3 seeds)" in markdown(main)
    assert "A diverged seed gives no number" in main.caption


def test_a_collapsed_run_keeps_its_numbers_and_is_not_ranked(tables_of):
    cell = by_hand(retrain=(0.5, 0.5), ft=(0.9, 0.9))
    cell.add("ga", "ua", 0.5, 0.5, status="collapsed")
    main, _ = tables_of(cell)
    assert row_of(main, "ga").status == "collapsed (2 of 2 seeds)"
    assert show(row_of(main, "ga"), "ua").value == "50.0 ± 0.0"
    assert best_of(main, "ua") == ["ft"]


def test_a_run_diverged_in_every_seed_is_a_row_of_dashes(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.5, 0.5), ft=(0.9, 0.9), ga=(None, None)))
    assert {show(row_of(main, "ga"), metric).value for metric in MAIN} == {"–"}


def test_the_floor_row_shows_expected_deviations_and_their_gap(tables_of):
    cell = by_hand(retrain=(0.4, 0.6), ft=(0.9, 0.9))
    for metric in MAIN:
        cell.add_overall("retrain", f"floor:{metric}", 0.012)
    cell.metrics = [row for row in cell.metrics if row["metric"] != "avg_gap"]
    cell.add_overall("retrain", "avg_gap", 0.034)
    main, _ = tables_of(cell)
    floor = main.rows[-1]
    assert (floor.label, floor.kind) == ("Retrain, other seeds", "floor")
    assert show(floor, "ua").deviation == "(1.2)"
    assert show(floor, "avg_gap").value == "3.4"
    assert show(row_of(main, "retrain"), "avg_gap").value == "0"


def test_what_chance_explains_has_a_dagger(tables_of):
    cell = by_hand(retrain=(0.5, 0.5), ft=(0.524, 0.524), ga=(0.526, 0.526))
    # Two seeds: Student's t of one degree of freedom, times the normal law's sd of a mean |x|.
    cell.add_overall("retrain", "floor:ua", 0.025 / (12.7062 * math.sqrt(math.pi / 2)))
    main, _ = tables_of(cell)
    assert [row.run for row in main.rows if row.entries["ua"].chance] == ["ft"]
    assert "**(+2.4)**†" in markdown(main)


def test_one_seed_has_no_spread_and_no_floor_row(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.5,), ft=(0.9,)))
    assert show(row_of(main, "ft"), "ua").value == "90.0"
    assert main.rows[-1].run == "ft"
    assert "One seed" in main.caption
    assert "†" not in main.conventions


def test_an_undefined_metric_is_a_dash_and_no_best(tables_of):
    _, affected = tables_of(by_hand(retrain=(0.5, 0.5), ft=(0.9, 0.9)))
    assert show(row_of(affected, "ft"), "ra_affected").value == "–"
    assert best_of(affected, "ra_affected") == []


def test_rows_follow_the_config_and_controls_come_last(tables_of):
    cell = full_cell(runs=("original", "rl", "ft", "ga", "ltd@support=random"))
    main, _ = tables_of(cell, runs={"ga": "GA", "original": "O", "ft": "FT", "rl": "RL"})
    runs = [row.run for row in main.rows]
    assert runs == ["retrain", "ga", "ft", "rl", "original", "retrain_other_seeds"]


def test_sweeps_are_left_out_even_where_they_have_a_label(tables_of):
    cell = full_cell(runs=("ft", "ft@lr=1"))
    main, _ = tables_of(cell, runs={"ft": "FT", "ft@lr=1": "FT, lr 1"})
    assert "ft@lr=1" not in [row.run for row in main.rows]


def test_seconds_have_no_deviation_and_stand_in_the_main_table_only(tables_of):
    cell = by_hand(retrain=(0.5, 0.5), ft=(0.9, 0.9))
    cell.add("ft", "rte", 1.0, 2.0)
    cell.add("retrain", "rte", 100.0, 100.0)
    main, affected = tables_of(cell)
    assert show(row_of(main, "ft"), "rte").value == "1.50 ± 0.71"
    assert show(row_of(main, "ft"), "rte").deviation == ""
    assert show(row_of(main, "retrain"), "rte").value == "100.0 ± 0.0"
    assert "rte" not in affected.layout.columns


@pytest.mark.parametrize(
    ("rate", "text"), [(0.0004, "0.0"), (-0.0004, "0.0"), (-0.0126, "−1.3"), (0.258, "+25.8")]
)
def test_a_deviation_has_one_decimal_and_no_sign_at_zero(rate, text):
    assert signed(rate) == text


def test_the_caption_says_what_the_numbers_mean(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.5,) * 3, ft=(0.9,) * 3), protocol="matched")
    caption = f"{main.caption} {main.conventions}"
    for text in (
        "digit_3, 50 % forgotten",
        "n = 3",
        "ddof=1",
        "100 − UA",
        "matched",
        "–: undefined",
    ):
        assert text in caption
    assert caption.split()[-1] in markdown(main)


def test_numbers_are_unrounded(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.5, 0.5), ft=(1 / 3, 1 / 3)))
    [record] = [r for r in numbers(main) if r["run"] == "ft" and r["metric"] == "ua"]
    assert record["mean"] == repr(1 / 3)
    assert float(record["deviation"]) == 1 / 3 - 0.5
    assert (record["n"], record["status"], record["best"]) == (2, "ok", 1)


def test_latex_is_balanced_and_escaped(tables_of):
    main, _ = tables_of(full_cell(diverged=("ga",)), runs={"ft": "F_T & 10%", "ga": "GA"})
    text = latex(main)
    begun, ended = (re.findall(rf"\\{word}{{(\w+)}}", text) for word in ("begin", "end"))
    assert begun == list(reversed(ended)) == ["table", "tabular"]
    assert re.sub(r"\\[{}]", "", text).count("{") == re.sub(r"\\[{}]", "", text).count("}")
    assert r"F\_T \& 10\% &" in text
    body = "\n".join(line for line in text.splitlines() if not line.startswith(r"\label"))
    assert not re.search(r"(?<!\\)[_%#]", body)
    assert body.isascii()


def test_every_line_of_the_latex_table_has_all_columns(tables_of):
    main, _ = tables_of(full_cell())
    lines = [line for line in latex(main).splitlines() if line.endswith(r"\\")]
    assert len(lines) == 1 + 1 + 3 + 2  # heading, Retrain, methods, control and floor
    assert {line.count(" & ") for line in lines} == {6}


def test_the_best_is_bold_in_markdown_and_latex(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.5, 0.5), ft=(0.7, 0.7), ga=(0.4, 0.4)))
    assert "40.0 ± 0.0 **(−10.0)**" in markdown(main)
    assert r"\textbf{($-$10.0)}" in latex(main)
    assert r"\textbf{(+20.0)}" not in latex(main)


def test_special_characters_are_escaped_once():
    assert escape(r"a_b^{\}~") == r"a\_b\textasciicircum{}\{\textbackslash{}\}\textasciitilde{}"


def test_concatenation_sorts_by_cell_and_keeps_every_byte(tmp_path):
    for name in ("b-50", "a-50"):
        FakeCell(name).write(tmp_path / name)
        (tmp_path / name / "metrics.csv").write_text(f"cell,value\n{name},0.10\n{name},\n")
    concatenate([tmp_path / n / "metrics.csv" for n in ("b-50", "a-50")], tmp_path / "all.csv")
    assert (tmp_path / "all.csv").read_text() == "cell,value\na-50,0.10\na-50,\nb-50,0.10\nb-50,\n"


def test_files_with_other_columns_are_refused_by_name(tmp_path):
    (tmp_path / "one.csv").write_text("cell,value\n")
    (tmp_path / "two.csv").write_text("cell,number\n")
    with pytest.raises(ValueError, match=r"two\.csv.*cell,number.*cell,value"):
        concatenate([tmp_path / "one.csv", tmp_path / "two.csv"], tmp_path / "all.csv")


def test_the_stage_writes_three_tables_a_cell(tmp_path):
    names = ("digit_3-50", "digit_8-90")
    for name in names:
        full_cell(name).write(tmp_path / name)
        (tmp_path / name / "tuning.csv").write_text(f"cell,run,{','.join(NUMBERS)}\n")
    main(
        [
            "tables",
            "--metrics", *(str(tmp_path / name / "metrics.csv") for name in names),
            "--costs", *(str(tmp_path / name / "costs.csv") for name in names),
            "--tuning", *(str(tmp_path / name / "tuning.csv") for name in names),
            "--runs", '{"ft": "FT", "ga": "GA", "rl": "RL", "original": "Original"}',
            "--protocol", "shared",
            "--out-metrics", str(tmp_path / "metrics.csv"),
            "--out-costs", str(tmp_path / "costs.csv"),
            "--out", str(tmp_path / "tables"),
        ]
    )  # fmt: skip
    written = sorted(str(p.relative_to(tmp_path / "tables")) for p in tmp_path.glob("tables/*/*"))
    tables = ("affected", "main", "reported")
    kinds = [f"{table}.{suffix}" for table in tables for suffix in ("csv", "md", "tex")]
    assert written == [f"{name}/{kind}" for name in names for kind in kinds]
    with (tmp_path / "tables/digit_3-50/main.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 6 * 6  # six rows, six columns


def mixed(**forgotten: tuple[int, int]) -> FakeCell:
    """Return a cell of several classes: forgotten examples of each, and of how many."""
    cell = full_cell()
    cell.name, cell.class_name, cell.fraction = "mixed", "", ""
    for name, (count, of) in forgotten.items():
        cell.add_overall("retrain", f"forget_count:{name}", count)
        cell.add_overall("retrain", f"train_count:{name}", of)
    for row in cell.metrics:
        row |= {"cell": "mixed", "class": "", "fraction": ""}
    for row in cell.costs:
        row |= {"cell": "mixed", "class": "", "fraction": ""}
    return cell


def test_several_affected_classes_are_named_in_title_and_caption(tables_of):
    main, affected = tables_of(mixed(cat=(67, 135), dog=(1, 250)))
    title = "mixed: 50 % of cat, 0.4 % of dog forgotten"
    assert main.caption.startswith(f"All examples: {title}. Mean")
    assert affected.subject == "Examples of the affected classes"
    assert affected.caption.startswith(
        f"Examples of the affected classes: {title}. "
        "Affected are the 2 classes that have a forgotten example (cat, dog). Mean"
    )


def test_many_affected_classes_are_counted(tables_of):
    _, affected = tables_of(mixed(**{f"class_{c}": (c + 1, 50) for c in range(5)}))
    assert affected.caption.startswith(
        "Examples of the affected classes: mixed: 15 examples of 5 classes forgotten. "
        "Affected are the 5 classes that have a forgotten example. Mean"
    )


def test_one_affected_class_is_one(tables_of):
    _, affected = tables_of(full_cell())
    assert affected.caption.startswith(
        "Examples of the affected class: digit_3, 50 % forgotten. Mean"
    )
