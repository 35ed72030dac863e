"""Wins and ranks over cells: two cells worked by hand."""

import csv
import math

import pytest
from fake_results import FakeCell

from collateral.cli import main
from collateral.results.table import cells, concatenate, read
from collateral.findings.summary.table import caption, standings, write_summary

RUNS = {"ft": "FT", "ga": "GA", "ltd": "LTD", "original": "Original", "ft@lr=1": "FT, lr 1"}
# By cell: the gap of each method, and the noise floor.
GAPS = {
    "digit_3-50": {"ft": 0.10, "ga": 0.02, "ltd": 0.03, "floor": 0.01},
    "digit_8-50": {"ft": 0.10, "ga": 0.30, "ltd": 0.10, "floor": 0.01},
}


def fake(name, gaps, seeds=2, collapsed=()):
    cell = FakeCell(name, *name.split("-"))
    for run in ("retrain", "ft", "ga", "ltd", "original", "ft@lr=1"):
        status = "collapsed" if run in collapsed else "ok"
        cell.add(run, "ua", *(0.5 for _ in range(seeds)), status=status)
        # A control and a sweep would win, were they ranked.
        number = gaps["floor"] if run == "retrain" else gaps.get(run, 0.001)
        cell.add_overall(run, "avg_gap", number if seeds > 1 or run != "retrain" else math.nan)
        cell.add_overall(run, "avg_gap_affected", number)
    return cell


@pytest.fixture
def cells_of(tmp_path):
    """Return a function: fake cells in, the cells as the stage reads them out."""

    def build(*fakes):
        for each in fakes:
            each.write(tmp_path / each.name)
        paths = [tmp_path / each.name / "metrics.csv" for each in fakes]
        concatenate(paths, tmp_path / "metrics.csv")
        return cells(read(tmp_path / "metrics.csv"), RUNS)

    return build


def by_run(cells, gap="avg_gap"):
    return {standing.run: standing for standing in standings(cells, gap)}


def test_wins_ranks_and_gaps_are_those_worked_by_hand(cells_of):
    found = by_run(cells_of(*(fake(name, gaps) for name, gaps in GAPS.items())))
    # First cell: GA 1, LTD 2, FT 3. Second: FT and LTD share the ranks 1 and 2, GA 3.
    assert [found[run].mean_rank for run in RUNS if run in found] == [2.25, 2.0, 1.75]
    assert {run: standing.lowest for run, standing in found.items()} == {"ft": 1, "ga": 1, "ltd": 1}
    assert found["ga"].mean_gap == pytest.approx(0.16)
    assert found["ltd"].mean_gap == pytest.approx(0.065)
    assert {standing.cells for standing in found.values()} == {2}


def test_what_is_within_the_noise_floor_of_the_lowest_is_a_tie(cells_of):
    found = by_run(cells_of(*(fake(name, gaps) for name, gaps in GAPS.items())))
    # LTD is 0.01 above GA in the first cell: exactly the floor, which is inside.
    assert {run: standing.within_noise for run, standing in found.items()} == {
        "ft": 1,
        "ga": 1,
        "ltd": 2,
    }


def test_controls_sweeps_and_retrain_are_left_out(cells_of):
    found = by_run(cells_of(*(fake(name, gaps) for name, gaps in GAPS.items())))
    assert list(found) == ["ft", "ga", "ltd"]


def test_a_run_that_collapsed_is_not_ranked_in_that_cell(cells_of):
    found = by_run(
        cells_of(
            fake("digit_3-50", GAPS["digit_3-50"], collapsed=("ga",)),
            fake("digit_8-50", GAPS["digit_8-50"]),
        )
    )
    assert (found["ga"].cells, found["ga"].lowest, found["ga"].mean_gap) == (1, 0, 0.3)
    assert found["ltd"].lowest == 2
    assert found["ltd"].mean_rank == 1.25
    assert found["ga"].texts(2) == ["GA", "1 of 2", "0", "0", "3.0", "30.0"]


def test_a_run_ranked_nowhere_is_a_row_of_dashes(cells_of):
    found = by_run(cells_of(*(fake(n, gaps, collapsed=("ga",)) for n, gaps in GAPS.items())))
    assert found["ga"].texts(2) == ["GA", "0 of 2", "–", "–", "–", "–"]


def test_with_one_seed_ties_cannot_be_told(cells_of):
    found = cells_of(*(fake(name, gaps, seeds=1) for name, gaps in GAPS.items()))
    assert by_run(found)["ltd"].texts(2) == ["LTD", "2 of 2", "1", "–", "1.8", "6.5"]
    assert "With one seed there is no noise floor" in caption(found)


def test_an_undefined_gap_is_not_ranked(cells_of):
    [first, second] = (fake(name, gaps) for name, gaps in GAPS.items())
    for row in first.metrics:
        if row["metric"] == "avg_gap_affected" and row["run"] == "ft":
            row["value"] = ""
    found = by_run(cells_of(first, second), "avg_gap_affected")
    assert (found["ft"].cells, found["ga"].mean_rank) == (1, 2.0)


def test_the_files_have_both_gaps_in_the_order_of_the_config(cells_of, tmp_path):
    write_summary(cells_of(*(fake(n, gaps) for n, gaps in GAPS.items())), tmp_path / "tables")
    lines = (tmp_path / "tables/summary.md").read_text().splitlines()
    assert lines[1] == "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    assert lines[2] == "| All examples | FT | 2 of 2 | 1 | 1 | 2.2 | 10.0 |"
    assert [line.split(" | ")[1] for line in lines[2:8]] == ["FT", "GA", "LTD"] * 2
    assert lines[5].startswith("| Examples of the affected class | FT |")
    assert "over the 2 cells" in lines[-1]
    with (tmp_path / "tables/summary.csv").open() as file:
        records = list(csv.DictReader(file))
    assert [record["gap"] for record in records] == ["avg_gap"] * 3 + ["avg_gap_affected"] * 3
    assert float(records[0]["mean_rank"]) == 2.25
    assert r"All examples & FT & 2 of 2" in (tmp_path / "tables/summary.tex").read_text()


def test_a_benchmark_of_one_cell_has_no_summary(cells_of, tmp_path):
    write_summary(cells_of(fake("digit_3-50", GAPS["digit_3-50"])), tmp_path / "tables")
    assert not (tmp_path / "tables").exists()


def test_the_stage_writes_it_beside_the_cells(tmp_path):
    words = []
    for name, gaps in GAPS.items():
        fake(name, gaps).write(tmp_path / name)
        (tmp_path / name / "tuning.csv").write_text("cell,run\n")
    for option in ("metrics", "costs", "tuning"):
        words += [f"--{option}", *(str(tmp_path / name / f"{option}.csv") for name in GAPS)]
    words += ["--runs", '{"ft": "FT", "ga": "GA"}', "--out", str(tmp_path / "tables")]
    words += ["--out-metrics", str(tmp_path / "m.csv"), "--out-costs", str(tmp_path / "c.csv")]
    main(["tables", *words])
    assert {path.suffix for path in (tmp_path / "tables").glob("summary.*")} == {
        ".csv",
        ".md",
        ".tex",
    }
