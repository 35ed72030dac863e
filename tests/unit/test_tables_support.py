"""Support sizes as tables: without Retrain, and, apart, after the fact."""

import pytest
from fake_results import full_cell, read_cell, supports_cell
from table_reading import lines_of, texts_of

from collateral.findings.support_size.views import tables


@pytest.fixture
def tables_of(tmp_path):
    def build(fake=None):
        found = list(tables(read_cell(tmp_path, fake or supports_cell())))
        return {table.name: table for table in found}

    return build


def test_a_cell_without_teachers_has_no_tables(tables_of):
    assert tables_of(full_cell()) == {}


def test_there_is_a_row_a_size(tables_of):
    table = tables_of()["support-sizes"]
    [grid] = table.grids
    assert grid.headings[4:] == [
        "Teacher on D_f (%)",
        "Mass kept (%)",
        "KL to the smaller support (nats)",
        "KL between seeds (nats)",
    ]
    rows = texts_of(grid)
    assert list(rows) == ["20", "50", "80"]
    assert rows["20"][6] == "–"
    assert rows["50"] == [
        *("0.75 ± 0.00", "2.0 ± 0.0", "20.0 ± 0.0", "99.1 ± 0.1"),
        *("80.1 ± 0.1", "90.1 ± 0.1", "0.501 ± 0.001", "0.050"),
    ]
    assert table.caption.startswith("FT's teachers by the size k of their support, without Retrain")


def test_records_have_the_size_and_what_is_between_seeds(tables_of):
    records = {(r["metric"], r["at"]): r for r in tables_of()["support-sizes"].records}
    assert records["support_teacher_ua", 50]["mean"] == pytest.approx(0.801)
    assert records["support_kl_seeds", 50]["mean"] == 0.05


def test_what_auto_saw_has_a_row_a_seed(tables_of):
    table = tables_of()["support-auto"]
    rows = texts_of(table.grids[0])
    assert list(rows) == ["0", "1", "2"]
    assert rows["0"] == ["0.25", "40.0", "40.0", "30", "2", "0.80", "60"]
    assert table.records[0] == {
        "seed": 0,
        "rate": 0.25,
        "top_drop": 0.4,
        "largest_drop": 0.4,
        "largest_drop_count": 30.0,
        "num_bins": 2,
        "least_similarity": 0.8,
        "k": 60,
    }


def test_teachers_are_held_against_retrain_apart(tables_of):
    table = tables_of()["support-retrain"]
    assert "after the fact" in table.caption
    rows = texts_of(table.grids[0])
    # Retrain's UA is a little above 90 %.
    assert rows["20"][1].startswith("+9.")
    assert rows["80"][0] == "0.201 ± 0.001"
    assert rows["80"][1].startswith("−20.")
    assert rows["two Retrains"] == ["0.010", ""]
    assert lines_of(table.grids[0])["two Retrains"].is_aside


def test_one_seed_has_nothing_between_seeds(tables_of):
    found = tables_of(supports_cell(num_seeds=1))
    assert texts_of(found["support-sizes"].grids[0])["50"][-1] == "–"
    assert list(texts_of(found["support-retrain"].grids[0])) == ["20", "50", "80"]
    assert "One seed" in found["support-sizes"].caption
