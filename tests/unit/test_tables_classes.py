"""The table of classes where a whole one is deleted."""

import csv

import pytest
from fake_results import RUNS, full_cell, whole_class_cell

from collateral.cli import main
from collateral.findings.classes.table import class_rows, short_names, write_classes
from collateral.results.table import cells_and_sweeps, read


@pytest.fixture
def cell_of(tmp_path):
    """Return a function: a fake cell in, the cell as the stage reads it out."""

    def build(fake, runs=RUNS):
        fake.write(tmp_path)
        return cells_and_sweeps(read(tmp_path / "metrics.csv"), runs)[0]

    return build


def test_classes_stand_by_similarity_with_drop_and_interval(cell_of):
    heads, rows = class_rows(cell_of(whole_class_cell(runs=("ga", "original"))))
    assert heads == ["Class", "Similarity", "GA", "Original", "Chance"]
    assert [row[0] for row in rows] == [*"876543210", "Slope"]
    # Drops of three seeds lie one point apart; t of two degrees of freedom is 4.303.
    assert rows[0] == ["8", "0.800", "+8.0 ± 2.5", "+8.0 ± 2.5", "±8.6"]


def test_the_last_row_is_the_slope_with_its_interval(cell_of):
    _, rows = class_rows(cell_of(whole_class_cell(runs=("ga",))))
    assert rows[-1] == ["Slope", "", "1 [0.5, 1.5]", ""]


def test_one_seed_has_neither_interval_nor_chance(cell_of):
    _, rows = class_rows(cell_of(whole_class_cell(num_seeds=1, runs=("ga",))))
    assert rows[0] == ["8", "0.800", "+8.0", "–"]
    assert rows[-1] == ["Slope", "", "1", ""]


def test_a_drop_that_is_undefined_is_a_dash(cell_of):
    fake = whole_class_cell(runs=("ga",))
    for row in fake.metrics:
        if row["metric"] == "class_drop:digit_8":
            row["value"] = ""
    assert class_rows(cell_of(fake))[1][0][2] == "–"


def test_sweeps_have_columns_too(cell_of):
    runs = {"ga": "GA", "ga@steps=40": "GA, steps 40"}
    heads, _ = class_rows(cell_of(whole_class_cell(runs=tuple(runs)), runs))
    assert heads[2:4] == ["GA", "GA, steps 40"]


def test_the_csv_is_unrounded(cell_of, tmp_path):
    write_classes(cell_of(whole_class_cell(runs=("ga",))), tmp_path / "tables")
    with (tmp_path / "tables/classes.csv").open() as file:
        records = [record for record in csv.DictReader(file) if record["run"] == "ga"]
    assert [record["class"] for record in records] == [f"digit_{c}" for c in range(9)]
    assert float(records[3]["drop"]) == pytest.approx(3, abs=1e-12)
    assert float(records[3]["half_width"]) == pytest.approx(4.302653 / 3**0.5, rel=1e-6)


@pytest.mark.parametrize(
    ("names", "shown"),
    [(["digit_3", "digit_8"], ["3", "8"]), (["oak_tree", "apple"], ["oak_tree", "apple"])],
)
def test_names_leave_away_only_what_all_share(names, shown):
    assert short_names(names) == shown


@pytest.mark.parametrize(("fake", "count"), [(whole_class_cell(), 3), (full_cell(), 0)])
def test_the_stage_writes_it_for_whole_classes_only(tmp_path, fake, count):
    fake.write(tmp_path)
    (tmp_path / "tuning.csv").write_text("cell,run\n")
    words = [part for name in ("metrics", "costs", "tuning") for part in (f"--{name}", name)]
    words = [word if word.startswith("--") else str(tmp_path / f"{word}.csv") for word in words]
    words += ["--runs", '{"ga": "GA"}', "--out", str(tmp_path / "tables")]
    words += ["--out-metrics", str(tmp_path / "m.csv"), "--out-costs", str(tmp_path / "c.csv")]
    main(["tables", *words])
    assert len(list((tmp_path / "tables" / fake.name).glob("classes.*"))) == count
