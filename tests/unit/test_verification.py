"""Walking results: what is not of a benchmark's own record, and walking twice."""

import pytest
from fake_benchmark import FakeBenchmark

from collateral.results.chain import sealed_page
from collateral.results.verification import walk


@pytest.fixture
def root(tmp_path):
    return FakeBenchmark().write(tmp_path)


def test_a_table_may_be_called_as_numbers_are(root):
    """The costs of a cell are a table, too; the record of all tables names it."""
    assert (root / "tables/cell/costs.csv").exists()
    assert walk(root).faults == []
    (root / "tables/cell/costs.csv").write_text("other costs")
    assert [fault.path.name for fault in walk(root).faults] == ["costs.csv"]


def test_the_index_of_pages_has_its_hash_in_itself(root):
    index = root.parent / "report.html"
    index.write_text(sealed_page("index", [root / "glance.json"], root.parent))
    assert walk(root.parent).faults == []
    index.write_text("index")
    assert [fault.path for fault in walk(root.parent).faults] == [index]


def test_a_page_needs_its_record(root):
    (root / "glance.json").unlink()
    assert {fault.path.name for fault in walk(root).faults} == {
        "report.html",
        "report-problems.json",
    }


def test_epochs_of_a_run_that_is_no_longer_tracked_are_told(root):
    (root / "cell/seed-0/ga/epochs.npz").write_text("epochs")
    assert [fault.path.name for fault in walk(root).faults] == ["epochs.npz"]


def test_what_models_showed_means_nothing_without_its_record(root):
    (root / "cell/probe/seed-0").mkdir(parents=True)
    (root / "cell/probe/seed-0/probe.npz").write_text("probe")
    assert [fault.path.name for fault in walk(root).faults] == ["probe.npz"]


def test_a_second_walk_sees_what_changed_since(root):
    assert walk(root).faults == []
    (root / "labels.npz").write_text("other labels")
    assert "labels.npz" in {fault.path.name for fault in walk(root).faults}
